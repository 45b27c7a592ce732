"""One judgement for every design: the verdict, how far it reaches, and the one sentence that says it to a person.

The never-worse guard finds single cases that a skill made worse, which a mean over all cases would hide: first a
screen, which proves nothing and says only where to look again; then fresh pairs on the suspects alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from upskill.core.nouns import Interval, Lift, Verdict
from upskill.core.nouns.text import count, points, points_range
from upskill.core.statistics.distributions import fisher_greater
from upskill.core.statistics.intervals import (
    FEWEST_CASES,
    FIXED,
    NO_DIFFERENCE,
    SEQUENTIAL,
    Level,
    Ratio,
    cases_like_these,
    merge_families,
    these_cases,
)
from upskill.core.statistics.lift import correct_for_selection, measure_lift
from upskill.core.statistics.pairs import (
    CaseTally,
    Claim,
    Decision,
    Pairing,
    Reason,
    Side,
    collapse_copies,
    describe_worst_case,
    reason_to_refuse,
    side_of,
    worst_case,
)
from upskill.core.statistics.planning import NextRun, plan_next_run

CutShort = Literal["interrupted", "down", "budget"]
"""Why a run did not come to its end: the person stopped it, the endpoint went down, or a cap was reached.

A cap was set before the run and knows nothing of the outcome, so what was run up to it is judged as it stands.
"""

_ABOVE_ZERO = 1e-9
"""Where an interval is cut on the verdict's side: the design has excluded zero, and shown no more than that."""
FEWEST_PAIRS = 3
"""Where every answer is a coin flip, two wins of two come up once in sixteen times, three of three in sixty-four."""
FEWEST_CASES_NO_WORSE = 35
"""With fewer, a skill that breaks one case in ten breaks none of these more often than once in forty times."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """What may be said of a skill and a student."""

    verdict: Verdict
    sentence: str
    lift: Lift | None
    claim: Claim | None = None
    """How far a verdict reaches; `None` where nothing is claimed."""
    reason: Reason | None = None
    """Why the design stopped; `None` for a design of fixed size."""
    clears: bool | None = None
    """Whether the lift asked for was shown (`True`) or excluded (`False`); `None` if neither, or if none was."""


def judge(
    pairing: Pairing,
    *,
    decision: Decision | None = None,
    tokens: Ratio | None = None,
    min_lift: float | None = None,
    cut_short: CutShort | None = None,
    arms: int | None = None,
    level: Level | None = None,
) -> Judgement:
    """Judge a design of fixed size or, with its decision, one that could stop early.

    `arms`, where a trial takes more than one call, is how many trials stand beside each other in a turn.

    `level` is that of the design; by default of a first look. `tokens`, measured at the same level as the lift,
    allows the verdict `cheaper`. A design of fixed size that a person cut short claims nothing: where it ended was
    not fixed beforehand, as it is with a cap.
    """
    level = level or (FIXED if decision is None else SEQUENTIAL)
    if decision is None:
        pairing = collapse_copies(pairing)
    lift = measure_lift(pairing, level)
    if cut_short == "down":
        so_far = "no pair was complete" if lift is None else f"so far {figures(lift, lift.these_cases)}"
        return Judgement(verdict="invalid", sentence=f"no verdict: the endpoint went down; {so_far}", lift=lift)
    if cut_short == "interrupted" and lift is None:
        return Judgement(verdict="undecided", sentence="undecided, interrupted: no pair was complete", lift=None)
    if cut_short == "interrupted" and decision is None:
        decision = Decision(reason="interrupted")
    refusal = reason_to_refuse(pairing)
    if lift is None or refusal is not None:
        reason = decision.reason if decision is not None else None
        return Judgement(verdict="invalid", sentence=f"no verdict: {refusal}", lift=lift, reason=reason)
    if decision is None and lift.cases_like_these is None:
        lift = replace(lift, these_cases=_strict(pairing, level))
    found = decision or _decide_fixed(pairing, lift, level, min_lift=min_lift)
    judgement = _word(pairing, lift, found, tokens, arms, level)
    judgement = _surviving(judgement, pairing, level, min_lift=min_lift)
    if min_lift is None:
        return judgement
    sentence = say_asked(judgement.sentence, min_lift=min_lift, clears=judgement.clears)
    return replace(judgement, sentence=sentence)


def only_if_both(judgement: Judgement, whole: Judgement, *, removed: int) -> Judgement:
    """The judgement, if that over all cases claims as much; otherwise nothing is claimed.

    `whole` has the cases that were removed since an earlier look, and those whose checks changed, as they were: whoever
    drops what failed, or lets it pass, must not win by it.
    """
    if whole.verdict == judgement.verdict and whole.claim in ("cases like these", judgement.claim):
        if whole.clears == judgement.clears:
            return judgement
        return replace(judgement, clears=None, sentence=f"{judgement.sentence}; {_not_shown(removed)}")
    lift = judgement.lift
    shown = (
        judgement.sentence if lift is None else f"undecided: {figures(lift, lift.cases_like_these or lift.these_cases)}"
    )
    sentence = f"{shown}; {_not_shown(removed)}"
    return replace(judgement, verdict="undecided", claim=None, clears=None, sentence=sentence)


def _not_shown(removed: int) -> str:
    return f"not shown with the {count(removed, 'removed or changed case')} included"


def holds_among(judgement: Judgement, pairing: Pairing, level: Level, *, models: int) -> bool | None:
    """Whether `helps` for cases like these is also shown with the level divided by the number of models tested.

    Who names the best of several models picks the luckiest, so that claim needs the stricter level. `None` where that
    is not claimed, or one model was tested.
    """
    if models < 2 or (judgement.verdict, judgement.claim) != ("helps", "cases like these"):
        return None
    interval = cases_like_these(pairing.tallies, replace(level, error=level.error / models))
    return interval is not None and interval.above_zero


def _decide_fixed(pairing: Pairing, lift: Lift, level: Level, *, min_lift: float | None) -> Decision:
    """What the intervals of a fixed design show; the wider claim goes first.

    The narrower one takes the stricter interval: where both claims are possible, two chances at one in twenty each
    would be wrong more often than one in twenty; and with very few cases the usual one is wrong more often.
    """
    wide, narrow, strict = lift.cases_like_these, lift.these_cases, _strict(pairing, level)
    shown = wide or narrow
    clears = None
    if min_lift is not None and not shown.low < min_lift <= shown.high:
        clears = shown.low >= min_lift
    verdict: Verdict = "undecided"
    claim: Claim | None = None
    if wide is not None and (side := side_of(wide)) is not None:
        verdict, claim = side, "cases like these"
    elif pairing.count >= FEWEST_PAIRS and (side := side_of(strict)) is not None:
        verdict, claim = side, "these cases"
    elif strict.low > -NO_DIFFERENCE and strict.high < NO_DIFFERENCE:
        verdict, claim = "no difference", "these cases"
    return Decision(reason=None, verdict=verdict, claim=claim, clears=clears)


def _strict(pairing: Pairing, level: Level) -> Interval:
    """The interval for these cases of a design that could stop early."""
    return these_cases(pairing.tallies, replace(level, looks=SEQUENTIAL.looks))


def _word(
    pairing: Pairing, lift: Lift, found: Decision, tokens: Ratio | None, arms: int | None, level: Level
) -> Judgement:
    cases = len(pairing.tallies)
    widest: Claim = "these cases" if lift.cases_like_these is None else "cases like these"
    verdict, claim = found.verdict, found.claim
    may_be_cheaper = verdict in ("undecided", "no difference") and found.reason != "interrupted"
    if may_be_cheaper and tokens is not None and tokens.below_one:
        enough = len(merge_families(pairing.tallies)) >= FEWEST_CASES_NO_WORSE
        claims: tuple[Claim, ...] = (widest, "these cases") if enough else ("these cases",)
        no_worse = [one for one in claims if _interval(lift, one).low > -NO_DIFFERENCE]
        if no_worse:
            verdict, claim = "cheaper", no_worse[0]
    about = claim or widest
    if about == "these cases":
        # The interval for these cases is centred on the pooled difference, so that is the figure to print beside it.
        rate, rate_against = _pooled(pairing.tallies)
        lift = replace(lift, mean=rate - rate_against, rate=rate, rate_against=rate_against)
    interval = _interval(lift, about)
    match verdict:
        case "helps" | "hurts":
            interval = _cut(interval, verdict)
            wide = about == "cases like these"
            lift = replace(lift, cases_like_these=interval) if wide else replace(lift, these_cases=interval)
            lift = replace(lift, corrected=correct_for_selection(pairing.tallies, lift.mean))
            sentence = say_side(verdict, lift, interval, claim=about, cases=cases)
        case "cheaper" if tokens is not None:
            sentence = say_cheaper(lift, interval, tokens, claim=about, cases=cases)
        case "no difference":
            # The stricter interval decided, so it is the one that is shown, here and wherever the lift is.
            lift = replace(lift, these_cases=_strict(pairing, level))
            sentence = say_no_difference(lift, lift.these_cases, cases=cases)
        case _:
            sentence = say_undecided(
                lift,
                interval,
                interrupted=found.reason == "interrupted",
                next_run=plan_next_run(pairing.tallies, at_most=interval.high, claim=widest),
                arms=arms,
            )
    return Judgement(
        verdict=verdict, sentence=sentence, lift=lift, claim=claim, reason=found.reason, clears=found.clears
    )


def _pooled(tallies: Sequence[CaseTally]) -> tuple[float, float]:
    """The pass rates over all pairs, whichever case they are of."""
    pairs = sum(tally.pairs for tally in tallies)
    return sum(tally.passed for tally in tallies) / pairs, sum(tally.passed_against for tally in tallies) / pairs


def _interval(lift: Lift, claim: Claim) -> Interval:
    wide = lift.cases_like_these
    return wide if claim == "cases like these" and wide is not None else lift.these_cases


def _cut(interval: Interval, side: Side) -> Interval:
    if side == "helps":
        return replace(interval, low=max(interval.low, _ABOVE_ZERO))
    return replace(interval, high=min(interval.high, -_ABOVE_ZERO))


def say_side(side: Side, lift: Lift, interval: Interval, *, claim: Claim, cases: int) -> str:
    """`helps` or `hurts`, and how far that reaches."""
    if claim == "cases like these":
        return f"{side}: {figures(lift, interval)}"
    rest = "too few to conclude about new cases" if cases < FEWEST_CASES else "not shown for new cases of this kind"
    return f"{side} on {these(cases)}: {figures(lift, interval)}; {rest}"


def say_no_difference(lift: Lift, interval: Interval, *, cases: int) -> str:
    """The lift is surely small, either way."""
    return f"no difference on {these(cases)}: {figures(lift, interval)}"


def say_cheaper(lift: Lift, interval: Interval, tokens: Ratio, *, claim: Claim, cases: int) -> str:
    """No worse, and fewer tokens."""
    where = "" if claim == "cases like these" else f" on {these(cases)}"
    ends = tokens.interval
    between = "" if ends is None else f" ({_confidence(lift)} {ends.low:.2f} to {ends.high:.2f})"
    return f"cheaper{where}: {tokens.typical:.2f} times the tokens{between}; lift {figures(lift, interval)}"


def say_undecided(
    lift: Lift, interval: Interval, *, interrupted: bool, next_run: NextRun | None, arms: int | None = None
) -> str:
    """What is still possible, and what it would take to know.

    Where a trial is one call, that is given in calls; where it takes many, in attempts, one per arm.
    """
    head = "undecided, interrupted" if interrupted else "undecided"
    sentence = f"{head}: {figures(lift, interval)}"
    if next_run is None:
        return sentence
    cases = "" if next_run.cases is None else f" on {next_run.cases} cases"
    more = f"{next_run.calls:,} more calls" if arms is None else f"{next_run.calls // 2 * arms:,} more answers"
    return f"{sentence}; to detect {points(next_run.lift)}: {more}{cases}"


def say_asked(sentence: str, *, min_lift: float, clears: bool | None) -> str:
    """Add what became of the lift a person asked for."""
    asked = f"{points(min_lift)} points"
    if clears:
        return f"{sentence}; a lift of at least {asked} is shown"
    return f"{sentence}; a lift of {f'{asked} is excluded' if clears is False else f'at least {asked} is not shown'}"


def these(cases: int) -> str:
    """The cases that were run."""
    return "this 1 case" if cases == 1 else f"these {cases} cases"


def figures(lift: Lift, interval: Interval) -> str:
    """The lift, its interval with what that promises, and its number of pairs."""
    ends = points_range(interval.low, interval.high)
    return f"{points(lift.mean)} points ({_confidence(lift)} {ends}, {count(lift.pairs, 'pair')})"


def _confidence(lift: Lift) -> str:
    return f"{round(lift.confidence * 100, 1):g}% CI"


def _surviving(judgement: Judgement, pairing: Pairing, level: Level, *, min_lift: float | None) -> Judgement:
    """What holds even if every lost answer had gone against it; where a claim does not, nothing is claimed.

    Where a design that could stop early claimed nothing for that reason, although its interval is on one side, it says
    so too.
    """
    lift, verdict, claim = judgement.lift, judgement.verdict, judgement.claim or "cases like these"
    if lift is None or not pairing.has_lost:
        return judgement
    if verdict == "undecided" and judgement.reason != "interrupted":
        verdict = side_of(_interval(lift, claim)) or verdict
    side: Side = "hurts" if verdict == "hurts" else "helps"
    feared = measure_lift(worst_case(pairing, side), level)
    if feared is None:
        return judgement
    interval = _interval(feared, claim)
    if judgement.clears and min_lift is not None and interval.low < min_lift:
        judgement = replace(judgement, clears=None)
    holds = {
        "helps": interval.above_zero,
        "hurts": interval.below_zero,
        "cheaper": interval.low > -NO_DIFFERENCE,
    }
    if holds.get(verdict, True):
        return judgement
    shown = f"undecided: {figures(lift, _interval(lift, claim))}"
    sentence = f"{shown}; not shown if {describe_worst_case(pairing, side)}"
    return replace(judgement, verdict="undecided", claim=None, sentence=sentence)


ENOUGH_CASES = 30
ENOUGH_FAMILIES = 12
"""With fewer, more cases are worth more than more repeats."""
ENOUGH_AGAINST_BREAKAGE = 20
"""With fewer families, a notable part of all such cases could be broken and none of these show it."""
_MORE_CASES = "the power to detect +20 points is 68% with 20 cases and 79% with 50, for about as many calls"
"""See docs/explanation/what-the-interval-means.md."""
_UNSEEN = 0.05


def more_cases_hint(*, cases: int, families: int) -> str | None:
    """Advice where there are few cases or families; `None` where there are enough."""
    if cases >= ENOUGH_CASES and families >= ENOUGH_FAMILIES:
        return None
    more = "cases" if families == cases else "families of cases"
    return f"{_counted(cases, families)}: more {more} help more than more repeats; {_MORE_CASES}"


def breakage_note(*, cases: int, families: int) -> str | None:
    """What so few cases cannot exclude; `None` where there are enough, or none."""
    if not 0 < families < ENOUGH_AGAINST_BREAKAGE:
        return None
    broken = f"breaks up to {most_broken(families):.0%} of new cases"
    return f"{_counted(cases, families)} cannot rule out that the skill {broken}"


def most_broken(families: int) -> float:
    """The share of all such cases that can be broken, and still one time in twenty none of these is."""
    return float(1 - _UNSEEN ** (1 / families))


def _counted(cases: int, families: int) -> str:
    return count(cases, "case") + ("" if families == cases else f" in {count(families, 'family', 'families')}")


FRESH_PAIRS = 8
"""How many new pairs a suspect is given."""
ALPHA = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class WorsenedCase:
    """A case that is significantly worse in the measured arm."""

    case_id: str
    passed: int
    passed_against: int
    pairs: int
    probability: float
    """How likely so large a loss is if the arms were alike."""


def screen_cases(tallies: Sequence[CaseTally]) -> tuple[CaseTally, ...]:
    """The suspects: cases that lost at least two passes, and at least half of their pairs."""
    return tuple(
        tally for tally in tallies if tally.passed_against - tally.passed >= max(2, math.ceil(tally.pairs / 2))
    )


def confirm_worse(fresh: Sequence[CaseTally]) -> tuple[WorsenedCase, ...]:
    """Which suspects are worse, from fresh pairs only: Fisher's exact test, with Holm's correction over suspects."""
    tested = sorted((_test(tally) for tally in fresh), key=lambda worse: worse.probability)
    found: list[WorsenedCase] = []
    for rank, worse in enumerate(tested):
        if worse.probability >= ALPHA / (len(tested) - rank):
            break
        found.append(worse)
    return tuple(found)


def _test(tally: CaseTally) -> WorsenedCase:
    failed, failed_against = tally.pairs - tally.passed, tally.pairs - tally.passed_against
    return WorsenedCase(
        case_id=tally.case_id,
        passed=tally.passed,
        passed_against=tally.passed_against,
        pairs=tally.pairs,
        probability=fisher_greater(failed, tally.pairs, failed_against, tally.pairs),
    )
