"""What will be run, in which order. A plan of 100,000 trials is a few numbers, not 100,000 objects."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from upskill.domain.case import Case
from upskill.domain.student import Student
from upskill.domain.trial import Arm


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedTrial:
    """One trial to be run."""

    case: Case
    arm: Arm
    repeat: int

    @property
    def key(self) -> str:
        """Names the trial among those of one student."""
        return f"{self.case.id}/{self.arm}/{self.repeat}"


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialPlan:
    """Cases x arms x repeats, for each student.

    Trials come in rounds, one per repeat; each round takes the cases in a fresh order drawn from the seed,
    and the arms of one case stand together, so that a drifting provider touches both alike.
    """

    cases: tuple[Case, ...]
    students: tuple[Student, ...]
    arms: tuple[Arm, ...]
    repeats: int
    seed: int = 0
    harness: str = "chat"

    def __len__(self) -> int:
        return len(self.cases) * len(self.arms) * self.repeats * len(self.students)

    @property
    def trials_per_student(self) -> int:
        """How many trials one student is put through."""
        return len(self.cases) * len(self.arms) * self.repeats

    def trials(self) -> Iterator[PlannedTrial]:
        """The trials of one student, in planned order."""
        for repeat in range(1, self.repeats + 1):
            order = list(self.cases)
            random.Random(f"{self.seed}/{repeat}").shuffle(order)
            for case in order:
                for arm in self.arms:
                    yield PlannedTrial(case=case, arm=arm, repeat=repeat)
