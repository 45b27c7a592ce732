"""Saves the result of a `generate`: the skill in its folder, with its cases and its provenance.

Nothing worse ever takes the place of what is better, and nothing is overwritten that somebody changed meanwhile.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from upskill.core.cases.files import read_skill_cases
from upskill.core.cases.skill_meta import (
    Aptitude,
    HeldOutUse,
    MeasuredLift,
    Provenance,
    SkillMeta,
    read_meta,
    replace_meta,
    write_meta,
)
from upskill.core.nouns import DEFAULT_HARNESS, Cap, Case, Interval, Skill
from upskill.core.runs.records import now
from upskill.core.skills.skills import copy_skill, read_skill
from upskill.core.trials.judge import identity
from upskill.errors import UpskillError, UsageError
from upskill.generation.draft import Draft, write_draft
from upskill.generation.edits import copy_unseen, write_description
from upskill.generation.files import TeachingFolder, shown_path
from upskill.generation.generated import StudentClaim, worst_of
from upskill.generation.order import Roles
from upskill.generation.plan import GenerateInputs
from upskill.generation.proof import Proof
from upskill.generation.teaching import Teaching

IMPROVED_FOR = "when it is loaded: only the description was revised"


def save_draft(
    state: Teaching, draft: Draft, meta: SkillMeta, cases: Sequence[Case], *, copy: Path
) -> tuple[Path, Skill]:
    """Save a draft as a new skill, or in the place of the one that it improves; returns its folder as well.

    `copy` is the copy of the draft in the run folder.
    """
    inputs, previous = state.inputs, state.previous
    old = inputs.material.skill_folder
    if not inputs.target.in_place or old is None or previous is None:
        folder = inputs.target.for_name(draft.name)
        return folder, save_new(folder, draft, meta, cases, copy=copy)
    own = None if inputs.order.case_file is not None else inputs.own_cases
    return old, save_revision(old, draft, meta, cases, previous=previous, copy=copy, own_cases=own)


def save_new(folder: Path, draft: Draft, meta: SkillMeta, cases: Sequence[Case], *, copy: Path) -> Skill:
    """Save a new skill. A folder that exists is only replaced if the same run made it."""
    there = folder.exists() or folder.is_symlink()
    if there:
        _require_ours(folder, meta, copy)
    folder.parent.mkdir(parents=True, exist_ok=True)
    skill = write_draft(folder.parent, draft, replace=there)
    write_meta(folder, meta, cases)
    return skill


def _require_ours(folder: Path, meta: SkillMeta, copy: Path) -> None:
    """Only what the same run saved before may be overwritten: it was killed while it saved, or stopped at a cap."""
    ours = same_run = False
    try:
        provenance = read_meta(folder).provenance
        same_run = provenance is not None and meta.provenance is not None and provenance.run == meta.provenance.run
        there = read_skill(folder).digest
        drafts = (copy, *TeachingFolder(path=copy.parents[2]).drafts)
        # Any draft of the run may have been saved by it before; a skill that is none of them was changed since.
        ours = there in {read_skill(draft).digest for draft in (drafts if same_run else (copy,))}
    except UpskillError:
        pass
    if not ours:
        what = "was changed since this run saved it" if same_run else "was created during this run"
        raise UsageError(
            f"{shown_path(folder)}: {what} and was not overwritten",
            hint=f"the skill is in {shown_path(copy)}; copy it from there",
        )


def save_revision(
    folder: Path,
    draft: Draft,
    meta: SkillMeta,
    cases: Sequence[Case],
    *,
    previous: Path,
    copy: Path,
    own_cases: Sequence[Case] | None,
) -> Skill:
    """Replace an older version, of which `previous` is a copy, by a better one.

    `own_cases` are those that the skill had when the run began, in the place of which `cases` are saved; `None` where
    the cases are from a file of their own: then those of the skill stay, if it has any.
    """
    there = read_skill_cases(folder, check_problems=lambda _: [])
    found = _digests(() if there is None else there.cases)
    if own_cases is None:
        cases = cases if there is None else there.cases
    elif found not in (_digests(own_cases), _digests(cases)):
        raise UsageError(
            f"{shown_path(folder)}: its cases changed during this run and were not overwritten",
            hint=f"the better version is in {shown_path(copy)}; copy it from there",
        )
    if not _is_one_of(folder, (previous, copy)):
        raise UsageError(
            f"{shown_path(folder)}: changed during this run and was not overwritten",
            hint=f"the better version is in {shown_path(copy)}; compare them",
        )
    skill = write_draft(folder.parent, draft, replace=True)
    write_meta(folder, meta, cases)
    return skill


def _digests(cases: Sequence[Case]) -> frozenset[str]:
    return frozenset(case.digest for case in cases)


def _is_one_of(folder: Path, versions: Sequence[Path]) -> bool:
    """Whether every file is as in one of the versions: in the old one, or, after a kill, partly in the new one."""
    known = {(file.path, file.sha256) for version in versions for file in read_skill(version).files}
    return all((file.path, file.sha256) in known for file in read_skill(folder).files)


def save_description(state: Teaching, description: str, meta: SkillMeta, *, copy: Path) -> tuple[Path, Skill]:
    """Save the description, and what is known of the skill; returns its folder as well.

    `copy` is the skill with the new description in the run folder.
    Raises where the skill changed meanwhile, or a folder is in the way.
    """
    old, target, previous = state.inputs.material.skill_folder, state.inputs.target, state.previous
    place = old if target.in_place and old is not None else target.for_name(copy.name)
    known = {read_skill(one).digest for one in (copy, previous) if one is not None}
    new = read_skill(copy).digest
    if target.in_place:
        if read_skill(place).digest not in known:
            raise UsageError(
                f"{shown_path(place)}: changed during this run and was not overwritten",
                hint=f"the new description is in {shown_path(copy)}; compare them",
            )
        if read_skill(place).digest != new:
            write_description(place, description)
    elif place.exists():
        # After a kill, what the same run saved; anything else is somebody's own.
        if read_skill(place).digest != new:
            raise UsageError(
                f"{shown_path(place)}: was created during this run and was not overwritten",
                hint=f"the skill is in {shown_path(copy)}; copy it from there",
            )
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        copy_skill(copy, place)
        if old is not None and old.is_dir():
            copy_unseen(old, place)
    replace_meta(place, replace(meta, digest=new))
    return place, read_skill(place)


def claims_of(inputs: GenerateInputs, proof: Proof | None, *, exhausted: Cap | None) -> tuple[StudentClaim, ...]:
    """What is claimed for each student; `exhausted` is the cap that ended the run before the held-out cases."""
    if proof is not None and proof.students:
        return tuple(
            StudentClaim(
                student=one.student, status=one.verdict, sentence=one.sentence, claim=one.claim, broken=one.broken
            )
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


def provenance_of(state: Teaching, proof: Proof | None, claims: Sequence[StudentClaim]) -> SkillMeta:
    """The provenance of a skill, what was measured, and each use of held-out cases."""
    inputs, before, old = state.inputs, _meta_before(state), _old_digest(state)
    held_out, proven = ((), False) if proof is None else (proof.held_out, proof.proven)
    material, roles = inputs.material, inputs.roles
    measured = tuple(_measured(claim, roles, proof) for claim in claims)
    kept = _still_known(before, measured, version=old)
    first_task = before.provenance.task if before.provenance is not None else material.task
    return SkillMeta(
        status=worst_of(tuple(one.status for one in kept or claims)),
        provenance=_provenance(
            state,
            task=first_task if material.wish is not None else material.task,
            case_writer=(identity(roles.writer) or "") if inputs.writes_cases else None,
            trace_digest=material.trace_digest,
            improved_for=material.wish,
            aptitude=() if state.profile is None else state.profile.aptitudes,
        ),
        measured=(*measured, *kept),
        held_out_uses=_uses(state, before, held_out, proven),
    )


def described_meta(state: Teaching, held_out: tuple[str, ...], *, proven: bool) -> SkillMeta:
    """What is known of the skill with its new description. What was measured before was measured with the old one."""
    before, old = _meta_before(state), _old_digest(state)
    known = before.provenance
    return replace(
        before,
        provenance=_provenance(
            state,
            task=known.task if known is not None else state.inputs.material.task,
            case_writer=None if known is None else known.case_writer,
            improved_for=IMPROVED_FOR,
            aptitude=() if known is None else known.aptitude,
        ),
        measured=tuple(replace(one, version=one.version or old) for one in before.measured),
        held_out_uses=_uses(state, before, held_out, proven),
    )


def _meta_before(state: Teaching) -> SkillMeta:
    skill = state.inputs.material.skill_folder
    return read_meta(skill) if skill is not None and skill.is_dir() else SkillMeta()


def _old_digest(state: Teaching) -> str | None:
    return None if state.previous is None else read_skill(state.previous).digest


def _uses(state: Teaching, before: SkillMeta, held_out: tuple[str, ...], helped: bool, /) -> tuple[HeldOutUse, ...]:
    """Each use of held-out cases or prompts, with that of this run."""
    run = state.folder.path.name
    this = (HeldOutUse(cases=held_out, run=run, at=now(), helped=helped),) if held_out else ()
    return (*(use for use in before.held_out_uses if use.run != run), *this)


def _provenance(
    state: Teaching,
    *,
    task: str,
    case_writer: str | None,
    improved_for: str | None,
    aptitude: tuple[Aptitude, ...],
    trace_digest: str | None = None,
) -> Provenance:
    teacher, spent = state.inputs.roles.teacher, state.spending.whole
    return Provenance(
        task=task,
        teacher=teacher.name,
        teacher_model=identity(teacher) or "",
        case_writer=case_writer,
        sources=state.inputs.material.sources,
        trace_digest=trace_digest,
        versions=state.record.versions,
        started_at=state.record.started_at,
        finished_at=now(),
        cost=spent.cost,
        calls=spent.calls,
        run=state.folder.path.name,
        improved_from=_old_digest(state),
        improved_for=improved_for,
        aptitude=aptitude,
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
        interval=_bounds(None if lift is None else lift.interval),
        about=None if lift is None else lift.about,
        pairs=0 if lift is None else lift.pairs,
        dropped=0 if lift is None else lift.dropped,
        pass_rate=rate,
        pass_rate_against=rate_against,
        at=now(),
    )


def _bounds(interval: Interval | None) -> tuple[float, float] | None:
    return None if interval is None else (interval.low, interval.high)
