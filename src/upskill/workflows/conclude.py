"""From a student's finished trials to what is said of it."""

from upskill import measuring
from upskill.domain import Arm, Errored, Scored, Student, StudentReport, Trial, TrialPlan
from upskill.measuring.verdict import CutShort
from upskill.workflows.course import FixedCourse, SequentialCourse


def conclude(
    student: Student,
    plan: TrialPlan,
    course: FixedCourse | SequentialCourse,
    finished: list[Trial],
    *,
    min_lift: float | None = None,
    cut_short: CutShort | None = None,
) -> StudentReport:
    """The report of one student. Trials bought after a decision are paid for and counted apart."""
    bought = [trial for trial in finished if trial.calls]
    finished = _without_superseded(finished)
    counted = [trial for trial in finished if course.counts(trial)]
    arms = tuple(measuring.summarise_arm(counted, arm=arm, cases=len(plan.cases)) for arm in plan.arms)
    spent = sum(trial.usage.cost or 0.0 for trial in bought) if student.price is not None else None
    if plan.against is None:
        return StudentReport(
            student=student,
            harness=plan.harness,
            verdict=None,
            sentence="no baseline was run, so nothing is said about lift",
            arms=arms,
            lifts=(),
            spent=spent,
        )
    judgement = _judge(course, counted, against=plan.against, min_lift=min_lift, cut_short=cut_short)
    return StudentReport(
        student=student,
        harness=plan.harness,
        verdict=judgement.verdict,
        sentence=judgement.sentence,
        arms=arms,
        lifts=(judgement.lift,) if judgement.lift is not None else (),
        spent=spent,
        claim=judgement.claim,
        stopped=judgement.reason,
        clears=judgement.clears,
        late=sum(trial.calls > 0 for trial in finished) - sum(trial.calls > 0 for trial in counted),
    )


def _without_superseded(finished: list[Trial]) -> list[Trial]:
    """The latest scored trial per case, arm and repeat; what was called off goes once it has been run after all."""
    latest: dict[tuple[str, str, int], Trial] = {}
    for trial in finished:
        if isinstance(trial.outcome, Scored):
            latest[trial.case_id, trial.arm, trial.repeat] = trial
    return [
        trial
        for trial in finished
        if latest.get((trial.case_id, trial.arm, trial.repeat), trial) is trial
        or (isinstance(trial.outcome, Errored) and trial.outcome.was_run)
    ]


def _judge(
    course: FixedCourse | SequentialCourse,
    counted: list[Trial],
    *,
    against: Arm,
    min_lift: float | None,
    cut_short: CutShort | None,
) -> measuring.Judgement:
    if isinstance(course, SequentialCourse):
        decision = course.end("cap" if cut_short is None or cut_short == "down" else cut_short)
        z, pairing = measuring.Z_SEQUENTIAL, course.pairing
    else:
        decision = None
        z, pairing = measuring.Z_FIXED, measuring.pair_trials(counted, arm="with_skill", against=against)
    tokens = measuring.measure_tokens(counted, arm="with_skill", against=against, z=z)
    # A decision that fell before the endpoint went down, or before the person stopped, stands.
    decided = decision is not None and decision.reason not in ("cap", "budget", "interrupted")
    return measuring.judge(
        pairing,
        decision=decision,
        tokens=tokens,
        min_lift=min_lift,
        cut_short=None if decided else cut_short,
    )
