"""The glance on a terminal: a line or two per model, nothing too wide, and characters that the terminal has."""

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from report.unit.evaluations import EVALUATIONS
from report.unit.glance.results import EVERYTHING, FOUR, HELPED, LOST, STRANGERS, found, student
from upskill.core.nouns import Evaluation
from upskill.report.glance import glance
from upskill.report.terminal import terminal_lines

ALL = {**EVALUATIONS, "four": FOUR, "strangers": STRANGERS, "everything": EVERYTHING}


def lines_of(evaluation: Evaluation, *, width: int = 80, encoding: str = "utf-8") -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    return [line.plain for line in terminal_lines(glance(evaluation), Console(file=file, width=width))]


def test_four_models_take_seven_lines() -> None:
    assert lines_of(FOUR) == [
        "The skill helps 2 of 4 models and hurts 1; for strong only on these 12 cases.",
        "Best: SmolLM2 goes from 0% to 89% of 12 cases.",
        "SmolLM2  ○━━━━━━━━━━━━━━━━━━●··    0% →  89%  +89 (+35 to +100)     ▲ helps",
        "strong   ·○━━━━━━━●············    4% →  42%  +38 (above 0 to +75)  ▲ helps here",
        "open     ········○╌╌●··········   38% →  55%  +17 (−30 to +63)      ? undecided",
        "worse    ··●━━━━━━━━━━━━○······   73% →   9%  −64 (−100 to −17)     ▼ hurts",
        "○ without the skill   ● with the skill   ╌╌ not clear   here: on these 12 cases",
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("name", ALL)
def test_every_line_fits_and_can_be_written(name: str, width: int, encoding: str) -> None:
    lines = lines_of(ALL[name], width=width, encoding=encoding)
    assert [line for line in lines if cell_len(line) > width] == []
    assert [line for line in lines if line != line.rstrip() or not line.isprintable()] == []
    "\n".join(lines).encode(encoding)


@pytest.mark.parametrize("name", ALL)
def test_each_model_has_one_line_and_there_is_one_key(name: str) -> None:
    seen = glance(ALL[name])
    lines = lines_of(ALL[name], width=400)
    key = any(row.after is not None for row in seen.rows)
    assert len(lines) == len(seen.sentences) + len(seen.rows) + key


def test_without_unicode_the_same_is_said_in_ascii() -> None:
    lines = lines_of(FOUR, encoding="ascii")
    assert lines[2].startswith("SmolLM2  o=====")
    assert lines[2].endswith("*..    0% ->  89%  +89 (+35 to +100)     + helps")
    assert lines[5].endswith("-64 (-100 to -17)     - hurts")
    assert "o--*" in lines[4]


def test_no_verdict_is_hatched_and_has_neither_dots_nor_figures() -> None:
    line = lines_of(found(LOST))[1]
    assert set(line.removeprefix("lost").removesuffix("– no verdict").strip()) == {"╱"}


def test_tokens_are_shown_where_there_is_room() -> None:
    assert lines_of(found(HELPED), width=100)[1].endswith("▲ helps  26 → 130 tokens")
    assert "tokens" not in "".join(lines_of(found(HELPED), width=99))


def test_blue_helps_and_orange_hurts_and_nothing_is_green_or_red() -> None:
    console = Console(width=80)
    styles = {str(span.style) for line in terminal_lines(glance(EVERYTHING), console) for span in line.spans}
    assert {"bright_blue", "dark_orange", "dim"} <= styles
    assert not [style for style in styles if "green" in style or "red" in style.split("_")]


def test_long_names_stand_whole_above_their_figures_and_those_that_must_be_cut_are_told_apart() -> None:
    names = [f"vendor/with-a-long-name-{number}-and-a-long-end-of-it" for number in range(11)]
    lines = lines_of(found(*(student(name, 0.04, 0.42, "helps", (1e-9, 0.75)) for name in names)))
    assert [line for line in lines if line.startswith("with-a-long-name")] == [name.split("/")[1] for name in names]
    assert max(map(len, lines)) <= 80
    longer = [f"vendor/{'with-a-long-name-' * 5}{number}-{'and-a-long-end-of-it' * 5}" for number in range(11)]
    lines = lines_of(found(*(student(name, 0.04, 0.42, "helps", (1e-9, 0.75)) for name in longer)))
    rows = [line for line in lines if re.fullmatch(r"with-a-long-\S+ #\d+", line)]
    assert len(rows) == len(set(rows)) == 11
