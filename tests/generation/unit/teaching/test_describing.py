"""A teacher is asked for a description: what it sees, and what of its answers is taken."""

import json
from collections.abc import Mapping, Sequence

import pytest

from upskill.core.models.teacher_answers import TeacherUnusable
from upskill.core.nouns.trigger import PromptTally, TriggerPrompt
from upskill.generation.description import QUOTED_WORDS, describe_better
from upskill.generation.draft import Draft

from .scripted_teacher import Teacher

BODY = "# tarnctl\n\n" + "\n".join(f"Rule {number}: use `flag-{number}`." for number in range(200))
SKILL = Draft(name="tarnctl", description="Helps with things.", body=BODY)
GOOD = "Writes tarnctl command lines. Use for requests that name tarnctl, not for other backup programs."


def tally(text: str, *, should_load: bool, loads: int, answers: int = 2, others: Sequence[str] = ()) -> PromptTally:
    prompt = TriggerPrompt(id=text, prompt=text, should_load=should_load, use="learn", why="the author knows why")
    return PromptTally(prompt=prompt, answers=answers, loads=loads, others=tuple(others))


OUTCOMES = (
    tally("Archive my notes with tarnctl", should_load=True, loads=0, others=("tar-help",)),
    tally("Which tarnctl flag keeps owners of files when I restore a whole volume?", should_load=True, loads=2),
    tally("Archive my notes with rsync", should_load=False, loads=1),
    tally("Explain what an archive is", should_load=False, loads=0),
    tally("Nobody answered this", should_load=True, loads=0, answers=0),
)


def said(description: str) -> str:
    return json.dumps({"cause": "It says nothing.", "description": description})


def describe(*replies: str, tried: Mapping[str, str] | None = None, window: int | None = None) -> tuple[str, Teacher]:
    teacher = Teacher(*replies)
    found = describe_better(SKILL, OUTCOMES, teacher, figures="recall 50%", tried=tried or {}, window=window)
    return found, teacher


def test_the_teacher_sees_the_skill_and_what_went_wrong_and_not_the_authors_reasons() -> None:
    tried = {"Use always.": "recall 100%, near misses 100%"}
    found, teacher = describe(said(GOOD), tried=tried)
    assert found == GOOD
    (question,) = teacher.asked
    message = question.messages[0].text
    wrong, _, right = message.partition("## Requests that need the skill and loaded it: 1")
    assert (
        "Requests that need the skill and did not load it: 1\n\nLoaded in 0 of 2 answers (instead of it: tar-help)"
        in wrong
    )
    assert "Near misses that loaded it: 1\n\nLoaded in 1 of 2 answers" in wrong
    assert "Archive my notes with rsync" in wrong
    assert "Explain what an archive is" in right
    for text in ("Helps with things.", "`flag-199`", "recall 50%", "Use always.", "recall 100%, near misses 100%"):
        assert text in message
    assert "knows why" not in message
    assert "Nobody answered this" not in message
    assert "1,024" in question.system


def test_a_body_that_does_not_fit_the_window_is_cut_and_the_prompts_are_not() -> None:
    message = describe(said(GOOD), window=5_000)[1].asked[0].messages[0].text
    assert "more characters]" in message
    assert "`flag-199`" not in message
    assert "Archive my notes with tarnctl" in message


def test_a_description_becomes_one_line_that_every_reader_takes() -> None:
    spread = "Writes <b>tarnctl</b> lines:\n  a ---> b.\u200b Use for\ttarnctl."
    assert describe(said(spread))[0] == "Writes btarnctl/b lines: a to b. Use for tarnctl."


@pytest.mark.parametrize(
    ("unusable", "why"),
    [
        (said(""), "empty"),
        (said("x " * 600), "at most 1,024"),
        (said("Helps with things."), "measured before"),
        (said("Use always."), "measured before"),
        (said("Use for: which tarnctl flag keeps owners of files when I restore."), "quotes a practice prompt"),
        ("no JSON", "JSON"),
    ],
    ids=["empty", "long", "the same", "tried", "quote", "no json"],
)
def test_an_unusable_description_goes_back_with_its_problem(unusable: str, why: str) -> None:
    tried = {"Use always.": "no better"}
    found, teacher = describe(unusable, said(GOOD), tried=tried)
    assert found == GOOD
    assert why in teacher.asked[1].messages[-1].text
    with pytest.raises(TeacherUnusable):
        describe(unusable, tried=tried)


def test_a_few_words_of_a_prompt_are_no_quote() -> None:
    words = ["which", "tarnctl", "flag", "keeps", "owners", "of", "files", "when"][: QUOTED_WORDS - 1]
    assert describe(said(f"Use for {' '.join(words)}."))[0].startswith("Use for which")


def test_secrets_do_not_get_into_a_description() -> None:
    key = "sk-" + "proj-" + "a1B2c3D4e5F6g7H8i9J0" * 3
    assert key not in describe(said(f"Writes tarnctl lines with {key}."))[0]
