"""The plan of facts: what is listed, on which side each family is, what a person may edit, which cases come of it."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generation.unit.teaching.case_teacher import good_case
from generation.unit.teaching.scripted_teacher import Teacher
from upskill.core.cases.family import by_family, with_merged_families
from upskill.core.cases.split import CaseCounts, split_cases
from upskill.core.cases.states import qualify
from upskill.core.models import Question, Reply
from upskill.core.models.teacher_answers import TeacherUnusable
from upskill.core.nouns import Answer, Case, Check, Qualification, Skill, estimate_tokens
from upskill.errors import UsageError
from upskill.generation.case_writing import WrittenCases, write_cases
from upskill.generation.facts import (
    Fact,
    FactPlan,
    plan_calls,
    plan_facts,
    plan_text,
    read_plan,
    slots_for,
    with_sides,
)
from upskill.generation.material import Document, Material
from upskill.generation.student import StudentProfile, rungs_for

LINES = [f"The berth {n} has the port {7000 + 37 * n}." for n in range(1, 61)]
MATERIAL = Material(task="Configure berths", documents=(Document(name="berths.md", text="\n".join(LINES)),))
TASK = Material(task="Configure berths")
COUNTS = CaseCounts(learn=3, held_out=6, negative=1)
NO_SKILL = Skill(name="", description="", body="", digest="")


def fact(number: int, family: int | None = None, **changes: Any) -> Fact:
    """The port of one berth; alone in its family unless another is named."""
    given: dict[str, Any] = {
        "id": f"berth-{number}",
        "text": LINES[number - 1],
        "kind": ("fact", "procedure", "mistake")[number % 3],
        "place": f"document berths.md lines {number} to {number}",
        "family": f"family-{number if family is None else family}",
    }
    return Fact(**given | changes)


def listed(*facts: Fact) -> str:
    keys = ("id", "text", "answer", "kind", "place", "family")
    return json.dumps({"facts": [{key: getattr(one, key) for key in keys} for one in facts]})


def profile(output: int | None = None) -> StudentProfile:
    return StudentProfile(
        names=("small",), window=2_048, output_tokens=output, harness="chat", case_tokens=400, skill_tokens=600
    )


def examine(cases: Sequence[Case]) -> tuple[Qualification, ...]:
    return qualify(cases, NO_SKILL)


def written(ask: Any, plan: FactPlan, counts: CaseCounts = COUNTS, **more: Any) -> WrittenCases:
    more = {"examine": examine, **more}
    return write_cases(MATERIAL, ask, counts=counts, plan=plan, **more)


class FactTeacher:
    """Writes a case for every fact that it is asked for, as well as it is told to."""

    def __init__(self, spoil: Any = lambda item, _: item) -> None:
        self.asked: list[Question] = []
        self._spoil, self._written = spoil, 0

    def __call__(self, questions: Sequence[Question], /) -> tuple[Reply, ...]:
        return tuple(self._reply(question) for question in questions)

    def _reply(self, question: Question) -> Reply:
        self.asked.append(question)
        text = question.messages[0].text
        wanted = re.findall(r"^- `([\w-]+)`, rung `(\w+)`", text, re.MULTILINE)
        wanted += re.findall(r"for the fact `([\w-]+)`, on the rung `(\w+)`", text)
        back = re.findall(r'^ "id": "[^"]+",\n "fact": "([^"]+)",\n "rung": "([^"]+)"', text, re.MULTILINE)
        wanted += (pair for pair in back if pair[0] != "unheard-of")
        negative = re.search(r"(\d+) negative case", text)
        items = [self._case(fact=name, rung=rung) for name, rung in wanted]
        items += [self._case(negative=True) for _ in range(int(negative[1]) if negative else 0)]
        return Reply(text=json.dumps({"cases": items}))

    def _case(self, *, negative: bool = False, **about: str) -> dict[str, Any]:
        self._written += 1
        item = {**good_case(self._written, negative=negative), **about}
        ordered = {"id": item.pop("id"), "fact": item.pop("fact", ""), "rung": item.pop("rung", "answer"), **item}
        return dict(self._spoil(ordered, self._written))


def sides(cases: Sequence[Case]) -> dict[str, set[Any]]:
    """By fact, the uses of its cases."""
    found: dict[str, set[Any]] = {}
    for case in cases:
        if "fact" in case.extra:
            found.setdefault(str(case.extra["fact"]), set()).add(case.use)
    return found


def nothing_on_both_sides(cases: Sequence[Case]) -> bool:
    families = [{case.use for case in family} for family in by_family(cases)]
    return all(len(uses) == 1 for uses in sides(cases).values()) and not any(
        "learn" in uses and len(uses) > 1 for uses in families
    )


def test_one_question_lists_the_facts_with_numbered_lines_and_the_student() -> None:
    teacher = Teacher(listed(*(fact(n) for n in range(1, 10))))
    plan = plan_facts(MATERIAL, teacher, counts=COUNTS, profile=profile(150))
    (question,) = teacher.asked
    assert question.purpose == "plan"
    assert "3| The berth 3 has the port 7111." in question.messages[0].text
    assert "small. Question, skill and answer together" in question.system
    assert str(plan) == "9 facts in 9 families: 3 for practice, 6 held out"


def test_of_two_facts_with_one_answer_the_first_is_listed() -> None:
    teacher = Teacher(listed(fact(1, answer="7037"), fact(2, answer="x"), fact(3, answer="X"), fact(4), fact(5)))
    plan = plan_facts(MATERIAL, teacher, counts=COUNTS)
    assert [(one.id, one.answer) for one in plan.facts] == [
        ("berth-1", "7037"), ("berth-2", "x"), ("berth-4", ""), ("berth-5", ""),
    ]  # fmt: skip
    assert read_plan(plan_text(plan), MATERIAL, COUNTS, where="plan.json") == plan


def test_facts_without_a_place_and_repeated_ones_are_dropped() -> None:
    teacher = Teacher(
        listed(
            fact(1),
            fact(2, place="document other.md lines 1 to 2"),
            fact(3, place="lines 900 to 901"),
            fact(4, text=LINES[0]),
            fact(5, id="berth-1", place="berths.md line 5"),
        )
    )
    plan = plan_facts(MATERIAL, teacher, counts=COUNTS)
    assert [(one.id, one.place) for one in plan.facts] == [
        ("berth-1", "document berths.md lines 1 to 1"),
        ("berth-1-2", "document berths.md lines 5 to 5"),
    ]


def test_a_task_alone_has_facts_without_places() -> None:
    teacher = Teacher(listed(*(fact(n) for n in range(1, 5))))
    plan = plan_facts(TASK, teacher, counts=COUNTS)
    assert [one.place for one in plan.facts] == [""] * 4
    assert "There is no material beside the task." in teacher.asked[0].messages[0].text
    assert all(slot.passage is None for slot in slots_for(plan, COUNTS, TASK))


def test_a_plan_of_one_family_is_asked_for_again_and_then_given_up() -> None:
    teacher = Teacher(listed(fact(1, 1), fact(2, 1)))
    with pytest.raises(TeacherUnusable, match="it has 1 family of facts whose place is in the material"):
        plan_facts(MATERIAL, teacher, counts=COUNTS)
    assert len(teacher.asked) == 3


def test_material_that_exceeds_the_window_is_listed_piece_by_piece() -> None:
    long = replace(MATERIAL, documents=(Document(name="berths.md", text="\n".join(LINES * 20)),))
    calls = plan_calls(long, window=16_000)
    assert calls > 1
    teacher = Teacher(*(listed(fact(2 * n + 1), fact(2 * n + 2)) for n in range(calls)))
    plan = plan_facts(long, teacher, counts=CaseCounts(learn=10, held_out=30, negative=0), window=16_000)
    assert len(plan.facts) == 2 * calls
    assert LINES[0] in teacher.asked[1].messages[0].text, "what was listed is in view"


facts_and_counts = st.tuples(
    st.lists(st.integers(1, 12), min_size=2, max_size=30),
    st.integers(1, 10),
    st.integers(1, 20),
).filter(lambda drawn: len(set(drawn[0])) > 1)


@given(facts_and_counts)
def test_each_family_is_on_one_side_each_side_has_one_and_order_and_names_do_not_matter(drawn: Any) -> None:
    families, learn, held_out = drawn
    counts = CaseCounts(learn=learn, held_out=held_out, negative=0)
    facts = [fact(n, family) for n, family in enumerate(families, 1)]
    plan = with_sides(facts, counts)
    both = {one.family for one in plan.facts if one.use == "learn"} & {
        one.family for one in plan.facts if one.use == "held-out"
    }
    assert not both
    assert plan.lacks(counts) is None
    renamed = with_sides([replace(one, id=f"other-{one.id}") for one in reversed(facts)], counts)
    assert {one.text: one.use for one in plan.facts} == {one.text: one.use for one in renamed.facts}


def test_a_saved_plan_reads_back_the_same_and_a_person_may_leave_things_out() -> None:
    plan = with_sides([fact(n, n % 4) for n in range(1, 9)], COUNTS)
    assert read_plan(plan_text(plan), MATERIAL, COUNTS, where="plan.json") == plan
    edited = json.loads(plan_text(plan))
    edited["facts"].append({"id": "new", "text": "A new one.", "kind": "fact"})
    again = read_plan(json.dumps(edited), MATERIAL, COUNTS, where="plan.json")
    assert again.facts[:8] == plan.facts
    assert (again.facts[8].family, again.facts[8].place) == ("new", "")


def test_everything_wrong_with_a_plan_is_named_with_its_entry() -> None:
    entries: list[Any] = json.loads(plan_text(with_sides([fact(n) for n in range(1, 7)], COUNTS)))["facts"]
    entries[0]["kind"] = "rumour"
    entries[1]["place"] = "document other.md"
    entries[2]["id"] = "berth-4"
    entries[4] |= {"use": "learn", "family": "both"}
    entries[5] |= {"use": "held-out", "family": "both"}
    entries.append("berth")
    with pytest.raises(UsageError) as refused:
        read_plan(json.dumps({"facts": entries}), MATERIAL, COUNTS, where="my.json")
    assert refused.value.message == "my.json: cannot be used as a plan"
    assert refused.value.problems == (
        "fact 1 (berth-1): `kind` must be one of fact, procedure, mistake",
        "fact 2 (berth-2): `place` 'document other.md' is not in the material",
        f"fact 4 (berth-4): its `id` is used by another fact: {LINES[2]}",
        "fact 7: must be an object with `id`, `text`, `kind`, `place`, `family` and `use`",
        "the family both is on both sides: berth-5 is for practice, berth-6 is held out",
    )


HALF = json.dumps([{"id": name, "text": f"{name} \ud800", "kind": "fact"} for name in ("one", "two")])


@pytest.mark.parametrize("text", ["{", "[]", '{"facts": {}}', "5", "[" * 100_000, HALF])
def test_a_file_that_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"my\.json"):
        read_plan(text, MATERIAL, COUNTS, where="my.json")


def test_a_plan_without_a_side_is_refused() -> None:
    plan = with_sides([fact(n, use="learn") for n in range(1, 5)], COUNTS)
    with pytest.raises(UsageError) as refused:
        read_plan(plan_text(plan), MATERIAL, COUNTS, where="my.json")
    assert refused.value.problems == ("no family is held out: set `use` of one family to `held-out`",)


def test_the_ladder_is_cut_by_the_longest_answer_alone() -> None:
    assert rungs_for(None) == rungs_for(profile()) == rungs_for(profile(400)) == ("answer", "snippet", "file")
    assert rungs_for(profile(399)) == rungs_for(profile(100)) == ("answer", "snippet")
    assert rungs_for(profile(99)) == ("answer",)


def test_rungs_share_equally_and_a_fact_that_is_asked_again_is_asked_on_another() -> None:
    counts = CaseCounts(learn=6, held_out=12, negative=0)
    plan = with_sides([fact(n) for n in range(1, 10)], counts)
    slots = slots_for(plan, counts, MATERIAL)
    assert Counter(slot.rung for slot in slots) == {"answer": 6, "snippet": 6, "file": 6}
    assert len({(slot.fact.id, slot.rung) for slot in slots}) == 18
    assert Counter(slot.fact.use for slot in slots) == {"learn": 6, "held-out": 12}


def test_a_fact_of_one_line_is_asked_as_an_answer_and_one_of_several_as_more() -> None:
    plan = with_sides(
        [fact(n, answer="a\nb" if n % 2 else f"{n}") for n in range(1, 9)], CaseCounts(held_out=8, learn=0)
    )
    asked = slots_for(plan, CaseCounts(learn=0, held_out=8, negative=0), MATERIAL)
    assert {slot.rung for slot in asked if "\n" not in slot.fact.answer} == {"answer"}
    assert {slot.rung for slot in asked if "\n" in slot.fact.answer} == {"snippet", "file"}
    tiny = replace(profile(), parameters=135_000_000)
    assert {slot.rung for slot in slots_for(plan, CaseCounts(learn=0, held_out=8), MATERIAL, profile=tiny)} == {
        "answer"
    }


def test_cases_carry_what_the_plan_says_and_each_call_sees_what_others_ask() -> None:
    counts = CaseCounts(learn=6, held_out=18, negative=2)
    plan = with_sides([fact(n) for n in range(1, 25)], counts)
    teacher = FactTeacher()
    result = written(teacher, plan, counts, profile=profile(150))
    assert result.dropped == ()
    assert Counter(case.use for case in result.cases) == {"learn": 6, "held-out": 18, "negative": 2}
    facts = {one.id: one for one in plan.facts}
    for case in result.cases:
        if case.use == "negative":
            assert (case.family, case.passage) == (None, None)
            continue
        mine = facts[str(case.extra["fact"])]
        assert (case.family, case.use, case.passage) == (mine.family, mine.use, mine.text)
        assert case.extra["rung"] in ("answer", "snippet")
    assert len(teacher.asked) == 3
    last = teacher.asked[-1].messages[0].text
    earlier = [case for case in result.cases if case.prompt in last]
    assert [case.use for case in earlier] == ["negative"], "of other facts the answers are told, not the tasks"
    assert all(f"- {one.text}" in last or f"- `{one.id}`, rung `" in last for one in plan.facts)
    assert "# The student" in teacher.asked[0].system


def test_a_small_window_of_the_teacher_is_not_exceeded() -> None:
    counts = CaseCounts(learn=6, held_out=18, negative=2)
    plan = with_sides([fact(n) for n in range(1, 25)], counts)
    teacher = FactTeacher()
    long = [replace(good, prompt=good.prompt + " word" * 100) for good in written(FactTeacher(), plan, counts).cases]
    written(teacher, plan, counts, window=4_096, known=long)
    assert max(estimate_tokens(question.messages[0].text) for question in teacher.asked) < 2_200


def test_a_case_for_another_fact_is_not_taken_and_its_fact_is_asked_for_again() -> None:
    def misnamed(item: dict[str, Any], number: int) -> dict[str, Any]:
        return {**item, "fact": "unheard-of"} if number == 2 else item

    plan = with_sides([fact(n) for n in range(1, 10)], COUNTS)
    teacher = FactTeacher(misnamed)
    result = written(teacher, plan)
    assert set(sides(result.cases)) == {one.id for one in plan.facts}
    again = teacher.asked[1].messages[0].text
    assert "`fact` is 'unheard-of'; the facts to ask for here are berth-" in again


def test_more_cases_than_a_fact_was_asked_for_are_left_out() -> None:
    plan = with_sides([fact(n) for n in range(1, 10)], COUNTS)
    first = plan.facts[0].id

    def greedy(item: dict[str, Any], _: int) -> dict[str, Any]:
        return item if not item["fact"] else {**item, "fact": first}

    result = written(FactTeacher(greedy), plan)
    assert sides(result.cases).keys() == {first}
    assert "not asked for" in result.dropped[-1]


_SPOILS = st.lists(st.sampled_from(["good", "template", "double", "bad", "other fact", "own"]), max_size=40)


@settings(max_examples=60, deadline=None)
@given(_SPOILS, st.lists(st.integers(1, 9), min_size=3, max_size=14).filter(lambda drawn: len(set(drawn)) > 1))
def test_no_family_and_no_fact_is_on_both_sides_whatever_a_teacher_writes(
    spoils: list[str], families: list[int]
) -> None:
    """Also across rewrites, doubles, templates with other values, and a person's own cases."""
    plan = with_sides([fact(n, family) for n, family in enumerate(families, 1)], COUNTS)
    ids = [one.id for one in plan.facts]
    own = [
        Case(id=f"own-{n}", prompt=text, checks=(Check(kind="equals", spec=str(n)),), family=family)
        for n, (text, family) in enumerate(
            [("How deep is gauge 3, in metres at noon?", None), ("Who owns the crane?", f"family-{families[0]}")]
        )
    ]

    def spoil(item: dict[str, Any], number: int) -> dict[str, Any]:
        match spoils[number % len(spoils)] if spoils else "good":
            case "template":
                return {**item, "input": f"How often is the gauge G{number} read out, in seconds? A number only."}
            case "double":
                return {**item, **{key: good_case(1)[key] for key in ("input", "checks", "reference", "wrong")}}
            case "bad":
                return {**item, "checks": [{"excludes": "nano"}]}
            case "other fact":
                return {**item, "fact": ids[number % len(ids)]}
            case "own":
                return {**item, "input": f"How deep is gauge {number + 5}, in metres at noon?"}
        return item

    def any_case(cases: Sequence[Case]) -> tuple[Qualification, ...]:
        # What can be told apart is not the matter here, and takes most of the time.
        return tuple(
            Qualification(case_id=case.id, state="rejected" if case.checks[0].kind == "excludes" else "qualified")
            for case in cases
        )

    try:
        result = written(FactTeacher(spoil), plan, known=own, examine=any_case)
    except TeacherUnusable:
        return
    assert nothing_on_both_sides(result.cases)
    joined = split_cases(with_merged_families((*own, *result.cases), by_hand=own), COUNTS)
    assert nothing_on_both_sides(joined)
    said = {one.id: one.use for one in plan.facts}
    assert all(uses == {said[name]} for name, uses in sides(joined).items()), "the plan says on which side a fact is"


