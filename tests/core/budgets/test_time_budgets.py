"""What a schema or an answer costs is bounded, however few bytes it has, and whoever is at fault bears it."""

import json
import time
from pathlib import Path

import pytest

from core.unit.checks.cases import skill
from core.unit.checks.run_check import run_check
from upskill.core.cases import files as case_files
from upskill.core.cases.files import read_case_file
from upskill.core.cases.states import MOST_TOO_SLOW, qualify
from upskill.core.checks import KINDS, check_problems, grade, regex
from upskill.core.nouns import Answer, Case, Check
from upskill.core.nouns.case import Json
from upskill.errors import SkillInvalid

RUNAWAY = "^(a|a)*$"
SKILL = skill()
MERSENNE = 2**61 - 1
"""Every multiple of it has the hash 0."""
MOMENT = 0.6
"""A budget that is long enough for what people write, and shorter than the real one: what is waited for is its end."""


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOMENT < regex.SECONDS <= 2, "who waits longer than that thinks that it hangs"
    monkeypatch.setattr(regex, "SECONDS", MOMENT)
    monkeypatch.setattr("upskill.core.checks.schema.SECONDS", MOMENT)


def _doubled(kind: str, leaf: Json) -> dict[str, Json]:
    parts: dict[str, Json] = {f"a{n}": {kind: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(40)}
    return {**parts, "a40": leaf}


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("kind", ["allOf", "anyOf"])
def test_a_schema_that_doubles_forty_times_is_a_problem_of_the_case(kind: str) -> None:
    schema: Json = {"$ref": "#/$defs/a0", "$defs": _doubled(kind, kind == "allOf")}
    assert len(json.dumps(schema)) < 4_000
    began = time.process_time()
    assert KINDS["json"].problems({"schema": schema}) == [
        "`json`: `schema` takes too long even for an empty answer; shorten it, or use fewer `$ref` to the same place"
    ]
    assert time.process_time() - began < 8


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(
    ("schema", "answer"),
    [
        ({"properties": {"a": {"$ref": "#/$defs/a0"}}, "$defs": _doubled("allOf", True)}, {"a": 1}),
        ({"items": {"oneOf": [{"const": number} for number in range(2_000)]}}, list(range(2_000))),
        # A part that names a `$schema` is not handed to somebody who knows no bounds.
        ({"items": {"$schema": "http://json-schema.org/draft-07/schema#", "pattern": RUNAWAY}}, ["a" * 60 + "!"]),
    ],
)
def test_a_schema_that_takes_too_long_on_an_answer_is_a_fault_and_no_score(schema: Json, answer: Json) -> None:
    assert KINDS["json"].problems({"schema": schema}) == []
    case = Case(id="c", prompt="p", checks=(Check(kind="json", spec={"schema": schema}),))
    began = time.process_time()
    with pytest.raises(TimeoutError):
        grade(case, Answer(text=json.dumps(answer)))
    assert time.process_time() - began < 8


def test_a_schema_of_a_thousand_parts_is_no_problem() -> None:
    schema: Json = {"properties": {f"k{n}": {"type": "integer", "minimum": n} for n in range(1_000)}}
    assert KINDS["json"].problems({"schema": schema}) == []
    assert run_check("json", {"schema": schema}, '{"k7": 7}').passed
    assert not run_check("json", {"schema": schema}, '{"k7": 6}').passed


@pytest.mark.parametrize(
    ("kind", "text", "saw"),
    [
        ("toml", ".".join(["a"] * 200_000) + " = 1", "not read as toml: a key of more than 1,000 parts"),
        ("toml", "[" + " . ".join(["'a'"] * 80_000) + "]", "not read as toml: a key of more than 1,000 parts"),
        ("toml", "a = 0x" + "f" * 400_000, "contains a number with thousands of digits"),
        ("yaml", "a: 1" + ":0" * 240_000, "not yaml: a number with more than 4,000 digits"),
        ("yaml", "0x" + "f" * 3_900, "contains a number with thousands of digits"),
        (
            "yaml",
            "\n".join(f"{number * MERSENNE}: 1" for number in range(10_000, 28_000)),
            "not yaml: a number with more than 20 digits",
        ),
    ],
)
def test_an_answer_that_would_take_minutes_to_read_fails_at_once(kind: str, text: str, saw: str) -> None:
    began = time.process_time()
    seen = run_check(kind, {}, text)
    assert time.process_time() - began < 5
    assert (seen.passed, seen.saw) == (False, saw)


def test_large_numbers_and_dotted_words_that_people_write_are_read() -> None:
    text = f"{'a' * 5_000}.b.c = 1\nid = {'9' * 40}\nlong = '{'word.' * 900}'"
    assert run_check("toml", {"at": "id", "equals": int("9" * 40)}, text).passed
    assert run_check("yaml", {"at": "1234567890123456789", "equals": 1}, "1234567890123456789: 1").passed


def _case(number: int, *, patterns: int, pattern: str, reference: str) -> Case:
    checks = tuple(Check(kind="regex", spec=f"{pattern}|never {one}") for one in range(patterns))
    return Case(id=f"c{number}", prompt=f"p {number}", checks=checks, reference=Answer(text=reference))


@pytest.mark.usefixtures("hurried")
def test_a_case_ends_at_its_first_slow_pattern_and_a_few_such_cases_end_the_check() -> None:
    cases = [_case(n, patterns=50, pattern="^(a|a)+$", reference="a" * 60 + "!") for n in range(MOST_TOO_SLOW + 2)]
    began = time.process_time()
    known = qualify(cases, SKILL)
    assert time.process_time() - began < 4 * MOST_TOO_SLOW
    assert {one.state for one in known} == {"rejected"}
    assert [one.reasons[0].saw for one in known] == [
        *["`regex` takes too long: regex timed out"] * MOST_TOO_SLOW,
        *[f"not checked: {MOST_TOO_SLOW} other cases take too long"] * 2,
    ]


def test_patterns_that_are_slow_only_together_are_too_slow() -> None:
    case = _case(1, patterns=200, pattern="x*x*[0-9]", reference="x" * 400)
    began = time.process_time()
    (known,) = qualify([case], SKILL)
    assert time.process_time() - began < 10
    assert known.state == "rejected"
    assert "take more than 5 s" in known.reasons[0].saw or "takes too long" in known.reasons[0].saw


@pytest.mark.usefixtures("hurried")
def test_a_file_of_schemas_that_are_each_given_up_is_refused_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(case_files, "_MOST_SLOW_SECONDS", 2 * MOMENT)
    schema: Json = {"$ref": "#/$defs/a0", "$defs": _doubled("allOf", True)}
    case = {"input": "p", "checks": [{"json": {"schema": schema}}] * 5}
    (tmp_path / "cases.json").write_text(json.dumps({"cases": [case] * 50}))
    began = time.process_time()
    with pytest.raises(SkillInvalid, match="the checks of these cases take too long to read"):
        read_case_file(tmp_path / "cases.json", check_problems=check_problems)
    assert time.process_time() - began < 12
