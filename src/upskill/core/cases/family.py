"""Families of cases: what counts once. A person names them; some are recognised; others are only pointed out.

Recognised as one family, where a person named none, are cases that begin with the same words of the user, that come
from one session, that expect the same answer to nearly the same words, or the same number or name to any. Pointed out
are prompts that differ in numbers and names only, whatever they ask for: two questions of one template may still test
one thing. Of cases that a teacher wrote these are one family as well.
"""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import combinations, islice, pairwise
from typing import NamedTuple

from upskill.core.nouns.case import Case
from upskill.core.nouns.look import checks_digest
from upskill.core.nouns.text import count, digest_of

NO_FAMILY = "none"
"""What a person writes where a case is no part of any family."""
RECOGNISED = "like "
"""What the names of recognised families begin with; the first of their cases follows."""
NEAR_COPY = 0.8
"""The share of their words that two prompts have in common which are one question, if the same answer is expected."""
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
_VALUE_KINDS = frozenset({"contains", "equals"})
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


def with_recognised_families(cases: Sequence[Case]) -> tuple[Case, ...]:
    """The cases of a file, each without a family in the one that it is recognised to belong to.

    Two families that a person named stay two. A case of the family `none` gets one of its own.
    """
    taken = {case.family for case in cases}
    alone = {case.id: _free_name("only ", [case], taken) for case in cases if (case.family or "").lower() == NO_FAMILY}
    cases = [replace(case, family=alone.get(case.id, case.family)) for case in cases]
    families = {case.id: case.family for case in cases}
    for group in _connected(cases, _related(cases)):
        named = [case.family for case in group if case.family is not None]
        name = named[0] if named else _free_name(RECOGNISED, group, taken)
        families |= {case.id: name for case in group if case.family is None}
    return tuple(replace(case, family=families[case.id]) for case in cases)


def _related(cases: Sequence[Case]) -> Iterator[tuple[Case, Case]]:
    """Pairs of cases that are one draw; of several in a row only neighbours."""
    groups: dict[Hashable, list[Case]] = defaultdict(list)
    answers: dict[Hashable, list[tuple[frozenset[str], frozenset[str], Case]]] = defaultdict(list)
    for case in cases:
        files = frozenset(case.files.items())
        groups["begins", " ".join(case.first_prompt.casefold().split()), files].append(case)
        if isinstance(session := case.extra.get("session"), str) and session.strip():
            groups["session", session].append(case)
        if values := _distinctive_values(case):
            groups["value", values, files].append(case)
        words, names = _words_of(case.prompt)
        answers[checks_digest(case), files].append((words, names, case))
    for alike in answers.values():
        few = len(alike) <= MOST_COMPARED
        order = alike if few else sorted(alike, key=lambda one: sorted(one[0]))
        for (one, its_names, first), (other, other_names, second) in combinations(order, 2) if few else pairwise(order):
            if _is_near_copy(one, other, its_names | other_names):
                yield first, second
    for group in groups.values():
        yield from pairwise(group)


def _distinctive_values(case: Case) -> frozenset[str]:
    """The values that an answer must have, where all checks are of that kind and one is no ordinary word: `7413`."""
    values = frozenset(check.spec for check in case.checks if isinstance(check.spec, str))
    plain = all(check.kind in _VALUE_KINDS and isinstance(check.spec, str) for check in case.checks)
    return values if plain and any(map(_NAME_SIGN.search, values)) else frozenset()


def _words_of(prompt: str) -> tuple[frozenset[str], frozenset[str]]:
    """The distinctive words of a prompt, and those of them that are numbers and names."""
    found = [word for word in _words(prompt) if word.sign is not None or word.text not in COMMON_WORDS]
    return frozenset(word.text for word in found), frozenset(word.text for word in found if word.sign is not None)


def _is_near_copy(one: frozenset[str], other: frozenset[str], names: frozenset[str]) -> bool:
    """Whether two prompts have nearly the same words, and all numbers and names in common: one form of question may be
    asked of different things."""
    common = one & other
    if one ^ other and (len(common) < _LEAST_WORDS or not names.isdisjoint(one ^ other)):
        return False
    return 2 * len(common) >= NEAR_COPY * (len(one) + len(other))


