"""A student made of chances, for whole loops of teaching: it passes each case with a rate that the draft decides.

It goes the way of a real one: the plan's turns, the stages of its design, the conclusion with its verdicts. Only the
model and the checks are made up.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from upskill.core import statistics
from upskill.core.nouns import (
    Arm,
    Case,
    Check,
    CheckResult,
    Grade,
    PlannedTrial,
    Purchase,
    RunEnd,
    Scored,
    Skill,
    Student,
    Trial,
    TrialPlan,
)
from upskill.core.nouns.look import LookTerms
from upskill.core.trials.schedule import Schedule
from upskill.evaluation.conclude import summarise
from upskill.generation.draft import Draft
from upskill.generation.measure import Measurement

Rate = Callable[[str, Draft | None, Case], float]
"""The chance of a student (by name) to pass a case with a draft, or without any skill."""

Store = dict[tuple[str, str, str | None, int], tuple[bool, str]]
"""By student, case, the text of the skill if any, and repeat: whether it passed."""

_PASS = Scored(end="answered", grade=Grade(results=(CheckResult(kind="contains", passed=True, saw="found"),)))
_FAIL = Scored(end="answered", grade=Grade(results=(CheckResult(kind="contains", passed=False, saw="not found"),)))


class SimulatedMeasure:
    """The `Measure` of refining and proving, over chances. Counts what would have been bought."""

    def __init__(
        self,
        rate: Rate,
        rng: random.Random,
        *,
        students: Sequence[str] = ("student",),
        store: Store | None = None,
    ) -> None:
        """`store` is a trial store that several loops share: the old version's trials are bought once."""
        self._rate, self._rng = rate, rng
        self._students = tuple(Student(name=name, model=f"simulated/{name}") for name in students)
        self._bought: Store = {} if store is None else store
        self.trials = 0
        self.stages: list[str] = []

    def __call__(
        self,
        stage: str,
        draft: Draft,
        cases: Sequence[Case],
        *,
        against: Draft | None = None,
        repeats: int | None = None,
        level: float | None = None,
        gate: bool = False,
    ) -> Measurement:
        """Put a draft on trial. A trial of the same request and repeat is bought once."""
        assert stage not in self.stages, f"{stage} was asked for twice"
        self.stages.append(stage)
        arms: tuple[Arm, Arm] = ("baseline" if against is None else "previous", "with_skill")
        plan = TrialPlan(
            cases=tuple(cases),
            students=self._students,
            arms=arms,
            repeats=repeats or statistics.most_repeats(len(cases)),
            seed=self._rng.randrange(2**32),
            design="two looks" if repeats is None else "fixed",
        )
        if gate or (against is not None and repeats is None):
            plan = replace(plan, repeats=statistics.GATE_REPEATS, design="gate")
        terms = statistics.FIRST_LOOK if level is None else LookTerms(level=level)
        drafts: dict[Arm, Draft | None] = {arms[0]: against, arms[1]: draft}
        finished: list[Trial] = []
        schedules: dict[str, Schedule] = {}
        for student in self._students:
            schedule = Schedule(plan, terms=terms)
            schedules[student.name] = schedule
            while (turn := schedule.take()) is not None:
                trials = {
                    planned.arm: self._trial(student.name, planned, drafts[planned.arm]) for planned in turn.trials()
                }
                finished += trials.values()
                schedule.ended(turn, trials)
        evaluation = summarise(
            plan,
            finished,
            skill=Skill(name=draft.name, description=draft.description, body=draft.body, digest="0" * 64),
            run=stage,
            schedules=schedules,
            cut_short=lambda _: None,
            min_lift=None,
            looks={student.name: terms for student in self._students},
            bought=Purchase(calls=len(finished), failed_calls=0, tokens=0, cost=0.0),
            notes=(),
            end=RunEnd(),
        )
        return Measurement(evaluation=evaluation, trials=tuple(finished))

    def _trial(self, student: str, planned: PlannedTrial, draft: Draft | None) -> Trial:
        key = (student, planned.case.id, None if draft is None else draft.body, planned.repeat)
        bought = self._bought.get(key)
        if bought is None:
            self.trials += 1
            passed = self._rng.random() < self._rate(student, draft, planned.case)
            bought = (passed, f"answer {self.trials}")  # no two are copies of each other
            self._bought[key] = bought
        passed, answer = bought
        return Trial(
            id="simulated",
            student=student,
            case_id=planned.case.id,
            arm=planned.arm,
            repeat=planned.repeat,
            outcome=_PASS if passed else _FAIL,
            answer=answer,
            calls=1,
        )


def make_cases(count: int, prefix: str) -> tuple[Case, ...]:
    """Cases that are told apart by their ids and digests."""
    return tuple(
        Case(id=f"{prefix}-{number:02}", prompt=f"{prefix} task {number}", checks=(Check(kind="contains", spec="x"),))
        for number in range(1, count + 1)
    )
