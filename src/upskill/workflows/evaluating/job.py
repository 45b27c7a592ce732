"""Runs a job: one evaluation in the present process, JSON in and JSON out. Knows nothing of who schedules it."""

import os
import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager, chdir, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from upskill import reporting, storage
from upskill.domain import Evaluation
from upskill.domain.job import JOB_SETTINGS, Job, JobError, JobResult, JobSpending
from upskill.errors import EXIT_FAILED, UpskillError, UsageError
from upskill.models import MeteredClient
from upskill.redaction import redactor_from
from upskill.settings import ResolvedSettings, Settings, settings_from
from upskill.storage.records import job_from_text, job_text, keep_text, result_text
from upskill.storage.run_folders import JOB_FILE, RUN_FILE
from upskill.workflows.evaluating.check_cases import has_cases
from upskill.workflows.evaluating.evaluate import ParentRun, evaluate
from upskill.workflows.evaluating.prepare import EvaluationOrder, PreparedEvaluation
from upskill.workflows.evaluating.resume import resume
from upskill.workflows.evaluating.reuse import open_store
from upskill.workflows.evaluating.spending import client_for, spent_in
from upskill.workflows.evaluating.typed_again import TypedAgain


def run_job(text: str, *, root: str) -> str:
    """The result of a job. Every error comes back as data; only an interrupt before the first call is raised.

    Relative paths of the job count from `root`. One job per process at a time: until it returns, the working folder,
    the environment and the signal handling of the process are the job's. A job that runs again resumes its run: what
    was scored is not bought again, what errored is tried again within the same share of the caps.
    """
    client = MeteredClient()
    run: str | None = None
    try:
        job = job_from_text(text)
        run = job.run
        with _working_in(Path(root)):
            settings = _settings(job)
            client = client_for(settings.values)
            evaluation = _evaluate(job, settings, client)
        result = JobResult(run=run, exit_code=evaluation.exit_code(), evaluation=reporting.evaluation_json(evaluation))
    except UpskillError as error:
        result = JobResult(
            run=run, exit_code=error.exit_code, error=_job_error(error, hint=error.hint, problems=error.problems)
        )
    except Exception as error:  # noqa: BLE001 - the top of a process that somebody else started: it answers in data
        lines = traceback.format_exc().splitlines()
        problem = _job_error(error, hint="this is a bug in upskill", problems=lines)
        result = JobResult(run=run, exit_code=EXIT_FAILED, error=problem)
    spent = JobSpending(calls=client.spent.calls, tokens=client.spent.tokens, cost=client.spent.cost)
    return redactor_from(os.environ).clean_own(result_text(replace(result, spending=spent)))


def _job_error(error: Exception, *, hint: str | None, problems: Sequence[str]) -> JobError:
    message = error.message if isinstance(error, UpskillError) else str(error)
    return JobError(kind=type(error).__name__, message=message, hint=hint, problems=tuple(problems))


def _working_in(root: Path) -> chdir[str]:
    if not root.is_dir():
        raise UsageError(f"{root}: the root folder of the job does not exist")
    return chdir(str(root))


def _settings(job: Job) -> ResolvedSettings:
    """The settings of the job alone: two machines with different settings files measure the same."""
    if strangers := sorted(job.settings.keys() - JOB_SETTINGS):
        raise UsageError(
            f"the job cannot be read: {', '.join(strangers)} cannot be set in `settings`",
            hint=f"allowed settings: {', '.join(sorted(JOB_SETTINGS))}",
        )
    named = {**job.settings, "models": job.students, "harness": job.harness, "seed": job.seed}
    chosen = settings_from(named, where="job")
    caps = job.caps
    values = replace(
        chosen.values,
        store=job.store is not None,
        runs_dir=job.run,  # holds no other runs: how fast those went would be read otherwise
        report=False,
        max_cost=caps.max_cost,
        max_calls=caps.max_calls,
        max_total_tokens=caps.max_total_tokens,
        max_time_minutes=caps.max_time_minutes,
    )
    return replace(chosen, values=values)


def _evaluate(job: Job, settings: ResolvedSettings, client: MeteredClient) -> Evaluation:
    folder = storage.RunFolder(path=Path(job.run))
    part = ParentRun(
        client=client,
        folder=folder,
        open_store=partial(_open_store, job),
    )
    if (folder.path / RUN_FILE).exists():
        _require_same(job, folder.path / JOB_FILE)
        client.spent = spent_in(folder)
        case_file = None if job.case_file is None else Path(job.case_file)
        typed = TypedAgain(settings=settings, skill=Path(job.skill), case_file=case_file)
        return resume(folder.path, typed=typed, parent=part)
    skill = Path(job.skill)
    storage.read_skill(skill)
    if job.case_file is None and not has_cases(skill):
        raise UsageError(f"{job.skill}: there are no cases", hint="a job writes no cases: name a case file")
    keep_text(storage.run_folder_at(folder.path).path / JOB_FILE, job_text(job))
    return evaluate(
        EvaluationOrder(
            skill=skill, case_file=None if job.case_file is None else Path(job.case_file), repeats=job.runs
        ),
        settings=settings,
        parent=part,
    )


def _open_store(
    job: Job, prepared: PreparedEvaluation, settings: Settings
) -> AbstractContextManager[storage.TrialStore | None]:
    """The store that this attempt names, whatever an earlier one was given."""
    if job.store is None:
        return nullcontext(None)
    return open_store(prepared, replace(settings, store=True), path=Path(job.store))


def _require_same(job: Job, path: Path) -> None:
    """Raise where a run folder belongs to another job."""
    if not path.is_file():
        raise UsageError(f"{job.run}: is already the folder of another run", hint="name another run folder")
    kept = job_from_text(path.read_text(encoding="utf-8"))
    if not job_from_text(redactor_from(os.environ).clean_own(job_text(job))).measures_the_same_as(kept):
        raise UsageError(f"{job.run}: contains the run of another job", hint="name another run folder")
