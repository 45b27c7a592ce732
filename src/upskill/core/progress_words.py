"""What evaluations and `generate` report while they run."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from upskill.core.nouns.progress import Progress

if TYPE_CHECKING:
    from upskill.core.models import MeteredClient
    from upskill.core.nouns import Skill, Trial, TrialPlan
    from upskill.core.statistics import Decision, DroppedPair, Pair


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

    def pair_finished(self, student: str, pair: "Pair | DroppedPair", *, decision: "Decision | None") -> None:
        """A pair counts, in planned order; `decision` with the pair that ended the student's schedule."""

    def generate_planned(self, lines: Sequence[str]) -> None:
        """A `generate` was checked and nothing was spent yet. `lines` tell a person who is asked and what it takes."""

    def run_created(self, run: Path) -> None:
        """A `generate` has a run folder, from which it can be resumed."""

    def stage_begun(self, line: str) -> None:
        """A `generate` begins a stage, named in a line for a person; later notes belong to it."""


SILENT_RUN = RunProgress()
