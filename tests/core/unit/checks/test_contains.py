"""`contains`, `excludes` and `equals`: the whole-token rule, row by row, and what must hold for any text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.core.checks import KINDS
from upskill.core.checks.contains import find_token
from upskill.core.nouns.case import Json

from .run_check import run_check

# Text with the characters on which the rule turns more often than chance would have them.
TEXT = st.text(st.one_of(st.sampled_from("aV v9.0_é\u0301東ก-[\n"), st.characters()), max_size=30)
NEEDLE = TEXT.filter(lambda text: bool(text.strip()))


@pytest.mark.parametrize(
    ("needle", "text"),
    [
        ("9.0", "9.0"),
        ("9.0", "use 9.0."),
        ("9.0", "9.0, or later"),
        ("9.0", '["9.0"]'),
        ("9.0", "[9.0]"),
        ("9.0", "v9.0"),
        ("9.0", "V9.0"),
        ("9.0", "release v9.0 is out"),
        ("9.0", "version=9.0"),
        ("9.0", "9.0\n"),
        ("9.0", "sm_90, 9.0"),
        ("9.0", "**9.0**"),
        ("9.0", "`9.0`"),
        ("9.0", "8.9;9.0;10.0"),
        ("9.0", "19.07 is not it, 9.0 is"),
        ("9.0", "-9.0"),
        ("9.0", "9.0…"),
        ("9.0", "9.0 .5"),
        ("9.0.", "it is 9.0."),
        (".5", "about .5 of it"),
        ("tarn.kdl", "It is tarn.kdl."),
        ("tarn.kdl", "/etc/tarn.kdl"),
        ("tarn.kdl", "tarn.kdl.bak"),
        ("kdl", "tarn.kdl"),
        ("cuda_runtime.h", "#include <cuda_runtime.h>"),
        ("--yes", "tarnctl rouse --yes"),
        (".brinelock", "the file .brinelock"),
        ("C#", "in C# code"),
        ("two words", "these two words here"),
        ("port", "port: 7413"),
        ("port", "(port)"),
        ("port", "port's"),
        ("東京", "私は東京にいます"),
        ("서울", "서울은 크다"),
        ("กรุงเทพ", "ฉันอยู่กรุงเทพมหานคร"),
        ("ភ្នំពេញ", "ខ្ញុំនៅភ្នំពេញហើយ"),
        ("ラーメン", "ﾄﾞでラーメンを"),
        ("port", "东京port号"),
        ("✔", "✔\ufe0f done"),
        ("1", "1\ufe0f\u20e3 first"),
        ("é", "cafe\u0301 e\u0301"),
        ("e\u0301", "é"),
        ("v9", "v9"),
        ("v", "v9"),
        ("दिल्ली", "मैं दिल्ली में हूँ"),
    ],
)
def test_a_string_is_found_where_it_stands_as_whole_tokens(needle: str, text: str) -> None:
    assert find_token(needle, text) is not None


@pytest.mark.parametrize(
    ("needle", "text"),
    [
        ("9.0", "19.07"),
        ("9.0", "9.01"),
        ("9.0", "9.0.1"),
        ("9.0", "1.9.0"),
        ("9.0", "19.0"),
        ("9.0", "9.0a"),
        ("9.0", "a9.0"),
        ("9.0", "rev9.0"),
        ("9.0", "vv9.0"),
        ("9.0", "_v9.0"),
        ("9.0", "9.0_1"),
        ("9.0", "9,0"),
        ("9.0", ""),
        ("9", "9.0"),
        ("0", "9.0"),
        (".0", "9.0"),
        ("9.", "9.0"),
        ("9.0.", "9.0.1"),
        ("port", "ports"),
        ("port", "port_a"),
        ("port", "import"),
        ("port", "Port"),
        ("e", "e\u0301"),
        ("caf", "cafe\u0301"),
        ("दि", "दिल्ली"),
        ("ल", "दिल्ली"),
        ("क", "कि"),
        ("x", "x\u0331"),
    ],
)
def test_a_string_is_not_found_inside_a_larger_token(needle: str, text: str) -> None:
    assert find_token(needle, text) is None


@given(needle=NEEDLE)
def test_any_needle_between_spaces_is_found(needle: str) -> None:
    assert find_token(needle, f"before {needle} after") is not None


@given(needle=NEEDLE)
def test_any_needle_is_found_in_itself(needle: str) -> None:
    assert find_token(needle, needle) == 0


@given(needle=NEEDLE, text=TEXT)
def test_what_is_found_is_really_there(needle: str, text: str) -> None:
    at = find_token(needle, text)
    if at is None:
        return
    assert unicodedata.normalize("NFC", text)[at:].startswith(unicodedata.normalize("NFC", needle))


@given(needle=NEEDLE, text=TEXT)
def test_contains_and_excludes_never_agree_on_one_string(needle: str, text: str) -> None:
    assert run_check(KINDS["contains"], needle, text).passed is not run_check(KINDS["excludes"], needle, text).passed


@given(needle=NEEDLE, text=TEXT, form=st.sampled_from(["NFC", "NFD"]))
def test_the_spelling_of_accents_changes_nothing(needle: str, text: str, form: str) -> None:
    respelt = unicodedata.normalize("NFD" if form == "NFC" else "NFC", text)
    assert (find_token(needle, text) is None) is (find_token(needle, respelt) is None)


@given(needles=st.lists(NEEDLE, min_size=1, max_size=4), text=TEXT)
def test_a_list_is_contained_when_each_of_its_strings_is(needles: list[str], text: str) -> None:
    spec: Json = list(needles)
    assert run_check(KINDS["contains"], spec, text).passed is all(
        run_check(KINDS["contains"], one, text).passed for one in needles
    )
    assert run_check(KINDS["excludes"], spec, text).passed is all(
        run_check(KINDS["excludes"], one, text).passed for one in needles
    )


def test_every_missing_string_is_named() -> None:
    seen = run_check(KINDS["contains"], ["9.0", "cuda", "sm_90"], "for cuda 19.07")
    assert (seen.passed, seen.saw) == (False, "not found: '9.0', 'sm_90'")


def test_every_found_string_is_named() -> None:
    assert run_check(KINDS["contains"], ["9.0", "cuda"], "cuda 9.0").saw == "found '9.0', 'cuda'"


def test_an_excluded_string_is_shown_where_it_stands() -> None:
    seen = run_check(
        KINDS["excludes"], ["sudo", "rm"], "First of all you should run\n\nsudo make install and then reboot it"
    )
    assert (seen.passed, seen.saw) == (False, "found 'sudo' in '…all you should run sudo make install and th…'")


def test_none_of_the_excluded_strings_found_is_a_pass() -> None:
    seen = run_check(KINDS["excludes"], "sudo", "pseudosudoku")
    assert (seen.passed, seen.saw) == (True, "none found")


@given(needle=NEEDLE, text=TEXT)
def test_what_was_seen_is_one_short_printable_line(needle: str, text: str) -> None:
    for kind in ("contains", "excludes"):
        saw = run_check(kind, needle * 50, text + needle * 50).saw
        assert saw.isprintable()
        assert len(saw) < 2_000


@pytest.mark.parametrize("kind", ["contains", "excludes"])
@pytest.mark.parametrize("spec", ["a", ["a"], ["a", "b c"], "\u200b"])
def test_a_string_or_a_list_of_strings_is_a_good_spec(kind: str, spec: Json) -> None:
    assert KINDS[kind].problems(spec) == []


@pytest.mark.parametrize("kind", ["contains", "excludes"])
@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("", "is empty"),
        (" \n\t", "is empty"),
        ([], "is an empty list"),
        ([""], "is empty"),
        (["a", " "], "is empty"),
        (None, "must be a string or a list of strings, not null"),
        (True, "must be a string or a list of strings, not true or false"),
        (9, "must be a string or a list of strings, not a number"),
        (9.0, "must be a string or a list of strings, not a number"),
        ({"all": ["a"]}, "must be a string or a list of strings, not an object"),
        ([["a"]], "must be a string, not a list"),
        (["a", 9.0], "must be a string, not a number"),
    ],
)
def test_a_spec_that_says_nothing_is_refused_in_words(kind: str, spec: Json, problem: str) -> None:
    (found,) = KINDS[kind].problems(spec)
    assert found.startswith(f"`{kind}` {problem}")


def test_every_bad_string_of_a_list_is_reported() -> None:
    assert len(KINDS["contains"].problems(["", 1, "good", None])) == 3


def test_a_long_answer_of_near_misses_is_searched_in_good_time() -> None:
    assert find_token("9", "9" * 200_000) is None


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
def test_equals_takes_any_spelling_of_accents(text: str) -> None:
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


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        ("#tarn 3\nberth: 8003", True),
        ("```\n#tarn 3\nberth: 8003\n```", True),
        ("Here it is:\n\n```tarn\n#tarn 3\nname: x\nberth: 8003   \n```\nDone.", True),
        ("berth: 8003\n#tarn 3", False),
        ("#tarn 3\n  berth: 8003", False),
        ("#tarn 3\nberth: 80031", False),
        ("#tarn 3 berth: 8003", False),
        ("#Tarn 3\nberth: 8003", False),
        ("#tarn 3", False),
        ("", False),
    ],
)
def test_lines_stand_whole_and_in_their_order(answer: str, passes: bool) -> None:
    assert run_check("lines", ["#tarn 3", "berth: 8003"], answer).passed is passes


def test_a_line_may_stand_in_backticks_and_twice() -> None:
    assert run_check("lines", "edition = 5", "`edition = 5`").passed
    assert not run_check("lines", ["a", "a"], "a\nb").passed
    assert run_check("lines", ["a", "a"], "a\nb\na").passed
    found = run_check("lines", ["a", "c"], "a\nb")
    assert found.saw == "no line is 'c' after 'a'"


@pytest.mark.parametrize("spec", ["", [], ["a", " "], ["a\nb"], [1], {"a": 1}])
def test_lines_that_are_none_are_refused(spec: Json) -> None:
    assert KINDS["lines"].problems(spec)
