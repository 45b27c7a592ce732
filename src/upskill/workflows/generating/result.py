"""Parts of the result of a `generate`, as values."""

from collections.abc import Sequence

from upskill.domain import Case
from upskill.domain.generated import AttemptSummary
from upskill.workflows.evaluating.notes import cap_notes
from upskill.workflows.generating.plan import uses_of
from upskill.workflows.generating.prove import Proof
from upskill.workflows.generating.refine import RefineResult


def is_settled(proof: Proof) -> bool:
    """Whether an outage came too late to change anything."""
    return not proof.students or all(one.verdict not in ("invalid", "undecided") for one in proof.students)


def measured_notes(proof: Proof | None) -> tuple[str, ...]:
    """Notes of the held-out evaluation, without the cap it reached: that is noted with how to resume."""
    evaluation = None if proof is None else proof.evaluation
    if evaluation is None:
        return ()
    noted_elsewhere = cap_notes(evaluation.end)
    return tuple(note for note in evaluation.notes if note not in noted_elsewhere)


def attempt_summaries(refined: RefineResult | None) -> tuple[AttemptSummary, ...]:
    """How each attempt did on the learn cases."""
    return tuple(
        AttemptSummary(
            number=attempt.number,
            passed=attempt.passes,
            of=len(attempt.passed),
            presentation=attempt.presentation,
        )
        for attempt in (refined.attempts if refined is not None else ())
    )


def counted_cases(cases: Sequence[Case]) -> tuple[int, int, int]:
    """How many to learn from, held out, negative."""
    uses = uses_of(cases)
    return uses["learn"], uses["held_out"], uses["negative"]
