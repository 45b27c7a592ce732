"""Places of the material: which lines, steps and examples can be cited, and what stands there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generation.unit.teaching.materials import digest
from upskill.core.nouns import estimate_tokens
from upskill.generation.citations import KnownCitations, passage_at
from upskill.generation.draft import Draft
from upskill.generation.material import Document, Material, numbered

GUIDE = Document(name="docs/guide.md", text="# Guide\n\nPort: 7413\nUser: keelhand\n\n## End\n")
SKILL = Draft(
    name="tarn",
    description="Tarn.",
    body="# Tarn\n\nBegin with rouse.\nEnd with lull.\n",
    files={"a/b.md": b"one\ntwo\n"},
)
MATERIAL = Material(task="Set up tarnctl", documents=(GUIDE,), examples=("Which port?", "Which user?"))


@pytest.mark.parametrize(
    ("cited", "known"),
    [
        ("document docs/guide.md lines 3 to 4", ["document docs/guide.md lines 3 to 4"]),
        ("docs/guide.md, lines 3-4", ["document docs/guide.md lines 3 to 4"]),
        ("`docs/guide.md` line 3", ["document docs/guide.md lines 3 to 3"]),
        ("lines 4 to 3", ["document docs/guide.md lines 3 to 4"]),
        ("document docs/guide.md lines 4 to 900", ["document docs/guide.md lines 4 to 6"]),
        ("document docs/guide.md lines 7 to 9", []),
        (
            "docs/guide.md lines 1-2, 4",
            ["document docs/guide.md lines 1 to 2", "document docs/guide.md lines 4 to 4"],
        ),
        (
            "document docs/guide.md lines 1 to 2; document docs/guide.md lines 4 to 4",
            ["document docs/guide.md lines 1 to 2", "document docs/guide.md lines 4 to 4"],
        ),
        ("document other.md lines 1 to 2", []),
        ("document docs/guide.md", ["document docs/guide.md"]),
    ],
)
def test_lines_of_a_document_are_cited_in_one_spelling_and_cut_to_its_length(cited: str, known: list[str]) -> None:
    assert list(KnownCitations(MATERIAL).named_in([cited])) == known


def test_lines_without_a_name_are_nobodys_where_several_things_have_lines() -> None:
    two = Material(task="t", documents=(GUIDE, Document(name="b.md", text="one\ntwo\n")))
    assert KnownCitations(two).named_in(["lines 1 to 2"]) == ()
    recorded = Material(task="t", documents=(GUIDE,), digest=digest())
    assert KnownCitations(recorded).named_in(["lines 12 to 14"]) == ("lines 10 to 20",)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("document docs/guide.md lines 3 to 4", "Port: 7413\nUser: keelhand"),
        ("document docs/guide.md", GUIDE.text.strip()),
        ("example 2", "Which user?"),
        ("example 3", None),
        ("task", None),
        ("document docs/guide.md lines 2 to 2", None),
        ("nowhere", None),
    ],
)
def test_a_passage_is_the_text_at_its_place(place: str, text: str | None) -> None:
    assert passage_at(MATERIAL, place, most_tokens=400) == text


def test_steps_of_recorded_work_are_the_findings_that_were_seen_there() -> None:
    recorded = Material(task="t", digest=digest(traces=2))
    passage = passage_at(recorded, "trace 2 step 5", most_tokens=400)
    assert passage == "`make test` failed: undefined\npassed:\n$ make test\nPASS 12/12"
    assert passage_at(recorded, "step 5", most_tokens=400) is None, "two traces have one"


def test_lines_of_an_existing_skill_are_a_place() -> None:
    improved = Material(task="t", skill=SKILL)
    assert passage_at(improved, "SKILL.md lines 3 to 4", most_tokens=400) == "Begin with rouse.\nEnd with lull."
    assert passage_at(improved, "a/b.md line 2", most_tokens=400) == "one\ntwo"
    assert KnownCitations(improved).named_in(["SKILL.md line 3", "SKILL.md"]) == ("SKILL.md lines 3 to 3", "skill")


def test_a_text_is_shown_with_the_numbers_by_which_it_is_cited() -> None:
    assert numbered("a\n\nb\n") == "1| a\n2| \n3| b"
    assert numbered("c", first=41) == "41| c"


@given(lines=st.lists(st.text(alphabet="ab c", max_size=60), min_size=1, max_size=40), most=st.integers(min_value=1))
def test_a_passage_never_exceeds_its_tokens_and_is_made_of_neighbouring_lines(lines: list[str], most: int) -> None:
    most %= 200
    text = "\n".join(lines)
    passage = passage_at(Material(task="t", documents=(Document(name="d", text=text),)), "d", most_tokens=most)
    if passage is None:
        assert not text.strip()
        return
    assert estimate_tokens(passage) <= most
    assert passage in text


def test_a_line_that_is_too_long_by_itself_is_cut() -> None:
    long = Material(task="t", documents=(Document(name="d", text="x" * 4_000),))
    passage = passage_at(long, "d", most_tokens=50)
    assert passage is not None
    assert set(passage) == {"x"}
    assert 30 <= estimate_tokens(passage) <= 50


NOTES = Document(
    name="notes.md",
    text="# Notes\n\nThe block opens with `OPEN`. The last\nline is `CLOSE`. Tests\nuse `get`.\n\n"
    "- one item\n  that goes on\n- another\n\n| key | value |\n|---|---|\n| port | 7413 |\n| user | keel |\n",
)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("lines 4 to 4", "The block opens with `OPEN`. The last\nline is `CLOSE`. Tests\nuse `get`."),
        ("lines 8 to 8", "- one item\n  that goes on"),
        ("lines 9 to 9", "- another"),
        ("lines 14 to 14", "| key | value |\n|---|---|\n| user | keel |"),
        ("lines 11 to 13", "| key | value |\n|---|---|\n| port | 7413 |"),
        ("lines 12 to 14", "| key | value |\n|---|---|\n| port | 7413 |\n| user | keel |"),
        ("lines 1 to 1", "# Notes"),
    ],
)
def test_a_passage_is_whole_statements_and_a_row_has_its_head(place: str, text: str) -> None:
    material = Material(task="t", documents=(NOTES,))
    assert passage_at(material, f"document notes.md {place}", most_tokens=500) == text


def test_a_text_that_is_too_long_is_cut_around_what_it_is_about() -> None:
    text = "\n".join([*(f"Line {n} says nothing." for n in range(40)), "The harbour master is Keel.", *["More."] * 5])
    material = Material(task="t", documents=(Document(name="log.md", text=text),))
    cut = passage_at(material, "document log.md", most_tokens=30, about="Keel is the harbour master")
    assert cut is not None
    assert "The harbour master is Keel." in cut
    assert estimate_tokens(cut) <= 30
