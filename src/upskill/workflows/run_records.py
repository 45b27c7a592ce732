"""The record of an evaluation: what is known when it begins, and whether it can be gone on with."""

import os
from pathlib import Path

from upskill import trials
from upskill.errors import UsageError
from upskill.settings import Resolved
from upskill.storage.runs import CaseReference, RunFolder, RunRecord, now
from upskill.workflows.confine import recorded
from upskill.workflows.judging import identity
from upskill.workflows.prepare import Prepared
from upskill.workflows.recording import settings_record, versions


def first_record(prepared: Prepared, settings: Resolved, folder: RunFolder) -> RunRecord:
    """What is known of a run before it begins."""
    plan = prepared.plan
    return RunRecord(
        started_at=now(),
        versions=versions(),
        skill_name=prepared.skill.name,
        skill_digest=prepared.skill.digest,
        skill_source=relative(prepared.skill_folder, folder.path),
        previous_source=None if prepared.previous_folder is None else relative(prepared.previous_folder, folder.path),
        previous_digest=None if prepared.previous is None else prepared.previous.digest,
        case_source=relative(prepared.case_file, folder.path),
        cases=tuple(CaseReference(id=case.id, digest=case.digest) for case in plan.cases),
        case_states=prepared.qualifications,
        students=plan.students,
        arms=plan.arms,
        repeats=plan.repeats,
        design=plan.design,
        min_lift=prepared.min_lift,
        seed=plan.seed,
        harness=trials.HARNESSES[plan.harness],
        frame=trials.FRAMES[plan.harness],
        sandbox=recorded(prepared.sandbox),
        judge=identity(prepared.judge),
        settings=settings_record(settings),
        notes=prepared.notes,
    )


def require_unchanged(prepared: Prepared, record: RunRecord, run: Path) -> None:
    """Raise, with everything that is different now, where a run cannot be gone on with."""
    problems = []
    if prepared.skill.digest != record.skill_digest:
        problems.append(f"the skill {prepared.skill.name} has changed since")
    if (None if prepared.previous is None else prepared.previous.digest) != record.previous_digest:
        problems.append("the older version of the skill has changed since")
    if [case.digest for case in prepared.plan.cases] != [case.digest for case in record.cases]:
        problems.append("the cases have changed since; `upskill regrade` applies changed checks to stored answers")
    if prepared.plan.arms != record.arms:
        problems.append("it was no evaluation: only the baseline was probed")
    if prepared.plan.students != record.students:
        problems.append("the models resolve to something else now")
    if identity(prepared.judge) != record.judge:
        problems.append("the judge resolves to something else now")
    harness = prepared.plan.harness
    versions_alike = (trials.HARNESSES[harness], *trials.ASK_THE_SAME[harness])
    if record.harness not in versions_alike or record.frame != trials.FRAMES[harness]:
        problems.append("this version of upskill asks students in another way")
    if problems:
        raise UsageError(f"{run}: cannot be resumed", problems=problems, hint="start a new run instead")


def relative(path: Path, start: Path) -> str:
    """A path as seen from a folder, with forward slashes; absolute where there is no way from one to the other."""
    try:
        seen = os.path.relpath(path.resolve(), start.resolve())
    except ValueError:
        return path.resolve().as_posix()
    return Path(seen).as_posix()
