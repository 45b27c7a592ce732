"""Hands a prepared plan to the engine. Knows neither what is kept of its trials nor what is said of them."""

import os
from collections.abc import Callable, Mapping
from functools import partial

from upskill import checks, trials
from upskill.domain import PlannedTrial, RunEnd, Student, Trial
from upskill.models import JudgeClient, MeteredClient
from upskill.redaction import redactor_from
from upskill.storage.runs import RunFolder
from upskill.workflows.evaluating.grading import no_sandbox
from upskill.workflows.evaluating.own_keys import without_own_keys
from upskill.workflows.evaluating.prepare import PreparedEvaluation


def run_prepared(
    prepared: PreparedEvaluation,
    *,
    client: MeteredClient,
    folder: RunFolder,
    schedules: Mapping[str, trials.Schedule],
    context: checks.GradingContext,
    judge_client: JudgeClient | None,
    record: Callable[[Trial], None],
    recall: Callable[[Student, PlannedTrial, str], Trial | None],
) -> RunEnd:
    """Run the schedules of all students.

    `record` hears of every trial that was bought, without the user's own keys; `recall` finds those that need not be.
    """
    clean = redactor_from(os.environ).clean_own
    return trials.run_trials(
        trials.TrialRun(
            plan=prepared.plan,
            skill=prepared.skill,
            previous=prepared.previous,
            endpoints=prepared.endpoints,
            client=client,
            grade=partial(checks.grade, context=context),
            schedules=schedules,
            record=lambda trial: record(without_own_keys(trial, clean)),
            recall=recall,
            logs=folder.logs,
            engine_data=folder.engine_data,
            trial_limits=prepared.trial_limits,
            contents=prepared.contents,
            open_sandbox=context.open_sandbox or no_sandbox,
            close=None if judge_client is None else judge_client.close,
        )
    )
