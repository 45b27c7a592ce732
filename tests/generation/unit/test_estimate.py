"""What a `generate` will take: `at most` is never less than what can be bought."""

import importlib.metadata
from dataclasses import replace

import pytest

from upskill.core.cases.split import CaseCounts
from upskill.core.models import Endpoint
from upskill.core.models.spending import MOST_OUTPUT_TOKENS
from upskill.core.models.teacher_answers import REPAIRS
from upskill.core.nouns import Price, Student
from upskill.core.settings import Settings, settings_from
from upskill.errors import UsageError
from upskill.evaluation.estimate import Estimate
from upskill.generation.draft import Draft
from upskill.generation.drafting import SHORTENINGS
from upskill.generation.estimate import TeachingEstimate, TeachingWorkload, estimate_teaching
from upskill.generation.material import Material
from upskill.generation.order import GenerateOrder
from upskill.generation.plan import plan_generate
from upskill.generation.search import PROPOSALS_PER_REVISION

PRICE = Price(input_per_million=5.0, output_per_million=25.0)
TEACHER = Endpoint(name="t", model="x/t", how="", price=PRICE)
STUDENT = Student(name="s", model="x/s", price=PRICE, max_output_tokens=4096)
OLD = Draft(name="tarn", description="d", body="b")
NEW_SKILL = TeachingWorkload(
    material=Material(task="t"),
    counts=CaseCounts(learn=10, held_out=16, negative=4),
    cases_to_write=30,
    drafts=True,
    lessons=0,
    revisions=3,
)


def estimate(teaching: TeachingWorkload, students: int = 1) -> TeachingEstimate:
    named = [replace(STUDENT, name=f"s{number}") for number in range(students)]
    return estimate_teaching(teaching, teacher=TEACHER, writer=TEACHER, students=named, settings=Settings())


def of_students(teaching: TeachingWorkload, students: int = 1) -> Estimate:
    found = estimate(teaching, students).students
    assert found is not None
    return found


def test_every_trial_that_can_be_run_is_counted() -> None:
    learn, held_out, guard = 10 * (2 + 3 + 3), 2 * 3 * 16, 2 * 8 * (16 + 4)
    assert of_students(NEW_SKILL).calls_at_most == learn + held_out + guard
    assert of_students(NEW_SKILL, students=3).calls_at_most == 3 * (learn + held_out + guard)


def test_of_a_revision_all_is_guarded_as_well_and_a_change_is_a_revision() -> None:
    old = replace(NEW_SKILL, material=Material(task="t", skill=OLD), revisions=0)
    learn, held_out, guard = 10 * 3, 2 * 3 * 16, 2 * 8 * (16 + 4)
    assert of_students(old).calls_at_most == learn + held_out + guard


@pytest.mark.parametrize("held_out", [16, 40])
def test_of_a_revision_each_held_out_case_is_expected_twice_in_both_versions(held_out: int) -> None:
    counts = CaseCounts(learn=10, held_out=held_out, negative=4)
    found = of_students(replace(NEW_SKILL, material=Material(task="t", skill=OLD), counts=counts, revisions=0))
    assert found.calls_expected == 10 * 3 + 2 * 2 * (held_out + 4)


def test_the_guard_is_expected_to_ask_unrelated_cases_twice() -> None:
    fewer = of_students(replace(NEW_SKILL, counts=CaseCounts(learn=10, held_out=16, negative=1)))
    assert of_students(NEW_SKILL).calls_expected - fewer.calls_expected == 2 * 2 * 3
    assert of_students(NEW_SKILL).calls_at_most - fewer.calls_at_most == 2 * 8 * 3


def test_with_tools_every_trial_may_take_all_its_turns_and_there_is_one_arm_more() -> None:
    tools = of_students(replace(NEW_SKILL, harness="agent"))
    trials = 10 + 10 * (1 + 2 * (4 + 3)) + 3 * 3 * 16 + 3 * 8 * (16 + 4)
    assert tools.calls_at_most == trials * Settings().max_turns
    assert tools.calls_expected < tools.calls_at_most


def test_without_held_out_cases_nothing_is_proven_and_nothing_guarded() -> None:
    share = of_students(replace(NEW_SKILL, counts=CaseCounts(learn=10, held_out=0, negative=4)))
    assert share.calls_at_most == 10 * (5 + 3)


def test_a_search_may_ask_for_as_many_proposals_as_it_has() -> None:
    one_by_one = estimate(NEW_SKILL).teacher
    search = estimate(replace(NEW_SKILL, proposals_per_revision=PROPOSALS_PER_REVISION)).teacher
    more = 3 * (PROPOSALS_PER_REVISION - 1)
    assert search.calls_at_most - one_by_one.calls_at_most >= more * (1 + REPAIRS + SHORTENINGS)


def test_other_presentations_are_expected_of_a_small_student_only() -> None:
    small = replace(NEW_SKILL, presentations=3)
    assert of_students(small).calls_expected - of_students(NEW_SKILL).calls_expected == 3 * 10
    assert of_students(small).calls_at_most == of_students(NEW_SKILL).calls_at_most
    assert estimate(small).teacher.calls_expected == estimate(NEW_SKILL).teacher.calls_expected + 1


def test_an_answer_may_be_as_long_as_is_allowed() -> None:
    teacher = estimate(NEW_SKILL).teacher
    assert teacher.price_at_most is not None
    answers = PRICE.of(input_tokens=0, output_tokens=MOST_OUTPUT_TOKENS) * teacher.calls_at_most
    assert teacher.price_at_most > answers


@pytest.mark.parametrize("price", [None, PRICE])
def test_an_unknown_price_is_not_nothing(price: Price | None) -> None:
    students = [replace(STUDENT, price=price), STUDENT]
    found = estimate_teaching(NEW_SKILL, teacher=TEACHER, writer=TEACHER, students=students, settings=Settings())
    assert found.students is not None
    assert (found.students.price_at_most is None) == (price is None)


@pytest.mark.parametrize(("held_out", "repeats"), [(6, 3), (32, 3), (33, 3), (34, 2), (100, 2)])
def test_each_held_out_case_is_asked_three_times_at_most_and_twice_where_there_are_many(
    held_out: int, repeats: int
) -> None:
    found = of_students(replace(NEW_SKILL, counts=CaseCounts(learn=10, held_out=held_out, negative=4)))
    assert found.calls_at_most == 10 * (2 + 3 + 3) + 2 * repeats * held_out + 2 * 8 * (held_out + 4)


def test_what_students_can_do_is_priced_with_the_baseline_bought_once() -> None:
    passages = of_students(replace(NEW_SKILL, passages=True))
    without = of_students(NEW_SKILL)
    assert passages.calls_expected - without.calls_expected == 10, "one round of the ceiling arm"
    assert passages.calls_at_most - without.calls_at_most == 10 * (2 * 4 - 1), "four rounds of both arms"


def test_a_plan_of_facts_is_a_question_to_the_case_writer() -> None:
    plan, none = (estimate(replace(NEW_SKILL, plan=number)).teacher for number in (2, 0))
    assert plan.calls_expected - none.calls_expected == 2
    assert plan.calls_at_most - none.calls_at_most == 2 * (1 + REPAIRS)


def test_a_search_says_what_to_install_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(UsageError, match="--effort high needs the package gepa") as refused:
        plan_generate(GenerateOrder(task="x", effort="high"), settings=settings_from({}, where="a test"))
    assert refused.value.hint == "install it: pip install 'skill-lift[search]'"
