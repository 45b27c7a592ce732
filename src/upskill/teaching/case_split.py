"""Which cases are learned from and which are held out, decided by their content alone; and which repeat another.

The same cases are always split the same, whatever their order or their names. A case that is added or removed moves at
most a few others: within one wording the cases are ordered by a number drawn from their digest, and each wording gets
its share of the learn cases. Of two cases that ask the same, one measures nothing new, and one that is learned from
would give a held-out one away.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from upskill.domain import Case
from upskill.errors import UsageError

WORDINGS = ("direct", "paraphrased", "contextual")
"""How a task is worded: in plain words; in other words than those of the material; in the middle of somebody's work."""

NEAR = 0.8
"""The share of distinctive words that two prompts with the same answer must have in common to be one."""

_WORD = re.compile(r"[^\W_]+(?:[._/-]+[^\W_]+)*|[^\w\s]{2,}")
_COMMON_WORDS = (
    "a an and any are as at be been but by can could do does for from give has have how i if in into is it its kindly "
    "like may me might must my need needs now of on one only or our out please shall should so tell that the their "
    "then there these they this those to us use want was we were what when where which who will with would you your"
)
_COMMON = frozenset(_COMMON_WORDS.split())
_COUNTS = re.compile(r"\d{1,4}(\+\d{1,4}){2}")


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseCounts:
    """How many cases are wanted of each use."""

    learn: int = 10
    held_out: int = 16
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
    """Counts as they are typed, `10+16+4`: to learn from, held out, negative. Raises `UsageError`."""
    if not _COUNTS.fullmatch(text.strip()):
        raise UsageError(
            f"--cases {text}: cannot be understood", hint="write learn+held-out+negative, for example 10+16+4"
        )
    learn, held_out, negative = map(int, text.split("+"))
    if not learn + held_out:
        raise UsageError(f"--cases {text}: without learn or held-out cases nothing can be learned or shown")
    return CaseCounts(learn=learn, held_out=held_out, negative=negative)


def split_cases(cases: Sequence[Case], counts: CaseCounts) -> tuple[Case, ...]:
    """Every case with its use, in the same order. A case that has a use already keeps it.

    All cases are used: where there are more or fewer than were wanted, learn and held-out keep their proportion.
    """
    free = [case for case in cases if case.use is None]
    taken = sum(case.use == "learn" for case in cases)
    sided = len(free) + sum(case.use in ("learn", "held-out") for case in cases)
    wanted = min(max(_learn_of(sided, counts) - taken, 0), len(free))
    learn = _to_learn_from(free, wanted)
    return tuple(
        case if case.use is not None else replace(case, use="learn" if case.digest in learn else "held-out")
        for case in cases
    )


def _learn_of(cases: int, counts: CaseCounts) -> int:
    """How many of these cases are learned from. Where both uses are wanted, each gets at least one."""
    if not counts.positive:
        return 0
    share = round(cases * counts.learn / counts.positive)
    if counts.learn and counts.held_out and cases >= 2:
        return min(max(share, 1), cases - 1)
    return share


def _to_learn_from(cases: Sequence[Case], wanted: int) -> frozenset[str]:
    """The digests of the learn cases: each wording and, within it, each topic gets its share."""
    by_wording = _grouped(cases, "wording")
    seats = _seats({wording: len(mine) for wording, mine in by_wording.items()}, wanted)
    chosen: list[str] = []
    for wording, mine in by_wording.items():
        order = _by_topic(mine, wording)
        chosen += order[: seats[wording]]
    return frozenset(chosen)


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


def _seats(sizes: Mapping[str, int], wanted: int) -> dict[str, int]:
    """How many learn cases each group gets, by its size (Sainte-Laguë): a group that grows never loses one."""
    places = sorted(
        ((rank + 0.5) / size, _draw(f"wording {name}"), name) for name, size in sizes.items() for rank in range(size)
    )
    seats = dict.fromkeys(sizes, 0)
    for _, _, name in places[:wanted]:
        seats[name] += 1
    return seats


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
    return frozenset(word for word in words if word not in _COMMON) or frozenset(words)


def _is_double(case: Case, words: frozenset[str], other: Case, theirs: frozenset[str]) -> bool:
    if case.files != other.files:
        return False
    if words == theirs:
        return True
    both = len(words & theirs)
    return case.reference == other.reference and both >= NEAR * len(words | theirs)
