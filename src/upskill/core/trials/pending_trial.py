"""A trial under way: what was planned, and what is learned about it before it ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from upskill.core.models import Bill, Purpose, billing
from upskill.core.nouns import Arm, Fault, Files, Grade, PlannedTrial, SkillUse, Trial, Turn, Usage
from upskill.core.nouns.answer import Trajectory


@dataclass(slots=True)
class OpenTurn:
    """A turn that has begun, with the trials of it that have ended."""

    turn: Turn
    trials: dict[Arm, Trial] = field(default_factory=dict)

    @property
    def has_ended(self) -> bool:
        """Whether every arm has its trial."""
        return len(self.trials) == len(self.turn.arms)


@dataclass(slots=True)
class PendingTrial:
    """Filled in by the harness and the grader, read when the engine says that the trial has ended."""

    planned: PlannedTrial
    id: str
    turn: OpenTurn
    found: Trial | None = None
    """The trial as another evaluation bought it, while this one waited."""
    bill: Bill | None = None
    grade: Grade | None = None
    check_crash: str | None = None
    check_fault: Fault = "check"
    files: Files = field(default_factory=dict)
    """What a student with tools left in its working folder."""
    removed: tuple[str, ...] = ()
    """Files of the case that are gone from there."""
    files_refused: str | None = None
    """Why nothing was taken from there: too many files, or too large ones."""
    skill_use: SkillUse | None = None
    turns: int = 0
    tool_calls: int | None = None
    trajectory: Trajectory | None = None
    """What a student with tools did; `None` where it has none."""
    ran_out: Literal["turn", "token", "load", "memory"] | None = None
    """What ended it; `load`: the skill was loaded, and nothing more was to be measured."""
    sandbox_lost: str | None = None
    outside: tuple[str, ...] = ()
    """Addresses that a coding agent tried to reach, and was refused."""
    agent_failed: str | None = None
    """Why a coding agent measured nothing: it crashed, was killed, or did not list the skill."""
    agent_hung: str | None = None
    """Set where the trial was ended while it was the coding agent's turn to act, and not its model's."""

    @property
    def usage(self) -> Usage:
        """What its calls consumed; nothing is known before the first answer."""
        bill = self.bill
        if bill is None or not bill.answers:
            return Usage()
        return Usage(input_tokens=bill.input_tokens, output_tokens=bill.output_tokens, cost=bill.cost)

    @contextmanager
    def billed(self) -> Iterator[None]:
        """Every call within is on the bill of this trial."""
        one = self.planned
        with billing(Purpose(role="student", arm=one.arm, case_id=one.case.id, repeat=one.repeat)) as self.bill:
            yield
