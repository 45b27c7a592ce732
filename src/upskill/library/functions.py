"""The functions of the library. Each does what one command does.

Settings that no argument names come from where the commands take them: `UPSKILL_*`, the project's file, the user's
file, the defaults. Where an event loop is already running, as in a notebook, the work is done in a thread of its own.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeVar, get_args

from upskill.domain import Evaluation, Trial
from upskill.domain.generated import GenerateResult
from upskill.errors import UpskillError, UsageError
from upskill.interruption import beside_event_loops, raise_if_interrupted
from upskill.library.results import EvaluationResult, GenerationResult, TraceResult
from upskill.redaction import redactor_from
from upskill.sandbox import Backend
from upskill.settings import ResolvedSettings, resolve_settings
from upskill.teaching.case_split import CaseCounts, read_counts
from upskill.traces.digesting import DEFAULT_BUDGET
from upskill.workflows import evaluate_skill as evaluating
from upskill.workflows import read_trace as reading
from upskill.workflows.evaluating import regrade as regrading
from upskill.workflows.generating import generate as generating
from upskill.workflows.generating.resuming import resume_command
from upskill.workflows.progress import RunProgress

T = TypeVar("T")
PathLike = str | os.PathLike[str]
_one_at_a_time = threading.Lock()
"""The engine runs once per process. Another call waits until it has ended."""


def evaluate(
    skill: PathLike,
    *,
    models: str | Sequence[str] = (),
    runs: int | Literal["auto"] = "auto",
    tests: PathLike | None = None,
    previous: PathLike | None = None,
    no_baseline: bool = False,
    ceiling: bool = False,
    min_lift: float | None = None,
    fresh: bool = False,
    sandbox: Backend = "bubblewrap",
    yes: bool = False,
    **settings: object,
) -> EvaluationResult:
    """Measure a skill on each model, with the skill and without it, as `upskill eval` does.

    `tests` is a file of cases, `previous` an older version of the skill to measure against instead of no skill.
    `ceiling` also asks without the skill and with the passage that a case names in the prompt, as `--ceiling` does.
    What has not changed since an earlier evaluation is not asked again, unless `fresh` is given: the recorded verdict
    is the result. `settings` are any of the settings by name, such as `base_url`, `judge`, `max_cost` or `ledger`.

    What may cost more than a dollar or take longer than ten minutes is refused, with its price, unless `yes` is given.
    An interrupt ends the run in good order and raises `KeyboardInterrupt`; `resume` continues it.
    """
    order = evaluating.EvaluationOrder(
        skill=Path(skill),
        case_file=None if tests is None else Path(tests),
        repeats=None if runs == "auto" else runs,
        baseline=not no_baseline,
        ceiling="beside" if ceiling else None,
        min_lift=min_lift,
        previous=None if previous is None else Path(previous),
        fresh=fresh,
        sandbox=_backend(sandbox),
    )

    def work() -> EvaluationResult:
        chosen = _resolved("evaluate()", {**settings, **({"store": False} if fresh else {})}, models=models)
        return _evaluated(
            evaluating.evaluate(
                order,
                settings=chosen,
                progress=_Interruptible(),
                confirm=lambda plan: yes or _refuse(f"price {plan.price}; {plan.minutes}"),
            )
        )

    return _call(work)


def resume(
    run: PathLike,
    *,
    skill: PathLike | None = None,
    tests: PathLike | None = None,
    previous: PathLike | None = None,
    sandbox: Backend = "bubblewrap",
    **settings: object,
) -> EvaluationResult:
    """Resume a run of `evaluate` that was interrupted or killed, under its own settings. Nothing is bought twice.

    A run folder gives no orders: `sandbox="none"`, a `base_url`, a higher cap, and paths outside the working folder
    must be given again, as with `upskill eval --resume`.
    """

    def work() -> EvaluationResult:
        typed = evaluating.TypedAgain(
            settings=_resolved("resume()", dict(settings)),
            sandbox=_backend(sandbox),
            skill=None if skill is None else Path(skill),
            case_file=None if tests is None else Path(tests),
            previous=None if previous is None else Path(previous),
        )
        return _evaluated(evaluating.resume(Path(run), typed=typed, progress=_Interruptible()))

    return _call(work)


def regrade(run: PathLike, *, tests: PathLike | None = None, sandbox: Backend = "bubblewrap") -> EvaluationResult:
    """Grade the answers of a run again with the checks as they are now, as `upskill regrade` does. Calls no model.

    Checks that were run unconfined are refused unless `sandbox="none"` is given again.
    """

    def work() -> EvaluationResult:
        regraded: list[Trial] = []
        evaluation = regrading.regrade(
            Path(run),
            case_file=None if tests is None else Path(tests),
            sandbox=_backend(sandbox),
            progress=_Interruptible(),
            graded=regraded.append,
        )
        return EvaluationResult(evaluation=evaluation, run=Path(run).resolve(), _regraded=tuple(regraded))

    return _call(work)


def generate(
    task: str | None = None,
    *,
    sources: PathLike | Sequence[PathLike] = (),
    examples: Sequence[str] = (),
    teacher: str | None = None,
    models: str | Sequence[str] = (),
    output: PathLike | None = None,
    cases: str | None = None,
    tests: PathLike | None = None,
    no_eval: bool = False,
    revisions: int = 3,
    effort: Literal["low", "high"] = "low",
    feedback: PathLike | None = None,
    retire: Sequence[str] = (),
    anyway: bool = False,
    accept_findings: bool = False,
    sandbox: Backend = "bubblewrap",
    yes: bool = False,
    **settings: object,
) -> GenerationResult:
    """Make a skill for a task or from recordings, or improve one, and measure it, as `upskill generate` does.

    `sources` are what `--from` names, `teacher` writes the skill, `models` are measured, `cases` are how many to learn
    from, held out and negative ("10+32+4"), `output` is the folder of the skill. `feedback` is a file of comments on a
    run that `sources` names, `retire` are held-out cases to learn from with their comments. `anyway` writes it even if
    no skill can help these students, which else raises `StudentCannotProfit`, and drafts from new material even if the
    skill that is improved passes every learn case. A draft with dangerous content is saved only with `accept_findings`;
    else `FindingsRefused` is raised, with the findings. Price, settings and interrupts are as with `evaluate`;
    `resume_generate` continues a run.
    """
    if effort not in ("low", "high"):
        raise UsageError(f"effort must be low or high, not {effort!r}")
    named = [sources] if isinstance(sources, str | os.PathLike) else sources

    def work() -> GenerationResult:
        order = generating.GenerateOrder(
            task=task,
            examples=tuple(examples),
            sources=tuple(os.fspath(one) for one in named),
            output=None if output is None else os.fspath(output),
            counts=CaseCounts() if cases is None else read_counts(cases),
            case_file=None if tests is None else os.fspath(tests),
            evaluate=not no_eval,
            revisions=revisions,
            effort=effort,
            feedback=None if feedback is None else os.fspath(feedback),
            retire=tuple(retire),
            anyway=anyway,
            sandbox=_backend(sandbox),
        )
        chosen = _resolved("generate()", {**settings, "teacher": teacher}, models=models)
        progress = _GenerateProgress()
        return progress.watch(
            lambda: generating.generate(
                order,
                settings=chosen,
                progress=progress,
                confirm=lambda plan: yes or _refuse("; ".join(line.strip() for line in plan.shares)),
                accept=lambda _found, _draft: accept_findings,
            )
        )

    return _call(work)


def resume_generate(
    run: PathLike,
    *,
    sources: PathLike | None = None,
    output: PathLike | None = None,
    plan: PathLike | None = None,
    anyway: bool = False,
    accept_findings: bool = False,
    sandbox: Backend = "bubblewrap",
    **settings: object,
) -> GenerationResult:
    """Resume a run of `generate`, under its own settings. `max_cost` raises its cap, `anyway` goes on where it stopped
    because no skill could help or nothing was left to fix, `accept_findings` saves a draft with dangerous content.
    Nothing is bought twice.

    A run folder gives no orders: `sandbox="none"`, base URLs, `output` and other folders, and `sources`, the skill that
    is improved, where it lies outside the working folder, must be given again, as with `upskill generate --resume`.
    """
    progress = _GenerateProgress()

    def work() -> GenerateResult:
        typed = generating.TypedGenerate(
            again=evaluating.TypedAgain(
                settings=_resolved("resume_generate()", dict(settings)),
                sandbox=_backend(sandbox),
                skill=None if sources is None else Path(sources),
            ),
            output=None if output is None else os.fspath(output),
            plan_file=None if plan is None else os.fspath(plan),
        )
        return generating.resume_generate(
            Path(run),
            typed=typed,
            anyway=anyway,
            accept=lambda _found, _draft: accept_findings,
            progress=progress,
        )

    return _call(lambda: progress.watch(work))


def read_trace(source: PathLike, *, budget: int | None = None) -> TraceResult:
    """Read a recording, a folder of them, or `last`, as `upskill trace` does; `budget`: tokens of the digest.

    Secrets are taken out. Calls no model and writes nothing.
    """

    def work() -> TraceResult:
        return TraceResult(
            source=reading.read_trace(
                os.fspath(source),
                budget=DEFAULT_BUDGET if budget is None else budget,
                folder=Path.cwd(),
                environment=os.environ,
                now=time.time(),
            )
        )

    return _call(work)


def _evaluated(evaluation: Evaluation) -> EvaluationResult:
    """The result; or, of what a person interrupted, an interrupt that says how to resume."""
    if evaluation.interrupted:
        command = evaluating.resume_command(Path(evaluation.run), library=True)
        raise KeyboardInterrupt(f"every answer so far is saved; resume with {command}")
    return EvaluationResult(evaluation=evaluation, run=Path(evaluation.run).resolve())


class _Interruptible(RunProgress):
    """Shows nothing. Where much is done before the first call, lets an interrupt through."""

    def step(self, what: str, done: int, of: int | None) -> None:
        """Called for every case or answer."""
        raise_if_interrupted()


class _GenerateProgress(_Interruptible):
    """Remembers the run folder, for whoever interrupts."""

    run: Path | None = None

    def run_created(self, run: Path) -> None:
        """Remember what can be resumed."""
        self.run = run

    def watch(self, work: Callable[[], GenerateResult]) -> GenerationResult:
        """The result of the work; an interrupt says how to resume it."""
        try:
            generated = work()
        except KeyboardInterrupt:
            if self.run is None:
                raise
            kept = f"every answer so far is saved; resume with {resume_command(self.run, library=True)}"
            raise KeyboardInterrupt(kept) from None
        measured = generated.evaluation
        return GenerationResult(
            generated=generated,
            run=Path(generated.run).resolve(),
            saved=None if generated.saved is None else Path(generated.saved).resolve(),
            evaluation=None
            if measured is None
            else EvaluationResult(evaluation=measured, run=Path(measured.run).resolve()),
        )


def _refuse(price: str) -> bool:
    raise UsageError(f"{price}. Nothing was run: pass yes=True to run it")


def _backend(sandbox: Backend) -> Backend:
    if sandbox not in get_args(Backend):
        raise UsageError(f"sandbox must be {' or '.join(get_args(Backend))}, not {sandbox!r}")
    return sandbox


def _resolved(function: str, settings: dict[str, object], *, models: str | Sequence[str] = ()) -> ResolvedSettings:
    given = {"models": (models,) if isinstance(models, str) else tuple(models), **settings}
    return resolve_settings(given, typed=dict.fromkeys(given, function))


def _call(work: Callable[[], T]) -> T:
    """Do the work, with an event loop running here or not. Errors show their hints, and no key of the user."""

    def alone() -> T:
        with _one_at_a_time:
            raise_if_interrupted()  # while it waited for another call
            return work()

    try:
        return beside_event_loops(alone)
    except UpskillError as error:
        clean = redactor_from(os.environ).clean_own
        error.message, error.problems = clean(error.message), tuple(map(clean, error.problems))
        error.args = (error.message,)
        if error.hint is not None:
            error.hint = clean(error.hint)
            error.add_note(f"hint: {error.hint}")
        raise
