"""Families of cases: what counts once, and cases so alike that they should be one.

Alike are prompts that differ in numbers and names only, or in little else. What a case asks for is not looked at: two
questions of one template, with different answers, still test one thing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import combinations, pairwise

from upskill.core.nouns.case import Case
from upskill.core.nouns.text import count

NEAR_DUPLICATE = 0.92
"""The share of distinctive words, in their order and with numbers and names masked, that makes two prompts one."""
MOST_COMPARED = 200
"""In larger files only prompts that are equal under the mask are found: comparing all with all would take minutes."""
MOST_FAMILY_CHARACTERS = 60

_COMMON_WORDS = (
    "a an and any are as at be been but by can could do does for from give has have how i if in into is it its kindly "
    "like may me might must my need needs now of on one only or our out please shall should so tell that the their "
    "then there these they this those to us use want was we were what when where which who will with would you your"
)
COMMON_WORDS = frozenset(_COMMON_WORDS.split())
"""Words that say nothing about what a prompt asks for."""
_WORD = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|[^\W_]+(?:[._/'-]+[^\W_]+)*|[^\w\s]{2,}")
_NEW_SENTENCE = re.compile(r"[.!?:\n]")
_NAME_SIGN = re.compile(r"[._/\d]|[a-z][A-Z]")
_NUMBER, _NAME = "0", "N"
_LEAST_WORDS = 3
_MOST_WORDS = 400
_MOST_PAIRS_SHOWN = 3

_Words = tuple[str, ...]


def by_family(cases: Iterable[Case]) -> tuple[tuple[Case, ...], ...]:
    """The cases family by family, in their order; a case without a family is alone in its own."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        groups.setdefault(("case", case.id) if case.family is None else ("family", case.family), []).append(case)
    return tuple(map(tuple, groups.values()))


def near_duplicates(cases: Sequence[Case]) -> tuple[tuple[Case, Case], ...]:
    """Every pair of near-duplicates, in the order of the cases. The same pairs are found in any order of them."""
    masked = [_Masked.of(case) for case in cases]
    order = sorted(range(len(cases)), key=lambda at: masked[at].order)
    few = len(cases) <= MOST_COMPARED
    found = sorted(
        (min(one, other), max(one, other))
        for one, other in (combinations(order, 2) if few else pairwise(order))
        if masked[one].is_like(masked[other], NEAR_DUPLICATE if few else 1.0)
    )
    return tuple((cases[one], cases[other]) for one, other in found)


def near_duplicate(case: Case, others: Iterable[Case]) -> Case | None:
    """The first of the others that the case is a near-duplicate of, by the same measure as `near_duplicates`."""
    masked = _Masked.of(case)
    for other in others:
        # How alike two texts are found depends a little on which comes first.
        first, second = sorted((masked, _Masked.of(other)), key=lambda one: one.order)
        if first.is_like(second, NEAR_DUPLICATE):
            return other
    return None


def with_merged_families(cases: Sequence[Case], *, by_hand: Sequence[Case] = ()) -> tuple[Case, ...]:
    """The cases, near-duplicates and their families made one family, named after the first case in it.

    Two cases that a person wrote, which are named in `by_hand`, are not joined for being alike.
    """
    groups = {case.id: group for group, case in _joined(cases, {case.id for case in by_hand})}
    return tuple(replace(case, family=groups.get(case.id, case.family)) for case in cases)


def _joined(cases: Sequence[Case], by_hand: set[str]) -> Iterator[tuple[str, Case]]:
    """The cases of families that near-duplicates join, each with the name of the joint family."""
    lead = {case.id: group[0].id for group in by_family(cases) for case in group}
    for one, other in near_duplicates(cases):
        if {one.id, other.id} <= by_hand:
            continue
        kept, gone = lead[one.id], lead[other.id]
        lead = {case_id: kept if first == gone else first for case_id, first in lead.items()}
    members: dict[str, list[Case]] = {}
    for case in cases:
        members.setdefault(lead[case.id], []).append(case)
    for group in members.values():
        if len(by_family(group)) > 1:
            name = _name_of(group, cases)
            yield from ((name, case) for case in group)


