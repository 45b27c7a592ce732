"""Text as people and files can take it."""

import pytest

from upskill.core.nouns.text import count, on_one_line, printable, readable_text, whole_characters


@pytest.mark.parametrize(
    ("text", "whole"), [("plain", "plain"), ("ä 🌊", "ä 🌊"), ("caf\udce9", "caf?"), ("\ud83d\ud83dx", "??x"), ("", "")]
)
def test_half_characters_become_question_marks_and_others_stay(text: str, whole: str) -> None:
    assert whole_characters(text) == whole
    whole_characters(text).encode("utf-8")


@pytest.mark.parametrize(("data", "text"), [("ä".encode(), "ä"), (b"", ""), (b"\xff", None), (b"a\0b", None)])
def test_a_file_is_text_or_it_is_not(data: bytes, text: str | None) -> None:
    assert readable_text(data) == text


def test_a_noun_goes_with_its_number() -> None:
    assert [count(number, "call") for number in (0, 1, 2, 1200)] == ["0 calls", "1 call", "2 calls", "1,200 calls"]
    assert [count(number, "fix", "fixes") for number in (1, 2)] == ["1 fix", "2 fixes"]


def test_nothing_that_moves_a_cursor_is_printed() -> None:
    assert printable("a\x1b[2Jb\n") == "a [2Jb "
    assert printable("a\nb", instead="?") == "a?b"
    assert on_one_line("a\nb\x1b") == r"a\nb\x1b"
    assert on_one_line("x" * 500) == "x" * 400 + "…"
