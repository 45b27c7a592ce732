"""Runs a plan on Inspect: one task per student, one sample per trial, in planned order.

Knows nothing about what becomes of the trials: each is handed to `record` as it ends.
"""

import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from upskill import disk
from upskill.core.models import Endpoint
from upskill.core.models.client import as_outside_a_notebook, first_call
from upskill.core.nouns import Outage, RunEnd, Student, Trial, harness_info
from upskill.core.nouns.text import on_one_line, shortened
from upskill.core.trials.harness import Requests
from upskill.core.trials.trial_run import TrialRun
from upskill.errors import EXIT_INTERRUPTED, EngineError, ProviderError
from upskill.interruption import interrupt, run_interruptibly

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.log import EvalLog
    from inspect_ai.model import Model
    from inspect_ai.solver import Solver

    from upskill.core.trials.sample_source import Find, PlannedSource


@contextmanager
def second_interrupt_ends_at_once() -> Iterator[Callable[[], None]]:
    """Hands out `arm`, to be called once the engine's event loop runs and has put its own handler in place.

    The first interrupt after that goes to that handler, which ends the run in good order; the second ends the process
    with exit code 130 within the same moment. Until the block ends, the closing table included, this stays armed.
    Outside the main thread, where no handler can be set, nothing changes.
    """
    before = signal.getsignal(signal.SIGINT)
    first, presses = before, 0

    def arm() -> None:
        nonlocal first
        current = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or current is on_interrupt:
            return
        first = current
        signal.signal(signal.SIGINT, on_interrupt)

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal presses
        presses += 1
        if presses > 1:
            os.write(2, b"\ninterrupted twice: stopped at once\n")
            os._exit(EXIT_INTERRUPTED)
        if callable(first):
            first(number, frame)

    try:
        yield arm
    finally:
        if signal.getsignal(signal.SIGINT) is on_interrupt:
            signal.signal(signal.SIGINT, before)


def run_trials(run: TrialRun) -> RunEnd:
    """Run every trial of the plan. Ctrl-C stops; what has ended by then has been recorded."""
    with _engine_confined_to(run.engine_data), second_interrupt_ends_at_once() as arm:
        requests = Requests(
            run.skill,
            previous=run.previous,
            harness=run.plan.harness,
            trial_limits=run.trial_limits,
            texts=run.texts,
            controls=run.controls,
        )
        students = _StudentTasks(run, requests)
        with requests.harness.solving(run, requests, began=arm) as solver_for:
            tasks = [students.task(number, one, solver_for) for number, one in enumerate(run.plan.students, 1)]
            logs = _run_tasks(tasks, logs=run.logs, at_once=students.at_once)
        students.record_what_was_in_flight()
        broken = next((log for log in logs if log.status == "error"), None)
        if broken is not None:
            raise EngineError(f"the engine failed: {broken.error.message if broken.error else 'no reason given'}")
        return RunEnd(
            interrupted=len(logs) < len(tasks),  # an interrupted engine hands out no log
            cap=run.client.exhausted if students.were_capped else None,
            outages=tuple(Outage(model=model, said=said) for model, said in run.client.down.items()),
        )


class _StudentTasks:
    """The engine's tasks, one per student, and what they share: the record, and the end of the last connection."""

    def __init__(self, run: TrialRun, requests: Requests) -> None:
        self._run = run
        self._requests = requests
        self._sources: list[PlannedSource] = []
        self._failure: Exception | None = None
        self._open = {student.name for student in run.plan.students}
        self.at_once = run.client.policy.concurrency
        """Answers of each student that are waited for at a time."""

    @property
    def were_capped(self) -> bool:
        return any(source.was_capped for source in self._sources)

    def task(self, number: int, student: Student, solver_for: "Callable[[Find], Solver]") -> "Task":
        from inspect_ai import Task

        from upskill.core.trials.sample_source import PlannedSource, graded, unless_bought_elsewhere

        run, endpoint = self._run, self._run.endpoints[student.name]
        with_tools = harness_info(run.plan.harness).with_tools
        model = run.client.open(endpoint, temperature=student.temperature, max_output_tokens=student.max_output_tokens)
        source = PlannedSource(
            run.schedules[student.name],
            student=student,
            requests=self._requests,
            client=run.client,
            at_once=self.at_once,
            record=self._record,
            recall=partial(run.recall, student),
            before_first=None if not with_tools or endpoint.is_scripted else partial(self._first_call, model, endpoint),
            close=partial(self._close, student.name, model.api.aclose),
        )
        self._sources.append(source)
        return Task(
            name=f"{run.skill.name}-{number}",
            dataset=source,
            solver=unless_bought_elsewhere(solver_for(source.find), source.find, run, student),
            scorer=graded(source.find, run.grade),
            model=model,
            working_limit=run.trial_limits.seconds if with_tools else None,
            metadata={"student": student.name, "skill": run.skill.name, "digest": run.skill.digest},
        )

    def record_what_was_in_flight(self) -> None:
        """After the engine has ended. Raises what kept a trial from being recorded, now or earlier."""
        for source in self._sources:
            source.record_what_was_in_flight()
        if self._failure is not None:
            raise self._failure

    def _record(self, trial: Trial) -> None:
        try:
            self._run.record(trial)
        except KeyboardInterrupt:
            interrupt()
        except Exception as error:  # noqa: BLE001 - raised again once the engine has let go
            # A record that cannot be kept ends the run: trials that nobody can read are not worth buying.
            self._stop(error)

    def _stop(self, failure: Exception) -> None:
        self._failure = self._failure or failure
        for source in self._sources:
            source.stopped = True

    async def _first_call(self, model: "Model", endpoint: Endpoint) -> None:
        """Ask a model that will have tools for one call, unless it has answered anything or only one may be made."""
        if self._run.client.answers_of(endpoint) or self._run.client.budget.max_calls == 1:
            return
        try:
            wrote = await first_call(model, endpoint)
        except ProviderError as refused:
            self._stop(refused)
            return
        if wrote is not None:
            text = shortened(on_one_line(wrote), 80) or "nothing"
            self._run.note(f"{endpoint.name} was asked for one tool call before the trials and made none: {text}")

    async def _close(self, student: str, close_model: Callable[[], Awaitable[None]]) -> None:
        await close_model()
        self._open.discard(student)
        if not self._open and self._run.close is not None:
            await self._run.close()


