"""Progress on stderr: one line that is rewritten on a terminal, a few lines elsewhere."""

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import click

from upskill.domain import Errored, Skill, Trial, TrialPlan
from upskill.measuring import Pairing
from upskill.reporting.arms import arm_name
from upskill.workflows.estimate import PlanEstimate

if TYPE_CHECKING:
    from upskill.workflows.generate import GeneratePlan

_REDRAW_SECONDS = 0.1


class TrialProgress:
    """Counts trials as they end. Draws at most ten times a second."""

    def __init__(self) -> None:
        self._tty = sys.stderr.isatty()
        self._total = self._done = self._errored = 0
        self._started = self._drawn = time.monotonic()
        self._next_share = 0.25

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clear()

    def _clear(self) -> None:
        if self._tty and self._total:
            click.echo("\r\x1b[K", nl=False, err=True)

    def preparing(self, what: str) -> None:
        """Say what is waited for."""
        self._say(what)

    def planned(self, plan: TrialPlan, *, skill: Skill, estimate: PlanEstimate, notes: tuple[str, ...]) -> None:
        """Say what will be run and what it can cost."""
        self._total, self._started = len(plan), time.monotonic()
        names = ", ".join(student.name for student in plan.students)
        self._say(f"Evaluating {skill.name} on {names}...")
        students = f" x {len(plan.students)} models" if len(plan.students) > 1 else ""
        runs = f"up to {plan.repeats}" if plan.design == "sequential" else f"{plan.repeats}"
        self._say(f"  {len(plan.cases)} test case(s) x {runs} run(s) x {len(plan.arms)} arm(s){students}")
        if plan.harness == "agent":
            self._say(f"  students work with tools; {', '.join(arm_name(arm, plan.harness) for arm in plan.arms)}")
        self._say(f"  {estimate.calls}; price {estimate.price}; {estimate.minutes}")
        self._say(f"  {estimate.detectable}")
        for note in notes:
            self._say(f"  note: {note}")

    def first_round(self, student: str, pairing: Pairing) -> None:
        """The first figures, before anything is decided."""
        pairs = len(pairing.pairs)
        if pairs:
            passed = sum(pair.passed for pair in pairing.pairs)
            against = sum(pair.passed_against for pair in pairing.pairs)
            rates = f"{against / pairs:.0%} -> {passed / pairs:.0%}"
            self._clear()
            self._say(f"  after the first round, {student}: {rates} in {pairs} pair(s), {pairing.dropped} dropped")

    def finished(self, trial: Trial) -> None:
        """One more trial has ended."""
        self._done += 1
        self._errored += isinstance(trial.outcome, Errored)
        now = time.monotonic()
        if self._tty:
            if now - self._drawn >= _REDRAW_SECONDS or self._done == self._total:
                self._drawn = now
                click.echo(f"\r\x1b[K  {self._line(now)}", nl=False, err=True)
        elif self._done >= self._total * self._next_share:
            self._next_share += 0.25
            self._say(f"  {self._line(now)}")

    def _line(self, now: float) -> str:
        errored = f", {self._errored} errored" if self._errored else ""
        elapsed = now - self._started
        left = elapsed / self._done * (self._total - self._done) / 60
        most = f", at most {left:.0f} min to go" if left >= 1 else ""
        return f"{self._done:,} of {self._total:,} trials{errored}, {elapsed:.0f} s{most}"

    def _say(self, line: str) -> None:
        click.echo(line, err=True)


class TeachingProgress:
    """How far a `generate` has come: a line for every stage, and a count of trials on a terminal."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._tty = sys.stderr.isatty() and not quiet
        self._total = self._done = 0
        self._drawn = 0.0
        self.run: Path | None = None
        """The run folder, once there is one."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clear()

    def say(self, line: str) -> None:
        """A line for a person."""
        if not self._quiet:
            self._clear()
            click.echo(line, err=True)

    def planned(self, plan: "GeneratePlan") -> None:
        """Who is asked, and for how much."""
        for line in plan.lines:
            self.say(line)

    def begun(self, run: Path) -> None:
        """Remembers where to go on."""
        self.run = run

    def measuring(self, trials: int) -> None:
        """So many trials come next, at most."""
        self._total, self._done = trials, 0

    def trial(self, trial: Trial) -> None:
        """One more trial has ended."""
        self._done += 1
        now = time.monotonic()
        if self._tty and now - self._drawn >= _REDRAW_SECONDS:
            self._drawn = now
            click.echo(f"\r\x1b[K  {self._done:,} of at most {self._total:,} trials", nl=False, err=True)

    def _clear(self) -> None:
        if self._tty and self._drawn:
            click.echo("\r\x1b[K", nl=False, err=True)
