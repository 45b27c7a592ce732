"""Groups moments of many sessions that are about the same thing. Deterministic, without a model; knows no candidates.

Moments are vectors of their terms, weighed by how few sessions have a term, and by where it stands: what was done
differently afterwards says more than the words. Groups grow by merging the two nearest; only moments that share a term
which is not in too many of them are compared at all.
"""

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from upskill.mining.moments import MinedSession, Moment
from upskill.mining.terms import is_code, is_value, is_work

NEAR = 0.2
"""The mean cosine of the members of two groups from which they are one."""
_TYPICAL = 0.5
"""The share of a group that has a term that is typical of it."""
_SOMETIMES = 0.3
"""The same for words in which a further request names what a group is about."""
_ONLY_THERE = 0.7
"""The share of all moments with a term that two groups hold, if that term makes them one."""
_LEAST_MERGED = 4
"""Members of groups that can be one: what two or three have in common is chance."""
_MOST_TERMS = 20
"""Terms of a moment that are compared, the weightiest."""
_MOST_COMPARED = 120
"""Moments that share a term; a term of more than so many tells nothing apart."""
_MOST_MERGED = 3_000
"""Moments that are merged pair by pair."""
_SAMPLES = 4
"""Samples of very many moments, each of what no group of the one before it took."""
_CORRECTING = 0.5
"""How much more a word weighs that is only typed to correct."""
_SMOOTH = 8
"""Sessions that are added to those read: in a handful of sessions no term is common only because it is in all."""
_WEIGHTS = {"said": 1.0, "refused": 0.7, "added": 0.6, "removed": 0.4}
_IN_BOTH = 1.6
"""For a term that stands in the words and in what was done differently: that is what the moment is about."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Sighting:
    """A moment in its session; equal to nothing but itself."""

    session: MinedSession
    moment: Moment

    @property
    def order(self) -> tuple[bool, float, str, int, str, str]:
        """The order of time, and within a session of steps."""
        began = self.session.began
        return began is None, began or 0.0, self.session.name, self.moment.step, self.moment.kind, self.moment.quote


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Sightings of one thing, in order, with the terms that hold them together, weightiest first."""

    sightings: tuple[Sighting, ...]
    terms: tuple[tuple[str, float], ...]
    nearest: tuple[Sighting, ...]
    """The sightings, the one that is most like all others first."""


Vector = Mapping[str, float]


def group(sightings: Sequence[Sighting], *, sessions: int) -> list[Group]:
    """The groups of at least two sightings, largest first; the same whatever order they come in.

    Moments that correct nothing make no group; they join the one that they are near to.
    """
    ordered = sorted(sightings, key=lambda sighting: sighting.order)
    rarity = _rarity(ordered, sessions)
    vectors = [_vector(sighting.moment, rarity) for sighting in ordered]
    words = [_said_vector(sighting.moment, rarity) for sighting in ordered]
    strong = [at for at, sighting in enumerate(ordered) if sighting.moment.corrects]
    joined = _same_thing(_merged(strong, vectors), vectors, ordered)
    grouped = {at for members in joined for at in members}
    for typed, compared in ((True, words), (False, vectors)):
        near = [one for one in joined if (sum(ordered[at].moment.typed for at in one) * 2 >= len(one)) is typed]
        free = [at for at, each in enumerate(ordered) if each.moment.typed is typed and at not in grouped]
        _attach(free, near, compared)
    joined = _same_thing([sorted(members) for members in joined], vectors, ordered)
    # Two or three of a kind may still belong to a larger group.
    small = [members for members in joined if len(members) < _LEAST_MERGED]
    joined = [members for members in joined if len(members) >= _LEAST_MERGED]
    grouped = {at for members in joined for at in members}
    of_people = [members for members in joined if any(ordered[at].moment.typed for at in members)]
    free = [at for at, each in enumerate(ordered) if each.moment.typed and at not in grouped]
    claimed = _claim(free, of_people, words)
    joined += [rest for members in small if len(rest := [at for at in members if at not in claimed]) > 1]
    joined = [sorted(members) for members in joined]
    groups = [_group([ordered[at] for at in members], [vectors[at] for at in members]) for members in joined]
    return sorted(groups, key=lambda each: (-len(each.sightings), each.sightings[0].order))


