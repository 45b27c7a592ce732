"""Which lines of a skill an answer needs: per case, by versions of the skill and whether their answers passed.

Plain arithmetic: no files, no clock, no engine. A version is a number whose bits are the lines that it keeps. A case
needs no line, one, or two together; or it fails whatever it is given, and then it says nothing of any line.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations

NONE, PAIR, HOPELESS = 0.1, 0.2, 0.02
"""How likely it is beforehand that a case needs no line, or two, and that it never passes. The rest is one line."""
AGREES = 0.88
"""How often an answer passes with all lines that it needs, and fails without one of them, as is assumed."""
KEPT_SHARE = 0.6
CANDIDATES = 12
DECIDED = 0.95
MOST_CALLS = 30
KNOWN_WEIGHT = 6.0
"""A line that another case was found to need is so many times likelier to be needed by this one."""
NEEDED = 0.15
"""A line is kept where a case needs it with more than this probability."""
EXCLUDED = 0.05
"""A case has shown that it does not need a line where that is as improbable as this."""
AT_ONCE = 20
"""Cases that are searched at the same time: those that come later know what the others found."""
_LEAST = 1e-6
"""What is less probable changes no choice."""


@lru_cache(maxsize=4)
def _hypotheses(lines: int) -> tuple[int, ...]:
    """What a case may need, as bits: nothing, one line, two lines; the last is a line that no version has."""
    pairs = ((1 << one) | (1 << other) for one, other in combinations(range(lines), 2))
    return (0, *(1 << line for line in range(lines)), *pairs, 1 << lines)


@lru_cache(maxsize=4)
def _priors(weights: tuple[float, ...]) -> tuple[float, ...]:
    total = sum(weights)
    of_pairs = (total * total - sum(weight * weight for weight in weights)) / 2
    one = (1 - NONE - PAIR - HOPELESS) / total if total else 0.0
    two = PAIR / of_pairs if of_pairs else 0.0
    pairs = (first * second * two for first, second in combinations(weights, 2))
    return (NONE, *(weight * one for weight in weights), *pairs, HOPELESS)


@dataclass(slots=True)
class CaseSearch:
    """What is known of one case: the versions that it was asked with, and how likely it needs which lines."""

    case_id: str
    lines: int
    asked: list[tuple[int, bool]] = field(default_factory=list)
    """Each version, and whether the answer passed."""
    _against: bytearray = field(default_factory=bytearray)
    """For each hypothesis: how many answers speak against it."""
    _likely: list[tuple[float, int]] = field(default_factory=list)
    """Hypotheses that matter, each after its probability."""
    _surest: float = 0.0
    set_aside: bool = False
    """Whether it gets no answers any more."""

    def __post_init__(self) -> None:
        self._against = bytearray(len(_hypotheses(self.lines)))
        self.weigh((1.0,) * self.lines)

    def weigh(self, weights: tuple[float, ...]) -> None:
        """Compute the probabilities again, with lines that are likelier beforehand by their weights."""
        factors = [((1 - AGREES) / AGREES) ** number for number in range(MOST_CALLS + 1)]
        found = [prior * factors[number] for prior, number in zip(_priors(weights), self._against, strict=True)]
        total = sum(found)
        least = _LEAST * total
        self._likely = [
            (value / total, needed)
            for value, needed in zip(found, _hypotheses(self.lines), strict=True)
            if value > least
        ]
        self._surest = max(found) / total

    def add(self, version: int, passed: bool) -> None:
        """Count an answer. Probabilities are as they were until `weigh`."""
        self.asked.append((version, passed))
        outside = ~version
        known = zip(self._against, _hypotheses(self.lines), strict=True)
        self._against = bytearray([often + ((needed & outside == 0) is not passed) for often, needed in known])

    @property
    def is_over(self) -> bool:
        """Whether no further answer is asked for."""
        return self.set_aside or len(self.asked) >= MOST_CALLS or self._surest >= DECIDED

    @property
    def is_telling(self) -> bool:
        """Whether its answers say anything of lines: it was asked, and passes with what it needs."""
        return bool(self.asked) and sum(value for value, needed in self._likely if needed >> self.lines) < 1 / 2

    def passes(self, version: int) -> float:
        """How likely this version has all that the case needs."""
        outside = ~version
        return sum([value for value, needed in self._likely if needed & outside == 0])

    def needs(self) -> list[float]:
        """For each line: how likely the case needs it."""
        found = [0.0] * (self.lines + 1)
        for value, needed in self._likely:
            while needed:
                low = needed & -needed
                found[low.bit_length() - 1] += value
                needed ^= low
        return found[: self.lines]

    def needs_any(self, lines: int) -> float:
        """How likely the case needs one of these lines."""
        return sum(value for value, needed in self._likely if needed & lines)

    def next_version(self) -> int:
        """The version to ask with next: of some random ones, that which most likely tells hypotheses apart.

        The same for the same case and number of answers, so that a search that is resumed asks the same.
        """
        chosen = random.Random(f"{self.case_id}/{len(self.asked) + 1}")
        size = max(1, round(KEPT_SHARE * self.lines)) if self.lines > 1 else 0
        versions = [sum(1 << line for line in chosen.sample(range(self.lines), size)) for _ in range(CANDIDATES)]
        return min(versions, key=lambda version: abs(self.passes(version) - 0.5))


def weigh_together(searches: Iterable[CaseSearch]) -> list[CaseSearch]:
    """Let open searches know which lines those that are over have found. Returns those to ask for an answer now."""
    over: list[CaseSearch] = []
    open_: list[CaseSearch] = []
    for search in searches:
        (over if search.is_over else open_).append(search)
    if not open_:
        return []
    known = [search.needs() for search in over if search.is_telling] or [[0.0] * open_[0].lines]
    # Rounded: probabilities that differ by a hair would each make their own table of priors.
    weights = tuple(1 + KNOWN_WEIGHT * round(max(column), 2) for column in zip(*known, strict=True))
    for search in open_:
        search.weigh(weights)
    return [search for search in open_ if not search.is_over][:AT_ONCE]


@dataclass(frozen=True, kw_only=True, slots=True)
class LineFinding:
    """What all searches of one model say of a line."""

    weight: float
    """How likely the case needs it that needs it most."""
    needed_by: tuple[str, ...]
    """Ids of the cases that probably need it."""
    tested_by: tuple[str, ...]
    """Ids of the cases on its subject that do without it."""

    @property
    def is_needed(self) -> bool:
        return self.weight > NEEDED


def find_lines(searches: Sequence[CaseSearch], subjects: Mapping[str, int]) -> list[LineFinding]:
    """What was found of each line. `subjects`: by the id of a case, the lines on its subject, as bits."""
    telling = [(search, search.needs()) for search in searches if search.is_telling]
    return [
        LineFinding(
            weight=max((needs[line] for _, needs in telling), default=0.0),
            needed_by=tuple(search.case_id for search, needs in telling if needs[line] > NEEDED),
            tested_by=tuple(
                search.case_id
                for search, needs in telling
                if subjects[search.case_id] >> line & 1 and needs[line] <= EXCLUDED
            ),
        )
        for line in range(searches[0].lines)
    ]


def rates(searches: Iterable[CaseSearch]) -> tuple[float, float]:
    """How often answers passed with all that their case needs, and without it, by what is likely now."""
    sums = [[0.0, 0.0], [0.0, 0.0]]
    for search in searches:
        for version, passed in search.asked:
            share = search.passes(version)
            for place, part in enumerate((share, 1 - share)):
                sums[place][0] += part * passed
                sums[place][1] += part
    with_all, without = (passed / total if total else 0.0 for passed, total in sums)
    return with_all, without
