"""The record of a run: written when it begins and when it ends, and compared when it is resumed."""

import importlib.metadata
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from pydantic import JsonValue

from upskill import __version__, reporting, trials
from upskill.domain import Evaluation, TrialPlan, digest_of
from upskill.sandbox import SandboxFacts
from upskill.settings import NAMES, URLS, ResolvedSettings, settings_from, without_secrets
from upskill.storage.runs import CaseReference, RunFolder, RunRecord, SettingRecord, now
from upskill.workflows.evaluating.judge import identity
from upskill.workflows.evaluating.prepare import EvaluationOrder, PreparedEvaluation


def versions() -> dict[str, str]:
    """The versions that the figures of a run depend on."""
    return {
        "upskill": __version__,
        "inspect-ai": importlib.metadata.version("inspect-ai"),
        "python": platform.python_version(),
    }


def settings_record(settings: ResolvedSettings) -> dict[str, SettingRecord]:
    """Every setting with its value and where it came from."""
    values = asdict(settings.values)
    values |= {name: without_secrets(values[name]) for name in URLS if values[name] is not None}
    return {name: SettingRecord(value=values[name], origin=origin) for name, origin in settings.origins.items()}


def recorded_settings(record: Mapping[str, SettingRecord]) -> ResolvedSettings:
    """The settings a run was begun with. What a later version added keeps its default.

    A run of before `judge_is_student` was begun where that was allowed, and is resumed so. Raises `SettingsError` where
    a value could never have been set.
    """
    known = {name: entry for name, entry in record.items() if name in NAMES}
    given = {name: entry.value for name, entry in known.items() if entry.value is not None}
    values = settings_from({"judge_is_student": True, **given}, where="the record of the run").values
    if "max_cost" in known and known["max_cost"].value is None:  # the only one that is not None by default
        values = replace(values, max_cost=None)
    return ResolvedSettings(values=values, origins={name: entry.origin for name, entry in known.items()})


def first_record(prepared: PreparedEvaluation, settings: ResolvedSettings, folder: RunFolder) -> RunRecord:
    """The record of a run before its first trial."""
    order, plan = prepared.order, prepared.plan
    harness = trials.load_harness(plan.harness)
    return RunRecord(
        started_at=now(),
        versions=versions(),
        skill_name=prepared.skill.name,
        skill_digest=prepared.skill.digest,
        skill_source=relative(order.skill, folder.path),
        previous_source=_previous_source(order, folder),
        previous_digest=None if prepared.previous is None else prepared.previous.digest,
        case_source=relative(prepared.case_file, folder.path),
        cases=tuple(
            CaseReference(id=case.id, digest=case.digest, prompt_digest=case.prompt_digest, family=case.family)
            for case in plan.cases
        ),
        case_states=prepared.qualifications,
        students=plan.students,
        arms=plan.arms,
        passages=passages_digest(plan),
        others=prepared.others,
        other_sources=tuple(relative(Path(path), folder.path) for path in order.among.folders),
        repeats=plan.repeats,
        turn_cap=plan.turn_cap,
        design=plan.design,
        min_lift=order.min_lift,
        seed=plan.seed,
        harness=plan.harness_version or harness.version,
        frame=harness.frame,
        sandbox=_sandbox_record(prepared.sandbox),
        agent=_agent_record(prepared),
        judge=identity(prepared.judge),
        settings=settings_record(settings),
        notes=prepared.notes,
    )


def _previous_source(order: EvaluationOrder, folder: RunFolder) -> str | None:
    """A commit by its id, a folder as seen from the run folder."""
    if order.previous_revision is not None or order.previous is None:
        return order.previous_revision
    return relative(order.previous, folder.path)


def passages_digest(plan: TrialPlan) -> str | None:
    """Changes with any passage that the ceiling arm shows; `None` where a plan has no such arm."""
    return digest_of([case.passage for case in plan.cases]) if "ceiling" in plan.arms else None


def last_record(record: RunRecord, evaluation: Evaluation) -> RunRecord:
    """The record of a run that ended, with its results."""
    return replace(
        record,
        status="interrupted" if evaluation.interrupted else "finished",
        finished_at=now(),
        notes=evaluation.notes,
        end=evaluation.end,
        results=reporting.evaluation_json(evaluation),
    )


def _sandbox_record(sandbox: SandboxFacts | None) -> dict[str, JsonValue] | None:
    return None if sandbox is None else {**asdict(sandbox), "probes": list(sandbox.probes)}


def _agent_record(prepared: PreparedEvaluation) -> dict[str, JsonValue] | None:
    program, named = prepared.trial_limits.setup.program, prepared.order.agent_bin
    if program is None:
        return None
    return {"version": program.version, "named": None if named is None else str(named.absolute())}


def relative(path: Path, start: Path) -> str:
    """A path as seen from a folder, with forward slashes; absolute where there is no way from one to the other."""
    try:
        seen = os.path.relpath(path.resolve(), start.resolve())
    except ValueError:
        return path.resolve().as_posix()
    return Path(seen).as_posix()
