"""The state of a case: what rejects it, what leaves it unproven, what qualifies it."""

import time
from typing import Any

import pytest

from core.unit.checks.cases import answer, case, skill
from upskill.core import checks
from upskill.core.cases.states import qualify
from upskill.core.checks import GradingContext
from upskill.core.checks.kind import Kind, Submission
from upskill.core.nouns import Case, Qualification


def state_of(*cases: Case, body: str = "Nothing of use.") -> Qualification:
    """What is known of the first of these cases."""
    return qualify(cases, skill(body))[0]


def saw(qualification: Qualification) -> str:
    """All reasons in one line."""
    return " | ".join(reason.saw for reason in qualification.reasons)


@pytest.mark.parametrize(
    ("prompt", "check", "reason"),
    [
        ("Which editor?", {"excludes": "nano"}, "the empty answer passes"),
        ("Which port, 8472 or 8080?", {"contains": "8472"}, "the prompt itself passes"),
        ("Is it allowed?", {"regex": r"(?i)\b(no|not|can't)\b"}, "a polite refusal passes (“I'm sorry, but I can't"),
        ("Say sorry in German.", {"contains": "leid"}, "a polite refusal passes (“Es tut mir leid"),
        ("List colours.", {"regex": '"List colours'}, "that repeats the prompt passes"),
    ],
)
def test_a_case_that_a_non_answer_passes_is_rejected(prompt: str, check: dict[str, Any], reason: str) -> None:
    found = state_of(case(prompt, check, reference="8472"))
    assert found.state == "rejected"
    assert reason in saw(found)
    assert found.reasons[0].change


def test_a_case_whose_folder_passes_untouched_is_rejected() -> None:
    untouched = case(
        "Repair a.json.", {"json": {"path": "a.json"}}, files={"a.json": "{}"}, reference={"a.json": '{"b": 1}'}
    )
    assert saw(state_of(untouched)).startswith("the empty answer passes")


def test_a_case_whose_reference_fails_is_rejected_and_says_what_was_seen() -> None:
    found = state_of(case("How?", {"contains": "quayctl add berth"}, reference="quayctl berth add"))
    assert found.state == "rejected"
    assert saw(found) == "the reference fails: not found: 'quayctl add berth'"


def test_a_case_that_the_reference_of_another_passes_is_rejected() -> None:
    loose = case("How do I list?", {"contains": "berth"}, reference="berth list", name="list")
    other = case("How do I add?", {"contains": "berth add"}, reference="berth add", name="add")
    assert saw(state_of(loose, other)) == "the reference of `add` passes"


def test_an_answer_that_holds_the_whole_reference_is_right_whatever_else_it_says() -> None:
    port = case("Which port?", {"contains": "8472"}, reference="8472", name="port")
    summary = case(
        "Which port and file?", {"contains": ["8472", "q.lock"]}, reference="8472 and q.lock", name="summary"
    )
    assert state_of(port, summary).state == "qualified"


def test_a_word_that_most_answers_hold_is_no_answer_even_if_it_is_the_reference() -> None:
    loose = case("Which tool?", {"contains": "quayctl"}, reference="quayctl", name="tool")
    others = [case(f"How {n}?", {"contains": n}, reference=f"quayctl {n}", name=n) for n in ("drain", "berth", "list")]
    assert state_of(loose, *others).state == "rejected"


def test_two_cases_with_one_answer_are_not_held_against_each_other() -> None:
    one = case("Which port?", {"contains": "8472"}, reference="8472", name="one")
    two = case("Where is the page?", {"contains": "8472"}, reference="8472", name="two")
    assert [found.state for found in qualify([one, two], skill())] == ["qualified", "qualified"]


class Coin(Kind):
    """A check that passes every other time."""

    name = "coin"

    def __init__(self) -> None:
        self.thrown = 0

    def problems(self, spec: object) -> list[str]:
        return []

    def check(self, spec: object, submission: Submission) -> checks.CheckOutcome:
        if submission.answer.text != "heads":
            return checks.CheckOutcome(False, "not thrown")
        self.thrown += 1
        return checks.CheckOutcome(self.thrown % 3 != 0, "thrown")


