"""Lessons of what is longer than a teacher's window: piece by piece, sourced, merged by support."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assigned import draft_skill, find_lessons
from generation.unit.teaching.materials import answer, digest, material
from generation.unit.teaching.scripted_teacher import Teacher
from noted_progress import NotedLines
from upskill.core.models import Question
from upskill.core.nouns import estimate_tokens
from upskill.core.skills.markdown import pieces
from upskill.errors import UsageError
from upskill.generation.citations import KnownCitations
from upskill.generation.draft import Lesson
from upskill.generation.lessons import lesson_calls, merge_lessons
from upskill.generation.material import Document, Material, answer_tokens, material_budget
from upskill.generation.student import StudentProfile
from upskill.traces.read_trace import read_trace
from upskill.traces.trace import Finding, Place, TraceDigest

WINDOW = 8_192
STUDENT = StudentProfile(
    names=("small-student",), window=2_048, output_tokens=150, harness="chat", case_tokens=409, skill_tokens=900
)


def long_digest(findings: int = 60) -> TraceDigest:
    """More than the window holds."""
    blocks = [
        f"### `make target_{n}` failed (steps {n}, {n + 1})\n\nfailed:\n\n```text\n{'detail ' * 60}\n```\n"
        for n in range(1, findings + 1)
    ]
    text = "# Digest of session.jsonl\n\n## Errors and their fixes\n\n" + "\n".join(blocks)
    kept = tuple(
        Finding(kind="fix", title=f"{n}", key=f"{n}", places=(Place(trace=1, steps=(n, n + 1)),))
        for n in range(1, findings + 1)
    )
    return TraceDigest(text=text, tokens=estimate_tokens(text), budget=100_000, kept=kept)


def lessons(*listed: Any) -> str:
    return json.dumps({"lessons": [{"kind": kind, "text": text, "sources": sources} for kind, text, sources in listed]})


def test_material_that_fits_costs_no_call() -> None:
    teacher = Teacher("")
    assert find_lessons(material(), teacher, window=WINDOW) == ()
    assert find_lessons(material(), teacher, window=None) == ()
    assert teacher.asked == []


def test_each_piece_is_asked_for_once_and_every_question_fits_the_window() -> None:
    given = material(digest=long_digest())
    teacher = Teacher(lessons())
    find_lessons(given, teacher, window=WINDOW)
    assert len(teacher.asked) == lesson_calls(given, window=WINDOW) > 1
    for question in teacher.asked:
        said = question.system + "".join(message.text for message in question.messages) + json.dumps(question.schema)
        assert estimate_tokens(said) + question.max_output_tokens <= WINDOW


def test_what_is_asked_again_fits_the_window_as_well() -> None:
    teacher = Teacher("I would rather talk. " * 500)
    find_lessons(material(digest=long_digest()), teacher, window=WINDOW)
    for question in teacher.asked:
        said = question.system + "".join(message.text for message in question.messages)
        assert estimate_tokens(said) + question.max_output_tokens <= WINDOW


def test_a_lesson_that_names_no_step_of_its_piece_is_dropped() -> None:
    def reply(question: Question) -> str:
        steps = [int(n) for n in re.findall(r"\(steps (\d+),", question.messages[0].text)]
        return lessons(
            ("do", f"Keep target {steps[0]}.", [f"step {steps[0]}"]),
            ("do", "Seen elsewhere.", ["step 1"] if steps[0] > 2 else ["step 60"]),
            ("do", "Seen nowhere.", ["step 999"]),
            ("do", "No source.", []),
            ("fact", "  ", [f"step {steps[0]}"]),
            ("fact", "long " * 200, [f"step {steps[0]}"]),
        )

    found = find_lessons(material(digest=long_digest()), Teacher(reply), window=WINDOW)
    assert len(found) > 1
    assert all(lesson.text.startswith("Keep target") for lesson in found)
    assert [lesson.steps for lesson in found][:1] == [("step 1",)]


def test_documents_of_one_piece_need_no_lessons() -> None:
    made_from = material(documents=(Document(name="docs/a.md", text="# A\n\nA rule of a.\n"),))
    assert find_lessons(made_from, Teacher("never asked"), window=None, profile=STUDENT) == ()
    assert lesson_calls(made_from, window=None) == 0
    teacher = Teacher(answer())
    draft_skill(made_from, (), teacher, window=None)
    assert "A rule of a." in teacher.asked[0].messages[0].text


def test_documents_of_several_pieces_are_read_first_and_their_lessons_name_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("upskill.generation.lessons.DOCUMENT_TOKENS", 30)
    documents = (
        Document(name="docs/a.md", text="# A\n\nA rule of a.\nAnother.\n"),
        Document(name="docs/c.md", text="Nothing to learn here. " * 4),
    )
    sources = (["lines 3 to 4"], ["document docs/a.md"], ["docs/a.md line 3"], ["lines 40 to 50"], ["docs/b.md"])
    teacher = Teacher(lessons(*(("fact", f"Rule {n}.", named) for n, named in enumerate(sources))), lessons())
    made_from = material(documents=documents)
    found = find_lessons(made_from, teacher, window=WINDOW, profile=STUDENT)
    assert [lesson.steps for lesson in found] == [
        ("document docs/a.md lines 3 to 4",),
        ("document docs/a.md lines 1 to 4",),
        ("document docs/a.md lines 3 to 3",),
    ]
    question, _ = teacher.asked
    assert (question.purpose, lesson_calls(made_from, window=WINDOW)) == ("lessons", 2)
    said = question.messages[0].text
    assert "3| A rule of a.\n4| Another." in said
    assert "such as `document docs/a.md lines 1 to 4`" in said
    assert "(steps 3, 5, 6)" not in said, "the digest fits and needs no lessons"
    assert "small-student" in said
    teacher = Teacher(answer())
    draft_skill(made_from, found, teacher, window=WINDOW)
    shown = teacher.asked[0].messages[0].text
    assert "L1 (fact; document docs/a.md lines 3 to 4): Rule 0." in shown
    assert "A rule of a." in shown, "lessons and material are both shown where both fit"
    assert "(steps 3, 5, 6)" in shown


def test_long_documents_are_cut_where_a_part_ends_and_short_ones_share_a_call() -> None:
    long = "".join(f"# Part {n}\n\n{'A rule of a. ' * 40}\n" for n in range(40))
    short = tuple(Document(name=f"{n}.md", text=f"Rule {n}.\n") for n in range(90))
    teacher = Teacher(lessons())
    find_lessons(Material(task="a", documents=(Document(name="a.md", text=long), *short)), teacher, window=WINDOW)
    said = [question.messages[0].text for question in teacher.asked]
    stretches = [re.findall(r"^(\d+)\| (.*)$", text.partition("document 0.md:")[0], re.MULTILINE) for text in said]
    shown = [line for stretch in stretches for line in stretch]
    assert [int(number) for number, _ in shown] == list(range(1, 121))
    assert [words.strip() for _, words in shown] == [line.strip() for line in long.splitlines()]
    assert all(stretch[0][1].startswith("# Part") or not stretch[0][1].strip() for stretch in stretches if stretch)
    assert 2 <= len(said) <= 4
    assert all(f"{n}.md" in "".join(said) for n in range(90))


def test_a_piece_without_a_usable_answer_is_passed_over() -> None:
    def reply(question: Question) -> str:
        return lessons(("do", "A.", ["step 3"])) if "(steps 3," in question.messages[0].text else "nothing"

    found = find_lessons(material(digest=long_digest()), Teacher(reply), window=WINDOW)
    assert found == (Lesson(kind="do", text="A.", steps=("step 3",)),)


@pytest.mark.parametrize(
    ("reply", "why"),
    [("nothing", "holds no JSON object"), (lessons(("do", "A.", ["step 999"])), "none cited a place in the material")],
)
def test_a_teacher_without_a_usable_lesson_is_noted_and_ends_nothing(reply: str, why: str) -> None:
    progress = NotedLines()
    assert find_lessons(material(digest=long_digest()), Teacher(reply), window=WINDOW, progress=progress) == ()
    assert why in str(progress.lines)
    assert "the draft is written from the material" in str(progress.lines)


def test_a_library_is_refused_before_anything_is_asked() -> None:
    teacher = Teacher("")
    documents = tuple(Document(name=f"{n}.md", text="word " * 20_000) for n in range(80))
    with pytest.raises(UsageError, match="fills the teacher's context window"):
        find_lessons(Material(task="a", documents=documents), teacher, window=WINDOW)
    assert teacher.asked == []


def test_without_a_single_lesson_the_draft_is_made_from_what_fits() -> None:
    made_from = material(digest=long_digest(), documents=(Document(name="a.md", text="word " * 9_000),))
    assert find_lessons(made_from, Teacher(lessons()), window=WINDOW) == ()
    teacher = Teacher(answer())
    draft_skill(made_from, (), teacher, window=WINDOW)
    said = teacher.asked[0].messages[0].text
    assert "(steps 1, 2)" in said
    assert "[… cut here]" in said
    assert estimate_tokens(said + teacher.asked[0].system) + answer_tokens(WINDOW) <= WINDOW


def test_near_duplicates_are_one_lesson_with_all_its_steps() -> None:
    found = merge_lessons(
        [
            [Lesson(kind="do", text="Always run `make test` after changing the kernel source.", steps=("step 1",))],
            [
                Lesson(kind="fact", text="The builder rejects lists.", steps=("step 2",)),
                Lesson(kind="do", text="Run `make test` after changing kernel source", steps=("step 3", "step 1")),
            ],
        ]
    )
    assert found == (
        Lesson(kind="do", text="Run `make test` after changing kernel source", steps=("step 1", "step 3"), support=2),
        Lesson(kind="fact", text="The builder rejects lists.", steps=("step 2",)),
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Set the capability to 9.0 in the build file.", "Set the capability to 8.0 in the build file."),
        ("Run `make test` after each change.", "Run `make check` after each change."),
        ("Put the mask first in the call.", "Do not put the mask first in the call."),
    ],
)
def test_lessons_that_differ_in_what_counts_are_two(one: str, other: str) -> None:
    found = merge_lessons([[Lesson(kind="do", text=one)], [Lesson(kind="do", text=other)]])
    assert len(found) == 2


def test_many_lessons_are_cut_to_the_room_and_keep_their_numbers() -> None:
    many = tuple(Lesson(kind="do", text=f"Rule {n}: " + "word " * 80, steps=("step 3",)) for n in range(500))
    teacher = Teacher(
        '{"name": "a", "description": "Use when a rule is needed for the work.", '
        '"sections": [{"heading": "A", "text": "x", "sources": ["L1"]}]}'
    )
    draft_skill(material(), many, teacher, window=WINDOW)
    said = teacher.asked[0].messages[0].text
    assert "L1 (do; step 3): Rule 0" in said
    assert "L400 " not in said
    assert estimate_tokens(said + teacher.asked[0].system) + answer_tokens(WINDOW) <= WINDOW


@given(st.text(alphabet=st.sampled_from(list("ab #-`\n>é😀")), max_size=600), st.integers(min_value=16, max_value=80))
def test_pieces_hold_the_whole_text_and_keep_to_their_size(text: str, most: int) -> None:
    found = pieces(text, most_tokens=most)
    kept = "".join(found)
    marked = re.sub(r"## [^\n]{0,120} \(continued\)\n\n", "", kept)
    assert re.sub(r"\s", "", marked) == re.sub(r"\s", "", text)
    assert all(estimate_tokens(piece) <= most + 40 for piece in found)


def test_a_code_block_is_not_torn_where_it_fits() -> None:
    block = "```sh\n" + "\n\n".join(f"line {n}" for n in range(20)) + "\n```\n"
    text = f"## A\n\nfirst\n\n{block}\nlast\n"
    assert any(block.strip() in piece for piece in pieces(text, most_tokens=70))


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("step 3", ("step 3",)),
        ("Step 3.", ("step 3",)),
        ("[3]", ("step 3",)),
        ("3", ("step 3",)),
        ("steps 3, 5 and 6", ("step 3", "step 5", "step 6")),
        ("steps 3-6", ("step 3", "step 5", "step 6")),
        ("step 99", ()),
        ("trace 1 step 3", ("step 3",)),
        ("subagent 2 step 4", ("subagent 2 step 4",)),
        ("step 4", ()),
        ("lines 12 to 14", ("lines 10 to 20",)),
        ("line 21", ()),
        ("task", ("task",)),
        ("example 2", ()),
        ("document x", ()),
        ("skill", ()),
        ("the agent said so in 2026", ()),
        ("steps 1-999999999", ("step 1", "step 3", "step 5", "step 6")),
        ("", ()),
    ],
)
def test_a_place_is_known_by_the_ways_teachers_name_it(words: str, named: tuple[str, ...]) -> None:
    assert KnownCitations(material()).named_in([words]) == named


@given(st.text(max_size=60))
def test_no_words_name_a_place_that_does_not_exist(words: str) -> None:
    known = KnownCitations(material(digest=digest(traces=2)))
    assert set(known.named_in([words, f"step {words}", f"trace {words}"])) <= known.of_traces | {"task"}


@pytest.mark.parametrize("window", [1, 512, 2_048, 8_192, 200_000, None])
def test_there_is_always_some_room(window: int | None) -> None:
    assert material_budget(window) >= 256
    assert answer_tokens(window) >= 256


def test_every_place_of_a_real_digest_can_be_named_from_its_own_piece() -> None:
    samples = Path(__file__).parents[3] / "samples" / "traces"
    source = read_trace(str(samples), budget=60_000, folder=samples, environment={}, now=0.0)
    made_from = Material(task="x", digest=source.digest)
    asked: list[str] = []

    def reply(question: Question) -> str:
        asked.append(question.messages[0].text)
        named = re.findall(r"\(([^()\n]*steps? [^()\n]*|[^()\n]*lines \d+ to \d+)\)", asked[-1])
        return lessons(*(("fact", f"Fact {len(asked)} {n} `{text}`.", [text]) for n, text in enumerate(named[:24])))

    found = find_lessons(made_from, Teacher(reply), window=4_096)
    assert len(asked) > 2
    places = KnownCitations(made_from).of_traces
    assert len(places) > 40
    seen = {step for lesson in found for step in lesson.steps}
    assert len(seen) > 0.9 * len(places), sorted(places - seen)
