"""`equals`: the whole answer."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.checks import KINDS
from upskill.domain.case import Json

from .run_check import run_check

EQUALS = KINDS["equals"]


@given(
    text=st.text(min_size=1).filter(lambda text: bool(text.strip())), margin=st.sampled_from(["", " ", "\n", "\t\r\n "])
)
def test_an_answer_equals_itself_whatever_white_space_surrounds_it(text: str, margin: str) -> None:
    assert run_check(EQUALS, text, f"{margin}{text}{margin}").passed
    assert run_check(EQUALS, f"{margin}{text}{margin}", text).passed


@pytest.mark.parametrize(
    ("spec", "answer"),
    [
        ("Yes", "yes"),
        ("yes", "yes."),
        ("a b", "a  b"),
        ("a b", "a\nb"),
        ("yes", ""),
        ("yes", "oh yes"),
        ("9.0", "9.00"),
    ],
)
def test_anything_but_the_very_same_text_fails(spec: str, answer: str) -> None:
    assert not run_check(EQUALS, spec, answer).passed


@given(text=st.text(min_size=1))
def test_the_spelling_of_accents_changes_nothing(text: str) -> None:
    assert run_check(EQUALS, "é" + text, unicodedata.normalize("NFD", "é" + text)).passed


def test_a_wrong_answer_is_quoted_and_cut() -> None:
    assert run_check(EQUALS, "yes", " no\n").saw == "the answer is 'no'"
    assert run_check(EQUALS, "yes", "n" * 500).saw == f"the answer is '{'n' * 60}…'"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("", "`equals` is empty"),
        ("  ", "`equals` is empty"),
        (["a"], "`equals` must be a string, not a list"),
        ([], "`equals` must be a string, not a list"),
        (None, "`equals` must be a string, not null"),
        (3, "`equals` must be a string, not a number"),
    ],
)
def test_a_spec_that_is_not_a_text_is_refused_in_words(spec: Json, problem: str) -> None:
    (found,) = EQUALS.problems(spec)
    assert found.startswith(problem)
