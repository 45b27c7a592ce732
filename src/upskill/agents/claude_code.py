"""The harness `claude-code`: Anthropic's Claude Code, which speaks the Messages API and has a tool for skills."""

import platform
import re
from collections.abc import Sequence
from pathlib import Path

from upskill.agents.harness import AGENT_LIMITS, CodingAgent, Json, Launch, ToolRequest, version_of
from upskill.agents.streams import native_program, objects_in, skills_used, texts_in
from upskill.core.nouns import Files
from upskill.core.trials.harness import Harness
from upskill.core.trials.trajectory import KnownTool, KnownTools
from upskill.core.trials.trial_run import AgentProgram
from upskill.sandbox import Mount

HOME = "/home/agent"
COMMAND = "/opt/claude-code/claude"
MODEL = "claude-sonnet-4-5"
"""The model that it believes to talk to. Its prompt depends on that name: with later ones it puts system messages into
the middle of the conversation, which many providers refuse."""
LISTED = re.compile(
    r"The following skills are available for use with the Skill tool:.*?(?=</system-reminder>|\Z)", re.S
)
WITHOUT_NETWORK = ("WebFetch", "WebSearch")
"""Tools that could do nothing but fail."""
WAITS = ("API_TIMEOUT_MS", "CLAUDE_STREAM_IDLE_TIMEOUT_MS", "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS")
LONGEST_MILLISECONDS = "86400000"
"""How long it waits for its model is our business: the bridge answers when the provider does."""
_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
TOOLS: KnownTools = {
    "Bash": KnownTool(kind="shell", argument="command"),
    "Read": KnownTool(kind="read_file", argument="file_path"),
    "Write": KnownTool(kind="write_file", argument="file_path"),
    "Edit": KnownTool(kind="edit_file", argument="file_path"),
    "MultiEdit": KnownTool(kind="edit_file", argument="file_path"),
    "NotebookEdit": KnownTool(kind="edit_file", argument="notebook_path"),
    "Glob": KnownTool(kind="find_files", argument="pattern"),
    "Grep": KnownTool(kind="search_files", argument="pattern"),
    "WebFetch": KnownTool(kind="web", argument="url"),
    "WebSearch": KnownTool(kind="web", argument="query"),
    "Skill": KnownTool(kind="skill", argument="skill"),
    "Agent": KnownTool(kind="subagent"),
    "Task": KnownTool(kind="subagent"),
}


class ClaudeCode:
    """Claude Code, run by `claude -p`."""

    name = "claude-code"
    version = "claude-code/2"
    known_versions: tuple[str, ...] = ("2.1.197",)
    limits = AGENT_LIMITS
    request_tokens = 24_000
    skills_folder = f"{HOME}/.claude/skills"
    tools = TOOLS
    own_files: tuple[str, ...] = ()

    def program(self, found: Path) -> AgentProgram:
        """One file, whether npm or the native installer laid it there."""
        machine = _MACHINES.get(platform.machine(), platform.machine())
        packages = [f"@anthropic-ai/claude-code-linux-{machine}{libc}/claude" for libc in ("", "-musl")]
        real = native_program(found, beside=packages, install="npm install -g @anthropic-ai/claude-code")
        return AgentProgram(
            path=found, version=version_of(real), mounts=(Mount(source=real, target=COMMAND),), command=COMMAND
        )

    def files(self, launch: Launch) -> Files:
        """None: everything is in the environment."""
        return {}

    def environment(self, launch: Launch) -> dict[str, str]:
        """Nothing that leaves the sandbox, nothing that comes from another session, no retries of its own."""
        switched_on = (
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "CLAUDE_CODE_DISABLE_AUTO_MEMORY",
            "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK",
            "CLAUDE_CODE_DISABLE_TERMINAL_TITLE",
            "DISABLE_AUTOUPDATER",
            "IS_SANDBOX",
            *(() if launch.bundled else ("CLAUDE_CODE_DISABLE_BUNDLED_SKILLS",)),
        )
        return {
            "ANTHROPIC_BASE_URL": launch.base_url,
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_SMALL_FAST_MODEL": MODEL,
            "CLAUDE_CODE_ATTRIBUTION_HEADER": "0",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "MAX_THINKING_TOKENS": "0",
            **dict.fromkeys(WAITS, LONGEST_MILLISECONDS),
            **dict.fromkeys(switched_on, "1"),
        }

    def argv(self, program: AgentProgram, launch: Launch) -> Sequence[str]:
        """A forced skill is one of its commands."""
        return [
            *(program.command, "-p", "--output-format", "stream-json", "--verbose"),
            *("--permission-mode", "bypassPermissions", "--model", MODEL, "--strict-mcp-config"),
            *("--disallowedTools", *WITHOUT_NETWORK, "--", launch.with_slash),
        ]

    def listing(self, request: Json) -> str:
        """A reminder in the first message of the user."""
        if not request.get("tools"):
            return ""
        texts = texts_in([{"content": request.get("system")}, *objects_in(request, "messages")])
        return "\n".join(found[0] for text in texts if (found := LISTED.search(text)))

    def loads(self, stdout: bytes) -> tuple[str, ...]:
        """Every use of the tool `Skill`."""
        return skills_used(stdout, tool="Skill")

    def load(self, skill: str) -> ToolRequest:
        """The tool `Skill`."""
        return ToolRequest(tool="Skill", arguments={"skill": skill})

    def shell(self, command: str) -> ToolRequest:
        """The tool `Bash`."""
        return ToolRequest(tool="Bash", arguments={"command": command, "description": "Runs a command"})


HARNESS: Harness = CodingAgent(ClaudeCode())