def test_a_case_that_is_like_one_of_the_other_side_goes_back() -> None:
    plan = with_sides([fact(n) for n in range(1, 10)], COUNTS)
    gauge = "How often is the gauge G{} read out, in seconds? Answer with the number only."

    def template(item: dict[str, Any], number: int) -> dict[str, Any]:
        return {**item, "input": gauge.format(number)} if number <= 9 else item

    teacher = FactTeacher(template)
    result = written(teacher, plan)
    assert nothing_on_both_sides(result.cases)
    assert len(result.cases) == 10
    assert "is another case with other names or numbers in it" in teacher.asked[1].messages[0].text


def test_a_reference_that_exceeds_the_longest_answer_goes_back_with_the_numbers() -> None:
    long = " ".join(f"word{n}" for n in range(200))

    def wordy(item: dict[str, Any], number: int) -> dict[str, Any]:
        return {**item, "reference": {"text": long}, "checks": [{"equals": long}]} if number == 1 else item

    teacher = FactTeacher(wordy)
    result = written(teacher, with_sides([fact(n) for n in range(1, 10)], COUNTS), profile=profile(150))
    assert len(result.cases) == 10
    assert "answers are cut at 150" in teacher.asked[1].messages[0].text
    assert all(isinstance(case.reference, Answer) and len(case.reference.text) < 600 for case in result.cases)


def test_no_fact_is_asked_twice_on_one_rung_even_where_more_cases_are_wanted() -> None:
    counts = CaseCounts(learn=4, held_out=10, negative=0)
    plan = with_sides([fact(n) for n in range(1, 6)], counts)
    teacher = FactTeacher()
    result = written(teacher, plan, counts, profile=profile(99))
    assert sorted(str(case.extra["fact"]) for case in result.cases) == sorted(one.id for one in plan.facts)
    assert result.dropped == ()
    assert len(teacher.asked) == 1, "nothing is missing, and no call asks for nothing"
