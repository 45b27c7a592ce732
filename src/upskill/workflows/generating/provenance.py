"""What goes into `skill_meta.json` of a skill that was generated: where it came from and what it was measured to do."""

from collections.abc import Sequence

from upskill import storage
from upskill.domain import DEFAULT_HARNESS, Cap, Lift, Purchase, StudentReport
from upskill.domain.generated import StudentClaim
from upskill.storage.runs import now
from upskill.storage.skill_meta import HeldOutUse, MeasuredLift, Provenance, SkillMeta, read_meta
from upskill.storage.teaching_runs import TeachingFolder, TeachingRecord
from upskill.workflows.evaluating.judge import identity
from upskill.workflows.generating.order import Roles
from upskill.workflows.generating.plan import GenerateInputs
from upskill.workflows.generating.prove import Proof


def claims_of(inputs: GenerateInputs, proof: Proof | None, *, exhausted: Cap | None) -> tuple[StudentClaim, ...]:
    """What is claimed for each student; `exhausted` is the cap that ended the run before the held-out cases."""
    if proof is not None and proof.students:
        return tuple(
            StudentClaim(student=one.student, status=one.verdict, sentence=one.sentence) for one in proof.students
        )
    status = "not proven"
    if not inputs.order.evaluate:
        status, sentence = "not measured", "not measured: it was generated with --no-eval"
    elif proof is not None:
        sentence = proof.sentence
    else:
        sentence = f"not proven: stopped at {exhausted} before the held-out cases"
    return tuple(StudentClaim(student=one.name, status=status, sentence=sentence) for one in inputs.roles.students)


def provenance_of(
    inputs: GenerateInputs,
    record: TeachingRecord,
    *,
    folder: TeachingFolder,
    proof: Proof | None,
    claims: Sequence[StudentClaim],
    status: str,
    spent: Purchase,
) -> SkillMeta:
    """Everything that is known of a skill, as values."""
    gathered, roles = inputs.gathered, inputs.roles
    skill = gathered.skill_folder
    before = read_meta(skill) if skill is not None and skill.is_dir() else SkillMeta()
    run = folder.path.name
    uses = [use for use in before.held_out_uses if use.run != run]
    if proof is not None and proof.held_out:
        uses.append(HeldOutUse(cases=proof.held_out, run=run, at=now()))
    first_task = before.provenance.task if before.provenance is not None else gathered.material.task
    return SkillMeta(
        status=status,
        provenance=Provenance(
            task=first_task if gathered.wish is not None else gathered.material.task,
            teacher=roles.teacher.name,
            teacher_model=identity(roles.teacher) or "",
            case_writer=(identity(roles.writer) or "") if inputs.writes_cases else None,
            sources=gathered.sources,
            trace_digest=gathered.trace_digest,
            versions=record.versions,
            started_at=record.started_at,
            finished_at=now(),
            cost=spent.cost,
            calls=spent.calls,
            run=run,
            improved_from=None if folder.previous is None else storage.read_skill(folder.previous).digest,
            improved_for=gathered.wish,
        ),
        measured=tuple(_measured(claim, roles, proof) for claim in claims),
        held_out_uses=tuple(uses),
    )


def _measured(claim: StudentClaim, roles: Roles, proof: Proof | None) -> MeasuredLift:
    endpoint = next(student for student in roles.students if student.name == claim.student)
    report = _report(claim.student, proof)
    shown = next((one for one in proof.students if one.student == claim.student), None) if proof is not None else None
    lift: Lift | None = None if shown is None else shown.lift
    rates = (None, None) if report is None else _rates(report)
    return MeasuredLift(
        model=claim.student,
        resolved=endpoint.model,
        endpoint=endpoint.base_url,
        harness=DEFAULT_HARNESS if report is None else report.harness,
        status=claim.status,
        sentence=claim.sentence,
        against="baseline" if lift is None else lift.against,
        mean=None if lift is None else lift.mean,
        these_cases=None if lift is None else (lift.these_cases.low, lift.these_cases.high),
        cases_like_these=(
            None
            if lift is None or lift.cases_like_these is None
            else (lift.cases_like_these.low, lift.cases_like_these.high)
        ),
        pairs=0 if lift is None else lift.pairs,
        dropped=0 if lift is None else lift.dropped,
        pass_rate=rates[0],
        pass_rate_against=rates[1],
        at=now(),
    )


def _report(student: str, proof: Proof | None) -> StudentReport | None:
    if proof is None or proof.evaluation is None:
        return None
    return next((one for one in proof.evaluation.students if one.student.name == student), None)


def _rates(report: StudentReport) -> tuple[float | None, float | None]:
    measured, against = (report.arm(arm) for arm in report.compared)
    return (
        None if measured is None else measured.pass_rate,
        None if against is None else against.pass_rate,
    )
