"""Repeated looks at one skill with one model: which count together, and how strictly the next is tested.

The sum of all levels never exceeds 5% times the number of versions that were found to help, or 5% before the first.
So where no version helps, the chance of ever saying `helps` is at most 5%, however often somebody looks, with whatever
settings and cases; and of the versions that are said to help, at most one in twenty does not, on average (the false
discovery rate). A look at the same text on new cases is one more step of the same experiment: its cases and the earlier
ones count together, and it may spend half of what is left. Any other look spends a tenth.

A line of a ledger is believed only if its figures are figures and its verdict follows from its own pairs.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from upskill.core.nouns import Interval
from upskill.core.nouns.lift import Verdict
from upskill.core.nouns.look import (
    Asked,
    EarlierLook,
    Look,
    LookTerms,
    PooledCase,
    Relation,
    SeenCase,
    SeenPair,
    alike,
)
from upskill.core.nouns.plan import Design
from upskill.core.nouns.text import count, points
from upskill.core.statistics.intervals import (
    FIRST_LEVEL,
    NO_DIFFERENCE,
    Level,
    cases_like_these,
    merge_families,
    these_cases,
)
from upskill.core.statistics.pairs import (
    SHARE_OF_COPIES,
    CaseTally,
    Pair,
    are_copies,
    tally_pairs,
    without_copies,
)

ERROR_OF_ALL_LOOKS = 0.05
SHARE_OF_A_LOOK = 0.1
"""A later look takes this share of what is left."""
SHARE_ON_NEW_CASES = 0.5
"""One at the same text on new cases takes this share, as the first look does."""
LEAST_LEVEL = 1e-6
"""Where ledgers were merged, more may have been spent than there was; a later look then needs overwhelming evidence."""


def level_of_look(earlier: Sequence[float], *, helped: int, on_new_cases: bool = False) -> float:
    """The one-sided level of the next look, after looks at `earlier` levels of which `helped` versions were helpful.

    The first gets .025. While nothing helps, the second gets .0025, the tenth .0011; on new cases of the same text
    the second gets .0125, the third .0063. A version that helps pays for those after it.
    """
    share = SHARE_ON_NEW_CASES if on_new_cases or not earlier else SHARE_OF_A_LOOK
    left = ERROR_OF_ALL_LOOKS * max(1, helped) - sum(earlier)
    return min(FIRST_LEVEL, max(LEAST_LEVEL, share * left))


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
    """Whether these pairs are copies of earlier ones: then only one of the two is evidence.

    Answers are compared by case, arm and repeat: a server that is asked again with the same seed repeats itself.
    """
    earlier = {(case.case_id, repeat): answers for case in prior for repeat, *answers in case.answers}
    both = [
        (one, other)
        for pair in pairs
        for one, other in zip(pair.answers, earlier.get((pair.case_id, pair.repeat), ()), strict=False)
        if one and other
    ]
    return bool(both) and sum(one == other for one, other in both) >= SHARE_OF_COPIES * len(both)


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
    min_lift: float | None
    cases: Mapping[str, tuple[str, str]]
    """By id, the key of each case and the digest of its checks."""
    families: Mapping[str, str] = field(default_factory=dict)
    """By key, the family of each case that names one."""
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By key, the words of each case."""
    rejected: frozenset[str] = frozenset()
    """The keys of cases that cannot tell right from wrong: to leave these out is no choice."""

    @property
    def keys(self) -> frozenset[str]:
        """The cases that are asked."""
        return frozenset(key for key, _ in self.cases.values())

    @property
    def questions(self) -> tuple[SeenCase, ...]:
        """The cases that are asked, before anything is seen of them."""
        return tuple(
            SeenCase(key=key, checks=checks, words=self.words.get(key, ())) for key, checks in self.cases.values()
        )

    def taken(
        self,
        *,
        at: str,
        run: str,
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
            min_lift=self.min_lift,
            cases=cases,
            level=level,
            verdict=verdict,
            claim=claim,
            sentence=sentence,
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


def _on_these_cases(mine: Sequence[Look], coming: NextLook) -> list[Look]:
    """Those of the looks whose cases go back to the cases that are asked now, each by a case in common."""
    keys, found = set(coming.keys), []
    for look in reversed(mine):
        if not keys.isdisjoint(look.keys):
            found.append(look)
            keys |= look.keys
    return found[::-1]


def recorded_look(looks: Iterable[Look], coming: NextLook, *, unknown_after: datetime | None = None) -> Look | None:
    """The look that has answered this already; `None` where something has changed or it never came to its end.

    Where nobody knows what was served, only a look after `unknown_after` answers, if that is given.
    """
    same = [
        look
        for look in looks
        if (look.student, look.model, look.asked, look.design, look.min_lift)
        == (coming.student, coming.model, coming.asked, coming.design, coming.min_lift)
        and _is_same_experiment(look, coming)
        and look.repeats >= coming.repeats
        and {(case.key, case.checks) for case in look.cases} == set(coming.cases.values())
        and {case.key: case.family for case in look.cases if case.family is not None} == coming.families
    ]
    # One without a verdict is asked again: a server that was ill may be well now.
    if not same or (last := max(same, key=lambda look: look.at)).unfinished or last.spoilt:
        return None
    is_old = unknown_after is not None and datetime.fromisoformat(last.at) < unknown_after
    return None if last.served is None and is_old else last


def look_terms(looks: Iterable[Look], coming: NextLook, *, present: Collection[str] = frozenset()) -> LookTerms:
    """How strictly the next look is tested and what it is pooled with. `present` names the answers it will have."""
    mine = _before_the_same(lineage(looks, coming), coming, present)
    tested = [look for look in mine if not look.claims_nothing]
    while tested and _continues(tested[-1], coming, present):
        tested.pop()
    seen = [_has_seen(look, coming.questions) for look in tested]
    earlier = tuple(_earlier(look, coming, seen=each) for look, each in zip(tested, seen, strict=True))
    prior = _pooled(mine, coming, present)
    # A version pays for those after it by what is claimed of them: who asks for a lift must have shown that lift.
    helped = len({look.version for look in tested if look.showed(coming.min_lift)})
    # Whether the cases are new is known before they are asked, so the level may depend on it.
    new = any(one.relation == "pooled" for one in earlier) and not any(seen)
    level = level_of_look([look.level for look in tested], helped=helped, on_new_cases=new)
    here = _on_these_cases(mine, coming)
    regraded = len({case.key for look in here for case in look.cases if _is_regraded(case, coming, present)})
    note = _note(here, earlier, coming, level=level, prior=prior, regraded=regraded)
    removed = _removed(here, coming, pooled=prior)
    return LookTerms(level=level, prior=prior, removed=removed, regraded=regraded, earlier=earlier, note=note)


def _before_the_same(mine: tuple[Look, ...], coming: NextLook, present: Collection[str]) -> tuple[Look, ...]:
    """Those before a look that had the very answers that the next will have: the same look is not a second one."""
    same = recorded_look(mine, coming)
    if same is None or not same.answers or not same.answers <= set(present):
        return mine
    return tuple(look for look in mine if look.at < same.at)


def _is_same_experiment(look: Look, coming: NextLook) -> bool:
    """Whether the same text is compared with the same, asked of the same server in the same way."""
    return (look.kind, look.served, look.version, look.against) == (
        coming.kind,
        coming.served,
        coming.version,
        coming.against,
    )


def _has_seen(look: Look, questions: Sequence[SeenCase]) -> bool:
    """Whether an earlier look asked one of these cases, perhaps in other words."""
    return any(case.asks_like(question) for case in look.cases for question in questions)


def _earlier(look: Look, coming: NextLook, *, seen: bool) -> EarlierLook:
    relation: Relation = "pooled"
    if look.version != coming.version:
        relation = "other version"
    elif not _is_same_experiment(look, coming):
        relation = "other settings"
    elif seen:
        relation = "same cases"
    cases, verdict = len(look.cases), look.verdict
    return EarlierLook(at=look.at, run=look.run, relation=relation, cases=cases, level=look.level, verdict=verdict)


def _is_regraded(case: SeenCase, coming: NextLook, present: Collection[str]) -> bool:
    """Whether answers to a case that were seen under other checks are counted again."""
    if case.key not in coming.keys or (case.key, case.checks) in coming.cases.values():
        return False
    return any(instance in present for pair in case.pairs for instance in pair[:2])


def _continues(look: Look, coming: NextLook, present: Collection[str]) -> bool:
    """Whether the next look goes on where a cap ended this one, with the very answers that it has."""
    return look.unfinished and look.version == coming.version and look.answers <= set(present)


def _pooled(mine: Sequence[Look], coming: NextLook, present: Collection[str]) -> tuple[PooledCase, ...]:
    """The pairs of this version in the same experiment, each answer once, without those that are counted now."""
    ids = {case: case_id for case_id, case in coming.cases.items()}
    questions = coming.questions
    used = set(present)
    pairs: list[Pair] = []
    for look in mine:
        if look.spoilt or not _is_same_experiment(look, coming):
            continue
        for case in look.cases:
            case_id = ids.get((case.key, case.checks))
            if case_id is None and (case.key in coming.rejected or any(case.asks_like(one) for one in questions)):
                continue
            for pair in case.pairs:
                if used.isdisjoint(pair[:2]):
                    used.update(pair[:2])
                    family = coming.families.get(case.key) if case_id else case.family
                    pairs.append(_pair(case_id or _earlier_id(case.key), pair, family))
    return _tallied(without_copies(pairs) if are_copies(pairs) else pairs)


def _earlier_id(key: str) -> str:
    return f"earlier {key}"


def _removed(here: Sequence[Look], coming: NextLook, *, pooled: Iterable[PooledCase]) -> tuple[PooledCase, ...]:
    """What was seen last of each case that is not asked any more, or is checked in another way since, and is not
    counted anyway."""
    last: dict[str, SeenCase] = {}
    asked = set(coming.cases.values())
    for look in here:
        if (look.against == "baseline") == (coming.against == "baseline"):
            last |= {case.key: case for case in look.cases if case.pairs and (case.key, case.checks) not in asked}
    counted = {case.case_id for case in pooled}
    gone = sorted(key for key in last.keys() - coming.rejected if _earlier_id(key) not in counted)
    return _tallied([_pair(f"removed {key}", pair, last[key].family) for key in gone for pair in last[key].pairs])


def _pair(case_id: str, seen: SeenPair, family: str | None) -> Pair:
    """An earlier pair as it counts now: where an answer was lost, as if that had gone against the skill."""
    lost, lost_against = seen.lost
    return Pair(
        case_id=case_id,
        repeat=seen.repeat,
        passed=seen.passed and not lost,
        passed_against=seen.passed_against or lost_against,
        family=family,
        answers=seen.answers,
    )


def _tallied(pairs: Sequence[Pair]) -> tuple[PooledCase, ...]:
    answers: dict[str, dict[tuple[int, str, str], None]] = {}
    for pair in pairs:
        answers.setdefault(pair.case_id, {})[pair.repeat, *pair.answers] = None
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


_RELATIONS: Mapping[Relation, str] = {
    "pooled": "on other cases",
    "same cases": "on these cases",
    "other version": "at another version",
    "other settings": "with other settings",
}


def _note(
    here: Sequence[Look],
    earlier: Sequence[EarlierLook],
    coming: NextLook,
    *,
    level: float,
    prior: Sequence[PooledCase],
    regraded: int,
) -> str | None:
    parts = []
    if regraded:
        changed = f"the checks of {count(regraded, 'case')} changed after these answers were seen"
        parts.append(f"{changed}, so nothing is claimed (--fresh asks again)")
    if earlier:
        counts = Counter(one.relation for one in earlier)
        before = ", ".join(f"{number} {words}" for key, words in _RELATIONS.items() if (number := counts[key]))
        stricter = f"; threshold {level * 100:.2g}% instead of {FIRST_LEVEL * 100:.2g}%" if level < FIRST_LEVEL else ""
        parts.append(f"{ordinal(len(earlier) + 1)} look at this skill with this model, after {before}{stricter}")
    if prior:
        pairs, cases = sum(case.pairs for case in prior), len({case.case_id for case in prior} - coming.cases.keys())
        others = f" on {count(cases, 'other case')}" if cases else ""
        parts.append(f"{count(pairs, 'earlier pair')}{others} {'counts' if pairs == 1 else 'count'} too")
    fewer = len(here[-1].keys - coming.keys - coming.rejected) if here else 0
    if fewer:
        parts.append(f"{count(fewer, 'case')} fewer than last time")
    return "; ".join(parts) or None


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `11th`."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"


_SIGNED = frozenset({"mean", "j", "these_cases", "cases_like_these", "corrected", "lift", "interval"})
_SHARES = frozenset({"pass_rate", "rate", "rate_against", "load_rate", "confidence"})
_CLOSE = 1e-6
_MOST_EXACT = 1_000
"""Pairs that only one arm passed, up to which the law of a fair coin is summed up."""


def contradiction(look: Look) -> str | None:
    """What cannot be true of a look, in a few words; `None` where nothing is wrong.

    Pairs of earlier looks are not in a line, so where some counted only signs and intervals are compared.
    """
    try:
        return _bad_figure(look) or (_bad_verdict(look) if look.asked == "lift" else None)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return "its report cannot be read"


def _bad_figure(look: Look) -> str | None:
    counts = {"lost": look.lost, "lost_against": look.lost_against, "repeats": look.repeats}
    if not 0 < look.level < 0.5:
        return f"level {look.level:g}"
    for name, value in (*_numbers(counts), *_numbers(look.report)):
        finite = not isinstance(value, float) or math.isfinite(value)
        if not finite or (value < 0 and name not in _SIGNED) or (value > 1 and name in _SHARES):
            return f"{name} {value}"
    wrong = [arm for arm in look.report.get("arms", {}).values() if arm["passed"] > arm["trials"]]
    return f"{wrong[0]['passed']} of {wrong[0]['trials']} passed" if wrong else None


def _numbers(value: Any, name: str = "") -> Iterator[tuple[str, int | float]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _numbers(one, str(key))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _numbers(one, name)
    elif isinstance(value, int | float):
        yield name, value


def _bad_verdict(look: Look) -> str | None:
    report, said = look.report, look.report["lifts"][0]
    if (look.verdict, look.claim) != (report["verdict"], report["claim"]):
        return f"verdict {look.verdict}, but its report says {report['verdict']}"
    sided = look.verdict in ("helps", "hurts")
    if sided and look.claim is None:
        return f"verdict {look.verdict} without a claim"
    wide, narrow = said["cases_like_these"], said["these_cases"]
    own = {"cases like these": (wide,), "these cases": (narrow,)}.get(look.claim or "", (wide or narrow, narrow))
    if not any(low - _CLOSE <= said["mean"] <= high + _CLOSE for low, high in own):
        return f"lift {points(said['mean'])}, which is outside its interval"
    low, high = own[0]
    if sided and (low if look.verdict == "helps" else -high) <= 0:
        return f"verdict {look.verdict}, but its interval includes 0"
    if report["earlier_pairs"]:
        return None
    pairs = [
        Pair(case_id=str(number), repeat=0, passed=seen.passed, passed_against=seen.passed_against, family=case.family)
        for number, case in enumerate(look.cases)
        for seen in case.pairs
    ]
    fitting = [own for own in (pairs, without_copies(pairs)) if _fits(said, own, look)]
    if not fitting:
        return f"lift {points(said['mean'])}, which does not match its pairs"
    if not any(_is_shown(own, look) for own in fitting):
        return f"verdict {look.verdict}, which its pairs do not show"
    return None


def _intervals(tallies: Sequence[CaseTally], look: Look) -> tuple[list[Interval], list[Interval | None]]:
    """For these cases and for cases like these, at each strictness that a design can have."""
    narrow = [these_cases(tallies, Level(look.level, looks=looks)) for looks in (1, 2)]
    return narrow, [cases_like_these(tallies, Level(look.level, looks=looks)) for looks in (1, 2, 4)]


def _fits(said: Mapping[str, Any], pairs: Sequence[Pair], look: Look) -> bool:
    """Whether the lift, the rates and the intervals are those of the pairs."""
    tallies = tally_pairs(pairs)
    if not tallies or said["pairs"] != len(pairs):
        return False
    units = merge_families(tallies)
    rates = [
        (
            sum(one.passed / one.pairs for one in units),
            sum(one.passed_against / one.pairs for one in units),
            len(units),
        ),
        (sum(one.passed for one in tallies), sum(one.passed_against for one in tallies), len(pairs)),
    ]
    figures = [(one / of - other / of, one / of, other / of) for one, other, of in rates]
    narrow, wide = _intervals(tallies, look)
    return (
        any(_close((said["mean"], said["rate"], said["rate_against"]), own) for own in figures)
        and any(_same(said["these_cases"], own, look) for own in narrow)
        and any(_same(said["cases_like_these"], own, look) for own in wide)
    )


def _same(said: Sequence[float] | None, own: Interval | None, look: Look) -> bool:
    """Whether an interval is the one that was computed, cut at zero where a side was decided without it."""
    if said is None or own is None:
        return said is None and own is None
    low = max(own.low, 0.0) if look.verdict == "helps" and abs(said[0]) < _CLOSE else own.low
    high = min(own.high, 0.0) if look.verdict == "hurts" and abs(said[1]) < _CLOSE else own.high
    return _close(said, (low, high))


def _close(said: Sequence[float], own: Sequence[float]) -> bool:
    return all(math.isclose(one, other, abs_tol=_CLOSE) for one, other in zip(said, own, strict=True))


def _is_shown(pairs: Sequence[Pair], look: Look) -> bool:
    """Whether some test that upskill knows could have come to this verdict with these pairs."""
    narrow, wide = _intervals(tally_pairs(pairs), look)
    shown = [one for one in (*narrow, *wide) if one is not None]
    if look.report.get("clears") and not any(one.low >= (look.min_lift or 0.0) - _CLOSE for one in shown):
        return False
    match look.verdict:
        case "helps":
            return any(one.above_zero for one in shown) or _tail(pairs, won=True) <= look.level
        case "hurts":
            return any(one.below_zero for one in shown) or _tail(pairs, won=False) <= look.level
        case "no difference":
            return any(one.low > -NO_DIFFERENCE and one.high < NO_DIFFERENCE for one in shown)
        case "cheaper":
            return any(one.low > -NO_DIFFERENCE for one in shown)
        case _:
            return True


def _tail(pairs: Sequence[Pair], *, won: bool) -> float:
    """How often a fair coin does as well: no boundary of a sign test is crossed where that is more than its level."""
    decided = [pair.passed is won for pair in pairs if pair.passed is not pair.passed_against]
    number, hits = len(decided), sum(decided)
    if number > _MOST_EXACT:
        return 0.0
    return sum(math.comb(number, k) for k in range(hits, number + 1)) / (1 << number)
