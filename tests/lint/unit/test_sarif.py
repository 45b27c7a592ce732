"""SARIF 2.1.0 of findings. The schema here is the part of the official one that this file uses."""

import json
from dataclasses import replace
from typing import Any

import jsonschema

from upskill.core.nouns.finding import Finding
from upskill.lint.lint_skill import LintResult
from upskill.lint.rules import RULES
from upskill.lint.words import FINGERPRINT, sarif_text

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LEVEL = {"enum": ["none", "note", "warning", "error"]}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties}


RULE_SCHEMA = _object(
    ["id", "shortDescription", "fullDescription", "help", "defaultConfiguration"],
    id={"type": "string"},
    shortDescription=TEXT,
    fullDescription=TEXT,
    help=TEXT,
    defaultConfiguration=_object(["level"], level=LEVEL),
)
LOCATION_SCHEMA = _object(
    ["physicalLocation"],
    physicalLocation=_object(
        ["artifactLocation", "region"],
        artifactLocation=_object(["uri"], uri={"type": "string", "pattern": "^[!-~]+$"}),
        region=_object(["startLine"], startLine={"type": "integer", "minimum": 1}, snippet=TEXT),
    ),
)
RESULT_SCHEMA = _object(
    ["ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"],
    level=LEVEL,
    message=TEXT,
    locations={"type": "array", "minItems": 1, "items": LOCATION_SCHEMA},
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
)
SCHEMA = _object(
    ["$schema", "version", "runs"],
    version={"const": "2.1.0"},
    runs={
        "type": "array",
        "items": _object(
            ["tool", "results", "invocations"],
            tool=_object(["driver"], driver=_object(["name"], rules={"type": "array", "items": RULE_SCHEMA})),
            results={"type": "array", "items": RESULT_SCHEMA},
            invocations={"type": "array", "items": _object(["executionSuccessful"])},
        ),
    },
)
PIPE = Finding(
    rule="pipe-to-shell", severity="danger", file="SKILL.md", line=7, excerpt="curl x | sh", reason="r", remedy="m"
)


def _sarif(*results: LintResult) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(sarif_text(results, version="1.2.3", start="/repo"))
    jsonschema.validate(read, SCHEMA)
    return read


def _skill(folder: str, *findings: Finding) -> LintResult:
    return LintResult(folder=folder, name="a", findings=findings)


def _results(*results: LintResult) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _sarif(*results)["runs"][0]["results"]
    return found


def _uri(result: dict[str, Any]) -> str:
    return str(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])


def test_several_skills_are_one_run_with_levels_and_places() -> None:
    key = replace(PIPE, rule="unknown-key", severity="error")
    empty, host = replace(PIPE, rule="empty-body", severity="warning"), replace(PIPE, rule="url", severity="caution")
    [run] = _sarif(_skill("skills/a", PIPE, key), _skill("skills/b", empty, host))["runs"]
    rules, found = run["tool"]["driver"]["rules"], run["results"]
    assert [(one["ruleId"], rules[one["ruleIndex"]]["id"], one["level"]) for one in found] == [
        ("pipe-to-shell", "pipe-to-shell", "error"),
        ("unknown-key", "unknown-key", "error"),
        ("empty-body", "empty-body", "warning"),
        ("url", "url", "note"),
    ]
    assert [_uri(one) for one in found] == ["skills/a/SKILL.md"] * 2 + ["skills/b/SKILL.md"] * 2
    assert found[0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 7


def test_addresses_are_relative_to_the_working_folder_and_escaped() -> None:
    odd = replace(PIPE, file="références/a b#1%.md")
    folders = ("./skills/../a b", "/repo/c", "/elsewhere/d", "../e")
    assert [_uri(one) for one in _results(*(_skill(folder, odd) for folder in folders))] == [
        "a%20b/r%C3%A9f%C3%A9rences/a%20b%231%25.md",
        "c/r%C3%A9f%C3%A9rences/a%20b%231%25.md",
        "file:///elsewhere/d/r%C3%A9f%C3%A9rences/a%20b%231%25.md",
        "file:///e/r%C3%A9f%C3%A9rences/a%20b%231%25.md",
    ]


def test_a_finding_that_moved_keeps_its_fingerprint_and_equal_ones_differ() -> None:
    def prints(*lines: int) -> list[str]:
        found = _results(_skill("a", *(replace(PIPE, line=line) for line in lines)))
        return [one["partialFingerprints"][FINGERPRINT] for one in found]

    assert prints(7, 9) == prints(17, 29)
    assert len(set(prints(7, 9, 12))) == 3
    assert prints(7) != [one["partialFingerprints"][FINGERPRINT] for one in _results(_skill("b", PIPE))]


def test_a_skill_that_was_refused_is_told() -> None:
    [invocation] = _sarif(LintResult(folder="big", name="big", refused="big: too large"))["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "big: too large"


def test_rules_have_help_and_dangers_a_rating() -> None:
    listed = {rule["id"]: rule for rule in _sarif(_skill("a"))["runs"][0]["tool"]["driver"]["rules"]}
    assert list(listed) == list(RULES)
    rules = [listed[id] for id in ("pipe-to-shell", "unknown-key", "empty-body", "url")]
    assert [rule["defaultConfiguration"]["level"] for rule in rules] == ["error", "error", "warning", "note"]
    assert rules[0]["help"]["text"] == f"{RULES['pipe-to-shell'].reason} {RULES['pipe-to-shell'].remedy}"
    assert ["security-severity" in rule["properties"] for rule in rules] == [True, False, False, True]
