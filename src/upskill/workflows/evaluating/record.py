"""What a run records of itself when it begins, and whether it can be resumed."""

import importlib.metadata
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from upskill import __version__, trials
from upskill.errors import UsageError
from upskill.settings import Resolved, Settings
from upskill.storage.runs import CaseReference, RunFolder, RunRecord, SettingRecord, now
from upskill.workflows.evaluating.grading import recorded
from upskill.workflows.evaluating.judge import identity
from upskill.workflows.evaluating.prepare import PreparedEvaluation


def versions() -> dict[str, str]:
    """Of what the numbers of a run rest on."""
    return {
        "upskill": __version__,
        "inspect-ai": importlib.metadata.version("inspect-ai"),
        "python": platform.python_version(),
    }


def settings_record(settings: Resolved) -> dict[str, SettingRecord]:
    """Every setting with its value and where it came from."""
    values = asdict(settings.values)
    return {name: SettingRecord(value=values[name], origin=origin) for name, origin in settings.origins.items()}


def recorded_settings(record: Mapping[str, SettingRecord]) -> Resolved:
    """The settings a run was begun with. What a later version added keeps its default."""
    known = {name: entry for name, entry in record.items() if name in Settings.__dataclass_fields__}
    values = {name: entry.value for name, entry in known.items()}
    models = values.get("models")
    settings = Settings(**{**values, "models": tuple(models) if isinstance(models, list) else ()})  # type: ignore[arg-type]
    return Resolved(values=settings, origins={name: entry.origin for name, entry in known.items()})


def first_record(prepared: PreparedEvaluation, settings: Resolved, folder: RunFolder) -> RunRecord:
    """What is known of a run before it begins."""
    plan = prepared.plan
    harness = trials.load_harness(plan.harness)
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
        harness=harness.version,
        frame=harness.frame,
        sandbox=recorded(prepared.sandbox),
        judge=identity(prepared.judge),
        settings=settings_record(settings),
        notes=prepared.notes,
    )


def require_unchanged(prepared: PreparedEvaluation, record: RunRecord, run: Path) -> None:
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
    harness = trials.load_harness(prepared.plan.harness)
    if record.harness not in (harness.version, *harness.resumable) or record.frame != harness.frame:
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
