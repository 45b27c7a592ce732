"""A digest as Markdown, for a teacher to read: what is quoted is set apart and never passes for our own words."""

import re
from collections.abc import Sequence

from upskill.domain.trace_digest import Finding, FindingKind, Part, Place

SECTIONS: dict[FindingKind, str] = {
    "task": "The task, as the person put it",
    "correction": "Corrections by the person, verbatim",
    "fix": "Errors and their fixes",
    "proof": "Checks that passed",
    "dead end": "Dead ends",
    "fact": "Environment",
    "passage": "Passages of the text",
}
"""In the order in which they are read."""


def write_finding(finding: Finding, *, brief: bool, many: bool) -> str:
    """One finding as a list item or, where it has blocks, as a heading with its blocks."""
    parts = finding.brief if brief else finding.parts
    heading = f"{finding.title} ({_where(finding, many=many)})"
    if finding.kind in {"task", "correction", "passage"}:
        quote = "\n".join(_quoted(part.text) for part in parts)
        return f"{heading}:\n\n{quote}\n" if quote else f"- {heading}\n"
    if not parts:
        return f"- {heading}\n"
    return f"### {heading}\n\n" + "".join(_part(part) for part in parts)


def _part(part: Part) -> str:
    if not part.verbatim:
        return f"{part.label}: {part.text}\n\n" if part.label else f"{part.text}\n\n"
    if not part.label:
        return _quoted(part.text) + "\n\n"
    longest = max((len(run) for run in re.findall(r"`{3,}", part.text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{part.label}:\n\n{fence}text\n{part.text}\n{fence}\n\n"


def _quoted(text: str) -> str:
    return "\n".join(f"> {row}".rstrip() for row in text.split("\n"))


def _where(finding: Finding, *, many: bool) -> str:
    said = [_place(place, many=many) for place in finding.places]
    where = "; ".join(said)
    if many and finding.support > 1:
        where = f"in {finding.support} traces: {where}"
    elif finding.count > 1:
        where += f"; seen {finding.count} times"
    if not finding.marked:
        where += "; judged by its text, the recording marks nothing"
    return where


def _place(place: Place, *, many: bool) -> str:
    words = [f"trace {place.trace}"] if many else []
    if place.thread:
        words.append(place.thread)
    if place.steps:
        words.append(("step " if len(place.steps) == 1 else "steps ") + ", ".join(str(step) for step in place.steps))
    if place.lines is not None:
        words.append(f"lines {place.lines[0]} to {place.lines[1]}")
    return " ".join(words)


def write_digest(
    header: str, chosen: Sequence[tuple[Finding, bool]], *, many: bool, left_out: Sequence[Finding] = ()
) -> str:
    """The whole digest: sections in reading order, findings within them in the order of the work."""
    parts = [header.rstrip() + "\n"]
    for kind, title in SECTIONS.items():
        mine = sorted((pair for pair in chosen if pair[0].kind == kind), key=lambda pair: _order(pair[0]))
        if not mine:
            continue
        parts.append(f"\n## {title}\n\n")
        previous_was_item = True
        for number, (finding, brief) in enumerate(mine):
            text = write_finding(finding, brief=brief, many=many)
            is_item = text.startswith("- ")
            if number and not (is_item and previous_was_item) and not parts[-1].endswith("\n\n"):
                parts.append("\n")
            parts.append(text)
            previous_was_item = is_item
    if left_out:
        parts.append(f"\n## Left out\n\n{said_left_out(left_out)}\n")
    return re.sub(r"\n{3,}", "\n\n", "".join(parts)).rstrip() + "\n"


def said_left_out(left_out: Sequence[Finding]) -> str:
    """What did not fit, by kind."""
    kinds = [(kind, sum(finding.kind == kind for finding in left_out)) for kind in SECTIONS]
    said = ", ".join(f"{count} {plural(kind, count)}" for kind, count in kinds if count)
    return f"Found, but not within the budget: {said}."


_PLURALS = {"fix": "fixes", "proof": "passed checks", "task": "requests"}
_SINGULARS = {"proof": "passed check", "task": "request"}


def plural(kind: FindingKind, count: int) -> str:
    """A kind of finding as a counted word."""
    return _SINGULARS.get(kind, kind) if count == 1 else _PLURALS.get(kind, f"{kind}s")


def _order(finding: Finding) -> tuple[int, int]:
    first = finding.places[0] if finding.places else Place(trace=0)
    at = first.lines[0] if first.lines else first.steps[0] if first.steps else 0
    return first.trace, at
