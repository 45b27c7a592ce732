"""The record of a run: written when it begins and when it ends, and compared when it is resumed."""

import importlib.metadata
import os
import platform
from collections.abc import Collection, Iterable
from dataclasses import asdict, replace
from pathlib import Path

from pydantic import JsonValue

from upskill import __version__
from upskill.core.nouns import Arm, Case, Evaluation, digest_of
from upskill.core.runs.own_runs import settings_record
from upskill.core.runs.records import CaseReference, RunRecord, now
from upskill.core.runs.run_folders import RunFolder
from upskill.core.settings import ResolvedSettings
from upskill.core.trials.harness import load_harness
from upskill.core.trials.judge import identity
from upskill.core.trials.trial_run import AgentProgram
from upskill.evaluation.prepare import PreparedEvaluation
from upskill.report.json_report import evaluation_json
from upskill.sandbox import SandboxFacts


def versions() -> dict[str, str]:
    """The versions that the figures of a run depend on."""
    return {
        "upskill": __version__,
        "inspect-ai": importlib.metadata.version("inspect-ai"),
        "python": platform.python_version(),
    }


def first_record(prepared: PreparedEvaluation, settings: ResolvedSettings, folder: RunFolder) -> RunRecord:
    """The record of a run before its first trial."""
    order, experiment, plan = prepared.order, prepared.experiment, prepared.experiment.plan
    harness = load_harness(plan.harness)
    return RunRecord(
        started_at=now(),
        versions=versions(),
        skill_name=experiment.skill.name,
        skill_digest=experiment.skill.digest,
        skill_source=relative(order.skill, folder.path),
        # A commit by its id, a folder as seen from the run folder.
        previous_source=order.previous_revision
        or (None if order.previous is None else relative(order.previous, folder.path)),
        previous_digest=None if experiment.previous is None else experiment.previous.digest,
        case_source=relative(prepared.case_file, folder.path),
        cases=tuple(
            CaseReference(id=case.id, digest=case.digest, prompt_digest=case.prompt_digest, family=case.family)
            for case in plan.cases
        ),
        case_states=prepared.qualifications,
        students=plan.students,
        arms=plan.arms,
        passages=passages_digest(plan.cases, plan.arms),
        others=experiment.others,
        other_sources=tuple(relative(Path(path), folder.path) for path in order.among.folders),
        repeats=plan.repeats,
        turn_cap=plan.turn_cap,
        design=plan.design,
        min_lift=order.min_lift,
        seed=plan.seed,
        harness=harness.version,
        frame=harness.frame,
        sandbox=_sandbox_record(experiment.sandbox),
        agent=_agent_record(experiment.trial_limits.setup.program, order.agent_bin),
        judge=identity(experiment.judge),
        settings=settings_record(settings),
        notes=prepared.notes,
    )


def passages_digest(cases: Iterable[Case], arms: Collection[Arm]) -> str | None:
    """Changes with any passage that the ceiling arm shows; `None` where there is no such arm."""
    return digest_of([case.passage for case in cases]) if "ceiling" in arms else None


def last_record(record: RunRecord, evaluation: Evaluation) -> RunRecord:
    """The record of a run that ended, with its results."""
    return replace(
        record,
        status="interrupted" if evaluation.interrupted else "finished",
        finished_at=now(),
        notes=evaluation.notes,
        end=evaluation.end,
        results=evaluation_json(evaluation),
    )


def _sandbox_record(sandbox: SandboxFacts | None) -> dict[str, JsonValue] | None:
    return None if sandbox is None else {**asdict(sandbox), "probes": list(sandbox.probes)}


def _agent_record(program: AgentProgram | None, named: Path | None) -> dict[str, JsonValue] | None:
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
