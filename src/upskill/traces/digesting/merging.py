"""The same lesson told twice is one lesson with a count. Across traces the count is its support."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from upskill.domain.trace_digest import Finding, FindingKind, Part, Place

_PLACES = 6
_MOST_PER_KIND = 1_000
_COMPARED = 300
_NEAR = 0.85
_WORDS = re.compile(r"\w+")


@dataclass(slots=True)
class _Merged:
    finding: Finding
    traces: set[int]
    words: frozenset[str]


class Merger:
    """Takes findings in, trace by trace, and gives out each lesson once. Holds findings, never traces."""

    def __init__(self) -> None:
        self._found: dict[tuple[FindingKind, str], _Merged] = {}
        self.dropped = 0
        """Findings beyond what is kept of one kind; the ones of least worth."""

    def add(self, findings: Iterable[Finding]) -> None:
        """Merge what one trace brought."""
        for number, finding in enumerate(findings, start=1):
            if number % _MOST_PER_KIND == 0:
                self._bound()
            known = self._known(finding)
            if known is None:
                self._found[finding.kind, finding.key] = _Merged(
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
        return [replace(merged.finding, support=max(1, len(merged.traces))) for merged in self._found.values()]

    def _known(self, finding: Finding) -> _Merged | None:
        exact = self._found.get((finding.kind, finding.key))
        if exact is not None or finding.kind != "correction":
            # An error that differs by one name is another error; only a person's words may be nearly the same.
            return exact
        words = frozenset(_WORDS.findall(finding.key))
        if len(words) < 4:
            return None
        same_kind = [merged for (kind, _), merged in self._found.items() if kind == finding.kind][-_COMPARED:]
        for merged in same_kind:
            if len(words & merged.words) >= _NEAR * len(words | merged.words):
                return merged
        return None

    def _bound(self) -> None:
        kinds: dict[FindingKind, list[tuple[float, tuple[FindingKind, str]]]] = {}
        for key, merged in self._found.items():
            kinds.setdefault(key[0], []).append((merged.finding.points, key))
        for entries in kinds.values():
            if len(entries) > _MOST_PER_KIND:
                # Sorting keeps the order of what is worth the same, so the earlier ones stay.
                entries.sort(key=lambda entry: -entry[0])
                for _, key in entries[_MOST_PER_KIND:]:
                    del self._found[key]
                    self.dropped += 1


def _joined(first: Finding, second: Finding) -> Finding:
    best, other = (first, second) if first.points >= second.points else (second, first)
    places = _places([*first.places, *second.places])
    return replace(
        best,
        places=places,
        count=first.count + second.count,
        marked=first.marked or second.marked,
        parts=(*best.parts, *_other_way(best, other)),
    )


def _other_way(best: Finding, other: Finding) -> tuple[Part, ...]:
    """The same error can have been fixed in another way as well; one such is told."""
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
