"""Waits with a trial while another evaluation buys the same one. Knows neither where it is kept nor who that is."""

import time
from functools import partial

import anyio
import anyio.to_thread
from inspect_ai._util.working import report_sample_waiting_time
from inspect_ai.solver import Generate, Solver, TaskState, solver

from upskill.core.nouns import Student
from upskill.core.trials.scorer import Find
from upskill.core.trials.trial_run import TrialRun

LOOK_SECONDS = 0.25
LONGEST_WAIT_SECONDS = 600.0
"""After that the trial is bought here as well: whoever is buying it may hang."""


@solver
def unless_bought_elsewhere(buy: Solver, find: Find, run: TrialRun, student: Student) -> Solver:
    """Claim a trial, then buy it, unless it was bought elsewhere meanwhile."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        pending = find(state)
        if run.claims is not None:
            trial = student, pending.planned, pending.id
            began = time.monotonic()
            while not run.claims.claim(*trial) and time.monotonic() - began < LONGEST_WAIT_SECONDS:
                await anyio.sleep(LOOK_SECONDS)
            # What a student with tools has of its own time is not spent by waiting.
            report_sample_waiting_time(time.monotonic() - began)
            if await anyio.to_thread.run_sync(partial(run.claims.was_bought_elsewhere, *trial)):
                pending.found = run.recall(*trial)
        return state if pending.found is not None else await buy(state, generate)

    return solve
