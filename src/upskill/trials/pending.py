"""A trial under way: what was planned, and what is learned about it before it ends."""

from dataclasses import dataclass

from upskill.domain import Grade, PlannedTrial
from upskill.models import Bill


@dataclass(slots=True)
class Pending:
    """Filled in by the harness and the grader, read when the engine says that the trial has ended."""

    planned: PlannedTrial
    id: str
    bill: Bill | None = None
    grade: Grade | None = None
    check_crash: str | None = None
