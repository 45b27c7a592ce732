"""What is shown on stderr while a teacher works: a line for every stage, and how far the present one is."""

from collections.abc import Callable, Sequence
from pathlib import Path

from upskill.cli.live_display import StepProgress
from upskill.domain import Skill, Trial, TrialPlan
from upskill.workflows.progress import RunProgress

_ANSWERS = "answers"


class TimedProgress(StepProgress):
    """A teacher can take minutes to answer: a clock runs under the last line meanwhile."""

    def __init__(self, *, quiet: bool = False, no_color: bool = False) -> None:
        super().__init__(no_color=no_color)
        self._quiet = quiet

    def note(self, line: str) -> None:
        """Show the line, and a clock that begins now."""
        if not self._quiet:
            super().note(line)
            self._begin("working", None)

    def step(self, what: str, done: int, of: int | None) -> None:
        """Show how far it is, unless only the result is wanted."""
        if not self._quiet:
            super().step(what, done, of)

    def ask(self, question: Callable[[], bool]) -> bool:
        """What the person answers. No clock runs meanwhile."""
        self.show(None)
        answer = question()
        self._begin("working", None)
        return answer

    def _begin(self, what: str, of: int | None) -> None:
        if not self._quiet:
            self._step = None
            self.show_step(what, 0, of)


class TeachingProgress(TimedProgress, RunProgress):
    """Shows the stages of a `generate`. No clock runs before there is a run."""

    def __init__(self, *, quiet: bool = False, no_color: bool = False) -> None:
        super().__init__(quiet=quiet, no_color=no_color)
        self._total = self._done = 0
        self._indent = ""
        self.run: Path | None = None
        """The run folder, once there is one."""

    def note(self, line: str) -> None:
        """Show the line, indented where it belongs to a stage."""
        super().note(f"{self._indent}{line}")

    def step(self, what: str, done: int, of: int | None) -> None:
        """Steps within a stage are not shown: its answers are."""

    def generate_planned(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.note(line)

    def run_created(self, run: Path) -> None:
        self.run = run

    def stage_begun(self, line: str) -> None:
        """Show the line; the notes that follow are indented."""
        super().note(line)
        self._indent = "  "

    def evaluation_planned(self, plan: TrialPlan, *, skill: Skill, lines: Sequence[str], notes: Sequence[str]) -> None:
        """Show only how many answers there will be: the price of the whole was shown before."""
        self._total, self._done = len(plan), 0
        self._begin(_ANSWERS, self._total)

    def trial_finished(self, trial: Trial) -> None:
        self._done += 1
        if not self._quiet:
            self.show_step(_ANSWERS, self._done, self._total)

    def _begin(self, what: str, of: int | None) -> None:
        if self.run is not None:
            super()._begin(what, of)
