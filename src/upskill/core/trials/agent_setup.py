"""Who a student is besides its model: a coding agent, and the other skills around the one that is measured."""

from dataclasses import dataclass
from pathlib import Path

from upskill.core.nouns import Skill
from upskill.core.nouns.text import estimated_tokens
from upskill.sandbox import Mount

_ENTRY_CHARACTERS = 50
"""Of one skill in a list, beside its name and its description: a path, or tags around both."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentProgram:
    """An agent as it is installed on this machine, and how a sandbox sees it."""

    path: Path
    """What was found on the search path, or named by the setting `agent_bin`."""
    version: str
    mounts: tuple[Mount, ...]
    """Its files, read-only."""
    command: str
    """The program to start, by its path inside."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentSetup:
    """Who the student is besides its model, and which skills lie beside the one that is measured: equal in all arms."""

    program: AgentProgram | None = None
    """The coding agent; `None` for a harness of ours."""
    others: tuple[Skill, ...] = ()
    """Skills that are offered in every arm, the baseline too."""
    bundled: bool = False
    """Whether the skills that come with the agent are offered as well."""

    def identity(self) -> dict[str, object]:
        """What of this can change an answer, as plain values. Nothing where nothing was asked for."""
        known: dict[str, object] = {
            "agent": None if self.program is None else self.program.version,
            "others": [[skill.name, skill.digest] for skill in self.others],
            "bundled": self.bundled,
        }
        return {name: value for name, value in known.items() if value}

    @property
    def listing_tokens(self) -> int:
        """Estimated tokens of the list of other skills, which every request carries."""
        listed = sum(len(skill.name) + len(skill.description) + _ENTRY_CHARACTERS for skill in self.others)
        return estimated_tokens(listed)
