"""`regex`: found or not found, refused before any trial, and stopped when it runs away."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.core.checks import KINDS, grade
from upskill.core.nouns import Answer, Case, Check
from upskill.core.nouns.case import Json

from .run_check import run_check

REGEX = KINDS["regex"]
RUNAWAY = "(?:a|aa)+$"


@pytest.mark.parametrize(
    ("pattern", "answer"),
    [
        (r"\b9\.0\b", "use 9.0 here"),
        ("(?i)PORT 7413", "port 7413"),
        ("(?s)begin.*end", "begin\nend"),
        ("(?m)^b$", "a\nb\nc"),
        (r"\p{Lu}", "éÉ"),
        ("[[a]b]", "ab]"),
    ],
)
def test_a_pattern_is_searched_anywhere_in_the_answer(pattern: str, answer: str) -> None:
    assert REGEX.problems(pattern) == []
    assert run_check(REGEX, pattern, answer).passed


@pytest.mark.parametrize(("pattern", "answer"), [("port", "Port"), ("a.b", "a\nb"), ("^b", "a\nb"), ("x", "")])
def test_a_pattern_that_matches_nowhere_fails(pattern: str, answer: str) -> None:
    seen = run_check(REGEX, pattern, answer)
    assert (seen.passed, seen.saw) == (False, f"no match for {pattern!r}")


def test_what_matched_is_quoted_and_cut() -> None:
    assert run_check(REGEX, r"\d+", "port 7413!").saw == "matched '7413'"
    assert run_check(REGEX, "x+", "x" * 500).saw == f"matched '{'x' * 60}…'"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("", "`regex` is empty"),
        (None, "`regex` must be a string, not null"),
        (["a"], "`regex` must be a string, not a list"),
        ("(", "`regex` does not compile: missing )"),
        ("*", "`regex` does not compile: nothing to repeat"),
        (r"\N{NO SUCH CHARACTER}", "`regex` does not compile"),
        ("(?au)x", "`regex` does not compile: ASCII, LOCALE and UNICODE"),
        ("(" * 2_000 + "a" + ")" * 2_000, "`regex` does not compile"),
        ("a{4294967295}", "`regex`"),
        ("a*", "`regex` matches an empty answer"),
        ("^(?!.*sudo)", "`regex` matches an empty answer"),
        ("x" * 10_001, "`regex` has 10,001 characters; 10,000 are allowed"),
        ("(?R)", "`regex` calls itself"),
        ("(a(?1)?b)", "`regex` calls itself or a group"),
        ("(?P<n>x(?&n)?)", "`regex` calls itself or a group"),
        ("(?:(?:(?:a{100}){100}){100}){100}", "`regex` nests counted repeats too deeply"),
        ("(?:[ab]{1000}){1000}", "`regex` nests counted repeats too deeply"),
        ("a{999999999999}", "`regex`"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_in_words(spec: Json, problem: str) -> None:
    (found,) = REGEX.problems(spec)
    assert found.startswith(problem)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}",
        r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        r".{0,2000}foo.{0,2000}bar.{1,2000}",
        r"\(?R\)",
        r"(a)?(?(1)b|c)",
        "[{(]{2}",
        "x{a}",
    ],
)
def test_patterns_people_write_are_not_refused(pattern: str) -> None:
    assert REGEX.problems(pattern) == []


def test_a_pattern_that_runs_away_raises_instead_of_failing_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("upskill.core.checks.regex.SECONDS", 0.2)
    assert REGEX.problems(RUNAWAY) == []
    case = Case(id="c", prompt="p", checks=(Check(kind="regex", spec=RUNAWAY),))
    with pytest.raises(TimeoutError):
        grade(case, Answer(text="a" * 100 + "!"))


SYNTAX = st.lists(
    st.one_of(
        st.sampled_from(
            [*r"()[]{}*+?|^$.\abpPLNux<>=!:&-~#,019", "(?i)", "(?P<n>", r"\p{", r"\N{", "{2,3}", "(?>", "{e<=1}"]
        ),
        st.characters(),
    ),
    min_size=1,
    max_size=15,
).map("".join)


@given(pattern=SYNTAX, answer=st.text(max_size=30))
def test_any_text_is_either_refused_in_words_or_can_be_searched(pattern: str, answer: str) -> None:
    problems = REGEX.problems(pattern)
    assert all(problem.startswith("`regex` ") for problem in problems)
    if not problems:
        assert run_check(REGEX, pattern, answer).saw.isprintable()
        assert not run_check(REGEX, pattern, "").passed
