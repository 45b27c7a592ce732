"""What is told of work under way: steps and notes, and what evaluations and `generate` report while they run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from upskill.core.models import MeteredClient
    from upskill.core.nouns import Skill, Trial, TrialPlan
    from upskill.core.statistics import DroppedPair, Pair


class Progress:
    """Receives reports on long work; each method does nothing until it is overridden.

    It is called on the thread that does the work, so it must return at once.
    """

    def note(self, line: str) -> None:
        """Report a line for a person."""

    def announce(self, line: str) -> None:
        """Report a server or an alias that nobody typed, before anything is sent."""
        self.note(line)

    def step(self, what: str, done: int, of: int | None) -> None:
        """Report that `done` of `of` are done; `of` is `None` where the total is unknown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """What a run waits for at one moment."""

    answers: int = 0
    """Requests that are under way."""
    longest_seconds: float = 0.0
    """For how long the oldest of them is under way."""
    retries: int = 0
    """Requests that will be sent again."""
    retry_seconds: float = 0.0
    """Until the first of them."""
    busy: bool = False
    """Whether that one was told to slow down; otherwise it was lost."""


class PricedPlan(Protocol):
    """A plan with its price and time in words, about which a person is asked."""

    @property
    def price(self) -> str: ...

    @property
    def minutes(self) -> str: ...


SILENT = Progress()


class RunProgress(Progress):
    """Receives reports on a run; each method does nothing until it is overridden.

    A `generate` runs several evaluations and passes their reports on. Methods are called on the engine's thread, so
    they must return at once.
    """

    def evaluation_planned(
        self, plan: "TrialPlan", *, skill: "Skill", lines: Sequence[str], notes: Sequence[str]
    ) -> None:
        """An evaluation was checked and nothing was spent yet. `lines` tell a person what it takes, calls first."""

    def evaluation_begun(self, client: "MeteredClient") -> None:
        """The first call is about to be made; `client` knows what is spent.

        The finished trials of a resumed run are reported before this.
        """

    def trial_finished(self, trial: "Trial") -> None:
        """A trial ended and is on disk."""

    def pair_finished(self, student: str, pair: "Pair | DroppedPair", *, over: bool) -> None:
        """Both answers of a pair ended; `over`: the student is asked nothing more."""

    def generate_planned(self, lines: Sequence[str]) -> None:
        """A `generate` was checked and nothing was spent yet. `lines` tell a person who is asked and what it takes."""

    def run_created(self, run: Path) -> None:
        """A `generate` has a run folder, from which it can be resumed."""

    def stage_begun(self, line: str) -> None:
        """A `generate` begins a stage, named in a line for a person; later notes belong to it."""


SILENT_RUN = RunProgress()


class CountedAnswers(RunProgress):
    """Reports trials as one step: how many of all answers have ended."""

    def __init__(self, progress: Progress, total: int, *, what: str = "answers") -> None:
        self._progress, self.total, self._what, self._done = progress, total, what, 0
        progress.step(what, 0, total)

    def note(self, line: str) -> None:
        self._progress.note(line)

    def trial_finished(self, trial: "Trial") -> None:
        self._done += 1
        self._progress.step(self._what, min(self._done, self.total), self.total)
