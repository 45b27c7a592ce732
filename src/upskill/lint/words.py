"""Findings of `lint` for people, as JSON, and as SARIF 2.1.0, the format of code scanning."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePosixPath
from urllib.parse import quote

from rich.console import Console
from rich.text import Text

from upskill.core.nouns.case import Json
from upskill.core.nouns.finding import Finding, Severity
from upskill.core.nouns.text import count
from upskill.lint.lint_skill import LIMITS, LintResult, counted
from upskill.lint.rules import RULES, Rule
from upskill.report.console import print_lines

LINT_SCHEMA = "upskill.lint/1"
_STYLES: dict[Severity, str] = {"danger": "bold dark_orange", "error": "bold", "warning": "", "caution": "dim"}


def lint_json(results: Sequence[LintResult]) -> Json:
    """The one object of `upskill lint --json`. Keys are a promise: added, never changed."""
    all_findings = [one for result in results for one in result.findings]
    return {
        "schema": LINT_SCHEMA,
        "skills": [
            {
                "folder": result.folder,
                "name": result.name,
                "digest": result.digest,
                "findings": [asdict(one) for one in result.findings],
                "refused": result.refused,
            }
            for result in results
        ],
        "counts": {
            "skills": len(results),
            "refused": sum(result.refused is not None for result in results),
            **{str(one): number for one, number in counted(all_findings).items()},
        },
        "limits": LIMITS,
    }


def show_findings(results: Sequence[LintResult], console: Console) -> None:
    """Print each skill with its findings, then the counts. `quiet`: only dangers and errors, and no skill without.

    Of skills that were refused nothing is printed: they have no findings.
    """
    searched = [result for result in results if result.refused is None]
    if not searched:
        return
    for result in searched:
        _show(result, console)
    print_lines([Text(counts_line(results))], console)
    found = "" if any(result.dangers for result in results) else "No danger was found. That does not mean safe. "
    print_lines([Text(found + LIMITS, style="dim")], console)


def _show(result: LintResult, console: Console) -> None:
    title = Text.assemble((result.folder, "bold"), ": ", _counts(result.findings) or "no findings")
    print_lines([title], console)
    for group in _by_explanation(result.findings):
        first = group[0]
        print_lines([Text.assemble((first.severity, _STYLES[first.severity]), ": ", first.rule)], console, indent=2)
        print_lines([Text(f"{first.reason} {first.remedy}", style="dim")], console, indent=4)
        print_lines([Text(f"{one.place}: {one.excerpt}") for one in group], console, indent=4)
    print_lines([Text("")], console)


def _by_explanation(findings: Iterable[Finding]) -> Iterable[Sequence[Finding]]:
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for one in findings:
        groups.setdefault((one.severity, one.rule, one.reason, one.remedy), []).append(one)
    return groups.values()


def counts_line(results: Sequence[LintResult]) -> str:
    """`12 skills: 1 danger, 2 warnings`."""
    searched = [result for result in results if result.refused is None]
    found = _counts(one for result in searched for one in result.findings) or "no findings"
    refused = f"; {count(len(results) - len(searched), 'skill')} not searched" if len(searched) < len(results) else ""
    return f"{count(len(searched), 'skill')}: {found}{refused}"


def _counts(findings: Iterable[Finding]) -> str:
    return ", ".join(_numbers(findings))


def _numbers(findings: Iterable[Finding]) -> Iterator[str]:
    for severity, number in counted(findings).items():
        if number:
            yield count(number, severity)


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
VERSION = "2.1.0"
FINGERPRINT = "upskillLint/v1"
_LEVELS: dict[Severity, str] = {"danger": "error", "error": "error", "warning": "warning", "caution": "note"}
_SECURITY = {"danger": "8.0", "caution": "3.0"}
"""How code scanning rates a danger, and a caution about one, from 0 to 10."""


def sarif_text(results: Sequence[LintResult], *, version: str, start: str) -> str:
    """The file. Paths are relative to `start`, the working folder, where they lie in it."""
    numbers = {rule: number for number, rule in enumerate(RULES)}
    seen: Counter[str] = Counter()
    run = {
        "tool": {"driver": {"name": "upskill", "version": version, "rules": [_rule(rule) for rule in RULES.values()]}},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(results)],
        "results": [
            _result(one, _uri(result.folder, one.file, start), numbers, seen)
            for result in results
            for one in result.findings
        ],
    }
    return json.dumps({"$schema": SCHEMA, "version": VERSION, "runs": [run]}, indent=2, ensure_ascii=True) + "\n"


def _rule(rule: Rule) -> Json:
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
