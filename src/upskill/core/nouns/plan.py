"""What will be run: which students, how each is asked, in which order, and what was typed for it. A plan of 100,000
trials is a few numbers, not 100,000 objects.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from upskill.core.nouns.case import Case
from upskill.core.nouns.harness import DEFAULT_HARNESS
from upskill.core.nouns.trial import BESIDE, Arm


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """Dollars per million tokens."""

    input_per_million: float
    output_per_million: float

    def of(self, *, input_tokens: int, output_tokens: int) -> float:
        """The price in dollars of one call."""
        return (input_tokens * self.input_per_million + output_tokens * self.output_per_million) / 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Student:
    """A model that is measured, with everything that can change its answers."""

    name: str
    """The name as typed, shown in every table."""
    model: str
    """The exact model id, `provider/name`, in the engine's spelling."""
    endpoint: str | None = None
    """The base URL, if it is not the provider's own."""
    temperature: float | None = None
    max_output_tokens: int | None = None
    price: Price | None = None


Design = Literal["fixed", "two looks", "gate"]
"""The whole plan is run; or one repeat, and the others only if that decides nothing; or two repeats, and six
more of the cases that look broken."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedTrial:
    """One trial to be run."""

    case: Case
    arm: Arm
    repeat: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One case's turn in one round: a trial in each arm, run close together."""

    case: Case
    repeat: int
    arms: tuple[Arm, ...]

    @property
    def key(self) -> tuple[str, int]:
        """Names the turn within a plan."""
        return self.case.id, self.repeat

    def trials(self) -> Iterator[PlannedTrial]:
        for arm in self.arms:
            yield PlannedTrial(case=self.case, arm=arm, repeat=self.repeat)


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialPlan:
    """Cases x arms x repeats, for each student.

    Turns come in rounds, one per repeat; each round takes the cases in a fresh order drawn from the seed, and the
    arms of one case stand together, so that a drifting provider affects both alike. Only in a fixed design all repeats
    are asked for.
    """

    cases: tuple[Case, ...]
    students: tuple[Student, ...]
    arms: tuple[Arm, ...]
    repeats: int
    seed: int = 0
    harness: str = DEFAULT_HARNESS
    design: Design = "fixed"

    def __len__(self) -> int:
        return self.trials_per_student * len(self.students)

    @property
    def against(self) -> Arm | None:
        """The arm that the skill is measured against; `None` where nothing is compared."""
        return self.arms[0] if len(self.arms) > 1 else None

    @property
    def measured(self) -> Arm:
        """The arm that the verdict is about. Arms after it are run beside it and decide nothing."""
        return self.arms[1] if len(self.arms) > 1 else self.arms[0]

    @property
    def trials_per_student(self) -> int:
        """The most trials of one student."""
        if all(self.arms_of(case) == self.arms for case in self.cases):
            return self.most_turns * len(self.arms)
        return sum(len(turn.arms) for turn in self.turns())

    @property
    def deciding(self) -> tuple[Arm, ...]:
        """The arms without those that are run beside them and decide nothing."""
        return tuple(arm for arm in self.arms if arm not in BESIDE or arm == self.measured)

    def arms_of(self, case: Case) -> tuple[Arm, ...]:
        """The arms that a case is run in: one without a passage has no ceiling."""
        if "ceiling" not in self.arms[2:] or case.passage is not None:
            return self.arms
        return tuple(arm for arm in self.arms if arm != "ceiling")

    def cases_in(self, arm: Arm) -> int:
        """How many cases are run in an arm."""
        return sum(arm in self.arms_of(case) for case in self.cases)

    @property
    def most_turns(self) -> int:
        """The most turns of one student."""
        return len(self.cases) * self.repeats

    @property
    def families(self) -> dict[str, str]:
        """The families of the cases that name one, by the case's id."""
        return {case.id: case.family for case in self.cases if case.family is not None}

    @property
    def units(self) -> int:
        """How many draws from all such cases these are: families, and cases without one."""
        return len(self.cases) - len(self.families) + len(set(self.families.values()))

    @property
    def is_deterministic(self) -> bool:
        """Whether every student is asked at temperature 0, where asking again says nothing new."""
        return all(student.temperature == 0 for student in self.students)

    def turns(self) -> Iterator[Turn]:
        """The turns of one student, in planned order."""
        return (turn for round in self.rounds() for turn in round)

    def rounds(self) -> Iterator[list[Turn]]:
        """The turns of each repeat, in planned order."""
        for repeat in range(1, self.repeats + 1):
            order = list(self.cases)
            random.Random(f"{self.seed}/{repeat}").shuffle(order)
            yield [Turn(case=case, repeat=repeat, arms=self.arms_of(case)) for case in order]

    def trials(self) -> Iterator[PlannedTrial]:
        for turn in self.turns():
            yield from turn.trials()


@dataclass(frozen=True, kw_only=True, slots=True)
class Again:
    """What was typed for an evaluation beside its skill, cases, models and their address, to be typed once more."""

    variables: tuple[str, ...] = ()
    """`UPSKILL_TEMPERATURE=0`."""
    options: tuple[str, ...] = ()
    """`--runs 3`, as a shell reads it."""
    by_hand: bool = False
    """Whether no teacher is set up here, so that a hand-off has to be named."""
    has_prompts: bool = True
    """Whether the skill has trigger prompts, which a revision of its description needs."""

    def without(self, *flags: str) -> "Again":
        """The same without these options."""
        return replace(self, options=tuple(one for one in self.options if one.partition(" ")[0] not in flags))

    def only(self, *flags: str) -> "Again":
        """The same with no other options."""
        return replace(self, options=tuple(one for one in self.options if one.partition(" ")[0] in flags))


NOTHING_MORE = Again()
