"""The table of a sweep as people read it: whole where it is short, the most important rows where it is long."""

import io
import re
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from upskill.sweep.table import (
    COLUMNS,
    MOST_ROWS,
    STATES,
    RowState,
    SweepTable,
    TableRow,
    chosen,
    show_sweep,
    summary,
    table_csv,
    table_json,
    table_markdown,
)
from upskill.sweep.values import JobSpending

_LIFTS: dict[RowState, float] = {"confirmed": 0.4, "found once": 0.3, "hurts": -0.4}


def row(number: int = 0, state: RowState = "confirmed", **changes: Any) -> TableRow:
    measured = state not in ("invalid", "not reached", "not compared")
    lift = _LIFTS.get(state, 0.0) - number / 100_000
    values: dict[str, Any] = {
        "skill": f"registry/skill-{number:05}",
        "name": f"skill-{number:05}",
        "version": str(number),
        "model": "org/small",
        "state": state,
    }
    if measured:
        values |= {"lift": lift, "low": lift - 0.2, "high": lift + 0.2, "confidence": 0.95, "pairs": 40, "level": 0.025}
        values |= {"interval_for": "new cases"}
    return TableRow(**(values | changes))


def table(*rows: TableRow, **changes: Any) -> SweepTable:
    values: dict[str, Any] = {
        "rows": rows,
        "skills": len({one.skill for one in rows}),
        "models": ("org/small",),
        "evaluations": len(rows),
        "evaluations_done": sum(one.lift is not None for one in rows),
        "charged": JobSpending(calls=1200, tokens=10, cost=3.0),
        "charged_for_confirmations": JobSpending(),
        "confirms": True,
    }
    return SweepTable(**(values | changes))


def shown(found: SweepTable, *, width: int = 120, folder: str = "sweep/report", encoding: str = "utf-8") -> list[str]:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    show_sweep(found, Console(file=file, width=width, force_terminal=True, color_system=None), folder=folder)
    file.flush()
    return raw.getvalue().decode(encoding).splitlines()


def test_a_short_table_is_shown_whole_the_worst_first() -> None:
    lines = shown(
        table(row(3, "hurts"), row(2), row(1, "not reached", why="not started"), row(0, "found once", why="w"))
    )
    assert lines[0] == (
        "4 skills on 1 model (1 of 4 evaluations without a result): 1 confirmed, 1 found once, 1 hurts, 1 not reached."
    )
    assert lines[1] == "not reached: 1 not started."
    assert lines[2] == "Charged: 1,200 calls ($3.00)."
    at = lines.index(next(line for line in lines if line.startswith("skill ")))
    assert [line.split()[0] for line in lines[at + 1 : -1]] == [
        "skill-00003",
        "skill-00001",
        "skill-00000",
        "skill-00002",
    ]
    assert lines[at + 4].endswith("confirmed")
    assert lines[at + 3].endswith("found once: w")
    assert lines[-1] == "Written to sweep/report"


@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_long_table_shows_some_of_each_and_says_where_the_others_are(width: int) -> None:
    rows = [
        row(number, STATES[number % len(STATES)], why="a reason " * 40 if number % 9 > 6 else None)
        for number in range(9000)
    ]
    lines = shown(table(*rows), width=width)
    assert all(len(line) <= width for line in lines)
    assert len(lines) < MOST_ROWS + 25
    assert lines[-1] == f"{9000 - MOST_ROWS:,} more rows in sweep/report/table.csv"
    ends = [line.split()[-1] for line in lines]
    assert (ends.count("confirmed"), ends.count("once"), ends.count("hurts"), ends.count("cheaper")) == (12, 5, 4, 3)


def test_what_one_state_leaves_goes_to_the_others() -> None:
    found = chosen(
        [row(number, "undecided") for number in range(100)] + [row(number, "hurts") for number in range(100, 110)], 24
    )
    assert [one.state for one in found] == ["hurts"] * 10 + ["undecided"] * 14


def test_of_a_table_without_figures_the_reasons_are_shown() -> None:
    rows = [row(number, "not reached", why=f"reason {min(number, 5)}") for number in range(100)]
    lines = shown(table(*rows))
    assert lines[1] == "not reached: 95 reason 5; 1 reason 0; 1 reason 1; 3 other reasons."
    assert lines[-1] == "100 more rows in sweep/report/table.csv"


def test_chance_is_said_in_plain_words() -> None:
    rows = [row(number, "undecided") for number in range(392)] + [row(number, "found once") for number in range(6)]
    lines = summary(table(*rows, row(900), row(901)))
    assert (
        "Chance: 400 tests at 2.5% each, one for each skill and model. If no skill helped, 10 would be found on "
        "average; 8 were found, so up to 100% of them may be false without a confirmation. A second evaluation lets "
        "0.25 of such false ones pass; 2 are confirmed."
    ) in lines
    assert "A second" not in " ".join(summary(table(*rows, confirms=False)))


def test_money_of_confirmations_and_unknown_prices_are_said() -> None:
    found = table(
        row(), charged_for_confirmations=JobSpending(calls=100, cost=0.5), unpriced=("a", "b", "c", "d\x1b[1m")
    )
    assert (
        "Charged: 1,200 calls ($3.00), of these 100 calls ($0.50) for confirmations; without the dollars of a, b, c "
        "and 1 more, whose price is unknown."
    ) in summary(found)
    assert "Charged: 1,200 calls (price unknown)." in summary(replace(found, **_UNKNOWN))


_UNKNOWN: dict[str, Any] = {
    "charged": JobSpending(calls=1200, cost=None),
    "charged_for_confirmations": JobSpending(),
}


def test_the_cheapest_model_is_counted_by_skill() -> None:
    rows = [
        row(1, cheapest_model="org/small"),
        row(1, model="org/large", cheapest_model="org/small"),
        row(2),
    ]
    said = "Cheapest model with a pass rate of 80% or more: org/small for 1 skill, none for 1 skill."
    assert said in summary(table(*rows))


def test_foreign_text_does_not_act_on_a_terminal() -> None:
    evil = row(1, "not reached", skill="a/\x1b[2Jb", model="m\u202e", why="first\nsecond\x07")
    text = "\n".join(shown(table(evil, row(2)), folder="x\x1b"))
    assert not set(text) & set("\x1b\x07\u202e")


def test_a_terminal_without_these_signs_gets_others() -> None:
    lines = shown(table(row(1, "hurts"), row(2, "not reached", why="w")), encoding="ascii")
    assert any("-40 (-60 to -20)" in line for line in lines)


def test_an_interval_for_these_cases_only_and_another_confidence_are_marked() -> None:
    lines = shown(table(row(1, interval_for="these cases", confidence=0.995)))
    assert any(re.search(r"\+40 \(99.5% CI \+20 to \+60\) +40  confirmed on these cases$", line) for line in lines)


def test_every_form_has_every_row() -> None:
    found = table(*(row(number, STATES[number % len(STATES)]) for number in range(300)))
    assert len(table_csv(found).splitlines()) == 301
    told = table_json(found, problems=["p"], folder="f")
    assert len(told["rows"]) == 300  # type: ignore[arg-type]
    assert told["states"] == dict(found.states)
    assert isinstance(told["rows"], list)
    assert isinstance(told["rows"][0], dict)
    assert tuple(told["rows"][0]) == COLUMNS
    page = table_markdown(found, ["a <b>"])
    assert "200 more rows in `table.csv`." in page
    assert "- a \\<b\\>" in page