def _run_tasks(tasks: "Sequence[Task]", *, logs: Path, at_once: int) -> "Sequence[EvalLog]":
    from inspect_ai import eval_async
    from inspect_ai._util.asyncfiles import with_async_fs
    from inspect_ai.util._display import init_display_type

    init_display_type("none")
    # Not the engine's own `eval`: in a notebook it wants widgets and changes the event loops of the whole process.
    work = partial(
        eval_async,
        list(tasks),
        model=None,
        log_dir=str(logs),
        log_level="critical",
        log_realtime=False,
        log_buffer=100,
        log_images=False,
        fail_on_error=False,
        retry_on_error=0,
        score_display=False,
        max_samples=at_once,
        max_tasks=len(tasks),
        ctl_server=False,
        acp_server=False,
    )
    try:
        with as_outside_a_notebook():
            return run_interruptibly(with_async_fs(work))
    except KeyboardInterrupt:
        return []


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
    # Its logs hold every prompt and answer, and it takes no mode for them. Sandboxes have a umask of their own.
    umask = os.umask(0o077)
    try:
        with _engine_parts_replaced():
            yield
    finally:
        os.umask(umask)
        tempfile.tempdir = temporary
        logging.raiseExceptions = complains
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        disk.remove_folder(folder)


@contextmanager
def _engine_parts_replaced() -> Iterator[None]:
    import yaml
    from inspect_ai._eval import context
    from inspect_ai._eval.task import log
    from inspect_ai.agent._acp import transport
    from inspect_ai.log import _log
    from inspect_ai.model import _model
    from inspect_ai.model._model_data import model_data

    fast_yaml = SimpleNamespace(safe_load=partial(yaml.load, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))

    replaced = (
        # It looks for `.env` files even where it may load none, and waits for a pipe for ever.
        (context, "init_dotenv", lambda: None),
        # It asks git about the working folder, and git would run what the configuration of that folder names.
        (log, "git_context", lambda: None),
        # It draws frames around every traceback, on the event loop: up to 0.3 s of CPU for a trial that errored.
        (_log, "format_traceback", _plain_traceback),
        (_model, "format_traceback", _plain_traceback),
        # It reads its list of models, 11 files, with the slow parser of the same library: 0.35 s of CPU.
        (model_data, "yaml", fast_yaml),
        # It readies each sample, and itself below, for clients from outside that it is told not to serve: 0.6 s.
        (transport, "acp_session", _nothing),
    )
    before = [(module, name, getattr(module, name)) for module, name, _ in replaced]
    for module, name, part in replaced:
        setattr(module, name, part)
    stands_in = sys.modules.setdefault(_SERVER, cast(ModuleType, SimpleNamespace(acp_server=_nothing)))
    try:
        yield
    finally:
        if isinstance(stands_in, SimpleNamespace):
            del sys.modules[_SERVER]
        for module, name, part in before:
            setattr(module, name, part)


_SERVER = "inspect_ai.agent._acp.server"


@asynccontextmanager
async def _nothing(**_settings: object) -> AsyncIterator[None]:
    yield None


def _plain_traceback(*error: Any) -> tuple[str, str]:
    """The text of a traceback, twice: the engine asks for one with colours, too."""
    from inspect_ai._util.rich import truncate_traceback

    text, _ = truncate_traceback(*error)
    return text, text
