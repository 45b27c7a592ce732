"""The harness `pi`: the coding agent pi, which speaks Chat Completions and loads skills by its tool `read`."""

import json
import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path

from upskill.agents.adapter import (
    AGENT_LIMITS,
    AgentProgram,
    CodingAgent,
    Files,
    Json,
    KnownTool,
    KnownTools,
    Launch,
    Mount,
    ToolRequest,
    agent_info,
    event_lines,
    listed_skills,
    node_on_path,
    object_in,
    objects_in,
    package_version,
    texts_in,
)
from upskill.errors import UsageError

PACKAGE = "@mariozechner/pi-coding-agent"
INSTALL = f"npm install -g {PACKAGE}@0.73.1"
PI = agent_info("pi", "pi", module="upskill_pi.harness", program="pi", package=f"{PACKAGE}@0.73.1")

FOLDER = "/home/agent/.pi/agent"
MODULES = "/opt/pi/node_modules"
"""One place for every way to install it: the path is part of its system prompt."""
NODE = "/opt/node/node"
OLDEST_NODE = 20
PROMPT = "/opt/pi/prompt"
"""The prompt comes from standard input: no word of it is an option or a file."""
COMMAND = "/skill:"
LONGEST_MILLISECONDS = 86_400_000
"""How long it waits for its model is our business: the bridge answers when the provider does."""
SWITCHES = ("no-session", "offline", "no-extensions", "no-prompt-templates", "no-themes")
TOOLS: KnownTools = {
    "bash": KnownTool(kind="shell", argument="command"),
    "read": KnownTool(kind="read_file", argument="path"),
    "write": KnownTool(kind="write_file", argument="path"),
    "edit": KnownTool(kind="edit_file", argument="path"),
    "find": KnownTool(kind="find_files", argument="pattern"),
    "ls": KnownTool(kind="find_files", argument="path"),
    "grep": KnownTool(kind="search_files", argument="pattern"),
}
_SKILL_PATH = re.compile(r"(?<![\w.-])([\w.-]+)/SKILL\.md")


class Pi:
    """pi, run by `pi --mode json`."""

    name = "pi"
    version = "pi/1"
    known_versions: tuple[str, ...] = ("0.73.1",)
    limits = AGENT_LIMITS
    request_tokens = 2_000
    skills_folder = f"{FOLDER}/skills"
    tools = TOOLS
    own_files: tuple[str, ...] = (".pi/*",)

    def program(self, found: Path) -> AgentProgram:
        """A folder of scripts with the packages that they need, and the Node that is installed."""
        package = found.resolve().parents[1]
        version = package_version(found, package, name="pi", install=INSTALL)
        modules = package.parents[1]
        if (package / "node_modules").is_dir():  # installed for itself, with its packages inside
            files = Mount(source=package, target=f"{MODULES}/{PACKAGE}")
        elif (package.parent / "pi-ai").is_dir() and modules.name == "node_modules":
            files = Mount(source=modules, target=MODULES)
        else:
            raise UsageError(
                f"{found}: the packages that pi needs are not there", hint=f"install it again: `{INSTALL}`"
            )
        node = Mount(source=node_on_path("pi", oldest=OLDEST_NODE), target=NODE)
        return AgentProgram(path=found, version=version, mounts=(files, node), command=NODE)

    def files(self, launch: Launch) -> Files:
        """Its one model, its settings, and the prompt."""
        model = {"id": "model", "contextWindow": 200_000, "maxTokens": 32_000}
        provider = {
            "baseUrl": f"{launch.base_url}/v1",
            "api": "openai-completions",
            "apiKey": "none",
            "models": [model],
        }
        settings = {
            "enableInstallTelemetry": False,
            # The request by which it sums up cannot be told from one of a program that speaks in its name.
            "compaction": {"enabled": False},
            "retry": {"enabled": False, "provider": {"timeoutMs": LONGEST_MILLISECONDS, "maxRetries": 0}},
        }
        said = "" if _begins_as_a_command(launch) else launch.prompt
        if launch.forced is not None:
            said = f"{COMMAND}{launch.forced} {launch.prompt}"
        return {
            f"{FOLDER}/models.json": json.dumps({"providers": {"upskill": provider}}).encode(),
            f"{FOLDER}/settings.json": json.dumps(settings).encode(),
            PROMPT: said.encode("utf-8", "replace"),
        }

    def environment(self, launch: Launch) -> dict[str, str]:
        """Where its settings are."""
        return {"PI_CODING_AGENT_DIR": FOLDER, "PI_TELEMETRY": "0"}

    def argv(self, program: AgentProgram, launch: Launch) -> Sequence[str]:
        """Everything but the prompt."""
        switches = [f"--{name}" for name in SWITCHES]
        run = (program.command, f"{MODULES}/{PACKAGE}/dist/cli.js", "--mode", "json", "--model", "upskill/model")
        # As an argument it keeps the space that makes a command a text; from standard input it would be stripped.
        said = [launch.with_slash] if _begins_as_a_command(launch) else []
        return ["/bin/sh", "-c", f'exec "$0" "$@" < {PROMPT}', *run, *switches, *said]

    def listing(self, request: Json) -> str:
        """The end of the system message, in which descriptions are escaped."""
        if not request.get("tools"):
            return ""
        system = [each for each in objects_in(request, "messages") if each.get("role") == "system"]
        return unescape(listed_skills(texts_in(system)))

    def loads(self, stdout: bytes) -> tuple[str, ...]:
        """The paths in calls of tools that went well."""
        named: dict[str, tuple[str, ...]] = {}
        loaded: dict[str, None] = {}
        for event in event_lines(stdout):
            call = str(event.get("toolCallId"))
            if event.get("type") == "tool_execution_start":
                named[call] = tuple(_SKILL_PATH.findall(json.dumps(object_in(event, "args"))))
            elif event.get("type") == "tool_execution_end" and not event.get("isError"):
                loaded |= dict.fromkeys(named.get(call, ()))
        return tuple(loaded)

    def load(self, skill: str) -> ToolRequest:
        """The tool `read`."""
        return ToolRequest(tool="read", arguments={"path": f"{self.skills_folder}/{skill}/SKILL.md"})

    def shell(self, command: str) -> ToolRequest:
        """The tool `bash`."""
        return ToolRequest(tool="bash", arguments={"command": command})


def _begins_as_a_command(launch: Launch) -> bool:
    return launch.forced is None and launch.prompt.startswith(COMMAND)


HARNESS = CodingAgent(Pi())
