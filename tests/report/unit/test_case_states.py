"""Cases and what is known of them, on a terminal of any width."""

from collections.abc import Sequence
from io import StringIO

import pytest
from rich.console import Console

from report.unit.evaluations import CASE_STATES, LABEL_LIFTS, lift
from upskill.core.nouns import Case, LabelLift, Qualification, Reason
from upskill.report.cases import label_lines, show_case_states

LONG = Qualification(
    case_id="a-name-that-goes-on-and-on-" * 4,
    state="unproven",
    labels=("recall", "leaks", "saturated"),
    reasons=tuple(Reason(saw=f"reason {n} " + "word " * 60, change=f"change {n}") for n in range(5)),
)


def shown(*states: Qualification, width: int = 80, verbose: bool = False, cases: Sequence[Case] = ()) -> list[str]:
    out = StringIO()
    show_case_states(states, Console(file=out, width=width), verbose=verbose, cases=cases)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_none_ends_in_a_space(width: int) -> None:
    lines = shown(*CASE_STATES, LONG, width=width, verbose=True)
    assert not [line for line in lines if len(line) > width and " " in line.strip()], "an id is never cut"
    assert not [line for line in lines if line != line.rstrip()]


def test_a_row_has_the_state_and_the_labels_and_under_it_why_and_what_to_change() -> None:
    lines = shown(*CASE_STATES)
    assert lines[:6] == [
        "case  state     labels",
        "c1    unproven  recall, leaks",
        "  a mutant passes",
        "  -> check it",
        "  a note",
        "c2    rejected",
    ]
    assert lines[-3:] == [
        "2 cases: 1 unproven, 1 rejected; 1 recall; 1 leaks",
        "  recall: asks for what is in the skill, word for word",
        "  leaks: the prompt gives the answer away",
    ]


def test_the_same_advice_is_given_once_and_all_of_it_only_on_request() -> None:
    same = Reason(saw="there is no reference", change="add one")
    cases = [Qualification(case_id=f"c{n}", state="unproven", reasons=(same,)) for n in range(3)]
    assert shown(*cases).count("  -> add one") == 1
    assert shown(*cases).count("  there is no reference") == 3
    assert shown(*cases, verbose=True).count("  -> add one") == 3
    assert "  and 2 more; -v shows them" in shown(LONG)


def test_many_cases_of_which_the_same_is_said_are_one_row_unless_all_is_asked_for() -> None:
    same = Reason(saw="there is no reference", change="add one")
    cases = [Qualification(case_id=f"c{n}", state="unproven", reasons=(same,)) for n in range(48)]
    lines = shown(*cases, Qualification(case_id="other", state="qualified"))
    assert len(lines) <= 12
    assert lines[1] == "48 cases  unproven"
    assert lines[2].startswith("  c0, c1, c2, ")
    assert lines[3:5] == ["  there is no reference", "  -> add one"]
    assert len(shown(*cases, verbose=True)) > 48


def test_a_case_without_a_name_shows_its_prompt() -> None:
    nameless = Qualification(case_id="case-0123456789ab", state="qualified")
    assert "  Which port?" in shown(nameless, cases=[Case(id="case-0123456789ab", prompt="Which port?", checks=())])


def test_labels_are_told_apart_only_where_there_is_more_than_one_group() -> None:
    assert list(label_lines(LABEL_LIFTS[:1])) == []
    assert list(label_lines(LABEL_LIFTS[:2])) == ["1 case never passes without the skill"]
    assert list(label_lines(LABEL_LIFTS)) == [
        "recall: 4 cases, +25 points on these cases (95% CI +5 to +50)",
        "1 case never passes without the skill",
        "no label: 2 cases, −10 points on these cases (95% CI +5 to +50)",
    ]
    many = (LABEL_LIFTS[0], LabelLift(label=None, cases=6, lift=lift()))
    assert list(label_lines(many))[1] == "no label: 6 cases, +25 points (95% CI +5 to +50)"


def test_families_are_counted_and_the_largest_named() -> None:
    families = ("ports", None, "ports", "files", None)
    cases = [Case(id=f"c{n}", prompt="", checks=(), family=family) for n, family in enumerate(families)]
    assert "4 families, each counted once: ports 2, files 1" in shown(*CASE_STATES, cases=cases)
    alone = [Case(id=case.id, prompt="", checks=()) for case in cases]
    assert not any("famil" in line for line in shown(*CASE_STATES, cases=alone))
