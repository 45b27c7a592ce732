"""What a person sees while an evaluation runs and afterwards, in a real terminal."""

import json
import re
import time
from pathlib import Path

import pytest

from typed import Upskill
from typed_in_terminal import PROMPT, Terminal

HEAD = "lift so far"
CASES = 8
STALL = 0.25


@pytest.fixture
def skill(here: Path) -> Path:
    folder = here / "knots"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: knots\ndescription: Knots.\n---\nA bowline holds.\n")
    cases = [{"id": f"c{n}", "input": f"Knot number {n}?", "expected": {"contains": f"knot-{n}"}} for n in range(CASES)]
    (folder / "skill_meta.json").write_text(json.dumps({"cases": cases}))
    return folder


def _student(here: Path, name: str) -> str:
    """Knows every other knot without the skill, and one more with it; takes its time."""
    rules = [
        {"arm": "with_skill", "when": "number 0", "replies": [{"text": "knot-0", "stall_seconds": STALL}]},
        *(
            {"when": f"number {n}", "replies": [{"text": f"knot-{n}", "stall_seconds": STALL}]}
            for n in range(1, CASES, 2)
        ),
        {"replies": [{"text": "I do not know.", "stall_seconds": STALL}]},
    ]
    (here / f"{name}.json").write_text(json.dumps({"rules": rules}))
    return f"scripted/{name}.json"


def _models(here: Path, count: int) -> list[str]:
    return [word for number in range(count) for word in ("-m", _student(here, f"student-with-a-long-name-{number}"))]


def _check_block(terminal: Terminal, screen: str, *, students: int) -> None:
    """A bar over one table, whole, in the width of the terminal, with nothing under it."""
    lines = screen.rstrip("\n").splitlines()
    heads = [number for number, line in enumerate(lines) if HEAD in line]
    assert len(heads) == 1, screen
    assert re.match(r"  [█░]{20} +\d+%  \d+ of at most \d+ pairs", lines[heads[0] - 1]), screen
    block = lines[heads[0] :]
    assert len(block) == students + 2, screen
    assert all(len(line) < terminal.columns for line in block), screen
    assert all(re.search(r"\d+ of \d+|done", line) for line in block[1:-1]), screen
    assert re.search(r"\d+ s(,|$)", block[-1]), screen
    assert "spent $0.00 of at most $5.00" in block[-1] or "nothing spent" in block[-1], screen


@pytest.mark.parametrize(("columns", "students"), [(80, 6), (200, 1)])
def test_one_calm_block_is_drawn_and_nothing_of_it_is_left(
    here: Path, environment: dict[str, str], skill: Path, columns: int, students: int
) -> None:
    with Terminal(here, environment, columns=columns, rows=40) as terminal:
        terminal.type("eval", skill.name, *_models(here, students), "--runs", "2", "--concurrency", str(students + 1))
        began = time.monotonic()
        terminal.wait(lambda: HEAD in terminal.screen())
        seen = 0
        while terminal.exit_code() is None:
            screen = terminal.screen()
            if HEAD in screen and "Run saved in" not in screen:
                _check_block(terminal, screen, students=students)
                seen += 1
            assert time.monotonic() - began < 120
            time.sleep(0.2)
        seconds = time.monotonic() - began
        screen = terminal.screen()
        assert terminal.exit_code() == 0
        assert seen >= 3
        assert HEAD not in screen, "the block is gone once there is a result"
        assert screen.count("Evaluating knots on") == 1
        assert screen.count("8 cases, 2 repeats each") == 1
        assert "Run saved in runs/" in screen
        assert all(len(line) <= columns for line in screen.splitlines())
        left = screen.split("Evaluating", 1)[1].split("code=", 1)[0].strip("\n").splitlines()
        assert len(left) <= 12 + 2 * (students - 1), screen
        drawn = terminal.sent().count(HEAD)
        assert drawn <= 4 * seconds + 2, "at most four drawings a second"


