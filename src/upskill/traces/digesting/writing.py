"""A digest as Markdown, for a teacher to read, and the merging of findings that goes before.

Findings of the same lesson become one with a count; across traces the count is its support. What is quoted is set apart
and never passes for our own words. Findings go in by worth, never by position: first as many as fit in brief, then in
full.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from upskill.core.nouns.text import estimate_tokens
from upskill.traces.digesting.findings import TASK_POINTS
from upskill.traces.trace import Finding, FindingKind, Part, Place, TraceDigest

_PLACES = 6
_MOST_PER_KIND = 1_000
_COMPARED = 300
_NEAR = 0.85
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class _Lesson:
    finding: Finding
    traces: set[int]
    words: frozenset[str]


class Merger:
    """Takes findings in, trace by trace, and gives out each lesson once. Holds findings, never traces."""

    def __init__(self) -> None:
        self._found: dict[tuple[FindingKind, str], _Lesson] = {}

    def add(self, findings: Iterable[Finding]) -> None:
        """Merge what one trace brought."""
        for number, finding in enumerate(findings, start=1):
            if number % _MOST_PER_KIND == 0:
                self._bound()
            known = self._known(finding)
            if known is None:
                self._found[finding.kind, finding.key] = _Lesson(
                    finding=finding,
                    traces={place.trace for place in finding.places},
                    words=frozenset(_WORD.findall(finding.key)),
                )
            else:
                known.traces.update(place.trace for place in finding.places)
                known.finding = _joined(known.finding, finding)
        self._bound()

    def findings(self) -> list[Finding]:
        """Every lesson once, in the order first seen."""
        return [replace(lesson.finding, support=max(1, len(lesson.traces))) for lesson in self._found.values()]

    def _known(self, finding: Finding) -> _Lesson | None:
        exact = self._found.get((finding.kind, finding.key))
        if exact is not None or finding.kind != "correction":
            # An error that differs by one name is another error; only a person's words may be nearly the same.
            return exact
        words = frozenset(_WORD.findall(finding.key))
        if len(words) < 4:
            return None
        same_kind = [lesson for (kind, _), lesson in self._found.items() if kind == finding.kind][-_COMPARED:]
        near = (each for each in same_kind if len(words & each.words) >= _NEAR * len(words | each.words))
        return next(near, None)

    def _bound(self) -> None:
        """Keep the findings of most worth of each kind; of equal worth, the earlier ones."""
        for kind, number in Counter(kind for kind, _ in self._found).items():
            if number > _MOST_PER_KIND:
                keys = [key for key in self._found if key[0] == kind]
                keys.sort(key=lambda key: -self._found[key].finding.points)
                for key in keys[_MOST_PER_KIND:]:
                    del self._found[key]


def _joined(first: Finding, second: Finding) -> Finding:
    best, other = (first, second) if first.points >= second.points else (second, first)
    return replace(
        best,
        places=_places([*first.places, *second.places]),
        count=first.count + second.count,
        marked=first.marked or second.marked,
        parts=(*best.parts, *_other_way(best, other)),
    )


def _other_way(best: Finding, other: Finding) -> tuple[Part, ...]:
    """One other way in which the same error was fixed."""
    if best.kind != "fix" or any(part.label == "changed another time" for part in best.parts):
        return ()
    mine = {part.text for part in best.parts if part.label == "changed"}
    return tuple(
        Part(label="changed another time", text=part.text)
        for part in other.parts
        if part.label == "changed" and part.verbatim and part.text not in mine
    )[:1]


def _places(places: list[Place]) -> tuple[Place, ...]:
    joined: dict[tuple[int, str], set[int]] = {}
    for place in places:
        joined.setdefault((place.trace, place.thread), set()).update(place.steps)
    return tuple(
        Place(trace=trace, thread=thread, steps=tuple(sorted(steps))[:12]) for (trace, thread), steps in joined.items()
    )[:_PLACES]


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
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`{3,}", part.text)), default=2))
    return f"{part.label}:\n\n{fence}text\n{part.text}\n{fence}\n\n"


def _quoted(text: str) -> str:
    return "\n".join(f"> {row}".rstrip() for row in text.split("\n"))


def _where(finding: Finding, *, many: bool) -> str:
    where = "; ".join(_place(place, many=many) for place in finding.places)
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
        mine = sorted((pair for pair in chosen if pair[0].kind == kind), key=lambda pair: pair[0].position)
        if not mine:
            continue
        parts.append(f"\n## {title}\n\n")
        after_item = True
        for finding, brief in mine:
            text = write_finding(finding, brief=brief, many=many)
            is_item = text.startswith("- ")
            parts.append(text if is_item and after_item else f"\n{text}")
            after_item = is_item
    if left_out:
        parts.append(f"\n## Left out\n\n{_left_out(left_out)}\n")
    return re.sub(r"\n{3,}", "\n\n", "".join(parts)).rstrip() + "\n"


def _left_out(left_out: Sequence[Finding]) -> str:
    """What did not fit, by kind."""
    numbers = Counter(finding.kind for finding in left_out)
    kinds = ", ".join(f"{numbers[kind]} {_words(kind, numbers[kind])}" for kind in SECTIONS if numbers[kind])
    return f"Found, but not within the budget: {kinds}."


def _words(kind: FindingKind, number: int) -> str:
    one, many = _WORDS.get(kind, (kind, f"{kind}s"))
    return one if number == 1 else many


_WORDS: dict[FindingKind, tuple[str, str]] = {
    "fix": ("fix", "fixes"),
    "proof": ("passed check", "passed checks"),
    "task": ("request", "requests"),
}


LATER_TASK_POINTS = 5.0
"""Points of the task of every trace but the first: many traces may share a source."""
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
    rest: list[Finding] = []
    sections: set[FindingKind] = set()
    for entry in entries:
        finding = entry.finding
        heading = 0 if finding.kind in sections else _HEADING
        if entry.worth >= TASK_POINTS and entry.brief_tokens + heading > room:
            entry = _squeezed(entry, room - heading, many=many)
        if entry.brief_tokens + heading <= room:
            chosen.append(entry)
            sections.add(finding.kind)
            room -= entry.brief_tokens + heading
        else:
            rest.append(finding)
    left_out = tuple(finding for finding in rest if finding.points < TASK_POINTS or not chosen)
    pairs: list[tuple[Finding, bool]] = []
    for entry in chosen:
        more = entry.full_tokens - entry.brief_tokens
        brief = more > room
        pairs.append((entry.finding, brief))
        room -= 0 if brief else max(0, more)
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
    entries: list[_Entry] = []
    for kind in SECTIONS:
        mine = sorted((each for each in findings if each.kind == kind), key=lambda finding: -worth_of(finding, rank=0))
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
