"""The verdict of a fixed design, and the one sentence that says it to a person."""

from dataclasses import dataclass
from typing import Literal

from upskill.domain import Interval, Lift, Verdict
from upskill.measuring.intervals import FEWEST_CASES, Z_SEQUENTIAL, these_cases
from upskill.measuring.lift import measure_lift
from upskill.measuring.pairs import Pairing
from upskill.measuring.refusal import reason_to_refuse

NO_DIFFERENCE = 0.10
"""A lift surely smaller than this, either way, is called no difference."""

Claim = Literal["cases like these", "these cases"]
CutShort = Literal["interrupted", "down"]
"""Why a design did not run to its end: the person stopped it, or the endpoint went down."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """What may be said of a skill and a student."""

    verdict: Verdict
    sentence: str
    lift: Lift | None
    claim: Claim | None = None
    """How far a verdict reaches; `None` where nothing is claimed."""


def judge(pairing: Pairing, *, cut_short: CutShort | None = None) -> Judgement:
    """Judge a design of fixed size. One that was cut short claims nothing: its size was not fixed beforehand."""
    lift = measure_lift(pairing)
    if cut_short is not None:
        so_far = "no pair was complete" if lift is None else f"so far {_figures(lift, lift.these_cases)}"
        if cut_short == "interrupted":
            return Judgement(verdict="undecided", sentence=f"undecided, stopped early: {so_far}", lift=lift)
        return Judgement(verdict="invalid", sentence=f"no verdict, the endpoint went down: {so_far}", lift=lift)
    refusal = reason_to_refuse(pairing)
    if lift is None or refusal is not None:
        return Judgement(verdict="invalid", sentence=f"no verdict: {refusal}", lift=lift)
    cases = len(pairing.tallies)
    wide, narrow = lift.cases_like_these, lift.these_cases
    if wide is not None and (verdict := _side(wide)) is not None:
        return Judgement(
            verdict=verdict,
            sentence=f"{verdict}: {_figures(lift, wide)}",
            lift=lift,
            claim="cases like these",
        )
    if (verdict := _side(narrow)) is not None:
        rest = "too few cases to speak of others" if cases < FEWEST_CASES else "not shown for other cases like these"
        return Judgement(
            verdict=verdict,
            sentence=f"{verdict} on these {cases} cases: {_figures(lift, narrow)}; {rest}",
            lift=lift,
            claim="these cases",
        )
    strict = these_cases(pairing.tallies, z=Z_SEQUENTIAL)
    if strict.low > -NO_DIFFERENCE and strict.high < NO_DIFFERENCE:
        return Judgement(
            verdict="no difference",
            sentence=f"no difference on these {cases} cases: {_figures(lift, strict)}",
            lift=lift,
            claim="these cases",
        )
    shown = wide or narrow
    return Judgement(verdict="undecided", sentence=f"undecided: {_figures(lift, shown)}", lift=lift)


def _side(interval: Interval) -> Literal["helps", "hurts"] | None:
    if interval.above_zero:
        return "helps"
    return "hurts" if interval.below_zero else None


def _figures(lift: Lift, interval: Interval) -> str:
    return (
        f"{points(lift.mean)} points, between {points(interval.low)} and {points(interval.high)}, "
        f"{lift.pairs} pair{'' if lift.pairs == 1 else 's'}"
    )


def points(share: float) -> str:
    """A share as signed whole points, never rounded across zero: a gain above zero is not shown as 0."""
    rounded = round(share * 100)
    if rounded == 0 and share != 0:
        return f"{share * 100:+.1f}"
    return f"{rounded:+d}" if rounded else "0"