def test_a_narrower_window_has_one_block_as_well_and_ctrl_c_leaves_a_clean_screen(
    here: Path, environment: dict[str, str], skill: Path
) -> None:
    with Terminal(here, environment, columns=100, rows=40) as terminal:
        terminal.type("eval", skill.name, *_models(here, 3), "--runs", "20", "--concurrency", "2")
        terminal.wait(lambda: re.search(r"[1-9]\d* of 160", terminal.screen()))
        for columns in (70, 120):
            terminal.resize(columns)
            time.sleep(1.5)
            screen = terminal.screen()
            assert screen.count(HEAD) == 1, screen
            _check_block(terminal, screen, students=3)
        terminal.press("C-c")
        terminal.wait(lambda: terminal.exit_code() is not None)
        screen = terminal.screen()
        assert terminal.exit_code() == 130
        assert HEAD not in screen
        assert "^C" not in screen
        last = screen.rstrip("\n").splitlines()
        assert last[-1].startswith(PROMPT)
        assert last[-2] == "code=130"
        assert re.search(r" upskill eval --resume runs/\S+knots", last[-3])
        assert any("interrupted after " in line for line in last[-12:])


def test_a_window_made_narrow_and_wide_again_keeps_every_line_above_the_block(
    here: Path, environment: dict[str, str], skill: Path
) -> None:
    with Terminal(here, environment, columns=200, rows=40) as terminal:
        terminal.type("eval", skill.name, *_models(here, 3), "--runs", "20", "--concurrency", "2")
        terminal.wait(lambda: HEAD in terminal.screen())
        above = terminal.screen().split("Evaluating")[0] + "Evaluating knots on 3 models"
        assert above in terminal.screen()
        for columns in (120, 60, 200):
            terminal.resize(columns)
            time.sleep(1.5)
        screen = terminal.screen()
        assert screen.startswith(above)
        _check_block(terminal, screen, students=3)
        terminal.press("C-c")
        terminal.wait(lambda: terminal.exit_code() is not None)
        assert terminal.screen().startswith(above)


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, pytest.param({"TERM": "dumb"}, marks=pytest.mark.full)])
def test_a_terminal_that_wants_nothing_painted_gets_plain_lines(
    here: Path, environment: dict[str, str], skill: Path, variables: dict[str, str]
) -> None:
    with Terminal(here, {**environment, **variables}, columns=80, rows=40) as terminal:
        terminal.type("eval", skill.name, *_models(here, 1), "--runs", "1")
        terminal.wait(lambda: terminal.exit_code() is not None)
        screen = terminal.screen()
        said = terminal.sent().split("Evaluating", 1)[1].split("code=", 1)[0]
        assert "\x1b" not in said
        assert 1 <= screen.count("of 8 pairs, without") + screen.count("8 pairs, done") <= 3
        assert all(len(line) <= 80 for line in screen.splitlines())


def test_a_log_gets_few_plain_lines_and_quiet_gets_none(upskill: Upskill, here: Path, skill: Path) -> None:
    done = upskill("eval", skill.name, *_models(here, 2), "--runs", "2")
    assert "\x1b" not in done.stderr + done.stdout
    assert "\r" not in done.stderr + done.stdout
    figures = [line for line in done.stderr.splitlines() if "lift so far" in line or "pairs, baseline" in line]
    assert 1 <= len(figures) <= 3 * 2


def test_piped_output_is_short_too_and_verbose_has_every_figure(upskill: Upskill, here: Path, skill: Path) -> None:
    words = ("eval", skill.name, *_models(here, 1), "--runs", "1")
    short = upskill(*words)
    assert len(short.stdout.splitlines()) <= 10
    assert "Avg Checks" not in short.stdout
    long = upskill(*words, "-v")
    assert long.stdout.startswith(short.stdout.split("Run saved in")[0].splitlines()[0])
    assert "Avg Checks" in long.stdout
    assert "Knot number 3" in long.stdout or "c3" in long.stdout
