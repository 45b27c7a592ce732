"""What is known of the students before a skill is written for them: limits of the server, and what they can do."""

from collections.abc import Callable
from dataclasses import dataclass

from upskill.domain.lift import Lift

CountTokens = Callable[[str], int]
"""Counts tokens as the student does: by its server's tokenizer, or by an estimate that is rather too high."""

SMALL_WINDOW = 8_192
"""A student with a window of at most so many tokens is taught as a small one."""

RUNGS = ("answer", "snippet", "file")
"""How much a case asks for: one line, a few lines, a whole file or program. A written case names its own in `extra`."""
RUNG_NAMES = {"answer": "one-line answers", "snippet": "snippets", "file": "files and programs"}
"""The rungs as people call them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RungResult:
    """The learn cases of one rung: how many pass, without anything and with their passage in the prompt."""

    rung: str
    cases: int
    baseline: int
    ceiling: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Aptitude:
    """What one student can do on the learn cases without any skill. Nothing is claimed from it."""

    student: str
    harness: str
    baseline: float | None
    """The share of learn cases that pass without anything; `None` where nothing was measured."""
    ceiling: float | None
    """The share that passes with the passage in the prompt; `None` where no case names one."""
    lift: Lift | None
    """Ceiling minus baseline."""
    cases: int = 0
    """Learn cases that were measured."""
    rungs: tuple[RungResult, ...] = ()
    reachable: tuple[str, ...] = ()
    """The ids of the learn cases that passed in either arm, or have no ceiling, so that nothing is known of them."""
    cut: int = 0
    """Answers that were cut at the longest answer."""
    trials: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class StudentProfile:
    """What everybody who writes is told of the students. Of several, the narrowest limits count."""

    names: tuple[str, ...]
    window: int | None
    """Tokens of prompt and answer together; `None` if no server says."""
    output_tokens: int | None
    """Where answers are cut; `None` without a cap."""
    harness: str
    case_tokens: int | None
    """The most tokens of a case's prompt with its files; `None` without a known window."""
    skill_tokens: int
    """The most tokens of a skill's body, as the student counts them."""
    exact: bool = False
    """Whether the student's own tokenizer counts; else tokens are estimated."""
    aptitudes: tuple[Aptitude, ...] = ()
    """Empty until aptitude is measured."""

    @property
    def is_small(self) -> bool:
        """Whether its window is known to be small."""
        return self.window is not None and self.window <= SMALL_WINDOW

    def reachable(self, student: str) -> frozenset[str] | None:
        """The learn cases that this student passed in aptitude; `None` where none was shown with its passage."""
        measured = [one for one in self.aptitudes if one.student == student and one.ceiling is not None]
        return frozenset(case_id for one in measured for case_id in one.reachable) if measured else None
