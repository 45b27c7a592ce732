"""Findings as SARIF 2.1.0, the format of code scanning. One file for any number of skills."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from urllib.parse import quote

from upskill.domain.case import Json
from upskill.domain.finding import Finding, RuleInfo, Severity
from upskill.domain.linted_skill import LIMITS, LintResult

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
VERSION = "2.1.0"
FINGERPRINT = "upskillLint/v1"
_LEVELS: dict[Severity, str] = {"danger": "error", "error": "error", "warning": "warning", "caution": "note"}
_SECURITY = {"danger": "8.0", "caution": "3.0"}
"""How code scanning rates a danger, and a caution about one, from 0 to 10."""


def sarif_text(results: Sequence[LintResult], rules: Sequence[RuleInfo], *, version: str, start: str) -> str:
    """The file. Paths are relative to `start`, the working folder, where they lie in it."""
    numbers = {rule.id: number for number, rule in enumerate(rules)}
    seen: Counter[str] = Counter()
    run = {
        "tool": {"driver": {"name": "upskill", "version": version, "rules": [_rule(rule) for rule in rules]}},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(results)],
        "results": [
            _result(one, _uri(result.folder, one.file, start), numbers, seen)
            for result in results
            for one in result.findings
        ],
    }
    return json.dumps({"$schema": SCHEMA, "version": VERSION, "runs": [run]}, indent=2, ensure_ascii=True) + "\n"


def _rule(rule: RuleInfo) -> Json:
    properties: dict[str, Json] = {"severity": rule.severity}
    if rule.severity in _SECURITY:
        properties |= {"tags": ["security"], "security-severity": _SECURITY[rule.severity]}
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.reason},
        "fullDescription": {"text": rule.reason},
        "help": {"text": f"{rule.reason} {rule.remedy}"},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": properties,
    }


def _invocation(results: Sequence[LintResult]) -> Json:
    refused = [result.refused for result in results if result.refused is not None]
    return {
        "executionSuccessful": not refused,
        "toolExecutionNotifications": [
            {"level": level, "message": {"text": message}}
            for level, message in (*(("error", message) for message in refused), ("note", LIMITS))
        ],
    }


def _result(finding: Finding, uri: str, numbers: Mapping[str, int], seen: Counter[str]) -> Json:
    # Without the line: a finding that only moved is the same one. Equal ones in a file are counted.
    same = json.dumps([finding.rule, uri, finding.excerpt])
    seen[same] += 1
    fingerprint = hashlib.sha256(f"{same}{seen[same]}".encode()).hexdigest()
    return {
        "ruleId": finding.rule,
        **({"ruleIndex": numbers[finding.rule]} if finding.rule in numbers else {}),
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.excerpt}: {finding.reason} {finding.remedy}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri},
                    "region": {"startLine": finding.line, "snippet": {"text": finding.excerpt}},
                }
            }
        ],
        "partialFingerprints": {FINGERPRINT: fingerprint},
        "properties": {"severity": finding.severity},
    }


def _uri(folder: str, file: str, start: str) -> str:
    """Where a file is: relative to the working folder, else as a `file:` address. Special characters are escaped."""
    path = PurePosixPath(start, folder, file)
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    path = PurePosixPath(*parts)
    if path.is_relative_to(start):
        return quote(str(path.relative_to(start)), safe="/")
    return "file://" + quote(str(path), safe="/")
