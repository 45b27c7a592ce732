"""The block that is shown while trials run: right at every width and height, in people's words."""

from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len

from upskill.core.models import Budget, Spending
from upskill.core.progress import Waiting
from upskill.terminal.display import clock
from upskill.terminal.progress import (
    Condition,
    LiveStudent,
    LiveTable,
    live_block,
    log_lines,
    waiting_words,
)

SPENT = Spending(cost=0.1234, calls=84, tokens=12_345)


def student(name: str = "haiku", **changes: Any) -> LiveStudent:
    values: dict[str, Any] = {
        "name": name,
        "done": 30,
        "most": 60,
        "over": False,
        "conditions": (Condition(name="baseline", share=12 / 30), Condition(name="with skill", share=25 / 30)),
        "lift": 0.43,
    }
    return LiveStudent(**(values | changes))


def so_far(*students: LiveStudent, **changes: Any) -> LiveTable:
    values: dict[str, Any] = {
        "unit": "pairs",
        "students": students or (student(),),
        "seconds": 130.0,
        "seconds_left": 170.0,
        "spent": SPENT,
        "budget": Budget(max_cost=5.0),
        "errored": 2,
    }
    return LiveTable(**(values | changes))


def _all(now: LiveTable, *, width: int, height: int = 30, drawn: bool = True) -> list[str]:
    return [line.text for line in live_block(now, width=width, height=height, drawn=drawn)]


def test_one_student_at_eighty_columns() -> None:
    assert _all(so_far(), width=80) == [
        "  ██████████░░░░░░░░░░  50%  30 of at most 60 pairs, at most 3 min left",
        "  model  pairs     baseline  with skill  lift so far",
        "  haiku  30 of 60   40%       83%        +43",
        "  2 min 10 s, spent $0.12 of at most $5.00, 2 errored, 84 calls, 12,345 tokens",
    ]


def test_the_bar_counts_nothing_more_of_whoever_is_decided() -> None:
    both = _all(so_far(student(done=9, over=True), student("kimi", done=21)), width=80)
    assert both[0].startswith("  ████████░░░░░░░░░░░░  43%  30 of at most 69 pairs")
    done = _all(so_far(student(done=9, over=True)), width=80, drawn=False)
    assert done[0] == "  #################### 100%  9 of at most 9 pairs"


def test_a_student_that_is_done_steps_back() -> None:
    done = student(done=9, over=True, lift=-0.64)
    block = live_block(so_far(done, student("kimi")), width=80, height=30, drawn=True)
    assert block[2].text.endswith("−64")
    assert [line.style for line in block[2:-1]] == ["dim", ""]
    assert _all(so_far(done), width=80, drawn=False)[2].endswith("-64")
    assert next(log_lines(so_far(done))).endswith("lift so far −64")


@pytest.mark.parametrize(
    ("waiting", "said"),
    [
        (Waiting(answers=4, longest_seconds=38.2), "waiting for 4 answers, longest 38 s"),
        (Waiting(answers=1, longest_seconds=70), "waiting for 1 answer, longest 1 min 10 s"),
        (Waiting(answers=1, longest_seconds=0.4), ""),
        (Waiting(retries=2, retry_seconds=12.1, busy=True), "server busy: retry in 12 s"),
        (Waiting(retries=1, retry_seconds=0.2), "no answer: retry in 1 s"),
        (Waiting(answers=1, longest_seconds=0.1, retries=1, retry_seconds=9), ""),
        (Waiting(), ""),
    ],
)
def test_the_block_says_what_it_waits_for(waiting: Waiting, said: str) -> None:
    assert waiting_words(so_far(waiting=waiting)) == said
    status = _all(so_far(waiting=waiting), width=80)[-1]
    assert said in status
    assert "waiting" not in _all(so_far(student(over=True), waiting=waiting), width=80)[-1]


def test_students_with_tools_are_not_always_waited_for() -> None:
    assert waiting_words(so_far(with_sandbox=True)) == "running tools and checks"
    fresh = so_far(student(done=0), errored=0, spent=Spending(), with_sandbox=True)
    assert waiting_words(fresh) == "starting sandboxes"
    assert waiting_words(replace(fresh, with_sandbox=False)) == "starting"


NAMES = ["haiku", "unsloth/GLM-4.7-Flash-GGUF:Q4_0", "模型" * 20, "x" * 300, "bad\x1b[2Jname", ""]


@pytest.mark.parametrize("width", [20, 39, 40, 60, 79, 80, 81, 100, 120, 200, 400])
@pytest.mark.parametrize("drawn", [True, False])
def test_no_line_reaches_the_last_column(width: int, drawn: bool) -> None:
    agent = (
        Condition(name="baseline", share=None),
        Condition(name="skill offered", share=1000 / 1000),
        Condition(name="skill given", share=3 / 1000),
    )
    students = [student(name, conditions=agent, done=99_999, most=100_000) for name in NAMES]
    for line in _all(so_far(*students), width=width, drawn=drawn):
        assert cell_len(line) < width
        assert line.isprintable()
        assert drawn or line.replace("模", "").replace("型", "").isascii()


@pytest.mark.parametrize("height", [4, 5, 6, 9, 30])
def test_it_is_never_higher_than_the_screen(height: int) -> None:
    lines = _all(so_far(*(student(f"model-{number}") for number in range(6))), width=80, height=height)
    assert len(lines) <= height
    assert ("more" in "".join(lines)) == (height < 9)


def test_names_of_models_are_cut_at_their_beginning() -> None:
    rows = _all(so_far(student("scripted/some/where/far/away/student-one-of-many-others.yaml")), width=80)
    assert "…" in rows[2]
    assert "-others.yaml " in rows[2]


def test_what_is_not_known_yet_is_not_shown_as_a_figure() -> None:
    fresh = student(
        done=0,
        lift=None,
        conditions=(Condition(name="baseline", share=None), Condition(name="with skill", share=None)),
    )
    unknown = Spending(cost=None)
    bar, _, row, status = _all(so_far(fresh, seconds=3.0, seconds_left=None, errored=0, spent=unknown), width=80)
    assert "left" not in bar
    assert "%" not in row
    assert status == "  3 s, starting, price unknown, 0 calls, 0 tokens"
    assert "no time estimate yet" in _all(so_far(seconds_left=None), width=80)[0]


def test_a_finished_student_says_so_and_has_no_verdict_yet() -> None:
    lines = _all(so_far(student(done=9, over=True), seconds_left=3.0), width=80)
    assert "9, done" in lines[2]
    assert lines[2].endswith("+43"), "the result comes next, with the interval of its design"
    assert "left" not in lines[0]


def test_a_log_has_a_line_per_student_and_one_for_money_and_time() -> None:
    assert list(log_lines(so_far())) == [
        "  haiku: 30 of 60 pairs, baseline 40%, with skill 83%, lift so far +43",
        "  2 min 10 s, at most 3 min left, spent $0.12 of at most $5.00, 2 errored, 84 calls, 12,345 tokens",
    ]


def test_caps_stand_beside_what_they_cap() -> None:
    budget = Budget(max_calls=200, max_total_tokens=1_000)
    status = _all(so_far(spent=Spending(calls=84, tokens=10), budget=budget), width=200)[-1]
    assert "84 of at most 200 calls" in status
    assert "10 of at most 1,000 tokens" in status


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0 s"), (59.9, "59 s"), (60, "1 min 0 s"), (3_599, "59 min 59 s"), (7_260, "2 h 1 min")]
)
def test_durations_are_said_as_people_say_them(seconds: float, said: str) -> None:
    assert clock(seconds) == said
