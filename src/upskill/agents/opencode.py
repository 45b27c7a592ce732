"""The harness `opencode`: opencode, which speaks Chat Completions and has a tool for skills."""

import json
import platform
import posixpath
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from upskill.agents.harness import AGENT_LIMITS, CodingAgent, Json, Launch, ToolRequest, version_of
from upskill.agents.streams import event_lines, listed_skills, native_program, object_in, objects_in, texts_in
from upskill.core.nouns import Files
from upskill.core.trials.harness import Harness
from upskill.core.trials.trajectory import KnownTool, KnownTools
from upskill.core.trials.trial_run import AgentProgram
from upskill.errors import UsageError
from upskill.processes import find_program
from upskill.sandbox import Mount
from upskill.sandbox.profile import PATH

INSIDE = "/opt/opencode"
COMMAND = f"{INSIDE}/opencode"
CONFIG = f"{INSIDE}/config"
"""On the read-only root. In a folder that it may write to, it asks the registry of npm for a package at every start."""
PROMPT = f"{INSIDE}/prompt"
"""The prompt comes from standard input: of one on the command line, opencode puts quotes around the words."""
MODELS = f"{INSIDE}/models.json"
"""An empty catalogue of models: reading its own takes a third of its processor time and of its memory."""
SEARCH = f"{INSIDE}/bin/rg"
"""It searches with ripgrep, also when it loads a skill, and downloads one where there is none."""
SEARCH_PLACES = (".local/share/opencode/bin/rg", ".cache/opencode/bin/rg")
"""Where it keeps the one that it downloaded, in a person's home."""
BUNDLED = ("customize-opencode",)
_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
TOOLS: KnownTools = {
    "bash": KnownTool(kind="shell", argument="command", folder="workdir"),
    "read": KnownTool(kind="read_file", argument="filePath"),
    "write": KnownTool(kind="write_file", argument="filePath"),
    "edit": KnownTool(kind="edit_file", argument="filePath"),
    "patch": KnownTool(kind="edit_file", argument="patchText"),
    "list": KnownTool(kind="find_files", argument="path"),
    "glob": KnownTool(kind="find_files", argument="pattern"),
    "grep": KnownTool(kind="search_files", argument="pattern"),
    "webfetch": KnownTool(kind="web", argument="url"),
    "websearch": KnownTool(kind="web", argument="query"),
    "skill": KnownTool(kind="skill", argument="name"),
    "task": KnownTool(kind="subagent"),
}


class OpenCode:
    """opencode, run by `opencode run`."""

    name = "opencode"
    version = "opencode/2"
    known_versions: tuple[str, ...] = ("1.18.33",)
    limits = replace(AGENT_LIMITS, memory_mb=1280)
    request_tokens = 8_000
    skills_folder = "/home/agent/.agents/skills"
    tools = TOOLS
    own_files: tuple[str, ...] = (".opencode/*",)

    def program(self, found: Path) -> AgentProgram:
        """One file, whether npm or its own installer laid it there."""
        machine = _MACHINES.get(platform.machine(), platform.machine())
        kinds = ("", "-baseline", "-musl", "-baseline-musl")
        packages = [f"opencode-linux-{machine}{kind}/bin/opencode" for kind in kinds]
        real = native_program(found, beside=packages, install="npm install -g opencode-ai")
        mounts = (Mount(source=real, target=COMMAND), Mount(source=_ripgrep(), target=SEARCH))
        return AgentProgram(path=found, version=version_of(real), mounts=mounts, command=COMMAND)

    def files(self, launch: Launch) -> Files:
        """Its settings, and the prompt."""
        skills = {"*": "allow", **({} if launch.bundled else dict.fromkeys(BUNDLED, "deny"))}
        model = {"name": "model", "limit": {"context": 200_000, "output": 32_000}, "tool_call": True}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{launch.base_url}/v1", "apiKey": "none", "timeout": False},
            "models": {"model": model},
        }
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "model": "upskill/model",
            "small_model": "upskill/model",
            "enabled_providers": ["upskill"],
            "provider": {"upskill": provider},
            # What is named last counts.
            "permission": {"*": "allow", "skill": skills},
        }
        return {
            f"{CONFIG}/opencode/opencode.json": json.dumps(settings).encode(),
            f"{CONFIG}/opencode/.gitignore": b"node_modules\n",
            MODELS: b"{}",
            PROMPT: launch.prompt.encode("utf-8", "replace"),
        }

    def environment(self, launch: Launch) -> dict[str, str]:
        """Where its settings are, and nothing that leaves the sandbox."""
        off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")
        return {
            "PATH": f"{PATH}:{posixpath.dirname(SEARCH)}",
            "XDG_CONFIG_HOME": CONFIG,
            "OPENCODE_MODELS_PATH": MODELS,
            **{f"OPENCODE_DISABLE_{name}": "1" for name in off},
        }

    def argv(self, program: AgentProgram, launch: Launch) -> Sequence[str]:
        """A forced skill is one of its commands; the prompt is what the command is given."""
        forced = () if launch.forced is None else ("--command", launch.forced)
        run = (program.command, "run", "--format", "json", "--pure", "--title", "case", *forced)
        return ["/bin/sh", "-c", f'exec "$0" "$@" < {PROMPT}', *run]

    def listing(self, request: Json) -> str:
        """A part of the system message."""
        if not request.get("tools"):
            return ""
        texts = texts_in([each for each in objects_in(request, "messages") if each.get("role") == "system"])
        return listed_skills(texts)

    def loads(self, stdout: bytes) -> tuple[str, ...]:
        """Every use of the tool `skill`."""
        loaded: dict[str, None] = {}
        for event in event_lines(stdout):
            part = object_in(event, "part")
            named = object_in(object_in(part, "state"), "input").get("name")
            if event.get("type") == "tool_use" and part.get("tool") == "skill" and isinstance(named, str):
                loaded[named] = None
        return tuple(loaded)

    def load(self, skill: str) -> ToolRequest:
        """The tool `skill`."""
        return ToolRequest(tool="skill", arguments={"name": skill})

    def shell(self, command: str) -> ToolRequest:
        """The tool `bash`."""
        return ToolRequest(tool="bash", arguments={"command": command, "description": "Runs a command"})


def _ripgrep() -> Path:
    """The one that opencode has downloaded for this person, or the one that is installed."""
    places = [Path.home() / place for place in SEARCH_PLACES]
    installed = find_program("rg")
    if installed is not None:
        places.append(Path(installed))
    for place in places:
        if place.is_file():
            return place.resolve()
    raise UsageError(
        "opencode needs ripgrep (`rg`), which it cannot download in a sandbox",
        hint="install ripgrep, or start opencode once as yourself: it downloads one",
    )


HARNESS: Harness = CodingAgent(OpenCode())
