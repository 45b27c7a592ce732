"""The results of the library: typed, and able to show themselves in a terminal and in a notebook."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from upskill.core.nouns import Evaluation, StudentReport, Trial, Verdict
from upskill.core.nouns.case import Json
from upskill.core.nouns.evaluation import ComparedSkill, ComparedSkills, Required
from upskill.core.nouns.text import count
from upskill.errors import UsageError
from upskill.evaluation.past_runs import trials_of
from upskill.generation.generated import GenerateResult
from upskill.report.html.shell import escaped
from upskill.report.wording import arm_name, arm_percents, confidence_interval, points
from upskill.traces.trace import TraceSource

if TYPE_CHECKING:
    import pandas
    from rich.console import Console

_PRINTED_WIDTH = 100


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class EvaluationResult:
    """The result of an evaluation."""

    evaluation: Evaluation
    """All figures."""
    run: Path
    """The run folder."""
    _regraded: tuple[Trial, ...] | None = None

    @property
    def students(self) -> tuple[StudentReport, ...]:
        """One report per model."""
        return self.evaluation.students

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the only model. Raises `UsageError` if several models were measured."""
        if len(self.students) != 1:
            raise UsageError(f"{len(self.students)} models were measured: read `.students`, one report per model")
        return self.students[0].verdict

    def meets(self, required: Required = "helps") -> bool:
        """Whether the skill helps every model, as `--require` asks; `no-harm`: whether it hurts none, and breaks no
        case."""
        return all(report.meets(required) for report in self.students)

    def trials(self) -> Iterator[Trial]:
        """Every answer in the order of completion; for a regraded run, with its new grades."""
        return trials_of(self.run) if self._regraded is None else iter(self._regraded)

    def report(self) -> Path:
        """The path of `report.html`, which is written if it does not exist."""
        from upskill.evaluation.report import REPORT_FILE, read_report, write_page

        if self._regraded is not None:
            raise UsageError("a regraded run has no report: a report shows the original grades")
        page = self.run / REPORT_FILE
        if not page.exists():
            write_page(read_report(self.run, evaluation=self.evaluation).page(), page)
        return page

    def to_dict(self) -> dict[str, Json]:
        """The object that `upskill eval --json` prints."""
        from upskill.report.json_report import evaluation_json

        return evaluation_json(self.evaluation)

    def to_frame(self) -> "pandas.DataFrame":
        """One row per answer, with the columns of `--write FILE.csv`. Needs pandas, which upskill does not install."""
        from upskill.report.formats import COLUMNS, trial_rows

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
        from upskill.report.terminal import show_evaluation

        return _printed(lambda console: show_evaluation(self.evaluation, console))

    def _repr_html_(self) -> str:
        return evaluation_table(self.evaluation)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class SkillsResult:
    """The result of an evaluation of several skills."""

    compared: ComparedSkills
    """All figures."""

    @property
    def skills(self) -> tuple[ComparedSkill, ...]:
        """One entry per skill, in order; `evaluation` is `None` where it was not measured."""
        return self.compared.skills

    def meets(self, required: Required = "helps") -> bool:
        """Whether every skill that was measured meets this for every model, and none failed or was not started."""
        return self.compared.requiring(required).exit_code() == 0

    def to_dict(self) -> dict[str, Json]:
        """The object that `upskill eval --json` prints for several skills."""
        from upskill.evaluation.several import compared_json

        return compared_json(self.compared)

    def __repr__(self) -> str:
        return f"SkillsResult(skills={[(one.name, one.state) for one in self.skills]})"

    def __str__(self) -> str:
        from upskill.evaluation.several import show_compared

        return _printed(lambda console: show_compared(self.compared, console))

    def _repr_html_(self) -> str:
        return preformatted(str(self))


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class GenerationResult:
    """A skill that was made or improved."""

    generated: GenerateResult
    """All figures."""
    run: Path
    """The run folder."""
    saved: Path | None
    """The folder of the skill; `None` if an older version stays in place."""
    evaluation: EvaluationResult | None
    """The evaluation on held-out cases, if there was one."""

    @property
    def status(self) -> str:
        """A verdict, `not proven` or `not measured`. With several models, the worst of them."""
        return self.generated.status

    def to_dict(self) -> dict[str, Json]:
        """The object that `upskill generate --json` prints."""
        from upskill.generation.words import generated_json

        return generated_json(self.generated)

    def __repr__(self) -> str:
        made = self.generated
        return f"GenerationResult(skill={made.skill.name!r}, status={made.status!r}, saved={made.saved!r})"

    def __str__(self) -> str:
        from upskill.generation.words import show_generated

        return _printed(lambda console: show_generated(self.generated, console))

    def _repr_html_(self) -> str:
        return generated_html(self.generated)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class TraceResult:
    """What was found in a session."""

    source: TraceSource
    """All figures and findings."""

    @property
    def digest(self) -> str:
        """The digest that a teacher gets, as Markdown."""
        return self.source.digest.text

    def to_dict(self) -> dict[str, Json]:
        """The object that `upskill trace --json` prints."""
        from upskill.traces.command import trace_json

        return trace_json(self.source)

    def __repr__(self) -> str:
        findings = len(self.source.digest.kept)
        return f"TraceResult(place={self.source.place!r}, traces={len(self.source.traces)}, findings={findings})"

    def __str__(self) -> str:
        from upskill.traces.command import show_trace

        return _printed(lambda console: show_trace(self.source, console))

    def _repr_html_(self) -> str:
        return preformatted(str(self))


