"""Which cases are learned from and which are held out, decided by their content alone; and which repeat another.

The same cases are always split the same, whatever their order or their names. A case that is added or removed moves at
most a few others: within one wording the cases are ordered by a number drawn from their digest, and each wording gets
its share of the learn cases. A family is never on both sides. Of two cases that ask the same, one measures nothing new,
and one that is learned from would give a held-out one away.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from upskill.core.cases.family import COMMON_WORDS, by_family
from upskill.core.nouns import Case, CaseUse
from upskill.errors import UsageError

WORDINGS = ("direct", "paraphrased", "contextual")
"""How a task is worded: in plain words; in other words than those of the material; in the middle of somebody's work."""

NEAR = 0.8
"""The share of distinctive words that two prompts with the same answer must have in common to be one."""

_WORD = re.compile(r"[^\W_]+(?:[._/-]+[^\W_]+)*|[^\w\s]{2,}")
_COUNTS = re.compile(r"\d{1,4}(\+\d{1,4}){2}")


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseCounts:
    """How many cases are wanted of each use."""

    learn: int = 10
    held_out: int = 32
    negative: int = 4

    @property
    def positive(self) -> int:
        """All but the negative ones."""
        return self.learn + self.held_out

    @property
    def total(self) -> int:
        """All of them."""
        return self.positive + self.negative

    def __str__(self) -> str:
        return f"{self.learn}+{self.held_out}+{self.negative}"


def read_counts(text: str) -> CaseCounts:
    """Counts as they are typed, `10+32+4`: to learn from, held out, negative. Raises `UsageError`."""
    if not _COUNTS.fullmatch(text.strip()):
        raise UsageError(
            f"--cases {text}: must be three numbers", hint="write practice+held-out+unrelated, for example 10+32+4"
        )
    learn, held_out, negative = map(int, text.split("+"))
    if not learn + held_out:
        raise UsageError(f"--cases {text}: needs at least one practice or held-out case")
    return CaseCounts(learn=learn, held_out=held_out, negative=negative)


def split_cases(
    cases: Sequence[Case], counts: CaseCounts, *, learn_from: Container[str] = frozenset()
) -> tuple[Case, ...]:
    """Every case with its use, in the same order. A case that has a use already keeps it.

    `learn_from` are ids of cases that are learned from in any case, with their families. They take no place of others:
    what would be learned from without them still is, so nothing that a teacher may have seen becomes held out.

    All cases are used: where there are more or fewer than were wanted, learn and held-out keep their proportion. A
    family is on one side: where one of its cases has a use, the others follow it, to the unseen side of a negative one.
    """
    bound = _followers(cases)
    free = [case for case in cases if case.use is None and case.id not in bound]
    taken = sum(use == "learn" for use in (*bound.values(), *(case.use for case in cases)))
    sided = len(free) + len(bound) + sum(case.use in ("learn", "held-out") for case in cases)
    learn = _to_learn_from(free, max(_learn_of(sided, counts) - taken, 0))
    if not learn and not taken and counts.learn:
        learn = _smallest(free, alone=sided == len(free))
    sides: dict[str, CaseUse] = {case.id: "learn" if case.digest in learn else "held-out" for case in free}
    for family in by_family(cases):
        if any(case.id in learn_from for case in family):
            sides |= {case.id: "learn" for case in family}
    return tuple(case if case.use is not None else replace(case, use=(sides | bound)[case.id]) for case in cases)


def _followers(cases: Sequence[Case]) -> dict[str, CaseUse]:
    """By id, the use of each case without one in a family that has one already."""
    found: dict[str, CaseUse] = {}
    for family in by_family(cases):
        uses = {case.use for case in family}
        if len(uses) > 1 and None in uses:
            found |= {case.id: "learn" if "learn" in uses else "held-out" for case in family if case.use is None}
    return found


def _learn_of(cases: int, counts: CaseCounts) -> int:
    """How many of these cases are learned from. Where both uses are wanted, each gets at least one."""
    if not counts.positive:
        return 0
    share = round(cases * counts.learn / counts.positive)
    if counts.learn and counts.held_out and cases >= 2:
        return min(max(share, 1), cases - 1)
    return share


