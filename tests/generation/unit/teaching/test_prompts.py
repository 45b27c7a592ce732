"""Prompts are filled literally and never half."""

from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.core.nouns import estimate_tokens
from upskill.generation.prompts import prompt, quoted


def test_values_are_not_scanned_for_places() -> None:
    said = prompt("lessons", task="{{material}} \\1 {{x}}", title="a", material="b", sources="c", student="")
    assert "{{material}} \\1 {{x}}" in said


def test_a_place_without_a_value_and_a_value_without_a_place_are_refused() -> None:
    with pytest.raises(KeyError):
        prompt("lessons", task="a")
    with pytest.raises(KeyError):
        prompt("lessons_system", most=3, more=4)


@given(st.text(alphabet="`~\na", max_size=40))
def test_a_quoted_text_cannot_end_its_fence(text: str) -> None:
    first, *inside, last = quoted(text).split("\n")
    assert first == last
    assert not any(line.strip().startswith(first) for line in inside)


def test_our_own_words_are_few() -> None:
    folder = files("upskill.generation.prompts")
    for name in ("draft_system", "draft", "draft_scripts", "improve", "lessons_system", "lessons"):
        assert estimate_tokens(folder.joinpath(f"{name}.md").read_text(encoding="utf-8")) < 1_000