def _printed(show: "Callable[[Console], None]") -> str:
    from upskill.report.console import VisibleConsole

    file = StringIO()
    show(VisibleConsole(file=file, width=_PRINTED_WIDTH, color_system=None, highlight=False, emoji=False))
    return file.getvalue()


_LEFT = "text-align:left;vertical-align:top;padding:4px 12px 4px 0;overflow-wrap:anywhere"
_RIGHT = "text-align:right;vertical-align:top;padding:4px 12px 4px 0;white-space:nowrap"


def evaluation_table(evaluation: Evaluation) -> str:
    """One row per model: both pass rates, the lift in points with its interval, the pairs, the verdict in words."""
    first = evaluation.students[0]
    measured, against = (arm_name(arm, first.harness) for arm in first.compared)
    titles = ("model", against, measured, "lift in points", "pairs", "verdict")
    head = "".join(
        f'<th scope="col" style="{_LEFT if title in ("model", "verdict") else _RIGHT}">{escaped(title)}</th>'
        for title in titles
    )
    rows = "".join(f"<tr>{''.join(_cells(report))}</tr>" for report in evaluation.students)
    cases = count(evaluation.cases, "case") + f", run saved in {evaluation.run}"
    notes = "".join(f"<br>note: {escaped(note)}" for note in evaluation.notes).removeprefix("<br>")
    return (
        f'<table style="border-collapse:collapse"><caption style="{_LEFT}"><strong>{escaped(evaluation.skill.name)}'
        f"</strong>: {escaped(cases)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"<small>{notes}</small>"
    )


def _cells(report: StudentReport) -> Iterator[str]:
    rates = [arm_percents(report).get(arm, "–") for arm in reversed(report.compared)]
    lift, pairs = "–", "–"
    if report.lifts:
        found = report.lifts[0]
        lift, pairs = f"{points(found.mean)} ({confidence_interval(found)})", str(found.pairs)
    yield f'<th scope="row" style="{_LEFT};min-width:7em">{escaped(report.student.name)}</th>'
    yield from (f'<td style="{_RIGHT}">{escaped(cell)}</td>' for cell in (*rates, lift, pairs))
    yield f'<td style="{_LEFT};min-width:16em">{escaped(report.sentence)}</td>'


def generated_html(generated: GenerateResult) -> str:
    """The skill, what is known of it, and the table of its held-out evaluation where there was one."""
    place = f"saved in {generated.saved}" if generated.saved is not None else f"run saved in {generated.run}"
    said = f"<p><strong>{escaped(generated.skill.name)}</strong>: {escaped(generated.sentence)}; {escaped(place)}</p>"
    return said + ("" if generated.evaluation is None else evaluation_table(generated.evaluation))


def preformatted(text: str) -> str:
    """Text as it would stand on a terminal."""
    return f"<pre>{escaped(text)}</pre>"
