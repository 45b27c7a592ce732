"""Half a character can be neither written nor sent."""

import pytest

from upskill.domain.text import readable_text, whole_characters


@pytest.mark.parametrize(
    ("text", "whole"),
    [("plain", "plain"), ("ä 🌊", "ä 🌊"), ("caf\udce9", "caf?"), ("\ud83d\ud83dx", "??x"), ("", "")],
)
def test_half_characters_become_question_marks_and_others_stay(text: str, whole: str) -> None:
    assert whole_characters(text) == whole
    whole_characters(text).encode("utf-8")


@pytest.mark.parametrize(("data", "text"), [("ä".encode(), "ä"), (b"", ""), (b"\xff", None), (b"a\0b", None)])
def test_a_file_is_text_or_it_is_not(data: bytes, text: str | None) -> None:
    assert readable_text(data) == text
