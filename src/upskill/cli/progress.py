"""What `upskill eval` shows on stderr while it runs: the plan, then live figures."""

import time
from collections import Counter
from collections.abc import Sequence

from upskill.cli.live_display import StepProgress
from upskill.cli.screen import Line
from upskill.domain import Arm, Errored, Skill, Trial, TrialPlan, harness_info
from upskill.domain.text import count
from upskill.measuring import DroppedPair, Pair, RunningLift
from upskill.measuring.lift import RunningLook
from upskill.models import MeteredClient
from upskill.reporting.live_table import Condition, LiveSpending, LiveStudent, LiveTable, log_lines, table_rows
from upskill.reporting.wording import arm_name, percents
from upskill.workflows.progress import RunProgress

_LEAST_PAIRS_FOR_A_PACE = 2


class TrialProgress(StepProgress, RunProgress):
    """Shows an evaluation. On the engine's thread trials and pairs are only counted."""

    def __init__(self, *, no_color: bool = False) -> None:
        super().__init__(no_color=no_color)
        self._figures: Figures | None = None

    def evaluation_planned(self, plan: TrialPlan, *, skill: Skill, lines: Sequence[str]) -> None:
        self.show(None)
        self._figures = Figures(plan)
        names = ", ".join(student.name for student in plan.students)
        alone = plan.measured == "ceiling"
        self.note(f"Measuring {names} without a skill..." if alone else f"Evaluating {skill.name} on {names}...")
        students = f", on {len(plan.students)} models" if len(plan.students) > 1 else ""
        often = "once" if plan.repeats == 1 else f"{plan.repeats} times"
        often = f"up to {often}" if plan.design == "sequential" else often
        conditions = " and ".join(arm_name(arm, plan.harness) for arm in plan.arms)
        cases = f"{count(len(plan.cases), 'test case')}, each {often}"
        tools = "; students work with tools" if harness_info(plan.harness).with_tools else ""
        self.note(f"  {cases}: {conditions}{students}{tools}")
        for line in lines:
            self.note(f"  {line}")

    def evaluation_begun(self, client: MeteredClient) -> None:
        """Show live figures from here on."""
        if self._figures is not None:
            self._figures.begin(client)
            self.show(self._figures)

    def pair_finished(self, student: str, pair: Pair | DroppedPair, *, over: bool) -> None:
        if self._figures is not None:
            self._figures.add_pair(student, pair, over=over)

    def trial_finished(self, trial: Trial) -> None:
        if self._figures is not None:
            self._figures.add_trial(trial)


class Figures:
    """The counts of a run, and the live table made from them."""

    def __init__(self, plan: TrialPlan) -> None:
        self._plan = plan
        self._compared = plan.against is not None
        self._lifts = {student.name: RunningLift(cases=len(plan.cases)) for student in plan.students}
        self._over: set[str] = set()
        # Both counts exist from the start: a dict that grows cannot be read from another thread.
        self._ended: dict[tuple[str, Arm], Counter[bool]] = {
            (student.name, arm): Counter({True: 0, False: 0}) for student in plan.students for arm in plan.arms
        }
        self._errored = 0
        self._client: MeteredClient | None = None
        self._began = time.monotonic()
        self._before: dict[str, int] = {}

    def begin(self, client: MeteredClient) -> None:
        """Start the clock: what was counted before was bought earlier and gives no pace."""
        self._client, self._began, self._errored = client, time.monotonic(), 0
        self._before = {student.name: self._done(student.name) for student in self._plan.students}

    def add_pair(self, student: str, pair: Pair | DroppedPair, *, over: bool) -> None:
        self._lifts[student].add(pair)
        if over:
            self._over.add(student)

    def add_trial(self, trial: Trial) -> None:
        outcome = trial.outcome
        if isinstance(outcome, Errored):
            self._errored += outcome.was_run
        else:
            self._ended[trial.student, trial.arm][outcome.passed] += 1

    def block(self, *, width: int, height: int, drawn: bool) -> Sequence[Line]:
        """A table of students over a line on time and money."""
        head, rows, status = table_rows(self.now(), width=width, height=height, drawn=drawn)
        return [Line(head, "dim"), *map(Line, rows), Line(status, "dim")]

    def lines(self) -> Sequence[str]:
        """Nothing is worth a line before the first pair."""
        now = self.now()
        return list(log_lines(now)) if any(student.done for student in now.students) else []

    def now(self) -> LiveTable:
        seconds = time.monotonic() - self._began
        return LiveTable(
            unit="pairs" if self._compared else "answers",
            students=tuple(self._student(student.name) for student in self._plan.students),
            seconds=seconds,
            seconds_left=self._seconds_left(seconds),
            spent=self._spent(),
            errored=self._errored,
        )

    def _done(self, student: str) -> int:
        return self._lifts[student].pairs if self._compared else self._ended[student, self._plan.measured].total()

    def _most(self) -> int:
        return self._plan.most_turns

    def _student(self, name: str) -> LiveStudent:
        look = self._lifts[name].look() if self._compared else None
        done = self._done(name)
        return LiveStudent(
            name=name,
            done=done,
            most=self._most(),
            over=name in self._over or done >= self._most(),
            conditions=tuple(self._condition(name, arm, look) for arm in self._plan.arms),
            lift=None if look is None else look.mean,
            interval=None if look is None else look.interval,
        )

    def _condition(self, student: str, arm: Arm, look: RunningLook | None) -> Condition:
        name = arm_name(arm, self._plan.harness)
        if self._compared and arm in (self._plan.against, self._plan.measured):
            if look is None:
                return Condition(name=name, share=None)
            shown = percents(look.rate_against, look.rate, look.mean)[arm == self._plan.measured]
            return Condition(
                name=name, share=look.rate if arm == self._plan.measured else look.rate_against, shown=shown
            )
        ended = self._ended[student, arm]
        return Condition(name=name, share=ended[True] / ended.total() if ended.total() else None)

    def _seconds_left(self, seconds: float) -> float | None:
        """At most: a design that may stop early often needs less. Unknown until every student has a pace."""
        left = 0.0
        for student in self._plan.students:
            done = self._done(student.name)
            if student.name in self._over or done >= self._most():
                continue
            new = done - self._before.get(student.name, 0)
            if new < _LEAST_PAIRS_FOR_A_PACE:
                return None
            left = max(left, seconds / new * (self._most() - done))
        cap = None if self._client is None else self._client.seconds_left()
        return left if cap is None else min(left, max(0.0, cap))

    def _spent(self) -> LiveSpending:
        if self._client is None:
            return LiveSpending(cost=0.0, max_cost=None, calls=0, max_calls=None, tokens=0, max_tokens=None)
        spent, budget = self._client.spent, self._client.budget
        return LiveSpending(
            cost=spent.cost,
            max_cost=budget.max_cost,
            calls=spent.calls,
            max_calls=budget.max_calls,
            tokens=spent.tokens,
            max_tokens=budget.max_total_tokens,
        )
