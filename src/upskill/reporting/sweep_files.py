"""The table of a sweep as CSV, JSON, Markdown and cells for Parquet. Foreign text is only text."""

import csv
import io
from collections.abc import Sequence

from upskill.domain.case import Json
from upskill.domain.sweep_table import SweepTable, TableRow
from upskill.domain.text import count
from upskill.reporting.csv_report import Cell, safe_cell
from upskill.reporting.glance.markdown_block import markdown_text
from upskill.reporting.sweep_table import chosen, lift_words, state_words, summary
from upskill.reporting.wording import USUAL

SCHEMA = "upskill.sweep-report/1"
TABLE_TYPES = {
    "skill": "VARCHAR",
    "model": "VARCHAR",
    "state": "VARCHAR",
    "lift": "DOUBLE",
    "low": "DOUBLE",
    "high": "DOUBLE",
    "confidence": "DOUBLE",
    "interval_for": "VARCHAR",
    "pairs": "INTEGER",
    "rate_without": "DOUBLE",
    "rate_with": "DOUBLE",
    "rank": "INTEGER",
    "why": "VARCHAR",
    "first_lift": "DOUBLE",
    "cheapest_model": "VARCHAR",
    "cheapest_with_skill": "BOOLEAN",
    "cheapest_pass_rate": "DOUBLE",
    "cheapest_per_answer": "DOUBLE",
    "cheapest_unit": "VARCHAR",
    "cheapest_surely": "BOOLEAN",
    "name": "VARCHAR",
    "version": "VARCHAR",
    "evaluation": "VARCHAR",
    "confirmation": "VARCHAR",
}
"""The columns and their types in SQL. Later versions add columns at the end only."""
_MOST_ROWS = 100


def table_cells(row: TableRow) -> dict[str, Cell]:
    """A row by column. Unknown values are `None`, never 0."""
    best = row.cheapest
    cheapest: dict[str, Cell] = {
        "cheapest_model": None if best is None else best.model,
        "cheapest_with_skill": None if best is None else best.with_skill,
        "cheapest_pass_rate": None if best is None else best.pass_rate,
        "cheapest_per_answer": None if best is None else best.use,
        "cheapest_unit": None if best is None else best.unit,
        "cheapest_surely": None if best is None else best.surely,
    }
    return {name: cheapest[name] if name in cheapest else getattr(row, name) for name in TABLE_TYPES}


def table_csv(table: SweepTable) -> str:
    """A header and every row (RFC 4180), safe to open in a spreadsheet."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(TABLE_TYPES)
    for row in table.rows:
        writer.writerow(map(safe_cell, table_cells(row).values()))
    return file.getvalue()


def table_json(table: SweepTable, *, problems: Sequence[str], folder: str) -> dict[str, Json]:
    """The object of `upskill sweep report --json`. Keys are a promise: added, never changed."""
    return {
        "schema": SCHEMA,
        "skills": table.skills,
        "models": list(table.models),
        "evaluations": table.evaluations,
        "evaluations_done": table.evaluations_done,
        "states": {str(state): number for state, number in table.states.items()},
        "charged": _spending(table.charged),
        "charged_for_confirmations": _spending(table.charged_for_confirmations),
        "unpriced": list(table.unpriced),
        "tested": table.tested,
        "found": table.found,
        "false_by_chance": table.false_by_chance,
        "false_by_chance_twice": table.false_by_chance_twice,
        "problems": list(problems),
        "folder": folder,
        "rows": [dict(table_cells(row)) for row in table.rows],
    }


def _spending(spending: object) -> Json:
    return {name: getattr(spending, name) for name in ("calls", "tokens", "cost")}


def table_markdown(table: SweepTable, problems: Sequence[str]) -> str:
    """The summary and the rows that matter most, as a page."""
    shown = chosen(table.rows, _MOST_ROWS)
    lines = ["# Sweep", "", *(f"{line}\n" for line in map(markdown_text, summary(table)))]
    if problems:
        lines += ["**The answers contradict the results:**", "", *(f"- {markdown_text(one)}" for one in problems), ""]
    lines += [f"| Skill | Model | Lift in points ({USUAL}) | Pairs | Rank | State |", "|---|---|---|--:|--:|---|"]
    lines += map(_row, shown)
    hidden = len(table.rows) - len(shown)
    lines += ["", *_HOW_TO_READ]
    if hidden:
        lines.insert(-len(_HOW_TO_READ), f"{count(hidden, 'more row')} in `table.csv`.\n")
    return "\n".join(lines) + "\n"


_HOW_TO_READ = (
    "A lift is the pass rate with the skill minus the pass rate without it. *confirmed*: the skill helps in a first "
    "and in a second evaluation with fresh answers; the lift is that of the second. *found once*: it helps in the "
    "first only. A second evaluation asks the same cases again, so it cannot show what other cases would. A star marks "
    "an interval that holds on these cases only.",
    "",
    "A row has a rank only if its interval overlaps no other interval of the same model. `table.csv` and "
    "`table.parquet` have every row, `answers.parquet` every scored answer.",
)


def _row(row: TableRow) -> str:
    cells = (
        markdown_text(row.skill),
        markdown_text(row.model) or "–",
        markdown_text(lift_words(row)),
        "–" if row.pairs is None else f"{row.pairs:,}",
        "" if row.rank is None else str(row.rank),
        markdown_text(state_words(row)),
    )
    return f"| {' | '.join(cells)} |"
