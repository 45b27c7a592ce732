"""A lesson: one thing worth teaching, and where in the recorded work it was seen."""

from dataclasses import dataclass
from typing import Literal

LessonKind = Literal["do", "avoid", "fact", "command"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Lesson:
    """One thing worth teaching. A lesson from a trace names its steps; one that cannot is not taken."""

    kind: LessonKind
    text: str
    steps: tuple[str, ...] = ()
    """Where it was seen, as the digest of the trace names it, such as `trace 2 step 14`; empty without a trace."""
    support: int = 1
    """In how many pieces of the material it was found."""
