"""Past runs and looks: as one table, a row for each model of a run, newest first; as JSON rows and as CSV."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import shorten, wrap
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from upskill.core.nouns.case import Json
from upskill.core.nouns.evaluation import PastResult, PastRun
from upskill.core.nouns.lift import with_scope
from upskill.core.nouns.look import Look
from upskill.report import wording
from upskill.report.console import show_rows, table_lines
from upskill.report.formats import safe_cell
from upskill.report.glance import ASCII_SIGNS, IN_ASCII, NO_SIGN, SIGNS
from upskill.report.terminal import style_of
from upskill.report.wording import names_by_model

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = (
    *("started", "skill", "digest"),
    *("model", "verdict", "before", "after", "lift", "low", "high", "interval_for", "pairs", "spent"),
    *("status", "folder", "answered_by"),
)
"""Columns of the CSV. Later versions add columns at the end only."""


def who(result: PastResult) -> str:
    """The model as it was named, and who answered where a server named another."""
    return result.model + (f" (answered by {', '.join(result.answered_by[:3])})" if result.answered_by else "")


def run_rows(runs: Iterable[PastRun]) -> list[Json]:
    """One object per run, as `upskill runs --json` has it. Keys are a promise: added, never changed."""
    return [
        {
            "started": run.started_at,
            "skill": run.skill,
            "status": run.status,
            "found": found(run),
            "folder": run.folder,
            "digest": run.digest,
            "finished": run.finished_at,
            "cost": run.cost,
            "students": [student_row(result) for result in run.results],
        }
        for run in runs
    ]


def found(run: PastRun) -> str | None:
    """What came out, in one line."""
    if run.problem is not None or run.sentence is not None:
        return run.problem or run.sentence or ""
    return "; ".join(f"{who(result)}: {result.verdict or result.sentence}" for result in run.results)


def student_row(result: PastResult) -> Json:
    """What a run found for one student."""
    return {
        "model": result.model,
        "harness": result.harness,
        "verdict": result.verdict,
        "against": result.against,
        "arm": result.arm,
        "before": result.before,
        "after": result.after,
        "lift": result.lift,
        "interval": None if result.interval is None else [result.interval.low, result.interval.high],
        "interval_for": result.about,
        "pairs": result.pairs,
        "spent": result.spent,
        "answered_by": list(result.answered_by),
    }


def runs_csv(runs: Iterable[PastRun]) -> str:
    """A row per run and model (RFC 4180). What is unknown is empty, never 0."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for run in runs:
        for result in run.results or (None,):
            writer.writerow([safe_cell(cell) for cell in _csv_cells(run, result)])
    return file.getvalue()


def _csv_cells(run: PastRun, result: PastResult | None) -> tuple[str | float | None, ...]:
    measured: tuple[str | float | None, ...] = (None,) * 10
    if result is not None:
        low, high = (None, None) if result.interval is None else (result.interval.low, result.interval.high)
        measured = (result.model, result.verdict, result.before, result.after, result.lift, low, high, result.about)
        measured += (result.pairs, result.spent)
    served = " ".join(result.answered_by) if result is not None else ""
    return (run.started_at, run.skill, run.digest, *measured, run.status, run.folder, served or None)


_NEEDED = "▲▼◆→−–…†"
"""Signs that a terminal must be able to show; else all of them are replaced."""
_GAP = 2
_SHOWN_OF_DIGEST = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class _Row:
    """One model of a run. A run that found nothing has a sentence instead of figures."""

    skill: str
    model: str = ""
    rates: str = ""
    lift: str = ""
    verdict: str = ""
    style: str = ""
    cost: str = ""
    sentence: str = ""

    @property
    def cells(self) -> tuple[Text, ...]:
        verdict = Text(self.verdict, style=self.style)
        return (*map(Text, (self.skill, self.model, self.rates, self.lift)), verdict, Text(self.cost))


