"""A body that is too long: the teacher shortens it, then sections go, then its end; it is never given up."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assigned import draft_skill, within_budget
from generation.unit.teaching.materials import answer, material
from generation.unit.teaching.scripted_teacher import Teacher
from upskill.core.nouns import estimate_tokens
from upskill.core.skills.markdown import has_open_block
from upskill.generation.draft import Draft
from upskill.generation.drafting import SkillBudget, budget_for, cut_to
from upskill.generation.material import Assignment
from upskill.generation.student import StudentProfile

PROFILE = StudentProfile(
    names=("tiny",), window=1_024, output_tokens=128, harness="chat", case_tokens=200, skill_tokens=60
)
DRAFT = Draft(
    name="tarn",
    description="Starts tarns. Use when a tarn is named.",
    body="## Ports\n\n- The port is 7413.\n\n## History\n\n"
    + "Long ago. " * 40
    + "\n\n## Files\n\n- It is tarn.kdl.\n",
    expendable=("history", "Files"),
)
BUDGET = SkillBudget(tokens=60)


def shorter(*texts: str, **more: object) -> str:
    return json.dumps({"sections": [{"heading": f"S{n}", "text": text} for n, text in enumerate(texts)], **more})


def test_a_body_that_fits_costs_no_question() -> None:
    fits = replace(DRAFT, body="## A\n\nShort.\n")
    assert within_budget(fits, Teacher("never asked"), budget=BUDGET) is fits


def test_the_teacher_is_told_how_many_tokens_it_is_over_and_who_reads_it() -> None:
    teacher = Teacher(shorter("- The port is 7413."))
    short = within_budget(DRAFT, teacher, budget=BUDGET, profile=PROFILE)
    assert short.body == "## S0\n\n- The port is 7413.\n"
    (question,) = teacher.asked
    assert question.purpose == "shorten"
    over = estimate_tokens(DRAFT.body) - 60
    assert f"{over} tokens over; at most 60." in question.messages[0].text
    assert "tiny" in question.messages[0].text


def test_it_is_asked_twice_and_then_sections_go_in_the_order_that_was_given() -> None:
    teacher = Teacher("no", shorter("x" * 9_000))  # unusable, then longer still
    short = within_budget(DRAFT, teacher, budget=BUDGET)
    assert len(teacher.asked) == 2
    assert short.body == "## Ports\n\n- The port is 7413.\n\n## Files\n\n- It is tarn.kdl.\n"


def test_the_order_of_the_last_answer_counts_and_the_last_section_is_cut_at_an_item() -> None:
    items = "\n".join(f"- rule number {number}" for number in range(60))
    teacher = Teacher(shorter(items, "short", drop_first=["S1", "S0"]))
    short = within_budget(replace(DRAFT, body="- y\n" * 450), teacher, budget=SkillBudget(tokens=100))
    assert short.body.startswith("## S0\n\n- rule number 0\n")
    assert "short" not in short.body
    assert short.body.splitlines()[-1].startswith("- rule number ")
    assert 80 < estimate_tokens(short.body) <= 100


@settings(max_examples=60, deadline=None)
@given(
    body=st.text(alphabet="ab #-`\n", min_size=1, max_size=400).filter(lambda text: bool(text.strip())),
    tokens=st.integers(3, 40),
)
def test_whatever_is_cut_fits_and_is_not_empty(body: str, tokens: int) -> None:
    cut = cut_to(replace(DRAFT, body=body), SkillBudget(tokens=tokens))
    assert estimate_tokens(cut.body) <= tokens
    assert cut.body
    assert not has_open_block(cut.body) or has_open_block(body)


def test_a_body_of_too_many_lines_is_cut_too() -> None:
    short = within_budget(replace(DRAFT, body="- a\n" * 600), Teacher("no"), budget=SkillBudget())
    assert short.body.count("\n") < 500


def test_tokens_are_counted_as_the_student_counts_them() -> None:
    draft = draft_skill(material(), (), Teacher(answer(), "no"), profile=PROFILE, count=len)
    assert len(draft.body) <= 60


@pytest.mark.parametrize("text", ["word " * 9_000, "- a\n" * 600])
def test_a_wordy_first_draft_is_never_given_up(text: str) -> None:
    kept: list[Draft] = []
    teacher = Teacher(answer(sections=[{"heading": "All", "text": text}]))
    draft = draft_skill(material(), (), teacher, on_draft=kept.append)
    assert [question.purpose for question in teacher.asked] == ["draft", "shorten", "shorten"]
    assert estimate_tokens(draft.body) <= 1_200
    assert draft.body.count("\n") < 500
    assert len(kept[0].body) > len(draft.body)


def test_a_teacher_with_a_small_window_is_not_asked_to_read_what_it_cannot() -> None:
    teacher = Teacher("never asked")
    short = within_budget(replace(DRAFT, body="word " * 9_000), teacher, budget=BUDGET, window=4_096)
    assert teacher.asked == []
    assert estimate_tokens(short.body) <= 60


def test_a_skill_that_is_longer_already_may_stay_so() -> None:
    long = replace(DRAFT, body="word " * 2_000)
    assert budget_for(Assignment(ask=Teacher()), old=long).fits(long.body + "\n## New\n\nMore.\n")
    assert not budget_for(Assignment(ask=Teacher(), profile=PROFILE), old=long).fits(long.body + "\n## New\n\nMore.\n")
    assert budget_for(Assignment(ask=Teacher(), profile=PROFILE), old=long).fits(long.body)
    assert budget_for(Assignment(ask=Teacher(), profile=PROFILE), old=replace(DRAFT, body="short")).tokens == 60


def test_the_writer_is_told_of_this_student_and_of_small_ones_how_to_write() -> None:
    teacher = Teacher(answer())
    draft_skill(material(), (), teacher, profile=replace(PROFILE, skill_tokens=900), topics=("ports", "files"))
    system, asked = teacher.asked[0].system, teacher.asked[0].messages[0].text
    assert "tiny" in system
    assert "at most 900 tokens" in system
    assert "This student is small." in system
    assert "about: ports, files." in asked
    assert "quayctl" in asked, "the shape of tasks is shown"
    assert "quay.toml" not in asked, "answers of 128 tokens hold no file"
    least = Teacher(answer())
    draft_skill(material(), (), least, profile=replace(PROFILE, skill_tokens=900, parameters=135_000_000))
    assert "This student is tiny." in least.asked[0].system
    large = Teacher(answer())
    draft_skill(material(), (), large, profile=replace(PROFILE, window=200_000, skill_tokens=900))
    assert "This student is" not in large.asked[0].system
    assert "capable" not in system + large.asked[0].system
