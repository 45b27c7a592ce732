"""Repeated looks at one skill with one model: how strictly the next is tested, and which removed cases it must heed.

The sum of all levels never exceeds 5% times the number of versions that were found to help, or 5% before the first.
So where no version helps, the chance of ever saying `helps` is at most 5%, however often somebody looks, with whatever
settings and cases; and of the versions that are said to help, at most one in twenty does not, on average (the false
discovery rate). A look at the same text with more cases may spend half of what is left, any other look a tenth.

A look counts from the moment it is opened, before its first answer is bought: whoever stops one, sees what failed and
leaves that out looks twice. Only one that was closed without an answer is free.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from upskill.core.nouns.look import (
    CUT_SHORT,
    NOTHING,
    Asked,
    EarlierLook,
    Look,
    LookTerms,
    RemovedCase,
    SeenCase,
    alike,
)
from upskill.core.nouns.plan import Design
from upskill.core.nouns.text import count
from upskill.core.statistics.intervals import FIRST_LEVEL
from upskill.core.statistics.pairs import Pair

ERROR_OF_ALL_LOOKS = 0.05
SHARE_OF_A_LOOK = 0.1
"""A later look takes this share of what is left."""
SHARE_OF_MORE_CASES = 0.5
"""One at the same text with cases that were not asked before takes this share, as the first look does."""
LEAST_LEVEL = 1e-6
"""Where ledgers were merged, more may have been spent than there was; a later look then needs overwhelming evidence."""


def level_of_look(earlier: Sequence[float], *, helped: int, more_cases: bool = False) -> float:
    """The one-sided level of the next look, after looks at `earlier` levels of which `helped` versions were helpful.

    The first gets .025. While nothing helps, the second gets .0025, the tenth .0011; with more cases of the same text
    the second gets .0125, the third .0063. A version that helps pays for those after it.
    """
    share = SHARE_OF_MORE_CASES if more_cases or not earlier else SHARE_OF_A_LOOK
    left = ERROR_OF_ALL_LOOKS * max(1, helped) - sum(earlier)
    return min(FIRST_LEVEL, max(LEAST_LEVEL, share * left))


def level_after(helped: Sequence[bool]) -> float:
    """The level of the next look, from whether each earlier one found that something helps."""
    levels: list[float] = []
    for number in range(len(helped) + 1):
        levels.append(level_of_look(levels, helped=sum(helped[:number])))
    return levels[-1]


FIRST_LOOK = LookTerms(level=FIRST_LEVEL)


@dataclass(frozen=True, kw_only=True, slots=True)
class NextLook:
    """A look that is about to be taken. The names are those of `Look`."""

    student: str
    model: str
    kind: str
    served: str | None
    asked: Asked = "lift"
    skill: str
    place: str = ""
    version: str
    sketch: tuple[str, ...]
    against: str
    design: Design
    repeats: int
    cases: Mapping[str, tuple[str, str]]
    """By id, the key of each case and the digest of its checks."""
    families: Mapping[str, str] = field(default_factory=dict)
    """By key, the family of each case that names one."""
    min_lift: float | None = None
    """The lift that is asked for."""
    rejected: frozenset[tuple[str, str]] = frozenset()
    """The key and the checks of cases that cannot tell right from wrong: to leave these out is no choice."""
    practice: bool = False
    """Whether the cases are practised on: that claims nothing, and counts where one of them is to prove something."""
    remembered: bool = True

    @property
    def keys(self) -> frozenset[str]:
        """The cases that are asked."""
        return frozenset(key for key, _ in self.cases.values())

    def opened(self, *, id: str, at: str, run: str, level: float) -> Look:
        """The look before anything is seen."""
        return Look(
            id=id,
            at=at,
            run=run,
            student=self.student,
            model=self.model,
            kind=self.kind,
            served=self.served,
            asked=self.asked,
            skill=self.skill,
            place=self.place,
            version=self.version,
            sketch=self.sketch,
            against=self.against,
            design=self.design,
            repeats=self.repeats,
            cases=tuple(
                SeenCase(key=key, checks=checks, family=self.families.get(key)) for key, checks in self.cases.values()
            ),
            level=level,
            remembered=self.remembered,
            practice=self.practice,
        )


def lineage(looks: Iterable[Look], coming: NextLook) -> tuple[Look, ...]:
    """The looks with this model at versions of this skill, whatever their cases and settings were; oldest first.

    A version has the name of another one in the same place or on the same cases, or half of its lines.
    """
    waiting = [look for look in looks if (look.model, look.asked) == (coming.model, coming.asked)]
    keys, names, sketches = set(coming.keys), {(coming.skill, coming.place)}, {coming.sketch}
    found: list[Look] = []
    while True:
        new = [
            look
            for look in waiting
            if (look.skill, look.place) in names
            or (any(look.skill == name for name, _ in names) and not keys.isdisjoint(look.keys))
            or any(alike(look.sketch, sketch) for sketch in sketches)
        ]
        if not new:
            return tuple(sorted(found, key=lambda look: look.at))
        found += new
        waiting = [look for look in waiting if look not in new]
        for look in new:
            keys |= look.keys
            names.add((look.skill, look.place))
            sketches.add(look.sketch)


def look_terms(
    looks: Iterable[Look],
    coming: NextLook,
    *,
    present: Collection[str] = frozenset(),
    known: Collection[str] | None = None,
) -> LookTerms:
    """How strictly the next look is tested. `present` names the answers that it will have without buying them.

    `known` are the ids of looks whose answers this machine has: only such a look gives a verdict that pays for those
    after it, while every line of a ledger spends its level, whoever wrote it. `None` believes all.
    """
    mine = [look for look in lineage(looks, coming) if look.practice == coming.practice or _shares_a_case(look, coming)]
    same = next((look for look in reversed(mine) if _goes_on(look, coming, present)), None)
    before = [look for look in mine if same is None or (look.id != same.id and look.at < same.at)]
    tested = [look for look in before if not look.is_free]
    # Who asks for a lift must have shown that lift: a version pays for those after it by what is claimed of them.
    helped = {look.version for look in tested if look.helped(coming.min_lift) and (known is None or look.id in known)}
    seen = frozenset[str]().union(*(look.keys for look in tested))
    more_cases = not coming.keys <= seen and any(look.version == coming.version for look in tested)
    level = level_of_look([look.level for look in tested], helped=len(helped), more_cases=more_cases)
    here = _on_these_cases(before, coming)
    regraded = len({case.key for look in here for case in look.cases if _is_regraded(case, coming, present)})
    return LookTerms(
        level=level if same is None else min(level, same.level),
        id=None if same is None else same.id,
        at=None if same is None else same.at,
        removed=_removed(here, coming),
        regraded=regraded,
        earlier=tuple(
            EarlierLook(at=look.at, run=look.run, cases=len(look.cases), level=look.level, verdict=look.verdict)
            for look in tested
        ),
        answered=same is not None and _is_answered(same, coming),
        note=_note(here, len(tested), coming, level=level, regraded=regraded, same=same),
    )


def _is_answered(same: Look, coming: NextLook) -> bool:
    """Whether a look that is gone on with came to its end, so that nothing more is bought."""
    return not same.unfinished and same.against == coming.against and same.verdict != "invalid"


def same_look(looks: Iterable[Look], coming: NextLook) -> Look | None:
    """The newest look that came to its end and asked just this; `None` where something has changed."""
    same = [look for look in lineage(looks, coming) if not look.unfinished and _is_alike(look, coming)]
    return same[-1] if same and same[-1].verdict != "invalid" else None


def _is_alike(look: Look, coming: NextLook) -> bool:
    """Whether the same text is compared with the same, on the same cases, asked of the same server in the same way."""
    mine = look.kind, look.served, look.version, look.against, look.design, look.repeats
    theirs = coming.kind, coming.served, coming.version, coming.against, coming.design, coming.repeats
    return mine == theirs and _asks_the_same(look, coming)


def _goes_on(look: Look, coming: NextLook, present: Collection[str]) -> bool:
    """Whether the next look is this one: of the same text and cases, with the very answers that it has."""
    mine = look.kind, look.served, look.version, look.practice
    if mine != (coming.kind, coming.served, coming.version, coming.practice):
        return False
    same_design = (look.against, look.design, look.repeats) == (coming.against, coming.design, coming.repeats)
    if not (same_design or look.against == NOTHING):
        return False
    if look.is_open:
        return look.remembered and coming.remembered and _asks_the_same(look, coming)
    if not look.answers or not look.answers <= set(present):
        return False
    return look.end in CUT_SHORT or _asks_the_same(look, coming)


def _asks_the_same(look: Look, coming: NextLook) -> bool:
    families = {case.key: case.family for case in look.cases if case.family is not None}
    return {(case.key, case.checks) for case in look.cases} == set(coming.cases.values()) and families == dict(
        coming.families
    )


def _shares_a_case(look: Look, coming: NextLook) -> bool:
    return not coming.keys.isdisjoint(look.keys)


def _on_these_cases(mine: Sequence[Look], coming: NextLook) -> list[Look]:
    """Those of the looks whose cases go back to the cases that are asked now, each by a case in common."""
    keys, found = set(coming.keys), []
    for look in reversed(mine):
        if not keys.isdisjoint(look.keys):
            found.append(look)
            keys |= look.keys
    return found[::-1]


def _is_regraded(case: SeenCase, coming: NextLook, present: Collection[str]) -> bool:
    """Whether answers to a case that were seen under other checks are counted again."""
    if case.key not in coming.keys or (case.key, case.checks) in coming.cases.values():
        return False
    return any(instance in present for pair in case.pairs for instance in pair[:2])


def _removed(here: Sequence[Look], coming: NextLook) -> tuple[RemovedCase, ...]:
    """What was seen last of each case that is not asked any more, or is checked in another way since.

    Of a look that was killed nobody knows what was seen: there a case that vanished counts as lost.
    """
    last: dict[str, RemovedCase] = {}
    asked = set(coming.cases.values())
    for look in here:
        if look.against == NOTHING or (look.against == "baseline") == (coming.against == "baseline"):
            gone = (case for case in look.cases if (case.key, case.checks) not in asked | coming.rejected)
            last |= {case.key: _as_seen(case) for case in gone if case.pairs or look.is_open}
    return tuple(last[key] for key in sorted(last))


def _as_seen(case: SeenCase) -> RemovedCase:
    """A case as it counts now: where an answer was lost, as if that had gone against the skill."""
    return RemovedCase(
        key=case.key,
        pairs=len(case.pairs) or 1,
        passed=sum(pair.passed and not pair.lost[0] for pair in case.pairs),
        passed_against=sum(pair.passed_against or pair.lost[1] for pair in case.pairs) if case.pairs else 1,
        family=case.family,
    )


def removed_pairs(cases: Iterable[RemovedCase]) -> tuple[Pair, ...]:
    """Removed cases as pairs, as estimates take them."""
    return tuple(
        Pair(
            case_id=f"removed {case.key}",
            repeat=number,
            passed=number < case.passed,
            passed_against=number < case.passed_against,
            family=case.family,
        )
        for case in cases
        for number in range(case.pairs)
    )


def _note(
    here: Sequence[Look], earlier: int, coming: NextLook, *, level: float, regraded: int, same: Look | None
) -> str | None:
    parts = []
    if same is not None and _is_answered(same, coming):
        parts.append(f"unchanged since {same.at[:10]}, so no model is asked (--fresh asks again)")
    if regraded:
        changed = f"the checks of {count(regraded, 'case')} changed after these answers were seen"
        parts.append(f"{changed}, so nothing is claimed (--fresh asks again)")
    if earlier:
        stricter = ": a claim that it helps needs stronger evidence than in the first" if level < FIRST_LEVEL else ""
        parts.append(f"{ordinal(earlier + 1)} look at this skill with this model{stricter}")
    gone = [case for case in here[-1].cases if (case.key, case.checks) not in coming.rejected] if here else []
    fewer = len({case.key for case in gone} - coming.keys)
    if fewer:
        parts.append(f"{count(fewer, 'case')} fewer than last time")
    return "; ".join(parts) or None


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `11th`."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"
