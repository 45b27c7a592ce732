"""What is particular to one coding agent. Everything else about running one is the same for all.

An adapter is one module in `trials/harnesses/`. It knows how its agent is started, where it looks for skills, how the
load of a skill shows, and which files it writes for itself. It starts nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from upskill.domain import Files
from upskill.sandbox import Limits
from upskill.trials.agent_setup import AgentProgram, AgentSetup

Json = Mapping[str, Any]

AGENT_LIMITS = Limits(
    memory_mb=1024,
    processes=256,
    address_space_mb=None,
    cpu_seconds=600,
    open_files=1024,
    file_mb=256,
    tmp_mb=256,
    home_mb=64,
    output_bytes=16 * 2**20,
)
"""What the sandbox of a coding agent may use, unless its adapter says otherwise."""

__all__ = [
    "AGENT_LIMITS",
    "AgentAdapter",
    "AgentProgram",
    "AgentSetup",
    "Json",
    "Launch",
    "ToolRequest",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """One start of an agent, the same in every arm but for the skill that is forced."""

    base_url: str
    """Where its model is served, inside the sandbox; without `/v1`."""
    prompt: str
    forced: str | None = None
    """The name of the skill that it must load before it begins; `None` where it may choose."""
    bundled: bool = False
    """Whether the skills that come with the agent are listed too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolRequest:
    """A tool call as this agent's model makes it: for scripted models, in `doctor` and in tests."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


class AgentAdapter(Protocol):
    """One coding agent."""

    name: str
    """The harness, as people type it."""
    version: str
    """Of this adapter, `codex/1`: what changes a request changes it."""
    known_versions: tuple[str, ...]
    """Versions of the agent that were measured; any other must pass `doctor --harness` first."""
    limits: Limits
    """What its sandbox may use."""
    request_tokens: int
    """How large its first request is without the case, for estimates."""
    skills_folder: str
    """Where it looks for skills, by an absolute path inside; outside of the workspace where it allows that."""
    own_files: tuple[str, ...]
    """Patterns of paths in the workspace that the agent writes for itself: they are no part of an answer."""

    def program(self, found: Path) -> AgentProgram:
        """The program that is really started, without a wrapper that needs an interpreter. Raises `UsageError`."""

    def files(self, launch: Launch) -> Files:
        """Its configuration, by absolute paths inside: nobody there can change it."""

    def environment(self, launch: Launch) -> dict[str, str]:
        """Its environment variables, without the proxy, which the runner sets."""

    def argv(self, program: AgentProgram, launch: Launch) -> Sequence[str]:
        """How it is started. A prompt that begins with a dash, a slash or a dollar stays a prompt."""

    def listing(self, request: Json) -> str:
        """The part of a model request in which it lists skills; empty where there is none."""

    def loads(self, stdout: bytes) -> tuple[str, ...]:
        """The names of the skills that it reports as loaded. Model traffic is the truth; this is compared with it."""

    def load(self, skill: str) -> ToolRequest:
        """How its model loads a skill."""

    def shell(self, command: str) -> ToolRequest:
        """How its model runs a command line."""
