"""The harness `codex`: OpenAI's Codex CLI, which speaks the Responses API and reads skills with its shell."""

import platform
import re
from collections.abc import Sequence
from pathlib import Path

from upskill.agents.harness import AGENT_LIMITS, CodingAgent, Json, Launch, ToolRequest, version_of
from upskill.agents.streams import event_lines, object_in, objects_in, texts_in
from upskill.core.nouns import Files
from upskill.core.trials.harness import Harness
from upskill.core.trials.trajectory import KnownTool, KnownTools
from upskill.core.trials.trial_run import AgentProgram
from upskill.errors import UsageError
from upskill.sandbox import WORKSPACE, Mount

INSIDE = "/opt/codex"
HOME = "/home/agent"
CONFIG = """\
model = "inspect"
model_provider = "bridge"
check_for_update_on_startup = false
web_search = "disabled"
hide_agent_reasoning = true

[model_providers.bridge]
name = "bridge"
base_url = "{base_url}/v1"
env_key = "MODEL_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
stream_idle_timeout_ms = 86400000

[analytics]
enabled = false

[feedback]
enabled = false

[projects."{workspace}"]
trust_level = "trusted"

[skills.bundled]
enabled = {bundled}
"""
_SKILL_PATH = re.compile(r"(?<![\w.-])([\w.-]+)/SKILL\.md")
_TARGETS = {"x86_64": "x86_64-unknown-linux-musl", "aarch64": "aarch64-unknown-linux-musl"}
_PACKAGES = {"x86_64": "codex-linux-x64", "aarch64": "codex-linux-arm64"}
TOOLS: KnownTools = {
    "exec_command": KnownTool(kind="shell", argument="cmd", folder="workdir"),
    "shell_command": KnownTool(kind="shell", argument="command", folder="workdir"),
    "shell": KnownTool(kind="shell", argument="command", folder="workdir"),
    "write_stdin": KnownTool(kind="shell", argument="chars"),
    "apply_patch": KnownTool(kind="edit_file", argument="input"),
    "view_image": KnownTool(kind="read_file", argument="path"),
    "spawn_agent": KnownTool(kind="subagent"),
}


class Codex:
    """Codex, run by `codex exec`."""

    name = "codex"
    version = "codex/2"
    known_versions: tuple[str, ...] = ("0.166.0",)
    limits = AGENT_LIMITS
    request_tokens = 10_000
    skills_folder = f"{HOME}/.agents/skills"
    tools = TOOLS
    own_files: tuple[str, ...] = ()

    def program(self, found: Path) -> AgentProgram:
        """The native program beside the wrapper that npm installs, or the program itself."""
        real = found.resolve()
        if real.suffix != ".js":
            command = f"{INSIDE}/bin/codex"
            return AgentProgram(
                path=found, version=version_of(real), mounts=(Mount(source=real, target=command),), command=command
            )
        folder = _native(real)
        return AgentProgram(
            path=found,
            version=version_of(folder / "bin" / "codex"),
            mounts=(Mount(source=folder, target=INSIDE),),
            command=f"{INSIDE}/bin/codex",
        )

    def files(self, launch: Launch) -> Files:
        """`config.toml`."""
        text = CONFIG.format(base_url=launch.base_url, workspace=WORKSPACE, bundled=str(launch.bundled).lower())
        return {f"{HOME}/.codex/config.toml": text.encode()}

    def environment(self, launch: Launch) -> dict[str, str]:
        """Where its files are. The key is not looked at by anybody."""
        return {
            "CODEX_HOME": f"{HOME}/.codex",
            "MODEL_KEY": "none",
            "PATH": f"/usr/local/bin:/usr/bin:/bin:{INSIDE}/codex-path",
        }

    def argv(self, program: AgentProgram, launch: Launch) -> Sequence[str]:
        """A forced skill is named with a dollar before the prompt."""
        prompt = launch.prompt
        if launch.forced is not None:
            prompt = f"${launch.forced} {prompt}"
        return [
            *(program.command, "exec", "--json", "--skip-git-repo-check"),
            *("--dangerously-bypass-approvals-and-sandbox", "-C", WORKSPACE),
            *("--disable", "plugins", "--disable", "apps"),
            *("--", prompt),
        ]

    def listing(self, request: Json) -> str:
        """The instructions about skills, in a message of the developer."""
        found = [text for text in texts_in(objects_in(request, "input")) if "<skills_instructions>" in text]
        return "\n".join(found)

    def loads(self, stdout: bytes) -> tuple[str, ...]:
        """The paths in commands that were carried out."""
        loaded: dict[str, None] = {}
        for event in event_lines(stdout):
            item = object_in(event, "item")
            if event.get("type") == "item.completed" and item.get("type") == "command_execution":
                loaded |= dict.fromkeys(_SKILL_PATH.findall(str(item.get("command", ""))))
        return tuple(loaded)

    def load(self, skill: str) -> ToolRequest:
        """It has no tool for that: its model reads the file."""
        return self.shell(f"cat {self.skills_folder}/{skill}/SKILL.md")

    def shell(self, command: str) -> ToolRequest:
        """`exec_command`."""
        return ToolRequest(tool="exec_command", arguments={"cmd": command})


def _native(wrapper: Path) -> Path:
    """The folder of the program for this machine, in the package beside that of the wrapper or below it."""
    package = wrapper.parent.parent
    machine = platform.machine()
    name, target = _PACKAGES.get(machine, ""), _TARGETS.get(machine, "")
    for parent in (package.parent, package / "node_modules" / "@openai"):
        folder = parent / name / "vendor" / target
        if name and (folder / "bin" / "codex").is_file():
            return folder
    if (package / "vendor" / target / "codex" / "codex").is_file():
        raise UsageError(f"{wrapper}: this Codex is too old", hint="update it with `npm install -g @openai/codex`")
    raise UsageError(
        f"{wrapper}: the package for this machine is not installed beside it",
        hint="install Codex again with `npm install -g @openai/codex`",
    )


HARNESS: Harness = CodingAgent(Codex())
