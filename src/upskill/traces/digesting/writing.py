"""A digest as Markdown, for a teacher to read: what is quoted is set apart and never passes for our own words.

Findings go in by worth, never by position: first as many as fit in brief, then in full.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from upskill.domain.text import estimate_tokens
from upskill.domain.trace_digest import Finding, FindingKind, Part, Place, TraceDigest
from upskill.traces.digesting.requests import TASK_POINTS

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


LATER_TASK_POINTS = 5.0
"""Of the task of every trace but the first: many traces may share a source."""
_FOOTER = 40
_HEADING = 12


@dataclass(slots=True)
class _Entry:
    finding: Finding
    worth: float
    brief_tokens: int
    full_tokens: int


def worth_of(finding: Finding, *, rank: int) -> float:
    """Points, more with support and repetition, less with its rank: the tenth fix teaches less than the first."""
    seen = (1.0 + math.log2(max(1, finding.support))) * (1.0 + math.log2(max(1, finding.count)) / 4)
    return finding.points * seen / (1.0 + rank / 10)


def fill(findings: Sequence[Finding], *, header: str, budget: int, many: bool) -> TraceDigest:
    """A digest of at most `budget` tokens. Its first task is always in it, cut if need be."""
    entries = _ranked(_first_task_first(findings), many=many)
    room = budget - estimate_tokens(header) - _FOOTER
    chosen: list[_Entry] = []
    sections: set[FindingKind] = set()
    for entry in entries:
        heading = 0 if entry.finding.kind in sections else _HEADING
        if entry.worth >= TASK_POINTS and entry.brief_tokens + heading > room:
            entry = _squeezed(entry, room - heading, many=many)
        if entry.brief_tokens + heading <= room:
            chosen.append(entry)
            sections.add(entry.finding.kind)
            room -= entry.brief_tokens + heading
    in_full: set[int] = set()
    for entry in chosen:
        more = entry.full_tokens - entry.brief_tokens
        if more <= room:
            in_full.add(id(entry))
            room -= max(0, more)
    kept = {id(entry) for entry in chosen}
    left_out = tuple(entry.finding for entry in entries if id(entry) not in kept)
    left_out = tuple(finding for finding in left_out if finding.points < TASK_POINTS or not chosen)
    pairs = [(entry.finding, id(entry) not in in_full) for entry in chosen]
    text = write_digest(header, pairs, many=many, left_out=left_out)
    while estimate_tokens(text) > budget and len(pairs) > 1:
        # The parts were counted one by one; should their sum ever be more, what is worth least gives way.
        left_out = (*left_out, pairs.pop()[0])
        text = write_digest(header, pairs, many=many, left_out=left_out)
    return TraceDigest(
        text=text,
        tokens=estimate_tokens(text),
        budget=budget,
        kept=tuple(finding for finding, _ in pairs),
        left_out=left_out,
        cut=sum(brief and finding.brief != finding.parts for finding, brief in pairs),
    )


def _first_task_first(findings: Sequence[Finding]) -> list[Finding]:
    """Only one task is worth everything; the tasks of further traces compete."""
    found: list[Finding] = []
    seen = False
    for finding in findings:
        if finding.points >= TASK_POINTS:
            finding = finding if not seen else replace(finding, points=LATER_TASK_POINTS)
            seen = True
        found.append(finding)
    return found


def _ranked(findings: Sequence[Finding], *, many: bool) -> list[_Entry]:
    by_kind: dict[FindingKind, list[Finding]] = {kind: [] for kind in SECTIONS}
    for finding in findings:
        by_kind[finding.kind].append(finding)
    entries: list[_Entry] = []
    for mine in by_kind.values():
        mine.sort(key=lambda finding: -worth_of(finding, rank=0))
        for rank, finding in enumerate(mine):
            entries.append(_entry(finding, worth=worth_of(finding, rank=rank), many=many))
    entries.sort(key=lambda entry: -entry.worth)
    return entries


def _entry(finding: Finding, *, worth: float, many: bool) -> _Entry:
    return _Entry(
        finding=finding,
        worth=worth,
        brief_tokens=estimate_tokens(write_finding(finding, brief=True, many=many)) + 1,
        full_tokens=estimate_tokens(write_finding(finding, brief=False, many=many)) + 1,
    )


def _squeezed(entry: _Entry, room: int, *, many: bool) -> _Entry:
    """The task in whatever room there is."""
    part = entry.finding.brief[0]
    chars = max(40, (room - 40) * 3)
    cut = replace(part, text=part.text[:chars].rstrip() + f" [… {max(0, len(part.text) - chars):,} characters cut]")
    finding = replace(entry.finding, parts=(cut,), brief=(cut,))
    return _entry(finding, worth=entry.worth, many=many)
