"""Cases of several turns, from values to values: reading and refusing them, their qualification, price and results."""

import io
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from core.unit.checks.cases import skill
from core.unit.files.folders import assert_explained, make_file
from report.unit.evaluations import scored
from upskill.core.cases.files import read_case_file, write_case_file
from upskill.core.cases.states import qualify
from upskill.core.checks import check_problems
from upskill.core.nouns import Arm, Case, Qualification, Skill, Student, Trial, TrialPlan, estimate_tokens, harness_info
from upskill.core.nouns.case import Json
from upskill.core.nouns.plan import Price
from upskill.core.trials.harness import Requests
from upskill.core.trials.trial_run import TrialLimits
from upskill.errors import SkillInvalid, UsageError
from upskill.evaluation.estimate import PlanEstimate, estimate_plan
from upskill.evaluation.prepare import require_sandbox_for
from upskill.report.cases import show_cases

START = {"input": "How do I start it?", "expected": {"equals": "quux up"}, "reference": "quux up"}
ASIDE = {"input": "It is for my colleague."}
STOP = {
    "input": "And how do I stop it?",
    "checks": [{"equals": "quux down"}],
    "reference": "quux down",
    "wrong": ["quux stop"],
}


def read(folder: Path, *turns: Any, name: str = "cases.json", **more: Json) -> Case:
    """One conversation from a case file."""
    path = make_file(folder / name, {"cases": [{"id": "talk", "turns": list(turns), **more}]})
    return read_case_file(path, check_problems=partial(check_problems, judge=True)).cases[0]


# Reading


def test_conversation_is_read_and_written_again(tmp_path: Path) -> None:
    case = read(tmp_path, START, ASIDE, STOP, files={"a.txt": "x"}, family="talks")
    assert [turn.prompt for turn in case.turns] == [turn["input"] for turn in (START, ASIDE, STOP)]
    assert [[check.kind for check in turn.checks] for turn in case.turns] == [["equals"], [], ["equals"]]
    assert [turn.reference is not None for turn in case.turns] == [True, False, True]
    assert len(case.turns[2].wrong) == 1
    write_case_file(tmp_path / "again.json", [case])
    assert read_case_file(tmp_path / "again.json", check_problems=check_problems).cases == (case,)


def test_digest_tells_which_turn_has_a_check_and_a_foreign_file_may_have_turns(tmp_path: Path) -> None:
    check = {"expected": {"equals": "quux up"}}
    first = read(tmp_path, {"input": "a", **check}, {"input": "b"})
    second = read(tmp_path, {"input": "a"}, {"input": "b", **check})
    assert first.digest != second.digest
    assert first.prompt_digest == second.prompt_digest
    assert read(tmp_path, {"input": "a", **check}, {"input": "b"}, name="evals.json").turns == first.turns


MANY = [START, *[ASIDE] * 10]
SLIPS: dict[str, tuple[Sequence[Any], str]] = {
    "wrong key": ([START, {"input": "b", "expcted": {}}], "turn 2: `expcted` is not a known key; did you mean"),
    "unknown kind": (
        [START, {"input": "b", "expected": {"contians": "x"}}],
        "turn 2: unknown kind of check `contians`",
    ),
    "bad spec": ([ASIDE, {"input": "b", "expected": {"regex": "("}}], "turn 2: `regex` does not compile"),
    "no check": ([ASIDE, ASIDE], "has no checks in any turn"),
    "too many": (MANY, "`turns` must be a list of 2 to 10 turns, not 11,"),
    "one": ([START], "`turns` must be a list of 2 to 10 turns, not 1,"),
    "empty prompt": ([{"input": " "}, START], "turn 1: `input` is empty"),
    "no prompt": ([START, {"expected": {"equals": "x"}}], "turn 2: has no `input`"),
    "no object": (["hello", START], "turn 1: must be an object with `input`"),
    "bad reference": ([START, {**STOP, "reference": 4}], "turn 2: `reference` must be text"),
}


