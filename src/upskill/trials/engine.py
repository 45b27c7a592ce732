"""Runs a plan on Inspect: one task per student, one sample per trial, in planned order.

Knows nothing about what becomes of the trials: each is handed to `record` as it ends.
"""

import logging
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from upskill.domain import (
    Outage,
    RunEnd,
    Trial,
    harness_info,
)
from upskill.errors import EngineError
from upskill.models.interruption import run_interruptibly
from upskill.trials.interrupt import second_interrupt_ends_at_once
from upskill.trials.request import Requests
from upskill.trials.trial_run import TrialRun


def run_trials(run: TrialRun) -> RunEnd:
    """Run every trial of the plan. Ctrl-C stops; what has ended by then has been recorded."""
    with _engine_confined_to(run.engine_data), second_interrupt_ends_at_once() as arm, ExitStack() as opened:
        from inspect_ai import Task, eval_async
        from inspect_ai._util.asyncfiles import with_async_fs
        from inspect_ai.util._display import init_display_type

        from upskill.trials.sample_source import PlannedSource
        from upskill.trials.scorer import graded

        requests = Requests(
            run.skill,
            previous=run.previous,
            harness=run.plan.harness,
            version=run.plan.harness_version,
            trial_limits=run.trial_limits,
        )
        in_flight = run.client.policy.concurrency
        with_tools = harness_info(run.plan.harness).with_tools
        solver_for = opened.enter_context(requests.harness.solving(run, requests, began=arm))
        failure: list[BaseException] = []
        sources: list[PlannedSource] = []

        def record(trial: Trial) -> None:
            try:
                run.record(trial)
            except Exception as error:  # noqa: BLE001 - raised again below, once the engine has let go
                # A record that cannot be kept ends the run: trials that nobody can read are not worth buying.
                failure.append(error)
                for source in sources:
                    source.stopped = True

        closing = {student.name for student in run.plan.students}

        async def close(student: str, model_close: Callable[[], Awaitable[None]]) -> None:
            await model_close()
            closing.discard(student)
            if not closing and run.close is not None:
                await run.close()

        tasks = []
        for number, student in enumerate(run.plan.students, 1):
            model = run.client.open(
                run.endpoints[student.name],
                temperature=student.temperature,
                max_output_tokens=student.max_output_tokens,
            )
            source = PlannedSource(
                run.schedules[student.name],
                student=student,
                requests=requests,
                client=run.client,
                in_flight=in_flight,
                record=record,
                recall=partial(run.recall, student),
                close=partial(close, student.name, model.api.aclose),
            )
            sources.append(source)
            tasks.append(
                Task(
                    name=f"{run.skill.name}-{number}",
                    dataset=source,
                    solver=solver_for(source.find),
                    scorer=graded(source.find, run.grade),
                    model=model,
                    working_limit=run.trial_limits.seconds if with_tools else None,
                    metadata={"student": student.name, "skill": run.skill.name, "digest": run.skill.digest},
                )
            )
        init_display_type("none")
        # Not the engine's own `eval`: in a notebook it wants widgets and changes the event loops of the whole process.
        run_tasks = with_async_fs(
            partial(
                eval_async,
                tasks,
                model=None,
                log_dir=str(run.logs),
                log_level="critical",
                log_realtime=False,
                log_buffer=100,
                log_images=False,
                fail_on_error=False,
                retry_on_error=0,
                score_display=False,
                max_samples=in_flight,
                max_tasks=len(tasks),
                ctl_server=False,
                acp_server=False,
            )
        )
        try:
            logs = run_interruptibly(run_tasks)
        except KeyboardInterrupt:
            logs = []
        finally:
            opened.close()
        interrupted = len(logs) < len(tasks)  # an interrupted engine hands out no log
        for source in sources:
            source.record_what_was_in_flight()
        if failure:
            raise failure[0]
        broken = next((log for log in logs if log.status == "error"), None)
        if broken is not None:
            raise EngineError(f"the engine failed: {broken.error.message if broken.error else 'no reason given'}")
        return RunEnd(
            interrupted=interrupted,
            cap=run.client.exhausted if any(source.was_capped for source in sources) else None,
            outages=tuple(Outage(model=model, said=said) for model, said in run.client.down.items()),
        )


@contextmanager
def _engine_confined_to(folder: Path) -> Iterator[None]:
    """The engine keeps traces and scratch files in the user's home and reads `.env` files: here it does neither."""
    folder = folder.resolve()  # a relative folder would be ignored
    confined = {
        "XDG_DATA_HOME": str(folder),
        "XDG_CACHE_HOME": str(folder),
        "WIN_PD_OVERRIDE_LOCAL_APPDATA": str(folder),
        "TMPDIR": str(folder),
        "PYTHON_DOTENV_DISABLED": "1",
        "INSPECT_DISPLAY": "none",
    }
    before = {name: os.environ.get(name) for name in confined}
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(confined)
    temporary, tempfile.tempdir = tempfile.tempdir, None  # asks TMPDIR anew
    # On a full disk the engine's trace cannot be written: one clear message is ours to give, not a page of them.
    complains, logging.raiseExceptions = logging.raiseExceptions, False
    try:
        yield
    finally:
        tempfile.tempdir = temporary
        logging.raiseExceptions = complains
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)
