"""The one command after a result, chosen by what was found."""

from dataclasses import replace
from typing import Any

import pytest

from report.unit.evaluations import CASE_STATES, EVALUATIONS, arm, evaluation, lift, report
from upskill.core.nouns import Evaluation, RunEnd
from upskill.core.nouns.plan import Again, Student
from upskill.report.next_step import NextStep, next_step, step_after_generate


def test_what_was_interrupted_is_resumed() -> None:
    step = next_step(evaluation(end=RunEnd(interrupted=True)))
    assert step.command == "upskill eval --resume runs/2026-11-15-093042-tarnctl-1a2b3c"
    assert next_step(evaluation(end=RunEnd(interrupted=True)), resume="upskill eval s --resume r").command.endswith("r")


def test_a_run_without_a_verdict_is_mended_first() -> None:
    invalid = evaluation(report(verdict="invalid"), report("kimi", verdict="hurts"), case_states=CASE_STATES)
    assert next_step(invalid).what == "retry only what errored"
    lossy = report(verdict="invalid", arms=(arm("baseline"), replace(arm("with_skill"), lost=12)))
    assert next_step(replace(invalid, students=(lossy,))).command == "upskill eval SKILL -m haiku --fresh"
    down = replace(invalid, students=(replace(lossy, end="endpoint down"),))
    assert next_step(down).command.startswith("upskill eval --resume runs/")


@pytest.mark.parametrize("verdict", ["undecided", "invalid"])
def test_what_a_budget_stopped_is_resumed_and_nothing_is_said_of_errors(verdict: str) -> None:
    step = next_step(evaluation(report(verdict=verdict, end="cap reached"), case_states=CASE_STATES), skill="skills/x")
    assert step.what == "resume with the same budget again"
    assert step.command.startswith("upskill eval --resume runs/")


def test_what_helps_is_kept_proven_by_the_gate_that_it_passes() -> None:
    wide = evaluation(report(), report("kimi"))
    assert next_step(wide, skill="my skills/x").command == "upskill eval 'my skills/x' -m haiku -m kimi --require helps"


def test_what_helps_on_these_cases_only_gets_more_cases() -> None:
    narrow = evaluation(report(), report("kimi", lifts=(lift(about="these cases", units=4),)))
    step = next_step(narrow, skill="my x", tests="cases.json")
    assert step == ("write more cases, to say so of new ones", "upskill cases write 'my x' -o more-cases.json")


def test_broken_cases_are_looked_at_before_the_skill_is_changed() -> None:
    found = EVALUATIONS["breaks"]
    for verdict in ("helps", "hurts", "undecided"):
        broken = replace(found, students=(replace(found.students[0], verdict=verdict),))
        assert next_step(broken, skill="x") == (
            "see what it answers to the broken cases now",
            "upskill report runs/2026-11-15-093042-tarnctl-1a2b3c --open",
        )


def test_an_address_is_typed_again_where_all_models_have_it() -> None:
    local = Student(name="smollm2", model="openai-api/x/smollm2", endpoint="http://localhost:8080/v1")
    found = evaluation(report(student=local))
    assert next_step(found, skill="x").command == (
        "upskill eval x -m smollm2 --base-url http://localhost:8080/v1 --require helps"
    )


@pytest.mark.parametrize("verdict", ["hurts", "no difference"])
def test_a_skill_that_does_no_good_goes_back_to_the_teacher(verdict: str) -> None:
    found = evaluation(report(), report("kimi", verdict=verdict))
    assert next_step(found, skill="skills/x").command == (
        "upskill generate --from skills/x --eval-model haiku --eval-model kimi"
    )
    assert next_step(found).command.startswith("upskill generate --from SKILL ")


def test_a_revision_is_measured_on_the_same_model_at_its_address() -> None:
    local = Student(name="smollm2", model="openai-api/x/smollm2", endpoint="http://localhost:8080/v1")
    found = evaluation(report(verdict="hurts", student=local))
    assert next_step(found, skill="x").command == (
        "upskill generate --from x --eval-model smollm2 --eval-base-url http://localhost:8080/v1"
    )


def test_a_case_file_that_was_named_is_named_again() -> None:
    proven = evaluation(report())
    assert next_step(proven, skill="x", tests="my cases.json").command == (
        "upskill eval x -t 'my cases.json' -m haiku --require helps"
    )
    worse = evaluation(report(verdict="hurts"))
    assert (
        next_step(worse, skill="x", tests="c.json").command == "upskill generate --from x -t c.json --eval-model haiku"
    )