@pytest.mark.parametrize("name", SLIPS)
def test_slip_in_a_turn_names_file_case_and_turn_once(name: str, tmp_path: Path) -> None:
    turns, said = SLIPS[name]
    with pytest.raises(SkillInvalid) as caught:
        read(tmp_path, *turns)
    assert_explained(caught.value)
    assert caught.value.message == f"{tmp_path / 'cases.json'}: 1 problem in the cases"
    (problem,) = caught.value.problems
    assert problem.startswith(f"case 1 (talk): {said}")
    assert problem.count("talk") == 1
    assert problem.count("turn 2:") + problem.count("turn 1:") == said.count(":")


def test_what_belongs_into_a_turn_is_refused_beside_the_turns(tmp_path: Path) -> None:
    with pytest.raises(SkillInvalid) as caught:
        read(tmp_path, ASIDE, ASIDE, expected={"equals": "x"})
    assert caught.value.problems == ("case 1 (talk): has both `turns` and `expected`, which belongs into a turn",)


def test_checks_of_files_and_ways_belong_to_the_last_turn(tmp_path: Path) -> None:
    early = {"input": "a", "checks": [{"file": {"path": "a.txt", "contains": "x"}}, {"turns": 3}]}
    case = read(tmp_path, early, {"input": "b", "expected": {"judge": {"rubric": "good", "against": "reference"}}})
    with pytest.raises(UsageError) as caught:
        require_sandbox_for([case], harness="agent", backend="bubblewrap", where="cases.json")
    assert caught.value.message == "cases.json: the checks do not match their cases"
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "case talk, turn 2 of 2",
        "case talk, turn 1 of 2",
        "case talk, turn 1 of 2",
    ]


@pytest.mark.parametrize("harness", ["codex", "claude-code", "opencode", "qwen-code"])
def test_harness_that_takes_one_prompt_refuses_conversations_by_name(harness: str, tmp_path: Path) -> None:
    talk, plain = read(tmp_path, START, STOP), Case(id="plain", prompt="a", checks=())
    with pytest.raises(UsageError) as caught:
        require_sandbox_for([talk, plain], harness=harness, backend="bubblewrap", where="cases.json")
    assert caught.value.message.startswith("cases.json: cases with `turns` need a harness")
    assert caught.value.message.endswith(f"{harness} takes one prompt: talk")
    assert caught.value.hint == "use --harness agent or --harness chat"


# Qualification


def state(case: Case, *others: Case) -> Qualification:
    return qualify([case, *others], skill())[0]


def reasons(found: Qualification) -> list[str]:
    return [reason.saw for reason in found.reasons]


def test_conversation_is_qualified_where_each_checked_turn_is(tmp_path: Path) -> None:
    found = state(read(tmp_path, START, ASIDE, STOP))
    assert (found.case_id, found.state, reasons(found)) == ("talk", "qualified", [])


WEAK: dict[str, tuple[dict[str, Any], str, str]] = {
    "a wrong reference": ({**STOP, "reference": "quux up"}, "rejected", "the reference fails: "),
    "a refusal passes": (
        {"input": "b", "expected": {"regex": "(?i)can't|down"}, "reference": "down"},
        "rejected",
        "a polite refusal passes",
    ),
    "a wrong answer passes": (
        {**STOP, "checks": [{"regex": "quux (down|stop)"}]},
        "unproven",
        "wrong answer 1 passes",
    ),
    "no reference": ({"input": "b", "expected": {"equals": "quux down"}}, "unproven", "there is no reference"),
    "the words were in an earlier turn": (
        {"input": "Which one was it?", "expected": {"contains": "start"}, "reference": "start"},
        "rejected",
        "the prompt itself passes",
    ),
}


@pytest.mark.parametrize("name", WEAK)
def test_weakest_turn_decides_and_is_named(name: str, tmp_path: Path) -> None:
    weak, wanted, why = WEAK[name]
    found = state(read(tmp_path, START, weak))
    assert found.state == wanted
    assert any(reason.startswith(f"turn 2 of 2: {why}") for reason in reasons(found)), reasons(found)
    assert not any(reason.startswith("turn 1") for reason in reasons(found))


def test_answer_to_an_earlier_turn_must_fail_a_later_one_and_not_the_other_way_round(tmp_path: Path) -> None:
    loose = {"input": "And then?", "expected": {"contains": "quux"}, "reference": "quux down"}
    assert any(
        "the reference of `talk, turn 1 of 2` passes" in one for one in reasons(state(read(tmp_path, START, loose)))
    )
    first = {"input": "Begin.", "expected": {"contains": "quux up"}, "reference": "quux up"}
    both = {"input": "All of it.", "expected": {"equals": "quux up, quux down"}, "reference": "quux up, quux down"}
    assert state(read(tmp_path, first, both)).state == "qualified", "a later answer may hold the earlier one"


