"""Findings of the same lesson become one with a count; across traces the count is its support. Knows no traces."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from upskill.domain.trace_digest import Finding, FindingKind, Part, Place

_PLACES = 6
_MOST_PER_KIND = 1_000
_COMPARED = 300
_NEAR = 0.85
_WORDS = re.compile(r"\w+")


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
                    words=frozenset(_WORDS.findall(finding.key)),
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
        words = frozenset(_WORDS.findall(finding.key))
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