def show_runs(runs: Sequence[PastRun], console: Console, *, versions: bool = False) -> None:
    """Print the table: a line for each model where there is room for the name of the run beside it, else below it.

    With `versions`, where all runs are of one skill, the first characters of its digest take the place of its name.
    """
    plain = not wording.can_draw(console, _NEEDED)
    blocks = list(zip(runs, _rows(runs, versions=versions, plain=plain), strict=True))
    arrow = "->" if plain else "→"
    heads = (
        "version" if versions else "skill",
        "model",
        f"without {arrow} with",
        f"lift ({wording.USUAL})",
        "verdict",
        "cost",
    )
    measured = [row for _, rows in blocks for row in rows if not row.sentence]
    room = console.width - _GAP
    head, *figures = table_lines(heads, [row.cells for row in measured], room, names=2, right=(len(heads) - 1,))
    widest = max(cell_len(line.plain) for lines in (head, *figures) for line in lines)
    longest_run = max(cell_len(_run_words(run)) for run, _ in blocks)
    is_wide = len(head) == 1 and 10 + _GAP + widest + _GAP + longest_run <= console.width
    drawn = _Drawn(blocks, head, iter(figures), widest)
    for line in (*(_wide(drawn) if is_wide else _narrow(drawn, room)), *_footnotes(runs)):
        line.rstrip()
        console.print(Text(line.plain.translate(IN_ASCII), style=line.style) if plain else line, soft_wrap=True)


def verdict_words(verdict: str | None, *, plain: bool = False) -> str:
    """A verdict with its sign: `▲ helps`."""
    sign = SIGNS.get(verdict or "", NO_SIGN)
    word = {None: "not compared", "invalid": "no verdict"}.get(verdict, verdict)
    return f"{ASCII_SIGNS[sign] if plain else sign} {word}"


def _rows(runs: Sequence[PastRun], *, versions: bool, plain: bool) -> Iterator[list[_Row]]:
    models = list(dict.fromkeys(result.model for run in runs for result in run.results))
    names = names_by_model(models)
    for run in runs:
        digest = (run.digest or "").removeprefix("sha256:")[:_SHOWN_OF_DIGEST]
        label = (digest if versions else run.skill) or ""
        if not run.results:
            yield [_Row(skill=label, sentence=found(run) or "nothing was measured")]
            continue
        yield [
            _row(
                result,
                skill="" if number else label,
                name=names[result.model],
                cost="" if number else _cost(run),
                plain=plain,
            )
            for number, result in enumerate(run.results)
        ]


def _row(result: PastResult, *, skill: str, name: str, cost: str, plain: bool) -> _Row:
    # Where there is no verdict nothing may look like one.
    rates, lift = ("–", "–") if result.verdict == "invalid" else (_rates(result), _lift(result))
    if plain:
        rates, lift, cost = (text.translate(IN_ASCII) for text in (rates, lift, cost))
    verdict = verdict_words(result.verdict, plain=plain)
    style = style_of(result.verdict or "")
    return _Row(skill=skill, model=name, rates=rates, lift=lift, verdict=verdict, style=style, cost=cost)


def _rates(result: PastResult) -> str:
    before, after = wording.percents(result.before, result.after, result.lift)
    if result.lift is None:
        return after
    return f"{before:>4} → {after:>4}{'†' if result.against == 'previous' else ''}"


def _lift(result: PastResult) -> str:
    if result.lift is None:
        return "–"
    if result.interval is None:
        return wording.points(result.lift)
    interval = wording.interval_in_column(result.interval, result.confidence)
    return f"{wording.points(result.lift)} ({interval}){'*' if result.about == 'these cases' else ''}"


def _cost(run: PastRun) -> str:
    return "–" if run.cost is None else wording.dollars(run.cost)


def _run_words(run: PastRun) -> str:
    """The name of the folder, and how the run ended where it did not simply end."""
    name = run.folder.rpartition("/")[2]
    return name if run.status == "finished" else f"{name}  {run.status}"


class _Drawn(NamedTuple):
    """The runs with their rows, and the lines of the head and of each row that has figures."""

    blocks: Sequence[tuple[PastRun, list[_Row]]]
    head: list[Text]
    figures: Iterator[list[Text]]
    widest: int