def test_a_check_that_does_not_agree_with_itself_over_three_gradings_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(checks.KINDS, "coin", Coin())
    found = state_of(case("Throw.", {"coin": True}, reference="heads"))
    assert found.state == "rejected"
    assert saw(found) == "`coin` is not deterministic: the reference passed it 2 of 3 times"


def test_a_check_that_breaks_on_the_reference_is_rejected_and_not_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Coin):
        name = "broken"

        def check(self, spec: object, submission: Submission) -> checks.CheckOutcome:
            raise ZeroDivisionError("by nothing")

    monkeypatch.setitem(checks.KINDS, "broken", Broken())
    found = state_of(case("Throw.", {"broken": True}, reference="heads"))
    assert found.state == "rejected"
    assert "a check crashes on the reference: ZeroDivisionError: by nothing" in saw(found)


def test_a_case_without_a_reference_is_unproven() -> None:
    found = state_of(case("Which port?", {"contains": "8472"}))
    assert found.state == "unproven"
    assert "there is no reference" in saw(found)


def test_a_case_that_tells_its_reference_from_mutants_is_qualified() -> None:
    found = state_of(case("Which port?", {"contains": "8472"}, reference="8472", wrong=["8080"]))
    assert found.state == "qualified"
    assert found.reasons == ()
    assert found.mutants > 0


def test_a_wordy_reference_that_passes_when_cut_is_unproven_and_says_what_to_change() -> None:
    found = state_of(case("Which port?", {"contains": "8472"}, reference="8472 is what it listens on by default."))
    assert found.state == "unproven"
    assert saw(found).startswith("the reference still passes when cut: only the first half")
    assert "shorten the reference" in found.reasons[0].change


def test_a_wrong_answer_that_passes_leaves_a_case_unproven() -> None:
    found = state_of(case("Which port?", {"contains": "8472"}, reference="8472", wrong=["8080, not 8472"]))
    assert found.state == "unproven"
    assert saw(found) == "wrong answer 1 passes: “8080, not 8472”"


def test_mutants_that_slip_through_are_named() -> None:
    reference = {"a.json": '{"port": 8472,\n "workers": 4,\n "level": "info"}'}
    found = state_of(
        case("Write a.json.", {"json": {"path": "a.json", "at": "port", "equals": 8472}}, reference=reference)
    )
    assert found.state == "unproven"
    assert any("4 became" in what for what in found.slipped)
    assert "altered copies of the reference pass" in saw(found)


def test_words_beside_files_are_not_held_against_a_case_that_checks_files_only() -> None:
    told = case("Write n.txt.", {"file": {"path": "n.txt", "matches": r"^\d{4}7$"}}, name="told")
    told = Case(
        id=told.id,
        prompt=told.prompt,
        checks=told.checks,
        reference=type(answer("x"))(text="Here you are.\nIt is done.", files={"n.txt": b"12347"}),
    )
    assert not [reason.saw for reason in state_of(told).reasons if "cut short" in reason.saw]


def test_a_judge_that_is_not_asked_leaves_a_case_unproven_and_rejects_nothing() -> None:
    judged = case("Explain.", {"judge": "Is it polite?"}, {"excludes": "damn"}, reference="Gladly.")
    found = state_of(judged)
    assert found.state == "unproven"
    assert "the judge was not asked here" in saw(found)


def test_without_a_sandbox_a_case_that_runs_programs_is_unproven_unless_its_reference_fails() -> None:
    ran = case("Write a.py.", {"command": "python3 a.py"}, reference={"a.py": "print(1)"})
    assert state_of(ran).state == "unproven"
    fails = case("Write a.py.", {"command": "python3 a.py"}, {"file": "b.py"}, reference={"a.py": "print(1)"})
    assert state_of(fails).state == "rejected"


def test_the_same_cases_have_the_same_states_at_every_time_and_in_every_order() -> None:
    cases = [
        case("Which port?", {"contains": "8472"}, reference="8472", name="port"),
        case("Which file?", {"contains": "q.lock"}, reference="the file q.lock", name="file"),
        case("Which editor?", {"excludes": "nano"}, name="editor"),
    ]
    there = qualify(cases, skill("one"))
    back = qualify(cases[::-1], skill("two"))  # another skill, so that nothing comes from memory
    assert back[::-1] == there


