"""The schema of `--json`: what we print fits it, what we would never print does not, and the page says the same."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from report.unit.evaluations import EVALUATIONS
from upskill.report.json_report import EVALUATION_SCHEMA, evaluation_json, evaluation_schema

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "json.md"


def schema() -> dict[str, Any]:
    return dict(evaluation_schema())


def validator(of: dict[str, Any]) -> Any:
    return jsonschema.Draft202012Validator(of)


def printed(name: str = "one student") -> dict[str, Any]:
    """What a program reads: through text and back."""
    value: dict[str, Any] = json.loads(json.dumps(evaluation_json(EVALUATIONS[name]), allow_nan=False))
    return value


def objects(of: Any) -> Iterator[dict[str, Any]]:
    """Every part of a schema that describes an object."""
    if isinstance(of, dict):
        if "properties" in of:
            yield of
        for inner in of.values():
            yield from objects(inner)


def test_the_schema_is_a_valid_schema_and_bears_the_name_of_what_it_describes() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert schema()["properties"]["schema"]["const"] == EVALUATION_SCHEMA == schema()["title"]


@pytest.mark.parametrize("name", EVALUATIONS)
def test_what_is_printed_fits_the_schema(name: str) -> None:
    assert [error.message for error in validator(schema()).iter_errors(printed(name))] == []


@pytest.mark.parametrize("name", EVALUATIONS)
def test_every_key_that_is_printed_is_in_the_schema(name: str) -> None:
    closed = schema()
    for part in objects(closed):
        part["additionalProperties"] = False
    assert [error.message for error in validator(closed).iter_errors(printed(name))] == []


def test_every_key_is_required_but_the_arms_that_need_not_be_there() -> None:
    for part in objects(schema()):
        arms = {"baseline", "previous", "offered", "with_skill", "ceiling", "placebo", "corrupted"}
        assert set(part["properties"]) - set(part.get("required", ())) <= arms


def test_the_skill_is_in_some_arm() -> None:
    spoilt = printed()
    del spoilt["students"][0]["arms"]["with_skill"]
    assert not validator(schema()).is_valid(spoilt)


def test_a_key_of_a_later_version_fits() -> None:
    later = printed()
    later["reused"] = 3
    later["students"][0]["arms"]["previous"] = later["students"][0]["arms"]["baseline"]
    assert validator(schema()).is_valid(later)


def places(value: Any, *path: str | int) -> Iterator[tuple[str | int, ...]]:
    """The way to every value inside, except names that are free."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, *path, key)


SPOILT = ("one student", "invalid", "breaks")
PLACES = [path for name in SPOILT for path in places(printed(name))]


@pytest.mark.parametrize("path", sorted(set(PLACES), key=str), ids=lambda path: ".".join(map(str, path)))
def test_a_value_of_a_wrong_type_does_not_fit(path: tuple[str | int, ...]) -> None:
    for name in SPOILT:
        spoilt: Any = copy.deepcopy(printed(name))
        if path not in set(places(spoilt)):
            continue
        *way, last = path
        inner = spoilt
        for key in way:
            inner = inner[key]
        inner[last] = {"wrong": True} if not isinstance(inner[last], dict) else "wrong"
        assert not validator(schema()).is_valid(spoilt)


@pytest.mark.parametrize("name", EVALUATIONS)
def test_a_missing_key_does_not_fit(name: str) -> None:
    for key in printed(name):
        assert not validator(schema()).is_valid({k: v for k, v in printed(name).items() if k != key})
    for key in printed(name)["students"][0]:
        spoilt = printed(name)
        del spoilt["students"][0][key]
        assert not validator(schema()).is_valid(spoilt)


@pytest.mark.parametrize(
    ("key", "value"),
    [("verdict", "great"), ("spent", -1), ("spent", "0.1"), ("lifts", None), ("harness", None), ("arms", {})],
)
def test_a_value_that_is_out_of_the_question_does_not_fit(key: str, value: object) -> None:
    spoilt = printed()
    spoilt["students"][0][key] = value
    assert not validator(schema()).is_valid(spoilt)


def documented() -> dict[str, set[str]]:
    """The keys in the first column of each table of the page, by the heading above it."""
    parts = re.split(r"^#{2,3} (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        heading: set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE))
        for heading, section in zip(parts[1::2], parts[2::2], strict=True)
    }


def test_the_page_documents_exactly_the_keys_of_the_schema() -> None:
    whole, page = schema(), documented()
    assert {key for key in page["`upskill eval --json`"] if "." not in key} == set(whole["properties"])
    for part in ("student", "arm", "lift", "case_state", "label_lift"):
        keys = {key for key in page[f"`{part}`"] if "." not in key}
        assert keys == set(whole["$defs"][part]["properties"]), part


def test_the_page_documents_the_keys_of_objects_inside_others() -> None:
    whole, page = schema(), documented()
    shown = page["`upskill eval --json`"] | page["`student`"]
    for part, where in (
        ("end", "end."),
        ("cap", "end.cap."),
        ("outage", "end.outages[]."),
        ("bought", "bought."),
        ("requirement", "required[]."),
        ("broken_case", "broken[]."),
    ):
        assert {where + key for key in whole["$defs"][part]["properties"]} <= shown, part


def test_the_page_names_every_verdict_and_every_arm() -> None:
    page, student = PAGE.read_text(encoding="utf-8"), schema()["$defs"]["student"]["properties"]
    names = [*student["verdict"]["enum"], *student["arms"]["properties"]]
    assert [name for name in names if name is not None and f"`{name}`" not in page] == []