def _to_learn_from(cases: Sequence[Case], wanted: int) -> frozenset[str]:
    """The digests of the learn cases, whole families of them, at most as many as are wanted."""
    families = {family[0].digest: family for family in _families(cases)}
    chosen: list[str] = []
    for first in _learn_order([family[0] for family in families.values()]):
        if len(chosen) + len(families[first]) <= wanted:
            chosen += (case.digest for case in families[first])
    return frozenset(chosen)


def _smallest(cases: Sequence[Case], *, alone: bool) -> frozenset[str]:
    """Where every family is larger than was wanted: the smallest one, if that leaves another to be held out."""
    families = _families(cases)
    if not families or (alone and len(families) == 1):
        return frozenset()
    order = {digest: rank for rank, digest in enumerate(_learn_order([family[0] for family in families]))}
    return frozenset(case.digest for case in min(families, key=lambda mine: (len(mine), order[mine[0].digest])))


def _families(cases: Iterable[Case]) -> list[list[Case]]:
    """Families, each led by the case that is drawn first: the wording and topic of that one count for all of it."""
    return [sorted(family, key=lambda case: _draw(case.digest)) for family in by_family(cases)]


def _learn_order(cases: Sequence[Case]) -> list[str]:
    """Digests in the order in which they are learned from: each wording and, within it, each topic gets its share."""
    by_wording = {wording: iter(_by_topic(mine, wording)) for wording, mine in _grouped(cases, "wording").items()}
    sizes = {wording: len(mine) for wording, mine in _grouped(cases, "wording").items()}
    return [next(by_wording[wording]) for wording in _seats(sizes)]


def _by_topic(cases: Sequence[Case], wording: str) -> list[str]:
    """Digests in the order in which they are learned from: the topics take turns, each from a start of its own."""
    placed: list[tuple[float, float, str]] = []
    for topic, mine in _grouped(cases, "topic").items():
        # The wordings of one topic begin a third of a turn apart: where each has one case of it, not all are learned.
        begin = (_draw(f"topic {topic}") + _draw_of_wording(wording)) % 1.0
        digests = sorted((case.digest for case in mine), key=_draw)
        placed += (((rank + begin) / len(digests), _draw(digest), digest) for rank, digest in enumerate(digests))
    return [digest for _, _, digest in sorted(placed)]


def _draw_of_wording(wording: str) -> float:
    return WORDINGS.index(wording) / len(WORDINGS) if wording in WORDINGS else _draw(f"wording {wording}")


def _seats(sizes: Mapping[str, int]) -> list[str]:
    """The group whose turn it is, by the size of the groups (Sainte-Laguë): a group that grows never loses its turn."""
    places = sorted(
        ((rank + 0.5) / size, _draw(f"wording {name}"), name) for name, size in sizes.items() for rank in range(size)
    )
    return [name for _, _, name in places]


def _grouped(cases: Iterable[Case], key: str) -> dict[str, list[Case]]:
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        value = case.extra.get(key)
        groups[" ".join(value.casefold().split()) if isinstance(value, str) else ""].append(case)
    return groups


def _draw(text: str) -> float:
    """A number from 0 to 1 that the text alone decides."""
    return int.from_bytes(hashlib.sha256(f"split {text}".encode("utf-8", "surrogatepass")).digest()[:6], "big") / 2**48


def without_doubles(cases: Iterable[Case], *, known: Iterable[Case] = ()) -> Iterator[tuple[Case, Case | None]]:
    """Each case with the earlier one that it repeats, if there is one. Repeats are not compared with."""
    kept = [(case, telling_words(case.prompt)) for case in known]
    for case in cases:
        words = telling_words(case.prompt)
        double = next((other for other, theirs in kept if _is_double(case, words, other, theirs)), None)
        if double is None:
            kept.append((case, words))
        yield case, double


def telling_words(text: str) -> frozenset[str]:
    """The words of a prompt in any order and case, without common words."""
    words = [word.casefold() for word in _WORD.findall(text)]
    return frozenset(word for word in words if word not in COMMON_WORDS) or frozenset(words)


def _is_double(case: Case, words: frozenset[str], other: Case, theirs: frozenset[str]) -> bool:
    if case.files != other.files:
        return False
    if words == theirs:
        return True
    both = len(words & theirs)
    return case.reference == other.reference and both >= NEAR * len(words | theirs)
