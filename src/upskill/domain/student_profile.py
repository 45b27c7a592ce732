"""What is known of the students before a skill is written for them: limits of the server, and what they can do."""

from collections.abc import Callable
from dataclasses import dataclass

from upskill.domain.lift import Lift

CountTokens = Callable[[str], int]
"""Counts tokens as the student does: by its server's tokenizer, or by an estimate that is rather too high."""

SMALL_WINDOW = 8_192
"""A student with a window of at most so many tokens is taught as a small one."""

TINY = 1_000_000_000
"""A student with fewer parameters copies what it reads, and can do little more: it is asked for that."""

RUNGS = ("answer", "snippet", "file")
"""How much a case asks for: one line, a few lines, a whole file or program. A written case names its own in `extra`."""
RUNG_NAMES = {"answer": "one-line answers", "snippet": "snippets", "file": "files and programs"}
"""The rungs as people call them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RungResult:
    """The practice cases of one rung: how many pass without help and with their passage in the prompt."""

    rung: str
    cases: int
    baseline: int
    ceiling: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Aptitude:
    """What one model can do on the practice cases without a skill. No verdict uses it."""

    student: str
    harness: str
    baseline: float | None
    """Share of practice cases that pass without help; `None` if not measured."""
    ceiling: float | None
    """Share that passes with the passage in the prompt; `None` where no case names a passage."""
    lift: Lift | None
    """Ceiling minus baseline."""
    cases: int = 0
    """Practice cases that were measured."""
    rungs: tuple[RungResult, ...] = ()
    reachable: tuple[str, ...] = ()
    """Ids of the practice cases that passed in either arm, or have no passage."""
    cut: int = 0
    """Answers cut at the maximum length."""
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
    parameters: int | None = None
    """How many the smallest of them has; `None` if no server says."""
    exact: bool = False
    """Whether the student's own tokenizer counts; else tokens are estimated."""
    aptitudes: tuple[Aptitude, ...] = ()
    """Empty until aptitude is measured."""

    @property
    def is_small(self) -> bool:
        """Whether its window is known to be small."""
        return self.window is not None and self.window <= SMALL_WINDOW

    @property
    def is_tiny(self) -> bool:
        """Whether it is known to have few parameters."""
        return self.parameters is not None and self.parameters < TINY

    def reachable(self, student: str) -> frozenset[str] | None:
        """The learn cases that this student passed in aptitude; `None` where none was shown with its passage."""
        measured = [one for one in self.aptitudes if one.student == student and one.ceiling is not None]
        return frozenset(case_id for one in measured for case_id in one.reachable) if measured else None
