"""The skills that lie beside the measured one, in every arm: which are asked for, and which were there."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from upskill.domain.text import count
from upskill.errors import UsageError

BUNDLED = "bundled"
"""What people type for the skills that come with a coding agent."""
MOST_OTHERS = 200
"""Other skills of one evaluation. They are copied into every sandbox."""

OtherSource = Literal["shipped", "folder"]
"""Where another skill comes from: it ships with upskill, or it lies in a folder that was named."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Among:
    """Which other skills are asked for, by `--among`."""

    shipped: int = 0
    """How many of those that ship with upskill: the first ones, in their fixed order."""
    folders: tuple[str, ...] = ()
    """Folders with skills of the user's, by their paths."""
    bundled: bool = False
    """Whether the skills that come with the coding agent are offered too."""

    def __bool__(self) -> bool:
        """Whether anything is asked for."""
        return bool(self.shipped or self.folders or self.bundled)


def read_among(words: Iterable[str]) -> Among:
    """What was typed after `--among`: a number, `bundled` or a folder, each perhaps several times."""
    shipped: int | None = None
    bundled = False
    folders: dict[str, None] = {}
    for word in words:
        if word == BUNDLED:
            bundled = True
        elif word.lstrip("+-").isdecimal():
            if shipped is not None:
                raise UsageError("--among: two numbers were given", hint="name one number of other skills")
            if (shipped := int(word)) < 1:
                raise UsageError(f"--among {word}: must be at least 1")
        elif not word:
            raise UsageError("--among: is empty", hint="name a number, bundled or a folder of skills")
        else:
            folders[word] = None
    return Among(shipped=shipped or 0, folders=tuple(folders), bundled=bundled)


@dataclass(frozen=True, kw_only=True, slots=True)
class OtherSkill:
    """One skill beside the measured one."""

    name: str
    digest: str
    """SHA-256 of the files that a model could see."""
    source: OtherSource


@dataclass(frozen=True, kw_only=True, slots=True)
class OtherSkills:
    """The skills that lay beside the measured one in every arm."""

    skills: tuple[OtherSkill, ...] = ()
    """Sorted by name."""
    bundled: bool = False
    """Whether the skills that come with the coding agent were offered too."""
    shipped: int = 0
    """How many of those that ship with upskill were asked for. One is left out where its name is taken."""

    @property
    def words(self) -> str:
        """How many there were, for people: `among 20 other skills and the agent's bundled skills`."""
        number = count(len(self.skills), "other skill") if self.skills else ""
        return "among " + " and ".join(part for part in (number, self.bundled * "the agent's bundled skills") if part)
