"""Hands a prepared plan to the engine. Knows neither what is kept of its trials nor what is said of them."""

import os
from collections.abc import Callable, Mapping
from functools import partial

from upskill import checks, trials
from upskill.domain import PlannedTrial, RunEnd, Student, Trial
from upskill.models import Asker, Door
from upskill.redaction import redactor_from
from upskill.storage.runs import RunFolder
from upskill.workflows.confine import no_sandbox
from upskill.workflows.own_keys import without_own_keys
from upskill.workflows.prepare import Prepared


def run_prepared(
    prepared: Prepared,
    *,
    door: Door,
    folder: RunFolder,
    courses: Mapping[str, trials.Course],
    bench: checks.Bench,
    asker: Asker | None,
    record: Callable[[Trial], None],
    recall: Callable[[Student, PlannedTrial, str], Trial | None],
) -> RunEnd:
    """Run the courses of all students.

    `record` hears of every trial that was bought, without the user's own keys; `recall` finds those that need not be.
    """
    clean = redactor_from(os.environ).clean_own
    return trials.run_trials(
        trials.TrialRun(
            plan=prepared.plan,
            skill=prepared.skill,
            previous=prepared.previous,
            endpoints=prepared.endpoints,
            door=door,
            grade=partial(checks.grade, bench=bench),
            courses=courses,
            record=lambda trial: record(without_own_keys(trial, clean)),
            recall=recall,
            logs=folder.logs,
            engine_data=folder.engine_data,
            terms=prepared.terms,
            contents=prepared.contents,
            open_sandbox=bench.open_sandbox or no_sandbox,
            close=None if asker is None else asker.close,
        )
    )