def test_an_open_question_gets_more_cases_before_more_repeats() -> None:
    found = evaluation(report(), report("kimi", verdict="undecided"), cases=12)
    assert next_step(found, skill="x").command == "upskill cases write x -o more-cases.json"


AGAIN = Again(
    variables=("UPSKILL_TEMPERATURE=0",),
    options=("--harness agent", "--runs 3", "--sandbox none", "--yes", "--max-cost 2"),
)


def test_what_was_typed_is_typed_again() -> None:
    proven = evaluation(report())
    assert next_step(proven, skill="x", again=AGAIN).command == (
        "UPSKILL_TEMPERATURE=0 upskill eval x -m haiku --harness agent --runs 3 --sandbox none --yes --max-cost 2 "
        "--require helps"
    )
    assert next_step(proven, skill="my x", again=AGAIN).as_json() == {
        "what": "check it in every build",
        "variables": {"UPSKILL_TEMPERATURE": "0"},
        "arguments": [
            *("upskill", "eval", "my x", "-m", "haiku", "--harness", "agent", "--runs", "3", "--sandbox", "none"),
            *("--yes", "--max-cost", "2", "--require", "helps"),
        ],
    }


def test_what_another_command_does_not_have_is_left_out() -> None:
    worse = evaluation(report(verdict="hurts"))
    assert next_step(worse, skill="x", again=AGAIN).command == (
        "UPSKILL_TEMPERATURE=0 upskill generate --from x --eval-model haiku --harness agent --sandbox none --yes "
        "--max-cost 2"
    )
    versions = report(arms=(arm("previous"), arm("with_skill")))
    compared = Again(options=("--compare git:abc", "--accept-changed-cases", "--runs 3"))
    assert next_step(evaluation(versions), skill="x", again=compared).command == "upskill eval x -m haiku --runs 3"


def test_nothing_of_a_run_that_is_not_ones_own_is_typed_again() -> None:
    local = Student(name="smollm2", model="openai-api/x/smollm2", endpoint="http://evil.example/v1")
    step = next_step(evaluation(report(student=local)), skill="x", again=None)
    assert step.command == "upskill trust runs/2026-11-15-093042-tarnctl-1a2b3c"
    assert "not known as yours" in step.what


def test_a_better_version_is_measured_against_no_skill_next() -> None:
    versions = report(arms=(arm("previous"), arm("with_skill")))
    assert next_step(evaluation(versions), skill="x") == (
        "measure the new version against no skill",
        "upskill eval x -m haiku",
    )


def test_rejected_cases_are_looked_at_before_the_skill_is_changed() -> None:
    found = evaluation(report(verdict="hurts"), case_states=CASE_STATES)
    assert next_step(found, skill="x").command == "upskill cases check x"
    unproven = evaluation(report(verdict="no difference"), case_states=CASE_STATES[:1])
    assert next_step(unproven, skill="x").command == "upskill cases check x"


def test_a_run_without_a_baseline_is_compared_next() -> None:
    alone = evaluation(report(verdict=None, arms=(arm("with_skill"),), lifts=()))
    assert next_step(alone, skill="x").command == "upskill eval x -m haiku"


def after_generate(found: Evaluation | None, **known: Any) -> NextStep:
    usual = {"saved": "skills/x", "improved": None, "resume": "upskill generate --resume runs/g", "students": ()}
    return step_after_generate(found, **{**usual, **known})


def test_after_a_generate_the_saved_skill_is_what_the_command_is_about() -> None:
    proven = evaluation(report())
    assert after_generate(proven) == ("check it in every build", "upskill eval skills/x -m haiku --require helps")
    cut = evaluation(end=RunEnd(interrupted=True))
    assert after_generate(cut).command == "upskill generate --resume runs/g"


def test_a_generate_that_measured_nothing_is_measured_next() -> None:
    assert after_generate(None, students=("haiku",)).command == "upskill eval skills/x -m haiku"
    assert after_generate(None).command == "upskill eval skills/x -m MODEL"


def test_where_the_old_version_stays_the_command_is_about_that_one() -> None:
    open_question = evaluation(report(verdict="undecided"))
    step = after_generate(open_question, saved=None, improved="./my skills/x")
    assert step.command == "upskill cases write './my skills/x' -o more-cases.json"
    worse = after_generate(evaluation(report(verdict="hurts")), saved=None, improved="./skills/x")
    assert worse.command == 'upskill generate --from ./skills/x "what to improve"'
    assert after_generate(None, saved=None).command == 'upskill generate --from SKILL "what to improve"'