def test_a_changed_reference_of_another_case_is_not_answered_from_memory() -> None:
    loose = case("How do I list?", {"contains": "berth"}, reference="berth list", name="list")
    other = case("How do I add?", {"contains": "add"}, reference="add it", name="add")
    assert state_of(loose, other).state != "rejected"
    assert state_of(loose, case("How do I add?", {"contains": "add"}, reference="berth add")).state == "rejected"


def test_twelve_text_cases_take_no_time_worth_telling() -> None:
    cases = [
        case(f"What is fact {n} of quayctl?", {"contains": f"fact-{n}-{n * 7919}"}, reference=f"fact-{n}-{n * 7919}")
        for n in range(12)
    ]
    started = time.process_time()
    qualify(cases, skill("speed"))
    assert time.process_time() - started < 1, "an idle machine takes a twentieth"


@pytest.mark.parametrize(
    "reference", ["", " ", "\n\n", "a", "⩘", "\ufeff", "x" * 100_000, "1 " * 20_000, "🙂" * 50, "a\u0301b"]
)
def test_odd_references_are_survived(reference: str) -> None:
    found = state_of(case("Say it.", {"regex": "."}, {"excludes": "zzz"}, reference=reference or None))
    assert found.state == "rejected"
    state_of(case("Say it.", {"equals": reference.strip() or "b"}, reference=reference or None))


def test_hostile_prompts_and_binary_files_are_survived() -> None:
    long = case("a" * 300_000 + "```" * 50, {"contains": "8472"}, reference="8472")
    binary = Case(
        id="binary",
        prompt="Write it.",
        checks=case("x", {"file": "a.bin"}).checks,
        reference=type(answer("x"))(files={"a.bin": bytes(range(256)), "b.txt": b"8472"}),
    )
    assert state_of(long).state == "qualified"
    assert qualify([binary], skill(), context=GradingContext())[0].state in ("unproven", "qualified")


def test_a_check_that_breaks_on_wrong_answers_leaves_a_case_unproven_and_is_not_run_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Fragile(Coin):
        name = "fragile"

        def check(self, spec: object, submission: Submission) -> checks.CheckOutcome:
            self.thrown += 1
            if submission.answer.text != "heads":
                raise ValueError("a pattern ran away")
            return checks.CheckOutcome(True, "heads")

    fragile = Fragile()
    monkeypatch.setitem(checks.KINDS, "fragile", fragile)
    found = state_of(case("Throw.", {"fragile": True}, reference="heads"))
    assert found.state != "qualified"
    assert "ValueError" in saw(found)
    assert fragile.thrown < 10


# Checks of the way


@pytest.mark.parametrize(
    ("check", "reference", "state", "reason"),
    [
        ({"tools": "shell"}, None, "unproven", "which no reference shows"),
        ({"tools": "shell"}, "8472", "unproven", "which no reference shows"),
        ({"commands": "make", "turns": 5}, None, "unproven", "which no reference shows"),
        ({"contains": "8472", "tools": {"forbidden": "web"}}, "8472", "unproven", "which no reference shows"),
        ({"tools": {"forbidden": "web"}}, None, "rejected", "the empty answer passes"),
        (
            {"commands": {"not_ran": "rm"}, "files_read": {"not_read": "x"}},
            "8472",
            "rejected",
            "the empty answer passes",
        ),
        ({"turns": 5}, None, "rejected", "the empty answer passes"),
        ({"tokens": 500}, None, "rejected", "the empty answer passes"),
        ({"contains": "8473", "tools": "shell"}, "8472", "rejected", "the reference fails"),
    ],
)
def test_whoever_does_nothing_must_not_pass_and_the_way_of_a_reference_is_unknown(
    check: dict[str, Any], reference: str | None, state: str, reason: str
) -> None:
    found = state_of(case("Which port?", check, reference=reference), case("Which host?", check, reference="quay"))
    assert (found.state, reason in saw(found)) == (state, True), found


def test_other_checks_of_such_a_case_are_still_put_to_wrong_answers() -> None:
    found = state_of(case("Which port?", {"contains": "8472", "tools": "shell"}, reference="8472", wrong=["8472 or 1"]))
    assert "wrong answer 1 passes" in saw(found)
    assert found.mutants
