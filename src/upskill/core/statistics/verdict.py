"""One judgement for every design: the verdict, how far it reaches, and the one sentence that says it to a person."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from upskill.core.nouns import Interval, Lift, Verdict
from upskill.core.nouns.lift import Claim, with_scope
from upskill.core.nouns.text import count, points, points_range
from upskill.core.statistics.distributions import exact_share
from upskill.core.statistics.gate import GateFindings
from upskill.core.statistics.intervals import FEWEST_CASES, NO_DIFFERENCE, ONE_LOOK, Level, Ratio, new_cases
from upskill.core.statistics.lift import measure_lift
from upskill.core.statistics.pairs import (
    CaseTally,
    Pair,
    Pairing,
    Side,
    collapse_copies,
    describe_worst_case,
    reason_to_refuse,
    side_of,
    worst_case,
)
from upskill.core.statistics.planning import cases_to_find

CutShort = Literal["interrupted", "down", "budget"]
"""Why a run did not come to its end: the person stopped it, the endpoint went down, or a cap was reached.

A cap was set before the run and knows nothing of the outcome, so what was run up to it is judged as it stands.
"""

Doubt = Literal["lost answers", "removed cases", "changed checks", "interrupted"]
"""Why a verdict that the interval shows is withheld."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """What may be said of a skill and a student."""

    verdict: Verdict
    sentence: str
    lift: Lift | None
    clears: bool | None = None
    """Whether the lift asked for was shown (`True`) or excluded (`False`); `None` if neither, or if none was."""
    doubt: Doubt | None = None

    @property
    def claim(self) -> Claim | None:
        """How far the verdict reaches; `None` where nothing is claimed."""
        return None if self.lift is None or self.verdict in ("undecided", "invalid") else self.lift.about


def judge(
    pairing: Pairing,
    *,
    level: Level = ONE_LOOK,
    tokens: Ratio | None = None,
    min_lift: float | None = None,
    cut_short: CutShort | None = None,
    removed: Sequence[Pair] = (),
    regraded: bool = False,
    gate: GateFindings | None = None,
) -> Judgement:
    """Judge the pairs of a design that came to its end, or that was `cut_short`.

    `tokens`, measured at the same level as the lift, allows the verdict `cheaper`. `removed` are the last pairs of
    cases that were seen and are asked no more, or are checked in another way: a claim must hold with these as well.
    `regraded`: answers were seen before their checks changed, so nothing is claimed of them.
    """
    lift = measure_lift(pairing, level)
    if cut_short == "down":
        so_far = "no pair was complete" if lift is None else f"so far {figures(lift)}"
        return Judgement(verdict="invalid", sentence=f"no verdict: the endpoint went down; {so_far}", lift=lift)
    if cut_short == "interrupted" and lift is None:
        return Judgement(verdict="undecided", sentence="undecided, interrupted: no pair was complete", lift=None)
    refusal = reason_to_refuse(pairing)
    if lift is None or refusal is not None:
        return Judgement(verdict="invalid", sentence=f"no verdict: {refusal}", lift=lift)
    least, most, doubt = _bounds(pairing, lift, level, removed)
    verdict = _verdict(Interval(low=least, high=most))
    if verdict in ("undecided", "no difference") and tokens is not None and tokens.below_one and least > -NO_DIFFERENCE:
        verdict = "cheaper"
    if verdict == _verdict(lift.interval):
        doubt = None
    if doubt == "lost answers":
        supposes = describe_worst_case(pairing, "helps" if lift.mean > 0 else "hurts")
        lift = replace(lift, interval=Interval(low=least, high=most), supposes=supposes)
    if regraded or cut_short == "interrupted":
        verdict, doubt = "undecided", "changed checks" if regraded else "interrupted"
    clears = None
    if min_lift is not None and doubt not in ("changed checks", "interrupted"):
        clears = True if least >= min_lift else False if lift.interval.high < min_lift else None
    sentence = _sentence(verdict, lift, tokens, doubt, removed=len({pair.case_id for pair in removed}))
    if gate is not None and gate.broken:
        sentence = f"{broken_words(gate.broken, cases=lift.cases or 0)}; {sentence}"
    if min_lift is not None:
        sentence = f"{sentence}; {asked_words(min_lift=min_lift, clears=clears)}"
    return Judgement(verdict=verdict, sentence=sentence, lift=lift, clears=clears, doubt=doubt)


def shown_side(pairing: Pairing, level: Level, *, removed: Sequence[Pair] = ()) -> Side | None:
    """The side that the pairs show, also if every lost answer had gone against it, and with removed cases."""
    lift = measure_lift(pairing, level)
    if lift is None or side_of(lift.interval) is None:
        return None
    low, high, _ = _bounds(pairing, lift, level, removed)
    return side_of(Interval(low=low, high=high))


def _bounds(pairing: Pairing, lift: Lift, level: Level, removed: Sequence[Pair]) -> tuple[float, float, Doubt | None]:
    """The ends of the interval if lost answers had gone against each, the low one with removed cases as well; and what
    moved the low end, or else the high one."""
    least, most = lift.interval.low, lift.interval.high
    doubt: Doubt | None = None
    if pairing.has_lost:
        low, high = (measure_lift(worst_case(pairing, side), level) for side in ("helps", "hurts"))
        least = min(least, least if low is None else low.interval.low)
        most = max(most, most if high is None else high.interval.high)
        doubt = "lost answers"
    if removed:
        whole = measure_lift(replace(pairing, pairs=(*pairing.pairs, *removed)), level)
        if whole is not None and whole.interval.low < least:
            least, doubt = whole.interval.low, "removed cases"
    return least, most, doubt


def _verdict(interval: Interval) -> Verdict:
    side = side_of(interval)
    if side is not None:
        return side
    return "no difference" if interval.low > -NO_DIFFERENCE and interval.high < NO_DIFFERENCE else "undecided"


def holds_among(judgement: Judgement, pairing: Pairing, level: Level, *, models: int) -> bool | None:
    """Whether `helps` for new cases is also shown with the level divided by the number of models tested.

    Who names the best of several models picks the luckiest, so that claim needs the stricter level. `None` where that
    is not claimed, or one model was tested.
    """
    if models < 2 or (judgement.verdict, judgement.claim) != ("helps", "new cases"):
        return None
    interval = new_cases(pairing.tallies, replace(level, error=level.error / models))
    return interval is not None and interval.above_zero


def counted_pairs(pairing: Pairing) -> Pairing:
    """The pairs that count: with too few cases to speak of others, copies of an answer are one answer."""
    lift = measure_lift(pairing)
    return collapse_copies(pairing) if lift is not None and lift.about == "these cases" else pairing


def _sentence(verdict: Verdict, lift: Lift, tokens: Ratio | None, doubt: Doubt | None, *, removed: int) -> str:
    here = with_scope("", lift.about, lift.cases)
    few = "" if lift.about == "new cases" else "; too few to conclude about new cases"
    match verdict:
        case "helps" | "hurts" | "no difference":
            return f"{verdict}{here}: {figures(lift)}{few}"
        case "cheaper" if tokens is not None:
            ends = tokens.interval
            between = "" if ends is None else f" ({_confidence(lift)} {ends.low:.2f} to {ends.high:.2f})"
            return f"cheaper{here}: {tokens.typical:.2f} times the tokens{between}; lift {figures(lift)}{few}"
    match doubt:
        case "lost answers":
            return f"undecided because of lost answers: {figures(lift)}"
        case "removed cases":
            cases = count(removed, "removed or changed case")
            return f"undecided: {figures(lift)}; not shown with the {cases} included"
        case "changed checks":
            return f"undecided: the checks changed after the answers were seen; by the new ones {figures(lift)}"
        case "interrupted":
            return f"undecided, interrupted: {figures(lift)}"
    return f"undecided{here or ' for new cases'}: {figures(lift)}; {changed_words(lift)}{_more_cases(lift)}"


def changed_words(lift: Lift) -> str:
    """How many of the cases changed, and which way: what a person sees in them, whatever may be said of others."""
    changed, what = lift.better + lift.worse, "family" if lift.in_families else "case"
    of = count(lift.units, what, "families" if lift.in_families else "cases")
    if not changed:
        return f"none of {of} changed"
    if not lift.worse or not lift.better:
        which = "for the better" if lift.better else "for the worse"
        return f"{changed} of {of} changed, {f'all {which}' if changed > 1 else which}"
    return f"{changed} of {of} changed: {lift.better} for the better, {lift.worse} for the worse"


def _more_cases(lift: Lift) -> str:
    """How many more cases would show a lift like this one; empty where none is in sight."""
    if lift.about == "these cases":
        return f"; {FEWEST_CASES} cases are the fewest for a verdict about new cases"
    needed = cases_to_find(lift.mean)
    if needed is None:
        return ""
    if needed <= lift.units or lift.is_stricter:
        return "; more cases narrow the interval"
    more = needed - lift.units
    return f"; {count(more, 'more case')} (at least {2 * more} calls) would show a lift like this"


def broken_words(broken: Sequence[CaseTally], *, cases: int) -> str:
    """Which cases a new version broke."""
    named = ", ".join(
        f"{tally.case_id} ({tally.passed_against} of {tally.pairs} before, {tally.passed} now)" for tally in broken[:3]
    )
    more = f" and {len(broken) - 3} more" if len(broken) > 3 else ""
    return f"breaks {len(broken)} of {count(cases, 'case')}: {named}{more}"


def asked_words(*, min_lift: float, clears: bool | None) -> str:
    """What became of the lift a person asked for."""
    asked = f"{points(min_lift)} points"
    if clears:
        return f"a lift of at least {asked} is shown"
    return f"a lift of {f'{asked} is excluded' if clears is False else f'at least {asked} is not shown'}"


def figures(lift: Lift) -> str:
    """The lift, its interval with what that promises, and its number of pairs."""
    ends = points_range(lift.interval.low, lift.interval.high)
    supposed = f" if {lift.supposes}" if lift.supposes else ""
    return f"{points(lift.mean)} points ({_confidence(lift)} {ends}{supposed}, {count(lift.pairs, 'pair')})"


def _confidence(lift: Lift) -> str:
    return f"{round(lift.confidence * 100, 1):g}% CI"


_ENOUGH_AGAINST_BREAKAGE = 20
"""With fewer families, a notable part of all such cases could be broken and none of these show it."""
_UNSEEN = 0.05


def breakage_note(lift: Lift) -> str | None:
    """What so few cases cannot exclude; `None` where there are enough, or where nothing is said of others."""
    if lift.about == "these cases" or lift.units >= _ENOUGH_AGAINST_BREAKAGE:
        return None
    _, most = exact_share(lift.worse, lift.units, _UNSEEN)
    what = count(lift.units, "family", "families") if lift.in_families else count(lift.units, "case")
    if not lift.worse:
        return f"none of {what} broke; up to {most:.0%} of new ones still may"
    return f"{lift.worse} of {what} got worse; up to {most:.0%} of new ones may"
