"""Repeated looks at the same cases: which belong together, which count again, and how strictly the next is tested.

The sum of all levels never exceeds 5% times the number of versions that were found to help, or 5% before the first.
So where no version helps, the chance of ever saying `helps` is at most 5%, however often somebody looks; and of the
versions that are said to help, at most one in twenty does not, on average (the false discovery rate).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from upskill.domain.lift import Verdict
from upskill.domain.look import Look, LookTerms, PooledCase, SeenCase, SeenPair, alike
from upskill.domain.plan import Design
from upskill.domain.text import count
from upskill.measuring.copies import are_copies, without_copies
from upskill.measuring.pairs import CaseTally, Pair, tally_pairs

ERROR_OF_ALL_LOOKS = 0.05
FIRST_LEVEL = 0.025
"""The one-sided level of the first look, and the most that a later one gets."""
SHARE_OF_A_LOOK = 0.1
"""A later look takes this share of what is left."""
LEAST_LEVEL = 1e-6
"""Where ledgers were merged, more may have been spent than there was; a later look then needs overwhelming evidence."""


def level_of_look(earlier: Sequence[float], *, helped: int) -> float:
    """The one-sided level of the next look, after looks at `earlier` levels of which `helped` versions were helpful.

    The first gets .025. While nothing helps, the second gets .0025, the tenth .0011. A version that helps pays for
    those after it.
    """
    if not earlier:
        return FIRST_LEVEL
    left = ERROR_OF_ALL_LOOKS * max(1, helped) - sum(earlier)
    return min(FIRST_LEVEL, max(LEAST_LEVEL, SHARE_OF_A_LOOK * left))


def level_after(helped: Sequence[bool]) -> float:
    """The level of the next look, from whether each earlier one found that something helps."""
    levels: list[float] = []
    for number in range(len(helped) + 1):
        levels.append(level_of_look(levels, helped=sum(helped[:number])))
    return levels[-1]


FIRST_LOOK = LookTerms(level=FIRST_LEVEL)


def tallies_of(cases: Iterable[PooledCase]) -> tuple[CaseTally, ...]:
    """Pairs of earlier looks, as estimates take them."""
    return tuple(
        CaseTally(
            case_id=case.case_id,
            pairs=case.pairs,
            passed=case.passed,
            passed_against=case.passed_against,
            family=case.family,
        )
        for case in cases
    )


def repeats_earlier(pairs: Sequence[Pair], prior: Iterable[PooledCase]) -> bool:
    """Whether these pairs are copies of earlier ones: then only one of the two is evidence."""
    earlier = [
        Pair(case_id=case.case_id, repeat=0, passed=False, passed_against=False, answers=answers)
        for case in prior
        for answers in case.answers
    ]
    return bool(earlier) and are_copies([*pairs, *earlier])


@dataclass(frozen=True, kw_only=True, slots=True)
class NextLook:
    """A look that is about to be taken. The names are those of `Look`."""

    student_key: str
    served: str | None
    skill: str
    version: str
    sketch: tuple[str, ...]
    against: str
    design: Design
    repeats: int
    min_lift: float | None
    cases: Mapping[str, tuple[str, str]]
    """By id, the key of each case and the digest of its checks."""
    families: Mapping[str, str] = field(default_factory=dict)
    """By key, the family of each case that names one."""
    rejected: frozenset[str] = frozenset()
    """The keys of cases that cannot tell right from wrong: to leave these out is no choice."""

    @property
    def keys(self) -> frozenset[str]:
        """The cases that are asked."""
        return frozenset(key for key, _ in self.cases.values())

    def taken(
        self,
        *,
        at: str,
        run: str,
        student: str,
        cases: tuple[SeenCase, ...],
        level: float,
        verdict: Verdict,
        claim: str | None,
        sentence: str,
    ) -> Look:
        """The look that came of it."""
        return Look(
            at=at,
            run=run,
            student=student,
            student_key=self.student_key,
            served=self.served,
            skill=self.skill,
            version=self.version,
            sketch=self.sketch,
            against=self.against,
            design=self.design,
            repeats=self.repeats,
            min_lift=self.min_lift,
            cases=cases,
            level=level,
            verdict=verdict,
            claim=claim,
            sentence=sentence,
        )


def taken_again(look: Look) -> NextLook:
    """The same look as one that is about to be taken, to ask which looks belong to it."""
    return NextLook(
        student_key=look.student_key,
        served=look.served,
        skill=look.skill,
        version=look.version,
        sketch=look.sketch,
        against=look.against,
        design=look.design,
        repeats=look.repeats,
        min_lift=look.min_lift,
        cases={case.key: (case.key, case.checks) for case in look.cases},
        families={case.key: case.family for case in look.cases if case.family is not None},
    )


def lineage(looks: Iterable[Look], coming: NextLook) -> tuple[Look, ...]:
    """The looks of this student at versions of this skill, on cases of which it shares at least one; oldest first.

    A version has the name of another one, or half of its lines.
    """
    waiting = [look for look in looks if look.student_key == coming.student_key]
    keys, names, sketches = set(coming.keys), {coming.skill}, {coming.sketch}
    found: list[Look] = []
    while True:
        new = [
            look
            for look in waiting
            if not keys.isdisjoint(look.keys)
            and (look.skill in names or any(alike(look.sketch, sketch) for sketch in sketches))
        ]
        if not new:
            return tuple(sorted(found, key=lambda look: look.at))
        found += new
        waiting = [look for look in waiting if look not in new]
        for look in new:
            keys |= look.keys
            names.add(look.skill)
            sketches.add(look.sketch)


def recorded_look(looks: Iterable[Look], coming: NextLook, *, unknown_after: datetime) -> Look | None:
    """The look that has answered this already; `None` where something has changed or it never came to its end.

    Where nobody knows what was served, only a look after `unknown_after` answers.
    """
    same = [
        look
        for look in looks
        if (look.student_key, look.served, look.version, look.against, look.design, look.min_lift)
        == (coming.student_key, coming.served, coming.version, coming.against, coming.design, coming.min_lift)
        and look.repeats >= coming.repeats
        and {(case.key, case.checks) for case in look.cases} == set(coming.cases.values())
        and {case.key: case.family for case in look.cases if case.family is not None} == coming.families
    ]
    # One without a verdict is asked again: a server that was ill may be well now.
    if not same or (last := max(same, key=lambda look: look.at)).unfinished or last.spoilt:
        return None
    if last.served is None and datetime.fromisoformat(last.at) < unknown_after:
        return None
    return last


def look_terms(looks: Iterable[Look], coming: NextLook, *, present: Collection[str] = frozenset()) -> LookTerms:
    """How strictly the next look is tested and what it is pooled with. `present` names the answers it will have."""
    mine = lineage(looks, coming)
    tested = [look for look in mine if not look.claims_nothing]
    while tested and _continues(tested[-1], coming, present):
        tested.pop()
    # A version pays for those after it by what is claimed of them: who asks for a lift must have shown that lift.
    helped = len({look.version for look in tested if look.showed(coming.min_lift)})
    level = level_of_look([look.level for look in tested], helped=helped)
    prior = _pooled(mine, coming, present)
    removed = _removed(mine, coming)
    return LookTerms(
        level=level, prior=prior, removed=removed, note=_note(mine, tested, coming, level=level, prior=prior)
    )


def _continues(look: Look, coming: NextLook, present: Collection[str]) -> bool:
    """Whether the next look goes on where a cap ended this one, with the very answers that it has."""
    return look.unfinished and look.version == coming.version and look.answers <= set(present)


def _pooled(mine: Sequence[Look], coming: NextLook, present: Collection[str]) -> tuple[PooledCase, ...]:
    """The pairs of this version on the present cases, each answer once, without those that are counted now."""
    ids = {case: case_id for case_id, case in coming.cases.items()}
    used = set(present)
    pairs: list[Pair] = []
    for look in mine:
        if look.spoilt or (look.version, look.against, look.served) != (coming.version, coming.against, coming.served):
            continue
        for case in look.cases:
            if (case_id := ids.get((case.key, case.checks))) is None:
                continue
            for pair in case.pairs:
                if used.isdisjoint(pair[:2]):
                    used.update(pair[:2])
                    pairs.append(_pair(case_id, pair, coming.families.get(case.key)))
    return _tallied(without_copies(pairs) if are_copies(pairs) else pairs)


def _removed(mine: Sequence[Look], coming: NextLook) -> tuple[PooledCase, ...]:
    """What was seen last of each case that is no longer asked."""
    last: dict[str, SeenCase] = {}
    for look in mine:
        if (look.against == "baseline") == (coming.against == "baseline"):
            last |= {case.key: case for case in look.cases if case.pairs}
    gone = sorted(last.keys() - coming.keys - coming.rejected)
    return _tallied([_pair(f"removed {key}", pair, last[key].family) for key in gone for pair in last[key].pairs])


def _pair(case_id: str, seen: SeenPair, family: str | None) -> Pair:
    """An earlier pair as it counts now: where an answer was lost, as if that had gone against the skill."""
    lost, lost_against = seen.lost
    return Pair(
        case_id=case_id,
        repeat=0,
        passed=seen.passed and not lost,
        passed_against=seen.passed_against or lost_against,
        family=family,
        answers=seen.answers,
    )


def _tallied(pairs: Sequence[Pair]) -> tuple[PooledCase, ...]:
    answers: dict[str, dict[tuple[str, str], None]] = {}
    for pair in pairs:
        answers.setdefault(pair.case_id, {})[pair.answers] = None
    return tuple(
        PooledCase(
            case_id=tally.case_id,
            pairs=tally.pairs,
            passed=tally.passed,
            passed_against=tally.passed_against,
            family=tally.family,
            answers=tuple(answers[tally.case_id]),
        )
        for tally in tally_pairs(pairs)
    )


def _note(
    mine: Sequence[Look], tested: Sequence[Look], coming: NextLook, *, level: float, prior: Sequence[PooledCase]
) -> str | None:
    parts = []
    stricter = (
        f"; stricter threshold, {level * 100:.2g}% instead of {FIRST_LEVEL * 100:.2g}%" if level < FIRST_LEVEL else ""
    )
    versions = {look.version for look in tested}
    if coming.version in versions:
        again = sum(look.version == coming.version for look in tested) + 1
        parts.append(f"{ordinal(again)} look at this version on these cases{stricter}")
    elif versions:
        parts.append(f"{ordinal(len(versions) + 1)} version on these cases{stricter}")
    if prior:
        pairs = sum(case.pairs for case in prior)
        parts.append(f"{count(pairs, 'earlier pair')} of this version {'counts' if pairs == 1 else 'count'} too")
    fewer = len(mine[-1].keys - coming.keys - coming.rejected) if mine else 0
    if fewer:
        parts.append(f"{count(fewer, 'case')} fewer than last time")
    return "; ".join(parts) or None


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `11th`."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"
