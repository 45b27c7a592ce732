"""Which findings go into a digest: by worth, never by position. First as many as fit in brief, then in full."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from upskill.domain.text import estimate_tokens
from upskill.domain.trace_digest import Finding, FindingKind, TraceDigest
from upskill.traces.digesting.words import TASK_POINTS
from upskill.traces.digesting.writing import SECTIONS, write_digest, write_finding

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
