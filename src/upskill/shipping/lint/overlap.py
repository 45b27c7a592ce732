"""Skills whose descriptions compete: by the rare words that they share, and by what models loaded instead.

Knows only names and descriptions. A common word counts little; the words that decided are named.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from upskill.domain.finding import Finding
from upskill.domain.linted_skill import OtherSkill
from upskill.domain.text import count
from upskill.shipping.lint.rule import LintRule

ALIKE = 0.4
"""The share of weighted words from which two descriptions compete."""
LEAST_SHARED = 3
_BACKGROUND = 50
"""A word in one of a few descriptions is not common yet: weights are as if there were at least so many."""
_MOST_NAMED = 6
_WORD = re.compile(r"[^\W_][\w.+#]*")
_ENDINGS = re.compile(r"(?:ing|ed|es|ers?|s|e)\Z")
_COMMON_WORDS = """
    a about above after all also an and any are as asked asks at be before best between both but by can code do does
    file files for from get give given handle has have help helps how if in instead into is it its just like make makes
    may more most must need needs new not of on one only or other our out over own practices project provide provides
    same should skill skills so some such than that the their them then there these they this those through to tool
    tools up use used useful user users uses using want wants was we what when whenever where which while who whose will
    with without work working works would write writes writing you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())


COMPETES = LintRule(
    id="competing-description",
    family="overlap",
    severity="warning",
    reason="Two descriptions share so many rare words that a model can load the wrong skill.",
    remedy="Say in each what it does that the other does not; measure with `upskill trigger --among`.",
)
LOADED_INSTEAD = LintRule(
    id="loaded-instead",
    family="overlap",
    severity="warning",
    reason="In a measurement, models loaded the other skill for prompts that should load this one.",
    remedy="Say in each description what it does that the other does not, and measure again.",
)
SAME_NAME = LintRule(
    id="same-name",
    family="overlap",
    severity="warning",
    reason="Two skills have one name: an agent that finds both uses one of them.",
    remedy="Rename one of them.",
)
RULES = (COMPETES, LOADED_INSTEAD, SAME_NAME)


@dataclass(frozen=True, slots=True)
class Overlap:
    """How far two descriptions compete, from 0 to 1, and the words that they share, the rarest first."""

    score: float
    words: tuple[str, ...]


class Catalogue:
    """The other skills, with the weight of each word among all descriptions."""

    def __init__(self, skills: Sequence[OtherSkill]) -> None:
        self._skills = [(skill, _words(skill.description)) for skill in skills]
        self._often = Counter(stem for _, words in self._skills for stem in words)

    def find(self, skill: OtherSkill, *, line: int, instead: Mapping[str, int]) -> Iterator[Finding]:
        """What competes with one skill. `instead` counts the prompts on which another skill was loaded in its place."""
        own = _words(skill.description)
        for other, words in self._skills:
            if other.folder == skill.folder:
                continue
            shown = f"{skill.name} and {other.name} ({other.shown})"
            if other.name == skill.name:
                yield SAME_NAME.at(line, shown)
                continue
            overlap = self.overlap(own, words)
            if overlap.score >= ALIKE and len(overlap.words) >= LEAST_SHARED:
                shared = ", ".join(overlap.words[:_MOST_NAMED])
                yield COMPETES.at(line, f"{shown}: {overlap.score:.0%} alike, shared words: {shared}")
            if often := instead.get(other.name):
                yield LOADED_INSTEAD.at(line, f"{shown}: loaded for {count(often, 'prompt')}")

    def overlap(self, one: Mapping[str, str], other: Mapping[str, str]) -> Overlap:
        """The weight of the shared words, by the weight of the description that has less."""
        shared = one.keys() & other.keys()
        least = min(self._weight(one), self._weight(other))
        if not shared or not least:
            return Overlap(0.0, ())
        ordered = sorted(shared, key=lambda stem: (-self._weight((stem,)), stem))
        return Overlap(self._weight(shared) / least, tuple(one[stem] for stem in ordered))

    def _weight(self, stems: Iterable[str]) -> float:
        every = max(_BACKGROUND, len(self._skills))
        return sum(math.log(every / max(1, self._often[stem])) for stem in stems)


def _words(text: str) -> dict[str, str]:
    """The words of a description by their stems, without common ones."""
    found = (word.strip(".") for word in _WORD.findall(text.lower()[:2_000]))
    return {_stem(word): word for word in found if len(word) > 1 and word not in _COMMON and not word.isdigit()}


def _stem(word: str) -> str:
    stem = _ENDINGS.sub("", word)
    return stem if len(stem) >= 3 else word
