"""What is said on stderr while a teacher works: a line for every stage, and how far the present one is."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from upskill.cli.step_display import Steps
from upskill.domain import Trial

if TYPE_CHECKING:
    from upskill.workflows.generating.generate import GeneratePlan


class Waiting(Steps):
    """A teacher can take minutes to answer: a clock runs under the last line meanwhile."""

    def __init__(self, *, quiet: bool = False, no_color: bool = False) -> None:
        super().__init__(no_color=no_color)
        self._quiet = quiet

    def say(self, text: str) -> None:
        """A line for a person, and a clock that begins now."""
        if not self._quiet:
            super().say(text)
            self._begin("at work", None)

    def ask(self, question: Callable[[], bool]) -> bool:
        """What the person says. No clock runs meanwhile."""
        self.show(None)
        answer = question()
        self._begin("at work", None)
        return answer

    def _begin(self, what: str, of: int | None) -> None:
        """Something new: its clock begins now."""
        if not self._quiet:
            self._step = None
            self.step(what, 0, of)


class TeachingProgress(Waiting):
    """How far a `generate` has come. Nothing is waited for before there is a run."""

    def __init__(self, *, quiet: bool = False, no_color: bool = False) -> None:
        super().__init__(quiet=quiet, no_color=no_color)
        self._total = self._done = 0
        self.run: Path | None = None
        """The run folder, once there is one."""

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
        self._begin("answers of students, at most", trials)

    def trial(self, trial: Trial) -> None:
        """One more trial has ended."""
        self._done += 1
        if not self._quiet:
            self.step("answers of students, at most", self._done, self._total)

    def _begin(self, what: str, of: int | None) -> None:
        if self.run is not None:
            super()._begin(what, of)
