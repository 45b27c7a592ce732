"""What `upskill eval` shows on stderr while it runs: the plan, then live figures."""

import time
from collections import Counter
from collections.abc import Sequence

from upskill.cli.live_display import StepProgress
from upskill.cli.screen import Line
from upskill.domain import Arm, Errored, Skill, Trial, TrialPlan, harness_info
from upskill.domain.progress import Waiting
from upskill.domain.text import count
from upskill.measuring import Decision, DroppedPair, Pair, RunningLift
from upskill.measuring.lift import RunningLook
from upskill.models import MeteredClient
from upskill.reporting.glance.names import names_by_model, unique_names
from upskill.reporting.live_table import Condition, LiveSpending, LiveStudent, LiveTable, live_block, log_lines
from upskill.reporting.wording import arm_name, percents
from upskill.workflows.progress import RunProgress

_LEAST_PAIRS_FOR_A_PACE = 2
_STYLES = {"helps": "blue", "cheaper": "blue", "hurts": "orange"}


class TrialProgress(StepProgress, RunProgress):
    """Shows an evaluation. On the engine's thread trials and pairs are only counted."""

    def __init__(self, *, no_color: bool = False) -> None:
        super().__init__(no_color=no_color)
        self._figures: Figures | None = None
        self._plan_lines: list[str] = []

    def evaluation_planned(self, plan: TrialPlan, *, skill: Skill, lines: Sequence[str], notes: Sequence[str]) -> None:
        self.show(None)
        self.note(_headline(plan, skill) if self.animated else f"{_headline(plan, skill)}; {lines[0]}")
        conditions = " and ".join(_arm_title(arm, plan) for arm in plan.arms)
        tools = "; models have tools" if harness_info(plan.harness).with_tools else ""
        self._plan_lines = [f"  {line}" for line in (f"{conditions}{tools}", *lines, *notes)]
        self._figures = Figures(plan)

    def show_plan(self) -> None:
        """Show all of the plan in lines that stay, to a person who is asked whether to run it."""
        for line in self._plan_lines:
            self.note(line)

    def evaluation_begun(self, client: MeteredClient) -> None:
        """Show live figures from here on."""
        if self._figures is not None:
            self._figures.begin(client)
            self.show(self._figures)

    def pair_finished(self, student: str, pair: Pair | DroppedPair, *, decision: Decision | None) -> None:
        if self._figures is not None:
            self._figures.add_pair(student, pair, decision=decision)

    def trial_finished(self, trial: Trial) -> None:
        if self._figures is not None:
            self._figures.add_trial(trial)


def _arm_title(arm: Arm, plan: TrialPlan) -> str:
    """The arm by name; of two versions, the measured one is the new version and not "with the skill"."""
    return "new version" if plan.against == "previous" and arm == plan.measured else arm_name(arm, plan.harness)


def _headline(plan: TrialPlan, skill: Skill) -> str:
    """What is measured, and how much of it, in one line."""
    names = [student.name for student in plan.students]
    on = unique_names(names)[0] if len(names) == 1 else f"{len(names)} models"
    often = count(plan.repeats, "repeat")
    often = f"up to {often}" if plan.design == "sequential" else often
    what = f"Measuring {on} without a skill" if plan.measured == "ceiling" else f"Evaluating {skill.name} on {on}"
    return f"{what}: {count(len(plan.cases), 'case')}, {often} each"


class Figures:
    """The counts of a run, and the live table made from them."""

    def __init__(self, plan: TrialPlan) -> None:
        self._plan = plan
        self._names = names_by_model([student.name for student in plan.students])
        self._compared = plan.against is not None
        self._lifts = {student.name: RunningLift(cases=len(plan.cases)) for student in plan.students}
        self._decisions: dict[str, Decision] = {}
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

    def add_pair(self, student: str, pair: Pair | DroppedPair, *, decision: Decision | None) -> None:
        self._lifts[student].add(pair)
        if decision is not None:
            self._decisions[student] = decision

    def add_trial(self, trial: Trial) -> None:
        outcome = trial.outcome
        if isinstance(outcome, Errored):
            self._errored += outcome.was_run
        else:
            self._ended[trial.student, trial.arm][outcome.passed] += 1

    def block(self, *, width: int, height: int, drawn: bool) -> Sequence[Line]:
        """A bar, a table of students, and a line on time, money and what is waited for."""
        block = live_block(self.now(), width=width, height=height, drawn=drawn)
        rows = [Line(row.text, _STYLES.get(row.verdict or "", "")) for row in block.rows]
        return [Line(block.progress), Line(block.head, "dim"), *rows, Line(block.status, "dim")]

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
            waiting=Waiting() if self._client is None else self._client.waiting(),
            with_sandbox=harness_info(self._plan.harness).with_tools,
        )

    def _done(self, student: str) -> int:
        return self._lifts[student].pairs if self._compared else self._ended[student, self._plan.measured].total()

    def _most(self) -> int:
        return self._plan.most_turns

    def _student(self, name: str) -> LiveStudent:
        look = self._lifts[name].look() if self._compared else None
        done, decision = self._done(name), self._decisions.get(name)
        return LiveStudent(
            name=self._names[name],
            done=done,
            most=self._most(),
            over=decision is not None or done >= self._most(),
            verdict=None if decision is None else decision.verdict,
            conditions=tuple(self._condition(name, arm, look) for arm in self._plan.arms),
            lift=None if look is None else look.mean,
            interval=None if look is None else look.interval,
        )

    def _condition(self, student: str, arm: Arm, look: RunningLook | None) -> Condition:
        name = _arm_title(arm, self._plan)
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
            if student.name in self._decisions or done >= self._most():
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
