"""`json`, `toml` and `yaml`: what parses, what fits, what is where; and texts made to hurt."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.core.checks import KINDS
from upskill.core.checks.schema import steps_of, written
from upskill.core.nouns.case import Json

from .run_check import run_check

BUILD = '[general]\nname = "relu"\nedition = 5\nready = true\nsince = 2026-01-02\n[general.cuda]\nsrc = ["a", "b"]\n'
AS_JSON = (
    '{"general": {"name": "relu", "edition": 5, "ready": true, "since": "2026-01-02", "cuda": {"src": ["a", "b"]}}}'
)
AS_YAML = "general:\n  name: relu\n  edition: 5\n  ready: true\n  since: 2026-01-02\n  cuda:\n    src: [a, b]\n"
KINDS_AND_TEXTS = [("toml", BUILD), ("json", AS_JSON), ("yaml", AS_YAML)]


@pytest.mark.parametrize(("kind", "text"), KINDS_AND_TEXTS)
@pytest.mark.parametrize(
    ("spec", "passed"),
    [
        ({}, True),
        ({"at": "general.cuda.src[0]", "equals": "a"}, True),
        ({"at": "general.cuda.src[-1]", "equals": "b"}, True),
        ({"at": "general.cuda.src[2]"}, False),
        ({"at": "general.cuda.src", "equals": ["a", "b"]}, True),
        ({"at": "general.cuda.src", "equals": ["b", "a"]}, False),
        ({"at": 'general["name"]', "matches": "^re"}, True),
        ({"at": "general.name", "matches": "^x"}, False),
        ({"at": "general.edition", "matches": "5"}, False),
        ({"at": "general.edition", "equals": 5}, True),
        ({"at": "general.edition", "equals": "5"}, False),
        ({"at": "general.edition", "equals": True}, False),
        ({"at": "general.ready", "equals": 1}, False),
        ({"at": "general.since", "equals": "2026-01-02"}, True),
        ({"at": "general.cuda.capabilities", "absent": True}, True),
        ({"at": "general.cuda.src", "absent": True}, False),
        ({"at": "general.name.x"}, False),
        ({"schema": {"required": ["general"]}}, True),
        ({"schema": {"required": ["torch"]}}, False),
        ({"schema": {"properties": {"general": {"properties": {"name": {"pattern": "^r"}}}}}}, True),
        ({"schema": {"properties": {"general": {"properties": {"name": {"pattern": "^x"}}}}}}, False),
        ({"schema": False}, False),
    ],
)
def test_the_three_formats_answer_alike(kind: str, text: str, spec: dict[str, Json], passed: bool) -> None:
    assert KINDS[kind].problems(spec) == []
    assert run_check(kind, spec, text).passed is passed
    assert run_check(kind, spec, f"Sure:\n\n```{kind}\n{text}\n```\nDone.").passed is passed
    in_file: dict[str, Json] = {**spec, "path": "f"}
    assert run_check(kind, in_file, "Done.", files={"f": text.encode()}).passed is passed
    assert run_check(kind, in_file, f"```{kind} d/f.x\n{text}```").passed is False


def test_whole_numbers_and_fractions_differ_where_the_format_tells_them_apart() -> None:
    assert run_check("json", {"at": "a", "equals": 5}, '{"a": 5.0}').passed
    assert not run_check("toml", {"at": "a", "equals": 5}, "a = 5.0").passed
    assert not run_check("yaml", {"at": "a", "equals": 5}, "a: 5.0").passed


def test_of_several_blocks_the_one_in_the_language_counts() -> None:
    assert run_check("json", {}, "```sh\nls\n```\n```json\n{}\n```").passed
    seen = run_check("json", {}, "```json\n{}\n```\n```json\n{}\n```")
    assert (seen.passed, seen.saw) == (False, "2 fenced blocks, 2 of them json; only one is expected")


@pytest.mark.parametrize(
    ("kind", "text", "saw"),
    [
        ("json", "not json", "not json: Expecting value, line 1 column 1"),
        ("json", '{"a": 1, "a": 2}', "not json: the key 'a' appears twice"),
        ("json", "[NaN]", "not json: NaN is not a JSON value"),
        ("json", "9" * 5_000, "not json: contains a number with thousands of digits"),
        ("json", "[" * 50_000, "not json: nested too deeply"),
        ("json", "[" * 110 + "]" * 110, "nested more than 100 deep"),
        ("json", " " * 600_000, "not read as json: longer than"),
        ("toml", "[a]\n[a]", "not toml: "),
        ("toml", "a = " + "[" * 5_000 + "]" * 5_000, "not toml: nested too deeply"),
        ("yaml", "a: [", "not yaml: "),
        ("yaml", "a: 1\na: 2", "not yaml: the key 'a' appears twice"),
        ("yaml", "--- a\n--- b", "not yaml: expected a single document"),
        ("yaml", "[" * 50_000, "not yaml: nested more than 100 deep"),
        ("yaml", "&a [*a]", "not yaml: an alias refers to itself"),
        ("yaml", "!!python/object/apply:os.system ['true']", "not yaml: could not determine a constructor"),
        ("yaml", "a: !!int ''", "not yaml: "),
        ("yaml", "a: !!bool maybe", "not yaml: "),
        ("yaml", "a: !!timestamp never", "not yaml: "),
        ("yaml", "a: 2020-99-99", "not yaml: month must be in 1..12"),
    ],
)
def test_what_does_not_parse_fails_the_answer_and_says_why(kind: str, text: str, saw: str) -> None:
    seen = run_check(kind, {}, text)
    assert not seen.passed
    assert seen.saw.startswith(saw)


@pytest.mark.parametrize("line", ["{name}: &{name} [{nine}]\n", "{name}: &{name} {{<<: [{nine}]}}\n"])
def test_aliases_that_multiply_are_stopped_before_they_are_written_out(line: str) -> None:
    text = "a: &a {k: v}\n"
    for number in range(12):
        above, name = chr(97 + number), chr(98 + number)
        text += line.format(name=name, nine=", ".join([f"*{above}"] * 9))
    began = time.process_time()
    seen = run_check("yaml", {}, text)
    assert time.process_time() - began < 8
    assert seen.saw == "not yaml: more than 100,000 values after its aliases are expanded"


def test_ordinary_aliases_and_merges_are_read() -> None:
    text = "base: &base {a: 1}\nuse: {<<: *base, b: 2}\nlist: [*base, *base]"
    assert run_check("yaml", {"at": "use", "equals": {"a": 1, "b": 2}}, text).passed


@pytest.mark.parametrize(("kind", "text"), [("yaml", "a: .nan"), ("toml", "a = inf"), ("json", '{"a": 1e308}')])
def test_a_number_that_cannot_be_compared_fails_the_answer(kind: str, text: str) -> None:
    assert not run_check(kind, {"schema": {"properties": {"a": {"multipleOf": 0.3}}}}, text).passed


def test_many_different_items_are_compared_in_time_that_grows_with_their_number() -> None:
    text = "[" + ",".join(f'{{"a": {number}}}' for number in range(30_000)) + "]"
    began = time.process_time()
    assert run_check("json", {"schema": {"uniqueItems": True}}, text).passed
    assert time.process_time() - began < 15
    assert not run_check("json", {"schema": {"uniqueItems": True}}, "[1, 1.0]").passed


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("x", "`json` must be an object"),
        ({"sceham": {}}, "`json`: `sceham` is not a known key; did you mean `schema`?"),
        ({"at": "a..b"}, "`json`: `at` must be a place"),
        ({"at": ""}, "`json`: `at` must be a place"),
        ({"at": "a", "equals": 1, "matches": "x"}, "`json`: `equals` and `matches` cannot be combined"),
        ({"absent": True}, "`json`: `absent` needs `at`"),
        ({"schema": 3}, "`json`: `schema` must be a JSON Schema"),
        ({"schema": {"type": "strng"}}, "`json`: `schema` is not a JSON Schema"),
        (
            {"schema": {"$ref": "https://example.com/s.json"}},
            "`json`: `schema` `$ref` 'https://example.com/s.json' is no",
        ),
        ({"schema": {"$ref": "file:///etc/passwd"}}, "`json`: `schema` `$ref` 'file:///etc/passwd' is not a place"),
        ({"schema": {"$ref": "#anchor"}}, "`json`: `schema` `$ref` '#anchor' is not a place"),
        ({"schema": {"$dynamicRef": "#a"}}, "`json`: `schema` `$dynamicRef` is not supported"),
        ({"schema": {"$ref": "#"}}, "`json`: `schema` refers to itself"),
        (
            {"schema": {"properties": {"a": {"$ref": "#/$defs/b"}}}},
            "`json`: `schema` `$ref` '#/$defs/b' points to nothing",
        ),
        ({"schema": {"pattern": "("}}, "`json`: `schema` `pattern` does not compile"),
        ({"schema": {"patternProperties": {}}}, "`json`: `schema` `patternProperties` is not supported"),
    ],
)
def test_a_wrong_spec_is_explained(spec: Json, problem: str) -> None:
    assert any(found.startswith(problem) for found in KINDS["json"].problems(spec))


def test_a_property_may_have_the_name_of_a_keyword() -> None:
    schema: Json = {"properties": {"$ref": {"type": "string"}, "patternProperties": {"type": "number"}}}
    assert KINDS["json"].problems({"schema": schema}) == []


@given(
    text=st.one_of(
        st.text(max_size=40), st.lists(st.sampled_from(list("{}[]:,&*!|>-?'\"# \n~<=a1.")), max_size=40).map("".join)
    )
)
def test_no_text_makes_a_check_crash(text: str) -> None:
    schema: Json = {"type": "object", "uniqueItems": True, "multipleOf": 0.1}
    specs: list[Json] = [{}, {"at": "a[0]"}, {"schema": schema}]
    for kind in ("json", "toml", "yaml"):
        assert all(run_check(kind, spec, text).saw for spec in specs)


@given(
    steps=st.lists(st.one_of(st.integers(-9, 9), st.text("ab.[]'é ", min_size=1, max_size=4)), min_size=1, max_size=4)
)
def test_a_place_that_is_written_is_read_back(steps: list[str | int]) -> None:
    if not any(isinstance(step, str) and '"' in step for step in steps):
        assert steps_of(written(steps)) == steps
