"""What goes into `skill_meta.json` of a skill that was generated: where it came from and what it was measured to do."""

from collections.abc import Sequence
from dataclasses import replace

from upskill import storage
from upskill.domain import DEFAULT_HARNESS, Cap, Interval, Purchase
from upskill.domain.generated import StudentClaim, worst_of
from upskill.domain.student_profile import Aptitude
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
            StudentClaim(student=one.student, status=one.verdict, sentence=one.sentence, claim=one.claim)
            for one in proof.students
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
    aptitude: tuple[Aptitude, ...] = (),
) -> SkillMeta:
    """The provenance of a skill, what was measured, and each use of held-out cases."""
    gathered, roles = inputs.gathered, inputs.roles
    skill = gathered.skill_folder
    before = read_meta(skill) if skill is not None and skill.is_dir() else SkillMeta()
    run = folder.path.name
    uses = [use for use in before.held_out_uses if use.run != run]
    if proof is not None and proof.held_out:
        uses.append(HeldOutUse(cases=proof.held_out, run=run, at=now(), helped=proof.proven))
    old = None if folder.previous is None else storage.read_skill(folder.previous).digest
    measured = tuple(_measured(claim, roles, proof) for claim in claims)
    kept = _still_known(before, measured, version=old)
    first_task = before.provenance.task if before.provenance is not None else gathered.material.task
    return SkillMeta(
        status=worst_of(tuple(one.status for one in kept)) if kept else status,
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
            improved_from=old,
            improved_for=gathered.wish,
            aptitude=aptitude,
        ),
        measured=(*measured, *kept),
        held_out_uses=tuple(uses),
    )


def _still_known(
    before: SkillMeta, measured: Sequence[MeasuredLift], *, version: str | None
) -> tuple[MeasuredLift, ...]:
    """What was measured before against no skill, which a comparison with an older version does not replace."""
    if any(one.against == "baseline" and one.mean is not None for one in measured):
        return ()
    earlier = (one for one in before.measured if one.against == "baseline" and one.mean is not None)
    return tuple(replace(one, version=one.version or version) for one in earlier)


def _measured(claim: StudentClaim, roles: Roles, proof: Proof | None) -> MeasuredLift:
    endpoint = next(student for student in roles.students if student.name == claim.student)
    reports = () if proof is None or proof.evaluation is None else proof.evaluation.students
    report = next((one for one in reports if one.student.name == claim.student), None)
    lift = next((one.lift for one in (() if proof is None else proof.students) if one.student == claim.student), None)
    rate, rate_against = (None, None) if report is None else (report.rate(arm) for arm in report.compared)
    return MeasuredLift(
        model=claim.student,
        resolved=endpoint.model,
        endpoint=endpoint.base_url,
        harness=DEFAULT_HARNESS if report is None else report.harness,
        status=claim.status,
        sentence=claim.sentence,
        against="baseline" if lift is None else lift.against,
        mean=None if lift is None else lift.mean,
        these_cases=_bounds(None if lift is None else lift.these_cases),
        cases_like_these=_bounds(None if lift is None else lift.cases_like_these),
        pairs=0 if lift is None else lift.pairs,
        dropped=0 if lift is None else lift.dropped,
        pass_rate=rate,
        pass_rate_against=rate_against,
        at=now(),
    )


def _bounds(interval: Interval | None) -> tuple[float, float] | None:
    return None if interval is None else (interval.low, interval.high)
