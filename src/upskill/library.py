"""The library: what the commands do, with plain arguments and typed results. `import upskill` offers these names.

Settings that no argument names come from where the commands take them: `UPSKILL_*`, the project's file, the user's
file, the defaults. Where an event loop is already running, as in a notebook, the work is done in a thread of its own.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from upskill.domain import Evaluation, StudentReport, Trial, Verdict
from upskill.domain.case import Json
from upskill.domain.generated import GenerateResult
from upskill.domain.trace_digest import TraceSource
from upskill.errors import UpskillError, UsageError
from upskill.models.interruption import beside_event_loops, raise_if_interrupted
from upskill.redaction import redactor_from
from upskill.reporting.notebook import evaluation_table, generated_html, preformatted
from upskill.sandbox import Backend
from upskill.settings import Resolved, resolve_settings
from upskill.workflows.evaluating.evaluate import Silence
from upskill.workflows.evaluating.spending_rules import PricedPlan
from upskill.workflows.generating.generate import GeneratePlan, Unheard

if TYPE_CHECKING:
    import pandas
    from rich.console import Console

T = TypeVar("T")
PathLike = str | os.PathLike[str]
_PRINTED_WIDTH = 100
_one_at_a_time = threading.Lock()
"""The engine runs once per process. Another call waits until it has ended."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class EvaluationResult:
    """What an evaluation found. `print` shows what `upskill eval` prints; a notebook shows a table."""

    evaluation: Evaluation
    """Every figure, as frozen values."""
    run: Path
    """The run folder."""
    _regraded: tuple[Trial, ...] | None = None

    @property
    def students(self) -> tuple[StudentReport, ...]:
        """One report per model: its verdict, its lifts with their intervals, its arms."""
        return self.evaluation.students

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the one model that was measured. Raises `UsageError` where there were several."""
        if len(self.students) != 1:
            raise UsageError(f"{len(self.students)} models were measured: read `.students`, one report per model")
        return self.students[0].verdict

    def trials(self) -> Iterator[Trial]:
        """Every trial with its answer, in the order they ended; of a regraded run, with its new grades."""
        from upskill.workflows.list_runs import trials_of

        return trials_of(self.run) if self._regraded is None else iter(self._regraded)

    def report(self) -> Path:
        """The path of `report.html`, the page of the run. It is written where the run did not write it."""
        from upskill.reporting.pictures import Drawer
        from upskill.workflows.evaluating.report import REPORT_FILE, draw, read_report, write_page

        if self._regraded is not None:
            raise UsageError("a report shows a run as it was graded then: there is none of a regraded run")
        page = self.run / REPORT_FILE
        if not page.exists():
            report = read_report(self.run, evaluation=self.evaluation)
            with Drawer() as drawer:
                drawn, _ = draw(report.pictures, drawer)
            write_page(report.page(drawn), page)
        return page

    def to_dict(self) -> dict[str, Json]:
        """The object that `upskill eval --json` prints."""
        from upskill.reporting import evaluation_json

        return evaluation_json(self.evaluation)

    def to_frame(self) -> "pandas.DataFrame":
        """One row per trial, with the columns of `upskill eval --csv`. Needs pandas, which upskill does not install."""
        from upskill.reporting.csv_report import COLUMNS, trial_rows

        try:
            import pandas
        except ImportError:
            raise ImportError("to_frame() needs pandas; install it with: python -m pip install pandas") from None
        return pandas.DataFrame(trial_rows(self.evaluation, self.trials()), columns=list(COLUMNS))

    def __repr__(self) -> str:
        verdicts = {report.student.name: report.verdict for report in self.students}
        return (
            f"EvaluationResult(skill={self.evaluation.skill.name!r}, verdicts={verdicts}, run={self.evaluation.run!r})"
        )

    def __str__(self) -> str:
        from upskill.reporting.terminal import show_evaluation

        return _printed(lambda console: show_evaluation(self.evaluation, console))

    def _repr_html_(self) -> str:
        return evaluation_table(self.evaluation)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class GenerationResult:
    """A skill that was made or improved. `print` shows what `upskill generate` prints."""

    generated: GenerateResult
    """Every figure, as frozen values."""
    run: Path
    """The run folder."""
    saved: Path | None
    """The folder of the skill; `None` where an older version stays in its place."""
    evaluation: EvaluationResult | None
    """On held-out cases; `None` where nothing was measured on them."""

    @property
    def status(self) -> str:
        """A verdict, `not proven` or `not measured`: of several models, that of the model it serves worst."""
        return self.generated.status

    def to_dict(self) -> dict[str, Json]:
        """The object that `upskill generate --json` prints."""
        from upskill.reporting.generated import generated_json

        return generated_json(self.generated)

    def __repr__(self) -> str:
        made = self.generated
        return f"GenerationResult(skill={made.skill.name!r}, status={made.status!r}, saved={made.saved!r})"

    def __str__(self) -> str:
        from upskill.reporting.generated import show_generated

        return _printed(lambda console: show_generated(self.generated, console))

    def _repr_html_(self) -> str:
        return generated_html(self.generated)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class TraceResult:
    """What was understood of a recording. `print` shows what `upskill trace` prints."""

    source: TraceSource
    """Every figure and every finding, as frozen values."""

    @property
    def digest(self) -> str:
        """The digest that a teacher would be given, as Markdown."""
        return self.source.digest.text

    def to_dict(self) -> dict[str, Json]:
        """The object that `upskill trace --json` prints."""
        from upskill.reporting.trace_report import trace_json

        return trace_json(self.source)

    def __repr__(self) -> str:
        findings = len(self.source.digest.kept)
        return f"TraceResult(place={self.source.place!r}, traces={len(self.source.traces)}, findings={findings})"

    def __str__(self) -> str:
        from upskill.reporting.trace_report import show_trace

        return _printed(lambda console: show_trace(self.source, console))

    def _repr_html_(self) -> str:
        return preformatted(str(self))


def evaluate(
    skill: PathLike,
    *,
    models: str | Sequence[str] = (),
    runs: int | Literal["auto"] = "auto",
    tests: PathLike | None = None,
    previous: PathLike | None = None,
    no_baseline: bool = False,
    min_lift: float | None = None,
    sandbox: Backend = "bubblewrap",
    yes: bool = False,
    **settings: object,
) -> EvaluationResult:
    """Measure a skill on each model, with the skill and without it, as `upskill eval` does.

    `tests` is a file of cases, `previous` an older version of the skill to measure against instead of no skill.
    `settings` are any of the settings by name, such as `base_url`, `judge`, `max_cost` or `store=False`.

    What may cost more than a dollar or take longer than ten minutes is refused, with its price, unless `yes` is given.
    An interrupt ends the run in good order and raises `KeyboardInterrupt`; `resume` continues it.
    """
    from upskill.workflows.evaluate import EvaluationOrder
    from upskill.workflows.evaluate import evaluate as run_evaluation

    order = EvaluationOrder(
        skill=Path(skill),
        case_file=None if tests is None else Path(tests),
        repeats=None if runs == "auto" else runs,
        baseline=not no_baseline,
        min_lift=min_lift,
        previous=None if previous is None else Path(previous),
        sandbox=_backend(sandbox),
    )

    def work() -> EvaluationResult:
        chosen = _resolved("evaluate()", settings, models=models)
        confirm = (lambda _: True) if yes else _refuse_evaluation
        return _evaluated(run_evaluation(order, settings=chosen, progress=_Interruptible(), confirm=confirm))

    return _call(work)


def resume(run: PathLike) -> EvaluationResult:
    """Resume a run of `evaluate` that was interrupted or killed, under its own settings. Nothing is bought twice."""
    from upskill.workflows.evaluate import resume as resume_run

    return _call(lambda: _evaluated(resume_run(Path(run), progress=_Interruptible())))


def regrade(run: PathLike, *, tests: PathLike | None = None) -> EvaluationResult:
    """Grade the answers of a run again with the checks as they are now, as `upskill regrade` does. Calls no model."""
    from upskill.workflows.evaluating.regrade import regrade as regrade_run

    def work() -> EvaluationResult:
        regraded: list[Trial] = []
        evaluation = regrade_run(
            Path(run),
            case_file=None if tests is None else Path(tests),
            step=_Interruptible().step,
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
    sandbox: Backend = "bubblewrap",
    yes: bool = False,
    **settings: object,
) -> GenerationResult:
    """Make a skill for a task or from recordings, or improve one, and measure it, as `upskill generate` does.

    `sources` are what `--from` names, `teacher` writes the skill, `models` are measured, `cases` are how many to learn
    from, held out and negative ("10+16+4"), `output` is the folder of the skill. Price, settings and interrupts are as
    with `evaluate`; `resume_generate` continues a run.
    """
    from upskill.teaching.case_split import CaseCounts, read_counts
    from upskill.workflows.generating.generate import GenerateOrder
    from upskill.workflows.generating.generate import generate as run_generate

    if effort not in ("low", "high"):
        raise UsageError(f"effort must be low or high, not {effort!r}")
    named = [sources] if isinstance(sources, str | os.PathLike) else sources

    def work() -> GenerationResult:
        order = GenerateOrder(
            task=task,
            examples=tuple(examples),
            sources=tuple(os.fspath(one) for one in named),
            output=None if output is None else os.fspath(output),
            counts=CaseCounts() if cases is None else read_counts(cases),
            case_file=None if tests is None else os.fspath(tests),
            evaluate=not no_eval,
            revisions=revisions,
            effort=effort,
            sandbox=_backend(sandbox),
        )
        chosen = _resolved("generate()", {**settings, "teacher": teacher}, models=models)
        listener = _GenerateListener()
        confirm = (lambda _: True) if yes else _refuse_generate
        return listener.watch(lambda: run_generate(order, settings=chosen, listener=listener, confirm=confirm))

    return _call(work)


def resume_generate(run: PathLike, *, max_cost: float | None = None) -> GenerationResult:
    """Resume a run of `generate`, under its own settings. `max_cost` raises its cap. Nothing is bought twice."""
    from upskill.workflows.generating.generate import resume_generate as resume_run

    listener = _GenerateListener()
    return _call(lambda: listener.watch(lambda: resume_run(Path(run), max_cost=max_cost, listener=listener)))


def read_trace(source: PathLike, *, budget: int | None = None) -> TraceResult:
    """Read a recording, a folder of them, or `last`, as `upskill trace` does; `budget`: tokens of the digest.

    Secrets are taken out. Calls no model and writes nothing.
    """
    from upskill.traces.digesting import DEFAULT_BUDGET
    from upskill.workflows.read_trace import read_trace as read

    def work() -> TraceResult:
        return TraceResult(
            source=read(
                os.fspath(source),
                budget=DEFAULT_BUDGET if budget is None else budget,
                folder=Path.cwd(),
                environment=os.environ,
                say=lambda _: None,
                now=time.time(),
            )
        )

    return _call(work)


def _evaluated(evaluation: Evaluation) -> EvaluationResult:
    """The result; or, of what a person interrupted, an interrupt that says how to resume."""
    if evaluation.interrupted:
        raise KeyboardInterrupt(f"the run is kept: resume it with upskill.resume({evaluation.run!r})")
    return EvaluationResult(evaluation=evaluation, run=Path(evaluation.run).resolve())


class _Interruptible(Silence):
    """Shows nothing. Where much is done before the first call, lets an interrupt through."""

    def step(self, what: str, done: int, of: int | None) -> None:
        """Called for every case or answer."""
        raise_if_interrupted()


class _GenerateListener(Unheard):
    """Shows nothing. Remembers the run folder, for whoever interrupts."""

    run: Path | None = None

    def begun(self, run: Path) -> None:
        """Remember what can be resumed."""
        self.run = run

    def watch(self, work: Callable[[], GenerateResult]) -> GenerationResult:
        """The result of the work; an interrupt says how to resume it."""
        try:
            generated = work()
        except KeyboardInterrupt:
            if self.run is None:
                raise
            kept = f"the run is kept: resume it with upskill.resume_generate({self.run.as_posix()!r})"
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


def _refuse_evaluation(plan: PricedPlan) -> bool:
    raise UsageError(f"price {plan.price}; {plan.minutes}. Nothing was run: give yes=True to run it")


def _refuse_generate(plan: GeneratePlan) -> bool:
    price = "; ".join(line.strip() for line in plan.shares)
    raise UsageError(f"{price}. Nothing was run: give yes=True to run it")


def _backend(sandbox: Backend) -> Backend:
    if sandbox not in get_args(Backend):
        raise UsageError(f"sandbox must be {' or '.join(get_args(Backend))}, not {sandbox!r}")
    return sandbox


def _resolved(function: str, settings: dict[str, object], *, models: str | Sequence[str]) -> Resolved:
    given = {**settings, "models": (models,) if isinstance(models, str) else tuple(models)}
    return resolve_settings(given, typed=dict.fromkeys(given, function))


def _printed(show: "Callable[[Console], None]") -> str:
    from rich.console import Console

    file = StringIO()
    show(Console(file=file, width=_PRINTED_WIDTH, color_system=None, highlight=False, emoji=False))
    return file.getvalue()


def _call(work: Callable[[], T]) -> T:
    """Do the work, with an event loop running here or not. Errors show their hints, and no key of the user."""

    def alone() -> T:
        with _one_at_a_time:
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