def _name_of(group: Sequence[Case], cases: Sequence[Case]) -> str:
    """The first family named in the group; else the first id that is no family elsewhere."""
    named = [case.family for case in group if case.family is not None]
    taken = {case.family for case in cases}
    free = [case.id for case in group if case.id not in taken] or [group[0].digest[:12]]
    return (named or [name[:MOST_FAMILY_CHARACTERS] for name in free])[0]


def family_notes(cases: Sequence[Case]) -> Iterator[str]:
    """What a person should know of the families in their own file; nothing is changed."""
    groups = by_family(cases)
    largest = max(groups, key=len, default=())
    if len(groups) > 1 and 2 * len(largest) > len(cases):
        yield (
            f"{len(largest)} of {len(cases)} cases are in the family {largest[0].family}, which counts once: "
            "add cases of other families"
        )
    for group in groups:
        uses = {case.use for case in group}
        if "learn" in uses and uses & {"held-out", "negative"}:
            yield f"the family {group[0].family} has practice cases and other cases: practice gives the others away"
    pairs = [(one, other) for one, other in near_duplicates(cases) if one.family is None or one.family != other.family]
    if pairs:
        shown = ", ".join(f"{one.id}/{other.id}" for one, other in pairs[:_MOST_PAIRS_SHOWN])
        more = ", …" if len(pairs) > _MOST_PAIRS_SHOWN else ""
        yield (
            f"{count(len(pairs), 'pair')} of near-duplicate cases ({shown}{more}): "
            "give them a `family` so that they count once"
        )


def family_problem(family: object) -> str | None:
    """What is wrong with a family as it stands in a file; `None` where nothing is."""
    if not isinstance(family, str) or not family.strip():
        return "`family` must be a text"
    if len(family) > MOST_FAMILY_CHARACTERS or not family.isprintable():
        return f"`family` must be one line of at most {MOST_FAMILY_CHARACTERS} printable characters"
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Masked:
    """A case as it is compared."""

    prompt: str
    """On one line, without its numbers."""
    words: _Words
    files: _Words

    @classmethod
    def of(cls, case: Case) -> "_Masked":
        files = "\n".join(f"{path}\n{data.decode('utf-8', 'replace')}" for path, data in sorted(case.files.items()))
        prompt = " ".join(re.sub(r"\d+", _NUMBER, case.prompt.casefold()).split())
        return cls(prompt=prompt, words=_masked(case.prompt), files=_masked(files))

    @property
    def order(self) -> tuple[_Words, str, _Words]:
        return self.words, self.prompt, self.files

    def is_like(self, other: "_Masked", least: float) -> bool:
        """Whether the two are near-duplicates."""
        common = {*self.words} & {*other.words} - {_NUMBER, _NAME}
        # With fewer words in common, a name in them may be the whole task.
        alike = len(common) >= _LEAST_WORDS and _ratio(self.words, other.words, least) >= least
        return (alike or self.prompt == other.prompt) and _ratio(self.files, other.files, least) >= least


def _ratio(one: _Words, other: _Words, least: float) -> float:
    """How alike two texts are, from 0 to 1; a cheap upper bound where that is below `least`."""
    if one == other:
        return 1.0
    match = SequenceMatcher(None, one, other, autojunk=False)
    for bound in (match.real_quick_ratio, match.quick_ratio):
        if (at_most := bound()) < least:
            return at_most
    return match.ratio()


def _masked(text: str) -> _Words:
    """The distinctive words in their order, with numbers and names as signs for one."""
    words: list[str] = []
    end = 0
    for found in _WORD.finditer(text):
        word = found.group()
        opens = not end or _NEW_SENTENCE.search(text, end, found.start()) is not None
        end = found.end()
        if word[0].isdigit():
            words.append(_NUMBER)
        elif word[0] in '`"' or _NAME_SIGN.search(word) or (word[0].isupper() and not opens and word != "I"):
            words.append(_NAME)
        elif word.casefold() not in COMMON_WORDS:
            words.append(word.casefold())
        if len(words) == _MOST_WORDS:
            break
    return tuple(words)
