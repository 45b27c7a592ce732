"""Past runs and looks: as one table, a row for each model of a run, newest first; as JSON rows and as CSV."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from upskill.core.nouns.case import Json
from upskill.core.nouns.evaluation import PastResult, PastRun
from upskill.core.nouns.look import Look
from upskill.core.nouns.text import shortened
from upskill.report import wording
from upskill.report.console import show_rows
from upskill.report.formats import safe_cell
from upskill.report.glance import ASCII_SIGNS, IN_ASCII, NO_SIGN, SIGNS
from upskill.report.terminal import style_of
from upskill.report.wording import fitted, names_by_model

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
        "interval_for": _reach(result),
        "pairs": result.pairs,
        "spent": result.spent,
        "answered_by": list(result.answered_by),
    }


def _reach(result: PastResult) -> str | None:
    if result.interval is None:
        return None
    return "these cases" if result.narrow else "cases like these"


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
        measured = (result.model, result.verdict, result.before, result.after, result.lift, low, high, _reach(result))
        measured += (result.pairs, result.spent)
    served = " ".join(result.answered_by) if result is not None else ""
    return (run.started_at, run.skill, run.digest, *measured, run.status, run.folder, served or None)


_NEEDED = "▲▼◆→−–…†"
"""Signs that a terminal must be able to show; else all of them are replaced."""
_GAP = 2
_LEAST_NAME = 6
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
    def cells(self) -> tuple[str, ...]:
        return self.skill, self.model, self.rates, self.lift, self.verdict, self.cost


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
    cells = [heads, *(row.cells for _, rows in blocks for row in rows if not row.sentence)]
    widths = [max(cell_len(row[column]) for row in cells) for column in range(len(heads))]
    widths[0] = max(widths[0], *(cell_len(row.skill) for _, rows in blocks for row in rows))
    longest_run = max(cell_len(_run_words(run)) for run, _ in blocks)
    is_wide = 10 + sum(widths) + _GAP * (len(widths) + 1) + longest_run <= console.width
    lines = _wide(blocks, heads, widths) if is_wide else _narrow(blocks, heads, widths, console.width)
    for line in (*lines, *_footnotes(runs)):
        line.rstrip()
        console.print(Text(line.plain.translate(IN_ASCII)) if plain else line, soft_wrap=True)


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
    return f"{wording.points(result.lift)} ({interval}){'*' if result.narrow else ''}"


def _cost(run: PastRun) -> str:
    return "–" if run.cost is None else wording.dollars(run.cost)


def _run_words(run: PastRun) -> str:
    """The name of the folder, and how the run ended where it did not simply end."""
    name = run.folder.rpartition("/")[2]
    return name if run.status == "finished" else f"{name}  {run.status}"


_Blocks = Sequence[tuple[PastRun, list[_Row]]]


def _wide(blocks: _Blocks, heads: Sequence[str], widths: Sequence[int]) -> Iterator[Text]:
    """A line for each model; the date and the name of the run in the first of them."""
    room = sum(widths[1:]) + _GAP * (len(widths) - 2)
    yield Text(_padded(("date", *heads, "run"), (10, *widths, 3)), style="dim")
    for run, rows in blocks:
        for number, row in enumerate(rows):
            line = Text(_padded((run.day if number == 0 else "",), (10,)) + " " * _GAP)
            if row.sentence:
                line.append(_padded((row.skill, shortened(row.sentence, room)), (widths[0], room)))
            else:
                line.append_text(_figures(row, widths))
            yield line.append(" " * _GAP + (_run_words(run) if number == 0 else ""), style="dim")


def _narrow(blocks: _Blocks, heads: Sequence[str], widths: Sequence[int], width: int) -> Iterator[Text]:
    """The name of a run, which begins with its date, and below it a line for each model."""
    room = width - _GAP * len(widths) - sum(widths[2:])
    skill = min(widths[0], max(_LEAST_NAME, room * 2 // 5, room - widths[1]))
    widths = (skill, min(widths[1], max(_LEAST_NAME, room - skill)), *widths[2:])
    indent = " " * _GAP
    yield Text(indent + _padded(heads, widths), style="dim")
    for run, rows in blocks:
        words = _run_words(run)
        yield Text(words if words.startswith(run.day) else f"{run.day}  {words}", style="bold")
        for row in rows:
            if row.sentence:
                words = f"{row.skill}: {row.sentence}" if row.skill else row.sentence
                lines = wrap(words, width - _GAP, break_on_hyphens=False, break_long_words=False)
                yield from (Text(indent + line) for line in lines)
            else:
                yield Text(indent).append_text(_figures(row, widths))


def _figures(row: _Row, widths: Sequence[int]) -> Text:
    """The cells of a row; its verdict in the colour of the verdict."""
    line = Text()
    for number, (cell, width) in enumerate(zip(row.cells, widths, strict=True)):
        cell = fitted(cell, width) if number < 2 else cell
        last = number == len(widths) - 1
        text = " " * (width - cell_len(cell)) + cell if last else cell + " " * (width - cell_len(cell) + _GAP)
        line.append(text, style=row.style if cell == row.verdict else "")
    return line


def _padded(cells: Sequence[str], widths: Sequence[int]) -> str:
    return (" " * _GAP).join(cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True))


def _footnotes(runs: Sequence[PastRun]) -> Iterator[Text]:
    results = [result for run in runs for result in run.results]
    if any(result.against == "previous" for result in results):
        yield Text("† old version → new version", style="dim")
    if any(result.narrow and result.interval is not None for result in results):
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
        lifts = look.report.get("lifts") or [{}]
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
                "lift": lifts[0].get("mean"),
            }
        )
    return rows


def show_looks(looks: Sequence[Look], console: "Console") -> None:
    """A line per look."""
    show_rows([_look_row(row) for row in look_rows(looks)], LOOK_COLUMNS, console, folded=("model", "skill", "verdict"))


def _look_row(row: dict[str, Json]) -> dict[str, object]:
    changed = [f"{sign}{row[name]}" for sign, name in (("+", "cases_added"), ("-", "cases_removed")) if row[name]]
    level, lift = row["level"], row["lift"]
    narrow = " (on these cases)" if row["claim"] == "these cases" else ""
    return {
        "when": str(row["at"])[:16].replace("T", " "),
        "model": row["model"],
        "skill": row["skill"],
        "version": str(row["digest"])[:12],
        "cases": str(row["cases"]) + (f" ({', '.join(changed)})" if changed else ""),
        "level": f"{level * 100:.2g}%" if isinstance(level, float) else "",
        "verdict": f"{row['verdict']}{narrow}",
        "lift": wording.points(lift) if isinstance(lift, int | float) else "-",
    }
