"""Trigger prompts: written for both kinds, kept to their rules, labelled again, split by their content."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from generation.unit.teaching.scripted_teacher import Teacher
from generation.unit.teaching.trigger_teacher import SKILL, labels, near_miss, reply, should_load
from noted_progress import NotedLines
from upskill.core.models import Question
from upskill.core.models.teacher_answers import TeacherUnusable
from upskill.core.nouns.trigger import TriggerPrompt
from upskill.core.settings import Settings, resolve_settings
from upskill.errors import SettingsError
from upskill.generation.trigger_prompts import (
    TriggerCounts,
    prompt_problem,
    read_trigger_counts,
    shared_words,
    write_trigger_prompts,
)

FEW = TriggerCounts(learn=2, held_out=4)


def test_prompts_of_both_kinds_are_split_and_named_by_their_content() -> None:
    written = write_trigger_prompts(SKILL, Teacher(reply), counts=FEW)
    assert Counter((one.should_load, one.use) for one in written.prompts) == {
        (True, "learn"): 2,
        (True, "held-out"): 4,
        (False, "learn"): 2,
        (False, "held-out"): 4,
    }
    assert (written.disputed, written.unusable, written.dropped) == (0, 0, ())
    assert len({one.id for one in written.prompts}) == 12
    assert write_trigger_prompts(SKILL, Teacher(reply), counts=FEW) == written


def test_the_question_for_labels_tells_nothing_of_the_labels_that_were_meant() -> None:
    teacher = Teacher(reply)
    write_trigger_prompts(SKILL, teacher, counts=FEW)
    writing, review = teacher.asked[:2], teacher.asked[2]
    assert [question.purpose for question in writing] == ["triggers", "triggers"]
    assert review.purpose == "trigger review"
    text = review.messages[0].text
    assert SKILL.body in text
    assert SKILL.description in text
    for word in ("near miss", "should load", "because"):
        assert word not in text
    kinds = ["what do I turn" in part for part in text.split("\n\n") if part[:1].isdigit()]
    assert sorted(kinds) == [False] * 6 + [True] * 6
    assert kinds not in (sorted(kinds), sorted(kinds, reverse=True)), "the order would tell"


def test_prompts_on_which_the_labels_disagree_are_dropped_counted_and_asked_for_again() -> None:
    progress = NotedLines()

    def other_opinion(question: Question) -> str:
        found = json.loads(labels(question.messages[0].text))
        for entry in found["labels"][:2]:
            entry["needed"] = not entry["needed"]
        return json.dumps(found)

    reviews: list[Callable[[Question], str]] = [other_opinion, lambda question: labels(question.messages[0].text)]

    def writer(question: Question) -> str:
        """Writes others where it is told which are there; has another opinion in its first review."""
        if question.purpose == "trigger review":
            return (reviews.pop(0) if len(reviews) > 1 else reviews[0])(question)
        text = question.messages[-1].text
        kind = near_miss if "near misses:" in text else should_load
        start = 6 if "are there already" in text else 0
        return json.dumps({"prompts": [{"prompt": kind(n), "why": ""} for n in range(start, start + 6)]})

    written = write_trigger_prompts(SKILL, Teacher(writer), counts=FEW, progress=progress)
    assert written.disputed == 2
    assert len(written.prompts) == 12
    assert any("asking again (1 of 2)" in line for line in progress.lines)
    assert all("was labelled" in line for line in written.dropped)


@pytest.mark.parametrize(
    ("text", "should", "problem"),
    [
        ("My gauge-care is off.", True, "names the skill"),
        ("It calibrates tide gauges with the brass screw after rain.", True, "quotes the description"),
        ("It calibrates tide gauges with the brass screw after rain.", False, None),
        ("", True, "is empty"),
        ("x" * 5_000, True, "is longer than 4,000 characters"),
        ("Bake a cake.", False, "shares 0 words with the skill, and a near miss needs 2"),
        ("Which screws fit a railway gauge?", False, None),
        ("Our instrument is off; what do I turn?", True, None),
    ],
)
def test_each_kind_has_its_rules(text: str, should: bool, problem: str | None) -> None:
    assert prompt_problem(TriggerPrompt(id="a", prompt=text, should_load=should), SKILL) == problem


def test_the_name_of_a_tool_may_be_said_and_the_words_of_the_skill_are_found_in_any_number() -> None:
    tool = replace(SKILL, name="tarnctl")
    asked = TriggerPrompt(id="a", prompt="Why does tarnctl rouse fail?", should_load=True)
    assert prompt_problem(asked, tool) is None
    assert prompt_problem(replace(asked, prompt="Use the tarnctl skill."), tool) == "names the skill"
    assert shared_words("Screws and gauges of quarters", SKILL) == {"screw", "gauge", "quarter"}


def test_a_teacher_that_writes_nothing_usable_is_reported() -> None:
    with pytest.raises(TeacherUnusable, match="the teacher wrote no usable one"):
        write_trigger_prompts(SKILL, Teacher(json.dumps({"prompts": [{"prompt": "", "why": ""}]})), counts=FEW)


def test_counts_are_two_numbers() -> None:
    assert str(read_trigger_counts(Settings().trigger_prompts)) == "12+24"
    assert read_trigger_counts("2+4") == FEW
    for text in ("4", "2+4+1", "3+0", "a+b"):
        with pytest.raises(SettingsError):
            resolve_settings({"trigger_prompts": text})