# Price


def price(case: Case, harness: str = "chat") -> PlanEstimate:
    """What one evaluation costs where a token costs a dollar, and an answer has at most 100."""
    student = Student(
        name="x", model="m", max_output_tokens=100, price=Price(input_per_million=1e6, output_per_million=1e6)
    )
    arms: tuple[Arm, ...] = (
        ("baseline", "offered", "with_skill") if harness_info(harness).with_tools else ("baseline", "with_skill")
    )
    plan = TrialPlan(cases=(case,), students=(student,), arms=arms, repeats=2, harness=harness)
    told = Skill(name="x", description="d", body="b" * 400, digest="d")
    limits = TrialLimits(turns=12, tokens=20_000)
    return estimate_plan(plan, Requests(told, harness=harness, trial_limits=limits), trial_limits=limits)


def test_price_counts_each_request_with_all_that_was_said_before_it(tmp_path: Path) -> None:
    case = read(tmp_path, START, ASIDE, STOP)
    found = price(case)
    requests = Requests(Skill(name="x", description="d", body="b" * 400, digest="d"))
    sent = 0
    for arm in ("baseline", "with_skill"):
        request = requests.render(case, arm)
        said = [estimate_tokens(text) for text in (request.prompt, *request.later)]
        for turn in range(3):
            sent += estimate_tokens(request.system) + sum(said[: turn + 1]) + turn * 100
    assert (found.calls_expected, found.calls_at_most) == (2 * 2 * 3, 2 * 2 * 3)
    assert found.tokens_at_most == 2 * (sent + 2 * 3 * 100)
    assert found.price_at_most == pytest.approx(found.tokens_at_most)


def test_limits_of_a_trial_with_tools_bound_all_its_turns(tmp_path: Path) -> None:
    one = Case(id="one", prompt=START["input"], checks=())  # type: ignore[arg-type]
    talk = read(tmp_path, START, ASIDE, STOP)
    alone, together = price(one, "agent"), price(talk, "agent")
    assert together.calls_at_most == alone.calls_at_most == 2 * 3 * 12
    assert together.tokens_at_most == alone.tokens_at_most
    assert (together.price_at_most or 0) > (together.price_expected or 0) > (alone.price_expected or 0) > 0
    assert alone.calls_expected < together.calls_expected <= together.calls_at_most


# Results

PATTERN = r"(?s)\A(?=.*\bquux\s+down)(?:\bquux\s+(?:down|halt))(?![\w-]|\.\w|\s+-|\s+\d).*\Z"


def table(trial: Trial, width: int) -> list[str]:
    out = io.StringIO()
    show_cases([trial], Console(file=out, width=width), harness="chat", prompts={"c1": "How do I start it?"})
    return [line.strip() for line in out.getvalue().splitlines()[3:-1]]


def test_failed_turn_is_named_answers_have_their_numbers_and_a_pattern_one_row() -> None:
    saw = f"turn 2 of 3: no match for {PATTERN[:60] + '…'!r}"
    spoken = replace(scored(False, answer="quux end", saw=saw), earlier=("quux up", "a " * 90))
    for width in (80, 200):
        rows = table(spoken, width)
        seen = " ".join(rows)
        assert seen.startswith("turn 2 of 3: no match for '(?s)")
        assert sum("\\\\b" in row for row in rows) == 1, rows
        assert "answer to turn 1: quux up answer to turn 2: a a" in seen
        assert seen.endswith("… answer to turn 3: quux end")


def test_answers_of_a_conversation_are_read_by_their_numbers() -> None:
    assert replace(scored(answer="c"), earlier=("a", "b")).said == "Turn 1: a\n\nTurn 2: b\n\nTurn 3: c"
    assert scored(answer="c").said == "c"


def test_table_without_a_conversation_shows_the_answer() -> None:
    rows = table(scored(False, answer="It is 9.1.", saw="not found: '9.0'"), 120)
    assert rows == ["not found: '9.0'", "answer: It is 9.1."]
