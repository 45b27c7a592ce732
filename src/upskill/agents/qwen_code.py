"""The harness `qwen-code`: Qwen Code, which speaks Chat Completions and has a tool for skills."""

import json
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path

from upskill.agents.harness import AGENT_LIMITS, CodingAgent, Json, Launch, ToolRequest, node_on_path, package_version
from upskill.agents.streams import listed_skills, objects_in, skills_used, texts_in
from upskill.core.nouns import Files
from upskill.core.trials.harness import Harness
from upskill.core.trials.trajectory import KnownTool, KnownTools
from upskill.core.trials.trial_run import AgentProgram
from upskill.sandbox import Mount

HOME = "/home/agent"
INSIDE = "/opt/qwen-code"
NODE = "/opt/node/node"
SETTINGS = "/opt/qwen-settings.json"
PROMPT = "/opt/qwen-prompt"
"""The prompt comes from standard input: no word of it is an option."""
OLDEST_NODE = 22
SESSION = "00000000-0000-4000-8000-000000000000"
"""The same for every answer: it is part of the prompt where a skill is forced."""
LONGEST_MILLISECONDS = 86_400_000
"""How long it waits for its model is our business: the bridge answers when the provider does."""
BUNDLED = (
    *("batch", "browser-use", "computer-use", "coordinate", "dataviz", "extension-creator", "goal-draft", "loop"),
    *("new-app", "qc-helper", "review", "simplify", "stuck", "workflow-authoring", "workflow-creator"),
    "zvec-grep-install",
)
WITHOUT_NETWORK = ("web_fetch",)
"""Tools that could do nothing but fail."""
TOOLS: KnownTools = {
    "run_shell_command": KnownTool(kind="shell", argument="command", folder="directory"),
    "read_file": KnownTool(kind="read_file", argument="file_path"),
    "write_file": KnownTool(kind="write_file", argument="file_path"),
    "edit": KnownTool(kind="edit_file", argument="file_path"),
    "notebook_edit": KnownTool(kind="edit_file", argument="notebook_path"),
    "glob": KnownTool(kind="find_files", argument="pattern"),
    "grep_search": KnownTool(kind="search_files", argument="pattern"),
    "skill": KnownTool(kind="skill", argument="skill"),
    "agent": KnownTool(kind="subagent"),
}


class QwenCode:
    """Qwen Code, run by `qwen`."""

    name = "qwen-code"
    version = "qwen-code/1"
    known_versions: tuple[str, ...] = ("0.24.4",)
    limits = replace(AGENT_LIMITS, memory_mb=1280)
    request_tokens = 16_000
    skills_folder = f"{HOME}/.qwen/skills"
    tools = TOOLS
    own_files: tuple[str, ...] = (".qwen/*",)
    """Where a skill is forced, it writes the prompt there for the skill's programs."""

    def program(self, found: Path) -> AgentProgram:
        """A folder of scripts, and the Node that is installed."""
        package = found.resolve().parent
        version = package_version(found, package, name="Qwen Code", install="npm install -g @qwen-code/qwen-code")
        node = node_on_path("Qwen Code", oldest=OLDEST_NODE)
        mounts = (Mount(source=package, target=INSIDE), Mount(source=node, target=NODE))
        return AgentProgram(path=found, version=version, mounts=mounts, command=NODE)

    def files(self, launch: Launch) -> Files:
        """Settings that no project and no person can change, and the prompt."""
        settings = {
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
            # Signs of life are no stream for it: without 0 it asks again after five minutes.
            "model": {"generationConfig": {"timeout": LONGEST_MILLISECONDS, "maxRetries": 0, "streamIdleTimeoutMs": 0}},
            "skills": {"disabled": [] if launch.bundled else list(BUNDLED)},
        }
        return {SETTINGS: json.dumps(settings).encode(), PROMPT: launch.with_slash.encode("utf-8", "replace")}

    def environment(self, launch: Launch) -> dict[str, str]:
        """Where its settings and its model are."""
        return {
            "OPENAI_BASE_URL": f"{launch.base_url}/v1",
            "OPENAI_API_KEY": "none",
            "OPENAI_MODEL": "model",
            "QWEN_CODE_SYSTEM_SETTINGS_PATH": SETTINGS,
            "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
        }

    def argv(self, program: AgentProgram, launch: Launch) -> Sequence[str]:
        """Everything but the prompt."""
        run = (program.command, f"{INSIDE}/cli.js", "--auth-type", "openai", "--yolo", "--output-format", "stream-json")
        more = ("--session-id", SESSION, "--exclude-tools", *WITHOUT_NETWORK)
        return ["/bin/sh", "-c", f'exec "$0" "$@" < {PROMPT}', *run, *more]

    def listing(self, request: Json) -> str:
        """A reminder in the first message of the user, in which descriptions are escaped."""
        if not request.get("tools"):
            return ""
        return unescape(listed_skills(texts_in(objects_in(request, "messages"))))

    def loads(self, stdout: bytes) -> tuple[str, ...]:
        """Every use of the tool `skill`."""
        return skills_used(stdout, tool="skill")

    def load(self, skill: str) -> ToolRequest:
        """The tool `skill`."""
        return ToolRequest(tool="skill", arguments={"skill": skill})

    def shell(self, command: str) -> ToolRequest:
        """The tool `run_shell_command`."""
        arguments = {"command": command, "description": "Runs a command", "is_background": False}
        return ToolRequest(tool="run_shell_command", arguments=arguments)


HARNESS: Harness = CodingAgent(QwenCode())
