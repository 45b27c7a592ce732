"""The figures of `upskill eval` on stderr while it runs: the plan, then how the evaluation stands."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from upskill.core.models import Budget, MeteredClient, Spending
from upskill.core.nouns import Arm, Errored, Skill, Trial, TrialPlan, harness_info
from upskill.core.nouns.text import MINUS, count, points, printable
from upskill.core.progress import RunProgress, Waiting
from upskill.core.statistics import DroppedPair, Pair, RunningLift
from upskill.core.statistics.lift import RunningLook
from upskill.report.wording import arm_name, dollars, names_by_model, percents, unique_names
from upskill.terminal.display import Line, StepProgress, clock, progress_bar

_LEAST_PAIRS_FOR_A_PACE = 2
_LEAST_NAME = 12
_GAP = "  "
_SHORT_WAIT_SECONDS = 2.0
"""An answer that takes less is not worth a word."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """What one student did so far with the skill, or without it."""

    name: str
    share: float | None
    """What passed; `None` where nothing was measured."""
    shown: str | None = None
    """In percent, as it stands beside a lift; `None` where there is none."""

    @property
    def rate(self) -> str:
        """In whole percent; a dash where nothing was measured."""
        return "-" if self.share is None else self.shown or f"{self.share:.0%}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveStudent:
    """How far one student has come."""

    name: str
    done: int
    most: int
    over: bool
    conditions: tuple[Condition, ...]
    lift: float | None
    """Without an interval: whoever watches looks at any moment, and the result has the interval of its design."""

    @property
    def at_most(self) -> int:
        """How many pairs it can still come to."""
        return self.done if self.over else self.most


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveTable:
    """The whole evaluation at one moment."""

    unit: str
    """What is counted: pairs, or answers where nothing is compared."""
    students: tuple[LiveStudent, ...]
    seconds: float
    seconds_left: float | None
    """At most; `None` while nobody knows."""
    spent: Spending
    budget: Budget
    errored: int
    waiting: Waiting = Waiting()  # noqa: RUF009 - frozen
    with_sandbox: bool = False
    """Whether something is executed, so that not all waiting is for answers."""

    @property
    def is_over(self) -> bool:
        """Whether every student is done."""
        return all(one.over for one in self.students)

    @property
    def has_begun(self) -> bool:
        """Whether anything was sent or came back."""
        return bool(self.spent.calls or self.errored or any(one.done for one in self.students))


def live_block(now: LiveTable, *, width: int, height: int, drawn: bool) -> list[Line]:
    """A bar, a line of names, one line per student, a line on money, time and what is waited for.

    Each is shorter than the terminal is wide.
    """
    most = max(1, height - 3)
    shown = now.students if len(now.students) <= most else now.students[: most - 1]
    dots = "…" if drawn else "~"
    compared = any(student.lift is not None for student in now.students) or now.unit == "pairs"
    names = [one.name.removesuffix(" the skill") for one in now.students[0].conditions]
    head = ["model", now.unit, *names, *(["lift so far"] if compared else [])]
    body = [_cells(student, compared=compared, drawn=drawn) for student in shown]
    widths = [max(map(cell_len, column)) for column in zip(head, *body, strict=True)]
    room = width - 1 - 2 - sum(widths[1:]) - len(_GAP) * (len(widths) - 1)
    widths[0] = max(min(widths[0], room), min(_LEAST_NAME, widths[0]))
    rows = [
        Line(_row(cells, widths, dots=dots, width=width), "dim" if student.over else "")
        for cells, student in zip(body, shown, strict=True)
    ]
    if len(shown) < len(now.students):
        rows.append(Line(_fitted(f"  and {len(now.students) - len(shown)} more", width - 1, dots)))
    return [
        Line(_joined(list(_progress(now, drawn=drawn)), width - 1, dots)),
        Line(_row(head, widths, dots=dots, width=width), "dim"),
        *rows,
        Line(_joined(list(_status(now)), width - 1, dots), "dim"),
    ]


def log_lines(now: LiveTable) -> Iterator[str]:
    """The same for a log: a line per student and one on money and time."""
    for student in now.students:
        rates = ", ".join(f"{one.name} {one.rate}" for one in student.conditions)
        lift = "" if student.lift is None else f", lift so far {_lift(student)}"
        done = f"{student.done:,} {now.unit}, done" if student.over else f"{_count(student)} {now.unit}"
        yield f"  {student.name}: {done}, {rates}{lift}"
    left = [] if now.is_over or now.seconds_left is None else [_left(now.seconds_left)]
    clocked, *others = _status(now)
    yield f"  {', '.join([clocked.strip(), *left, *others])}"


def _progress(now: LiveTable, *, drawn: bool) -> Iterator[str]:
    """How much of the whole evaluation is done. Whoever is decided needs no more, so the whole becomes smaller."""
    done, most = sum(one.done for one in now.students), sum(one.at_most for one in now.students)
    yield f"  {progress_bar(done, most, drawn=drawn)}  {done:,} of at most {most:,} {now.unit}"
    if not now.is_over and now.has_begun:
        yield "no time estimate yet" if now.seconds_left is None else _left(now.seconds_left)


def _cells(student: LiveStudent, *, compared: bool, drawn: bool) -> list[str]:
    name = printable(student.name, instead="?")
    cells = [name, _count(student), *(f"{one.rate:>4}" for one in student.conditions)]
    if not compared:
        return cells
    return [*cells, _lift(student) if drawn else _lift(student).replace(MINUS, "-")]


def _count(student: LiveStudent) -> str:
    return f"{student.done:,}, done" if student.over else f"{student.done:,} of {student.most:,}"


def _lift(student: LiveStudent) -> str:
    if student.lift is None:
        return "-"
    return points(student.lift)


def _status(now: LiveTable) -> Iterator[str]:
    yield f"  {clock(now.seconds)}"
    if not now.is_over and (waiting := waiting_words(now)):
        yield waiting
    spent, most = now.spent, now.budget
    if spent.cost is None:
        yield "price unknown"
    elif not spent.calls:
        yield "nothing spent"
    else:
        yield f"spent {dollars(spent.cost)}" + ("" if most.max_cost is None else f" of at most ${most.max_cost:,.2f}")
    if now.errored:
        yield f"{now.errored:,} errored"
    yield f"{spent.calls:,}{'' if most.max_calls is None else f' of at most {most.max_calls:,}'} calls"
    yield f"{spent.tokens:,}{'' if most.max_total_tokens is None else f' of at most {most.max_total_tokens:,}'} tokens"


def waiting_words(now: LiveTable) -> str:
    """What holds the evaluation up, as far as that is known; nothing where it is not, or not for long."""
    waiting = now.waiting
    if waiting.answers and waiting.longest_seconds >= _SHORT_WAIT_SECONDS:
        return f"waiting for {count(waiting.answers, 'answer')}, longest {clock(waiting.longest_seconds)}"
    if waiting.retries and not waiting.answers:
        why = "server busy" if waiting.busy else "no answer"
        return f"{why}: retry in {clock(max(1.0, waiting.retry_seconds))}"
    if not now.has_begun:
        return "starting sandboxes" if now.with_sandbox else "starting"
    return "running tools and checks" if now.with_sandbox and not waiting.answers else ""


def _left(seconds: float) -> str:
    if seconds < 60:
        return "less than a minute left"
    minutes = -(-int(seconds) // 60)
    return f"at most {minutes} min left" if minutes < 120 else f"at most {-(-minutes // 60)} h left"


def _row(cells: Sequence[str], widths: Sequence[int], *, dots: str, width: int) -> str:
    name = cells[0]
    if cell_len(name) > widths[0]:
        # Names of models differ at their end.
        name = dots + _last_cells(name, widths[0] - 1)
    parts = [set_cell_size(name, widths[0])]
    parts += [set_cell_size(cell, size) for cell, size in zip(cells[1:], widths[1:], strict=True)]
    return _fitted(f"  {_GAP.join(parts)}".rstrip(), width - 1, dots)


def _last_cells(text: str, most: int) -> str:
    while cell_len(text) > most:
        text = text[1:]
    return text


def _joined(parts: list[str], most: int, dots: str) -> str:
    """As many as there is room for, the most telling first."""
    said = parts[0]
    for part in parts[1:]:
        if cell_len(said) + 2 + cell_len(part) <= most:
            said = f"{said}, {part}"
    return _fitted(said, most, dots)


def _fitted(text: str, most: int, dots: str) -> str:
    return text if cell_len(text) <= most else set_cell_size(text, max(1, most - 1)) + dots


class TrialProgress(StepProgress, RunProgress):
    """Shows an evaluation. On the engine's thread trials and pairs are only counted."""

    def __init__(self) -> None:
        super().__init__()
        self._figures: Figures | None = None
        self._plan_lines: list[str] = []

    def evaluation_planned(self, plan: TrialPlan, *, skill: Skill, lines: Sequence[str], notes: Sequence[str]) -> None:
        self.show(None)
        self._figures = Figures(plan)
        headline = self._figures.headline(skill)
        self.note(headline if self.animated else f"{headline}; {lines[0]}")
        conditions = " and ".join(map(self._figures.arm_title, plan.arms))
        tools = "; models have tools" if harness_info(plan.harness).with_tools else ""
        self._plan_lines = [f"  {line}" for line in (f"{conditions}{tools}", *lines, *notes)]

    def show_plan(self) -> None:
        """Show all of the plan in lines that stay, to a person who is asked whether to run it."""
        for line in self._plan_lines:
            self.note(line)

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
        self._names = names_by_model([student.name for student in plan.students])
        self._compared = plan.against is not None
        self._lifts = {student.name: RunningLift() for student in plan.students}
        self._over: set[str] = set()
        # Both counts exist from the start: a dict that grows cannot be read from another thread.
        self._ended: dict[tuple[str, Arm], Counter[bool]] = {
            (student.name, arm): Counter({True: 0, False: 0}) for student in plan.students for arm in plan.arms
        }
        self._errored = 0
        self._client: MeteredClient | None = None
        self._began = time.monotonic()
        self._before: dict[str, int] = {}

    def headline(self, skill: Skill) -> str:
        """What is measured, and how much of it, in one line."""
        plan, names = self._plan, list(self._names)
        on = unique_names(names)[0] if len(names) == 1 else f"{len(names)} models"
        often = count(plan.repeats, "repeat")
        often = often if plan.design == "fixed" else f"up to {often}"
        what = f"Measuring {on} without a skill" if plan.measured == "ceiling" else f"Evaluating {skill.name} on {on}"
        return f"{what}: {count(len(plan.cases), 'case')}, {often} each"

    def arm_title(self, arm: Arm) -> str:
        """The arm by name; of two versions, the measured one is the new version and not "with the skill"."""
        new = self._plan.against == "previous" and arm == self._plan.measured
        return "new version" if new else arm_name(arm, self._plan.harness)

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
        """A bar, a table of students, and a line on time, money and what is waited for."""
        return live_block(self.now(), width=width, height=height, drawn=drawn)

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
            spent=Spending() if self._client is None else self._client.spent,
            budget=Budget() if self._client is None else self._client.budget,
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
        done = self._done(name)
        return LiveStudent(
            name=self._names[name],
            done=done,
            most=self._most(),
            over=name in self._over or done >= self._most(),
            conditions=tuple(self._condition(name, arm, look) for arm in self._plan.arms),
            lift=None if look is None else look.mean,
        )

    def _condition(self, student: str, arm: Arm, look: RunningLook | None) -> Condition:
        name = self.arm_title(arm)
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