def with_merged_families(cases: Sequence[Case], *, by_hand: Sequence[Case] = ()) -> tuple[Case, ...]:
    """The cases in their recognised families, and near-duplicates and their families made one.

    Two cases that a person wrote, which are named in `by_hand`, are not joined for differing in names alone.
    """
    cases = with_recognised_families(cases)
    known = {case.id for case in by_hand}
    pairs = [(one, other) for one, other in near_duplicates(cases) if not {one.id, other.id} <= known]
    families = {case.id: case.family for case in cases}
    taken = {case.family for case in cases}
    for group in _connected(cases, [*pairs, *(pair for family in by_family(cases) for pair in pairwise(family))]):
        if len(by_family(group)) > 1:
            named = [case.family for case in group if case.family is not None]
            families |= dict.fromkeys((case.id for case in group), named[0] if named else _free_name("", group, taken))
    return tuple(replace(case, family=families[case.id]) for case in cases)


def _connected(cases: Sequence[Case], pairs: Iterable[tuple[Case, Case]]) -> Iterator[list[Case]]:
    """The cases that pairs join, in their order."""
    lead = {case.id: case.id for case in cases}

    def first(case_id: str) -> str:
        while lead[case_id] != case_id:
            lead[case_id] = case_id = lead[lead[case_id]]
        return case_id

    for one, other in pairs:
        lead[first(other.id)] = first(one.id)
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        groups[first(case.id)].append(case)
    return (group for group in groups.values() if len(group) > 1)


def _free_name(prefix: str, group: Sequence[Case], taken: set[str | None]) -> str:
    """The id of the first case whose name is no family elsewhere; where there is none, a digest."""
    names = [f"{prefix}{case.id}" for case in group]
    free = [name for name in names if len(name) <= MOST_FAMILY_CHARACTERS and name not in taken]
    return (free or [f"{prefix}{digest_of([case.id for case in group])[:12]}"])[0]


def family_notes(cases: Sequence[Case]) -> Iterator[str]:
    """What a person should know of the families in their own file; nothing is changed."""
    groups = by_family(cases)
    largest = max(groups, key=len, default=())
    if len(groups) > 1 and 2 * len(largest) > len(cases):
        yield (
            f"{len(largest)} of {len(cases)} cases are in the family {largest[0].family}, which counts once: "
            "add cases of other families"
        )
    found = [group for group in groups if len(group) > 1 and (group[0].family or "").startswith(RECOGNISED)]
    if found:
        shown = "; ".join(_listed(group) for group in found[:_MOST_PAIRS_SHOWN])
        more = "; …" if len(found) > _MOST_PAIRS_SHOWN else ""
        yield (
            f"counted once, for their first words, their session or their answer is the same: {shown}{more} "
            f"(`family: {NO_FAMILY}` in a case keeps it apart)"
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


def _listed(group: Sequence[Case]) -> str:
    return ", ".join(case.id for case in group[:4]) + (", …" if len(group) > 4 else "")


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


class _Word(NamedTuple):
    text: str
    sign: str | None
    """What stands for it where numbers and names are masked; `None` for an ordinary word."""


def _words(text: str) -> Iterator[_Word]:
    """The words of a text in their order."""
    end = 0
    for found in _WORD.finditer(text):
        word = found.group()
        opens = not end or _NEW_SENTENCE.search(text, end, found.start()) is not None
        end = found.end()
        if word[0].isdigit():
            yield _Word(word.casefold(), _NUMBER)
        elif word[0] in '`"' or _NAME_SIGN.search(word) or (word[0].isupper() and not opens and word != "I"):
            yield _Word(word.casefold(), _NAME)
        else:
            yield _Word(word.casefold(), None)


def _masked(text: str) -> _Words:
    """The distinctive words in their order, with numbers and names as signs for one."""
    masked = (word.sign or word.text for word in _words(text) if word.sign or word.text not in COMMON_WORDS)
    return tuple(islice(masked, _MOST_WORDS))