def _merged(members: Sequence[int], vectors: Sequence[Vector]) -> list[list[int]]:
    """The groups that these make; of very many, the groups that evenly spread ones make, joined by the others.

    Merging takes more than twice the time for twice as many. What no sample shows costs nobody much.
    """
    groups: list[list[int]] = []
    left = list(members)
    for _ in range(_SAMPLES):
        step = -(-len(left) // _MOST_MERGED) or 1
        sample = left[::step]
        new = [[sample[at] for at in each] for each in _Merging([vectors[at] for at in sample]).run()]
        groups += new
        if step == 1:
            break
        grouped = {at for each in new for at in each}
        left = _attach([at for at in left if at not in grouped], new, vectors)
    return groups


def _same_thing(joined: list[list[int]], vectors: Sequence[Vector], ordered: Sequence[Sighting]) -> list[list[int]]:
    """Groups are one where most members of both have a term that hardly anything else has: two ways to say a thing.

    So are repairs of the same program by the same means, whatever was done with it and whatever it complained of.
    """
    joined = _same_repair(joined, ordered)
    having = Counter(term for vector in vectors for term in vector)
    groups = dict(enumerate(joined))
    counts = {
        number: Counter(term for at in members for term in vectors[at])
        for number, members in groups.items()
        if len(members) >= _LEAST_MERGED
    }
    typical: dict[str, set[int]] = defaultdict(set)

    def own_terms(number: int) -> list[str]:
        return [term for term, often in counts[number].items() if often >= _TYPICAL * len(groups[number])]

    for number in counts:
        for term in own_terms(number):
            typical[term].add(number)
    waiting = sorted(counts)
    while waiting:
        first = waiting.pop(0)
        common: dict[int, list[str]] = defaultdict(list)
        for term in own_terms(first) if first in groups else ():
            for second in typical[term]:
                if second != first and second in groups:
                    common[second].append(term)
        for second in sorted(common):
            if _are_one(counts[first], counts[second], common[second], having):
                groups[first] = sorted(groups[first] + groups.pop(second))
                counts[first] += counts.pop(second)
                for term in own_terms(first):
                    typical[term].add(first)
                waiting.append(first)
                break
    return sorted(groups.values())


def _same_repair(joined: list[list[int]], ordered: Sequence[Sighting]) -> list[list[int]]:
    found: dict[str, list[tuple[list[int], set[str]]]] = defaultdict(list)
    left: list[list[int]] = []
    for members in sorted(joined):
        repairs = [moment for at in members if (moment := ordered[at].moment).kind == "repair"]
        least = _TYPICAL * len(members)
        fixed = Counter(term for moment in repairs for term in moment.said if term.startswith("fix "))
        program = min(fixed, key=lambda term: (-fixed[term], term), default="")
        if not program or fixed[program] < least:
            left.append(members)
            continue
        added = Counter(term for moment in repairs for term in moment.added)
        means = {term for term in added if added[term] >= _SOMETIMES * len(members) and not is_value(term)}
        for other, others in found[program]:
            if means & others:
                other += members
                others |= means
                break
        else:
            found[program].append((list(members), means))
    return sorted([*left, *(sorted(members) for same in found.values() for members, _ in same)])


def _are_one(first: Counter[str], second: Counter[str], common: Iterable[str], having: Counter[str]) -> bool:
    """Whether what is typical of both is hardly anywhere else: a name of code, or two words, or one of nearly all."""
    shares = {
        term: (first[term] + second[term]) / having[term] for term in common if not term.startswith(("error ", "fix "))
    }
    own = [term for term, share in shares.items() if share >= _ONLY_THERE]
    return len(own) >= 2 or any(is_code(term) or shares[term] >= 0.9 for term in own)


def _attach(weak: Sequence[int], joined: list[list[int]], vectors: Sequence[Vector]) -> list[int]:
    """Add each to the group that its terms are nearest to, if they name what the group is about; returns the others."""
    sums = [_sum(vectors[at] for at in members) for members in joined]
    sizes = [len(members) for members in joined]
    typical: dict[str, list[int]] = defaultdict(list)
    for number, members in enumerate(joined):
        counts = Counter(term for at in members for term in vectors[at])
        for term in sorted(counts):
            if counts[term] >= _SOMETIMES * len(members):
                typical[term].append(number)
    left: list[int] = []
    for at in weak:
        shared: dict[int, list[str]] = defaultdict(list)
        for term in vectors[at]:
            for number in typical.get(term, ()):
                shared[number].append(term)
        named = [number for number, terms in shared.items() if len(terms) >= 2 or any(map(is_code, terms))]
        found = ((round(_dot(vectors[at], sums[number]) / sizes[number], 9), -number) for number in named)
        best, number = max(found, default=(0.0, 0))
        if best >= NEAR:
            joined[-number].append(at)
        else:
            left.append(at)
    return left


def _claim(left: Sequence[int], joined: list[list[int]], vectors: Sequence[Vector]) -> set[int]:
    """Add those with a word that is typical of one group and hardly anywhere else; returns them."""
    having = Counter(term for vector in vectors for term in vector)
    own: dict[str, int] = {}
    for number, members in enumerate(joined):
        counts = Counter(term for at in members for term in vectors[at])
        least = max(_LEAST_MERGED, _TYPICAL * len(members))
        own.update({term: number for term in counts if counts[term] >= max(least, _ONLY_THERE * having[term])})
    claimed: set[int] = set()
    for at in left:
        mine: dict[int, float] = defaultdict(float)
        for term in sorted(own.keys() & vectors[at].keys()):
            mine[own[term]] += vectors[at][term]
        if mine:
            joined[min(mine, key=lambda number: (-mine[number], number))].append(at)
            claimed.add(at)
    return claimed


def _sum(vectors: Iterable[Vector]) -> dict[str, float]:
    total: dict[str, float] = {}
    for vector in vectors:
        for term, weight in vector.items():
            total[term] = total.get(term, 0.0) + weight
    return total


def _rarity(sightings: Sequence[Sighting], sessions: int) -> dict[str, float]:
    """The weight of each term that more than one session has: of a word, more if people mostly correct with it."""
    seen: dict[str, set[str]] = defaultdict(set)
    typed: Counter[str] = Counter()
    corrects: Counter[str] = Counter()
    for sighting in sightings:
        moment = sighting.moment
        for term in (*moment.said, *moment.added, *moment.removed):
            seen[term].add(sighting.session.name)
        typed.update(moment.said if moment.typed else ())
        corrects.update(moment.said if moment.typed and moment.corrects else ())
    usual = corrects.total() / max(1, typed.total())

    def weight(term: str) -> float:
        share = (corrects[term] + 2 * usual) / (typed[term] + 2)  # a word that was typed once says little
        return math.log((sessions + _SMOOTH) / len(seen[term])) * (1 + _CORRECTING * (share - usual))

    return {term: weight(term) for term in sorted(seen) if len(seen[term]) > 1}


def _said_vector(moment: Moment, rarity: Mapping[str, float]) -> dict[str, float]:
    """The words of a moment alone."""
    return _of_length_one({term: rarity.get(term, 0.0) for term in moment.said})


def _vector(moment: Moment, rarity: Mapping[str, float]) -> dict[str, float]:
    """The terms of a moment with their weights, of length one."""
    weights: dict[str, float] = {}
    refused = set(moment.refused)
    for part in ("said", "added", "removed"):
        for term in getattr(moment, part):
            weight = rarity.get(term, 0.0) * (
                _WEIGHTS["refused"] if part == "said" and term in refused else _WEIGHTS[part]
            )
            weights[term] = max(weights.get(term, 0.0), weight)
    for term in set(moment.said) & {*moment.added, *moment.removed}:
        weights[term] *= _IN_BOTH
    return _of_length_one(weights)


def _of_length_one(weights: Mapping[str, float]) -> dict[str, float]:
    most = sorted(weights, key=lambda term: (-weights[term], term))[:_MOST_TERMS]
    length = math.sqrt(math.fsum(weights[term] ** 2 for term in most))
    return {term: weights[term] / length for term in sorted(most) if weights[term]} if length else {}


class _Merging:
    """Agglomeration by the mean cosine of all pairs of members of two groups."""

    def __init__(self, vectors: Sequence[Vector]) -> None:
        self._sums: dict[int, dict[str, float]] = {}
        self._members: dict[int, list[int]] = {}
        self._next = 0
        self._having: dict[str, set[int]] = defaultdict(set)
        self._heap: list[tuple[float, int, int]] = []
        for at, vector in enumerate(vectors):
            if vector:
                self._add(dict(vector), [at])

    def run(self) -> list[list[int]]:
        """The groups of at least two, each in order."""
        for at in list(self._sums):
            self._compare(at, only_before=True)
        while self._heap:
            _, first, second = heapq.heappop(self._heap)
            if first in self._sums and second in self._sums:
                self._merge(first, second)
        return [sorted(members) for members in self._members.values() if len(members) > 1]

    def _merge(self, first: int, second: int) -> None:
        summed = dict(self._sums[first])
        for term, weight in self._sums[second].items():
            summed[term] = summed.get(term, 0.0) + weight
        members = self._members[first] + self._members[second]
        for old in (first, second):
            for term in self._sums[old]:
                self._having[term].discard(old)
            del self._sums[old], self._members[old]
        self._compare(self._add(summed, members), only_before=False)

    def _add(self, vector: dict[str, float], members: list[int]) -> int:
        name = self._next
        self._next += 1
        self._sums[name], self._members[name] = vector, members
        for term in vector:
            self._having[term].add(name)
        return name

    def _compare(self, name: int, *, only_before: bool) -> None:
        vector, size = self._sums[name], len(self._members[name])
        dots: dict[int, float] = defaultdict(float)
        for term, weight in vector.items():
            having = self._having[term]
            if len(having) <= _MOST_COMPARED:
                for other in having:
                    if other != name and not (only_before and other > name):
                        dots[other] += weight * self._sums[other][term]
        for other, dot in dots.items():
            # Rounded, because the order of additions must not decide which of two equal pairs comes first.
            near = round(dot / (size * len(self._members[other])), 9)
            if near >= NEAR:
                heapq.heappush(self._heap, (-near, min(name, other), max(name, other)))


def _group(sightings: list[Sighting], vectors: Sequence[Vector]) -> Group:
    total = _sum(vectors)
    order = sorted(range(len(vectors)), key=lambda at: (-round(_dot(vectors[at], total), 9), at))
    terms = sorted(total.items(), key=lambda pair: (-round(pair[1], 9), pair[0]))
    nearest = tuple(sightings[at] for at in order)
    return Group(sightings=tuple(sightings), terms=tuple(terms[:40]), nearest=nearest)


def _dot(vector: Vector, other: Mapping[str, float]) -> float:
    return sum(weight * other[term] for term, weight in vector.items() if term in other)


_EDITED = 0.2
"""The share of the sessions that read a file beyond which one that others change is part of the work."""


def sighted(sessions: Sequence[MinedSession]) -> list[Sighting]:
    """The moments of these sessions, without look-ups of files that other sessions work on."""
    edited = Counter(path for session in sessions for path in session.edited)
    read: dict[str, set[str]] = defaultdict(set)
    for session in sessions:
        for moment in session.moments:
            read[_file_of(moment)].add(session.name)
    worked_on = {
        path for path, names in read.items() if edited[path] > (0.0 if is_work(path) else _EDITED) * len(names)
    }
    return [
        Sighting(session=session, moment=moment)
        for session in sessions
        for moment in session.moments
        if moment.kind != "look-up" or not (path := _file_of(moment)) or path not in worked_on
    ]


def _file_of(moment: Moment) -> str:
    """The file that was looked at or found; empty where it was something else."""
    return next((term[5:] for term in (*moment.said, *moment.added) if term.startswith("file ")), "")
