"""How refining and proving measure a draft, as a protocol: they know neither run folders nor engines.

`generate` implements it over `evaluate`, in the run folder; simulations implement it over a student made of chances.
Both go through the same courses and the same conclusion, so what holds for one holds for the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from upskill.domain import Arm, Case, Draft, Evaluation, Trial


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One draft put on trial."""

    evaluation: Evaluation
    """As `evaluate` reports it: one report per student, with the arms that were compared."""
    trials: tuple[Trial, ...]
    """All trials of all students, with answers and files left: a teacher is shown what a student did."""
    cut_short: str | None = None
    """Why it ended before its plan did, in words (`stopped at the cap of $10.00`); nothing more can be bought then."""

    def of(self, student: str) -> tuple[Trial, ...]:
        """The trials of one student."""
        return tuple(trial for trial in self.trials if trial.student == student)

    def compared(self, student: str) -> tuple[Arm, Arm]:
        """The arm that is measured, and the one it is measured against."""
        return next(one.compared for one in self.evaluation.students if one.student.name == student)


class Measure(Protocol):
    """Puts a draft on trial with every student, and brings the evaluation and its trials."""

    def __call__(
        self,
        stage: str,
        draft: Draft,
        cases: Sequence[Case],
        *,
        against: Draft | None = None,
        repeats: int | None = None,
        fresh: bool = False,
    ) -> Measured:
        """Measure `draft` on these cases against an older draft, or against no skill at all (`None`).

        `stage` names the evaluation within one `generate`, in letters, digits and hyphens: `learn-1`, `held-out`,
        `negative`, `suspects-1`. The same stage is asked for once only; a resumed command asks for it again and is
        given what it had. `repeats` fixes the design; `None` is the design that stops when it knows.

        A trial of the same request and the same repeat that was bought before, in whichever stage, is not bought again
        (so the baseline of the learn cases is bought once), unless `fresh` asks for trials that nobody has seen.

        Raises what `evaluate` raises where nothing can be run, and `KeyboardInterrupt` where a person stopped it: what
        had ended is saved by then. An outage during the run, or a cap that was reached, is in what is returned.
        """
        ...
