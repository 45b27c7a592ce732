"""Findings of `lint` for people: one block per skill, the worst first, each rule explained once."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from upskill.domain.case import Json
from upskill.domain.finding import Finding, Severity
from upskill.domain.linted_skill import LIMITS, LintResult, counted
from upskill.domain.text import count
from upskill.reporting.lines import print_lines

LINT_SCHEMA = "upskill.lint/1"
_STYLES: dict[Severity, str] = {"danger": "bold dark_orange", "error": "bold", "warning": "", "caution": "dim"}


def lint_json(results: Sequence[LintResult], *, scanner: str | None = None) -> Json:
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
        "scanner": scanner,
        "limits": LIMITS,
    }


def show_findings(results: Sequence[LintResult], console: Console, *, quiet: bool) -> None:
    """Print each skill with its findings, then the counts. `quiet`: only dangers and errors, and no skill without.

    Of skills that were refused nothing is printed: they have no findings.
    """
    searched = [result for result in results if result.refused is None]
    if not searched:
        return
    for result in searched:
        _show(result, console, quiet=quiet)
    print_lines([Text(counts_line(results))], console)
    found = "" if any(result.dangers for result in results) else "No danger was found. That does not mean safe. "
    print_lines([Text(found + LIMITS, style="dim")], console)


def _show(result: LintResult, console: Console, *, quiet: bool) -> None:
    shown = [one for one in result.findings if not quiet or one.severity in ("danger", "error")]
    if quiet and not shown:
        return
    title = Text.assemble((result.folder, "bold"), ": ", _counts(result.findings) or "no findings")
    print_lines([title], console)
    for group in _by_explanation(shown):
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
