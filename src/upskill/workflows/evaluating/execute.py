"""Hands a prepared plan to the engine, and takes the user's own keys out of what the engine returns and logs.

Knows neither what is stored of its trials nor what is concluded from them.
"""

import os
from collections.abc import Callable, Mapping
from functools import partial

from upskill import checks, storage, trials
from upskill.domain import PlannedTrial, RunEnd, Student, Trial
from upskill.models import MeteredClient
from upskill.redaction import redactor_from
from upskill.sandbox import Sandbox, SandboxSpec, SandboxUnavailable
from upskill.storage.runs import RunFolder
from upskill.workflows.evaluating.judge import grading_context, with_judge
from upskill.workflows.evaluating.prepare import PreparedEvaluation


def execute(
    prepared: PreparedEvaluation,
    *,
    client: MeteredClient,
    folder: RunFolder,
    schedules: Mapping[str, trials.Schedule],
    record: Callable[[Trial], None],
    recall: Callable[[Student, PlannedTrial, str], Trial | None],
    claims: trials.Claims | None = None,
) -> RunEnd:
    """Run the schedules of all students.

    `record` is given every trial that was bought, without the user's own keys; `recall` finds trials that need not be
    bought; `claims` keeps two evaluations at once from buying the same trial.
    """
    clean = redactor_from(os.environ).clean_own
    context, judge_client = with_judge(grading_context(prepared.sandbox, folder.engine_data), prepared.judge, client)
    return trials.run_trials(
        trials.TrialRun(
            plan=prepared.plan,
            skill=prepared.skill,
            previous=prepared.previous,
            endpoints=prepared.endpoints,
            client=client,
            grade=partial(checks.grade, context=context),
            schedules=schedules,
            record=lambda trial: record(trial.cleaned(clean)),
            recall=recall,
            claims=claims,
            logs=folder.logs,
            engine_data=folder.engine_data,
            trial_limits=prepared.trial_limits,
            contents=prepared.contents,
            open_sandbox=context.open_sandbox or _no_sandbox,
            close=None if judge_client is None else judge_client.close,
        )
    )


def _no_sandbox(spec: SandboxSpec) -> Sandbox:  # noqa: ARG001 - the signature of what opens one
    raise SandboxUnavailable("this run was prepared without a sandbox, so it cannot run programs")


def clean_logs(folder: RunFolder) -> tuple[str, ...]:
    """Take the user's own keys out of the engine's logs. Returns a note for each log that cannot be read."""
    redactor = redactor_from(os.environ)
    return storage.clean_logs(folder.logs, redactor.clean_own) if redactor.knows_any else ()
