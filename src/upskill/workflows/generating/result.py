"""Parts of the result of a `generate`, as values."""

from collections.abc import Sequence

from upskill.domain import Case
from upskill.domain.generated import AttemptSummary, FailedAnswer, StudentScore
from upskill.domain.text import shortened
from upskill.teaching.failures import Failure, choose
from upskill.workflows.evaluating.notes import cap_notes
from upskill.workflows.generating.attempts import Attempt
from upskill.workflows.generating.plan import uses_of
from upskill.workflows.generating.prove import Proof

MOST_SHOWN = 400
"""Characters of a prompt, an answer or what a check saw, in the record of an attempt."""
MOST_CHECKS = 4


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


def attempt_summary(attempt: Attempt, *, best: Attempt, draft: str) -> AttemptSummary:
    """How an attempt did on the learn cases; `draft` is where it lies, seen from the run folder."""
    return AttemptSummary(
        number=attempt.number,
        passed=attempt.passes,
        of=len(attempt.passed),
        presentation=attempt.presentation,
        revises=attempt.revises,
        chosen=attempt.number == best.number,
        draft=draft,
        by_student=_scores(attempt),
        failures=tuple(map(_failed, choose(attempt.failures))),
        edits=tuple(map(str, attempt.edits)),
    )


def _scores(attempt: Attempt) -> tuple[StudentScore, ...]:
    students = dict.fromkeys(student for student, _ in attempt.passed)
    return tuple(
        StudentScore(student=name, passed=sum(mine), of=len(mine))
        for name in students
        if (mine := [passed for (student, _), passed in attempt.passed.items() if student == name])
    )


def _failed(failure: Failure) -> FailedAnswer:
    return FailedAnswer(
        case_id=failure.case_id,
        student=failure.student,
        prompt=shortened(failure.prompt, MOST_SHOWN),
        answer=shortened(failure.answer, MOST_SHOWN),
        saw=tuple(shortened(one, MOST_SHOWN) for one in failure.saw[:MOST_CHECKS]),
    )


def counted_cases(cases: Sequence[Case]) -> tuple[int, int, int]:
    """How many to learn from, held out, negative."""
    uses = uses_of(cases)
    return uses["learn"], uses["held_out"], uses["negative"]
