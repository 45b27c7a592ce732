"""A corrupted skill says the wrong thing in the same words, and knows what it no longer says."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.controls.corrupted import corrupted
from upskill.controls.findings import cases_tested
from upskill.core.nouns import Case, Check

_WORD = st.text("abcdefghij", min_size=1, max_size=6)
_NUMBER = st.integers(0, 9_999).map(str)
_PLAIN = st.sampled_from(["The port is", "use", "It listens.", "and then", "## Heading 7", "x-12", "SHA-256"])
_LINE = st.one_of(
    st.tuples(_PLAIN, _WORD).map(lambda parts: f"{parts[0]} `{parts[1]}`"),
    st.tuples(_PLAIN, _NUMBER).map(lambda parts: f"- {parts[0]} {parts[1]} seconds"),
    st.tuples(_WORD, _NUMBER).map(lambda parts: f"1. `{parts[0]}` has {parts[1]}."),
    st.lists(st.tuples(_WORD, _WORD), min_size=1, max_size=4).map(
        lambda rows: "\n".join(["", "| name 1 | value |", "|---|:-:|", *(f"| {a} | {b} |" for a, b in rows), ""])
    ),
    st.lists(_WORD, min_size=1, max_size=4).map(
        lambda words: "\n".join(["```sh", *(f'tool --{word} 5 "{word}s"' for word in words), "plain line", "```"])
    ),
    _PLAIN,
    st.text(max_size=30),
)
BODIES = st.lists(_LINE, max_size=12).map("\n".join)


@given(BODIES)
def test_every_value_that_was_exchanged_left_its_place_and_everything_else_stayed(body: str) -> None:
    changed = corrupted(body)
    assert changed == corrupted(body), "the same text gives the same"
    moved = {old: new for old, new in changed.pieces if old != new}
    assert changed.exchanged.items() <= moved.items(), "equal values become equal ones"
    assert len(set(moved.values())) == len(moved), "and different ones stay different"
    assert set(moved.values()) == set(moved), "they are exchanged among themselves"
    assert "".join(new for _, new in changed.pieces) == changed.text
    headings = [line for line in body.split("\n") if re.match("## Heading", line)]
    assert [line for line in changed.text.split("\n") if re.match("## Heading", line)] == headings
    assert changed.kept >= len(moved) - len(changed.exchanged)


@given(BODIES)
def test_a_text_counts_as_lost_only_where_it_stood_and_stands_no_longer(body: str) -> None:
    changed = corrupted(body)
    for old, new in changed.pieces:
        if changed.lost(old):
            assert old in changed.exchanged
            assert old != new
    assert not changed.lost("a text that is not there")


@given(st.dictionaries(_WORD, _NUMBER, min_size=3, max_size=12).filter(lambda d: len({*d.values()}) == len(d)))
def test_no_fact_of_a_list_of_names_and_figures_stays_true(facts: dict[str, str]) -> None:
    changed = corrupted("".join(f"- `{name}`: {figure}\n" for name, figure in facts.items()))
    now = dict(re.findall(r"- `(.+)`: (\d+)", changed.text))
    assert len(now) == len(facts)
    for name, figure in facts.items():
        if changed.lost(figure) or changed.lost(name):
            assert now[name] != figure
    assert len(changed.exchanged) >= len(facts), "at least all names or all figures were parted from the others"


def test_two_facts_do_not_change_places_as_a_whole() -> None:
    changed = corrupted("- `alpha`: 4711\n- `beta`: 8080\n")
    assert changed.text == "- `alpha`: 8080\n- `beta`: 4711\n"
    assert (changed.exchanged, changed.kept) == ({"4711": "8080", "8080": "4711"}, 2)


def test_kinds_keep_to_themselves_and_a_single_value_is_counted_as_kept() -> None:
    body = """# Port 80

1. Run `tool up`, wait 30 seconds, then `tool down`.
2. It waits 45 s in version 4.19, not in 5.2.

| flag | means |
|---|---|
| north | all |
| south | none |

```toml
port = 4711
zone: east
mode: west
```
"""
    changed = corrupted(body)
    assert changed.text.startswith("# Port 80\n\n1. Run `")
    assert {changed.exchanged.get("4.19"), changed.exchanged.get("5.2")} == {"4.19", "5.2"}
    assert {changed.exchanged[number] for number in ("30", "45", "4711")} == {"30", "45", "4711"}
    assert changed.exchanged["all"] == "none"
    assert {changed.exchanged["east"], changed.exchanged["west"]} <= {"east", "west", "tool up", "tool down"}
    assert corrupted("The port is `80`.").kept == 1
    assert corrupted("Only words.").exchanged == {}


@pytest.mark.parametrize(
    ("body", "literal", "lost"),
    [
        ("The port is 4711. The limit is 30.", "4711", True),
        ("The port is 4711. The limit is 30.", "port is 4711", True),
        ("The port is 4711. The limit is 30.", "limit", False),
        ("# Port 4711\nThe port is 4711. The limit is 30.", "4711", False),
        ("Run `tool up`. Run `other down`.", "tool up", True),
        ("Run `tool up`. Run `other down`.", "up", False),
        ("Run `tool up`. Run `other down`.", "none of it", False),
    ],
)
def test_a_case_is_tested_where_its_text_is_gone_from_each_of_its_places(body: str, literal: str, lost: bool) -> None:
    assert corrupted(body).lost(literal) is lost
    case = Case(id="c", prompt="p", checks=(Check(kind="contains", spec=[literal]),))
    assert cases_tested(body, [case]) == (frozenset("c") if lost else frozenset())


def test_a_check_that_runs_something_tests_nothing() -> None:
    case = Case(id="c", prompt="p", checks=(Check(kind="python", spec={"code": "assert '4711' in answer"}),))
    assert cases_tested("The port is 4711. The limit is 30.", [case]) == frozenset()