def _wide(drawn: _Drawn) -> Iterator[Text]:
    """A line for each model; the date and the name of the run in the first of them."""
    gap = " " * _GAP
    yield Text.assemble("date".ljust(10) + gap, drawn.head[0], f"{_to(drawn.head[0], drawn.widest)}run", style="dim")
    for run, rows in drawn.blocks:
        for number, row in enumerate(rows):
            words = Text(shorten(f"{row.skill}{gap}{row.sentence}", drawn.widest, placeholder=" …"))
            line = words if row.sentence else next(drawn.figures)[0]
            name = Text(_run_words(run) if number == 0 else "", style="dim")
            yield Text.assemble((run.day if number == 0 else "").ljust(10) + gap, line, _to(line, drawn.widest), name)


def _to(line: Text, width: int) -> str:
    """The space after a line, as far as the next column."""
    return " " * (width - cell_len(line.plain) + _GAP)


def _narrow(drawn: _Drawn, room: int) -> Iterator[Text]:
    """The name of a run, which begins with its date, and below it each model."""
    indent = " " * _GAP
    yield from (Text.assemble(indent, line) for line in drawn.head)
    for run, rows in drawn.blocks:
        words = _run_words(run)
        yield Text(words if words.startswith(run.day) else f"{run.day}  {words}", style="bold")
        for row in rows:
            if row.sentence:
                words = f"{row.skill}: {row.sentence}" if row.skill else row.sentence
                lines = wrap(words, room, break_on_hyphens=False, break_long_words=False)
                yield from (Text(indent + line) for line in lines)
            else:
                yield from (Text.assemble(indent, line) for line in next(drawn.figures))


def _footnotes(runs: Sequence[PastRun]) -> Iterator[Text]:
    results = [result for run in runs for result in run.results]
    if any(result.against == "previous" for result in results):
        yield Text("† old version → new version", style="dim")
    if any(result.about == "these cases" for result in results):
        yield Text("* on these cases only; nothing is shown for new cases of this kind", style="dim")
    for line in dict.fromkeys(who(result) for result in results if result.answered_by):
        yield Text(line, style="dim")


LOOK_COLUMNS = ("when", "model", "skill", "version", "cases", "level", "verdict", "lift")


def look_rows(looks: Iterable[Look]) -> list[dict[str, Json]]:
    """Oldest first. `cases_added` and `cases_removed` count from the look before at the same model."""
    before: dict[str, frozenset[str]] = {}
    rows: list[dict[str, Json]] = []
    for look in looks:
        earlier = before.get(look.model, look.keys)
        before[look.model] = look.keys
        rows.append(
            {
                "at": look.at,
                "run": look.run,
                "model": look.student,
                "model_key": look.model,
                "settings_key": look.kind,
                "skill": look.skill,
                "digest": look.version,
                "against": look.against,
                "design": look.design,
                "repeats": look.repeats,
                "cases": len(look.cases),
                "cases_added": len(look.keys - earlier),
                "cases_removed": len(earlier - look.keys),
                "pairs": sum(len(case.pairs) for case in look.cases),
                "lost": {"with_skill": look.lost, "against": look.lost_against},
                "level": look.level,
                "verdict": look.verdict,
                "claim": look.claim,
                "sentence": look.sentence,
                "end": look.end,
                "lift": look.lift,
            }
        )
    return rows


def show_looks(looks: Sequence[Look], console: "Console") -> None:
    """A line per look."""
    show_rows([_look_row(row) for row in look_rows(looks)], LOOK_COLUMNS, console, names=3)


def _look_row(row: dict[str, Json]) -> dict[str, object]:
    changed = [f"{sign}{row[name]}" for sign, name in (("+", "cases_added"), ("-", "cases_removed")) if row[name]]
    level, lift = row["level"], row["lift"]
    return {
        "when": str(row["at"])[:16].replace("T", " "),
        "model": row["model"],
        "skill": row["skill"],
        "version": str(row["digest"])[:12],
        "cases": str(row["cases"]) + (f" ({', '.join(changed)})" if changed else ""),
        "level": f"{level * 100:.2g}%" if isinstance(level, float) else "",
        "verdict": with_scope(str(row["verdict"]), str(row["claim"])),
        "lift": wording.points(lift) if isinstance(lift, int | float) else "-",
    }
