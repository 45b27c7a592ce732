"""What some agents read, ignore or refuse although the specification allows it, and skills whose descriptions compete
for a model: by the rare words that they share, and by what models loaded instead.

The keys are those that Claude Code 2.1.197 reads; the limits are those of the specification's advice and of
Anthropic's own validator.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from upskill.core.nouns.finding import Finding
from upskill.core.nouns.text import count, estimate_tokens
from upskill.lint.rules import MOST_BODY_LINES, MOST_BODY_TOKENS, finding
from upskill.lint.specification import CLIENT_KEYS, Head

_RESERVED = re.compile(r"anthropic|claude")
_ON_LOAD = re.compile(r"(?:^|(?<=\s))!`[^`\n]{1,400}`")
_ANY_COMMAND = re.compile(r"(?:^|[\s,])(?:Bash(?:\(\s*\*?\s*(?::\s*\*)?\s*\))?|\*)(?=$|[\s,])")


def find(head: Head) -> Iterator[Finding]:
    """What some agents would ignore, refuse, or do unasked."""
    yield from _keys(head)
    name, description = head.written("name"), head.written("description")
    if _RESERVED.search(name.lower()):
        yield finding("reserved-name", head.line_of("name"), f"name: {name}")
    if not name.isascii() and all(c.isalnum() or c == "-" for c in name):
        yield finding("name-not-ascii", head.line_of("name"), f"name: {name}")
    if "<" in description or ">" in description:
        at = next(n for n, c in enumerate(description) if c in "<>")
        yield finding("angle-brackets", head.line_of("description"), description[max(0, at - 60) : at + 60])
    if found := _ANY_COMMAND.search(head.written("allowed-tools")):
        yield finding("any-command-allowed", head.line_of("allowed-tools"), f"allowed-tools: {found[0].strip(' ,')}")
    yield from _body(head)


def _keys(head: Head) -> Iterator[Finding]:
    for key, field in head.fields.items():
        if key == "hooks":
            yield finding(
                "frontmatter-hooks", field.line, f"hooks: {', '.join(one.key for one in field.inner) or field.text}"
            )
        elif key in CLIENT_KEYS:
            reason = (
                f"Claude Code reads this key ({CLIENT_KEYS[key]}); the specification has no such key, and other "
                "agents ignore it or refuse the skill."
            )
            yield finding("client-key", field.line, f"{key}: {field.text}", reason=reason)
        for one in (field, *field.inner):
            if one.other_type and one.text and (key in _TEXTS or one is not field):
                yield finding("unquoted-value", one.line, f"{one.key}: {one.text}")


_TEXTS = ("name", "description", "license", "compatibility", "allowed-tools")


def _body(head: Head) -> Iterator[Finding]:
    lines, tokens = head.body.rstrip().count("\n") + 1, estimate_tokens(head.body)
    if lines > MOST_BODY_LINES or tokens > MOST_BODY_TOKENS:
        yield finding("long-body", head.body_line, f"{lines:,} lines, about {tokens:,} tokens")
    before = None
    for number, (line, fence) in enumerate(head.lines):
        opens = fence is not None and before is None
        before = fence
        if opens and fence is not None and fence.info.startswith("!"):
            yield finding("command-on-load", head.body_line + number, line)
        elif fence is None and "!`" in line and (found := _ON_LOAD.search(line)):
            yield finding("command-on-load", head.body_line + number, found[0])


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


@dataclass(frozen=True, kw_only=True, slots=True)
class OtherSkill:
    """A skill that an agent lists beside others: what it chooses by, and where it is."""

    name: str
    description: str
    folder: str
    """Its real path: two with one folder are one skill."""
    shown: str
    """Its folder as it was named."""


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
                yield finding("same-name", line, shown)
                continue
            overlap = self.overlap(own, words)
            if overlap.score >= ALIKE and len(overlap.words) >= LEAST_SHARED:
                shared = ", ".join(overlap.words[:_MOST_NAMED])
                yield finding(
                    "competing-description", line, f"{shown}: {overlap.score:.0%} alike, shared words: {shared}"
                )
            if often := instead.get(other.name):
                yield finding("loaded-instead", line, f"{shown}: loaded for {count(often, 'prompt')}")

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
