"""What `upskill generate` says on stderr while it works: a line for every stage, and how far the present one is."""

from pathlib import Path
from typing import TYPE_CHECKING

from upskill.cli.steps import Steps
from upskill.domain import Trial

if TYPE_CHECKING:
    from upskill.workflows.generate import GeneratePlan


class TeachingProgress(Steps):
    """How far a `generate` has come. A teacher can take minutes to answer: a clock runs meanwhile."""

    def __init__(self, *, quiet: bool = False, no_color: bool = False) -> None:
        super().__init__(no_color=no_color)
        self._quiet = quiet
        self._total = self._done = 0
        self.run: Path | None = None
        """The run folder, once there is one."""

    def say(self, text: str, *, indent: int = 0) -> None:
        """A line for a person, and a clock under it once there is a run."""
        if self._quiet:
            return
        super().say(text, indent=indent)
        if self.run is not None:
            self._begin("at work", None)

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
        """Something new: its clock begins now."""
        if not self._quiet:
            self._step = None
            self.step(what, 0, of)
