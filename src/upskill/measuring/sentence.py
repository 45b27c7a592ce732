"""A judgement in one sentence that a person understands. Decides nothing."""

from upskill.domain import Interval, Lift
from upskill.measuring.decision import Claim, Side
from upskill.measuring.intervals import FEWEST_CASES
from upskill.measuring.planning import NextRun
from upskill.measuring.tokens import Ratio

_NEXT_TO_ZERO = 0.0005


def say_side(side: Side, lift: Lift, interval: Interval, *, claim: Claim, cases: int) -> str:
    """`helps` or `hurts`, and how far that reaches."""
    if claim == "cases like these":
        return f"{side}: {figures(lift, interval)}"
    rest = "too few to speak of others" if cases < FEWEST_CASES else "not shown for other cases like these"
    return f"{side} on {these(cases)}: {figures(lift, interval)}; {rest}"


def say_no_difference(lift: Lift, interval: Interval, *, cases: int) -> str:
    """The lift is surely small, either way."""
    return f"no difference on {these(cases)}: {figures(lift, interval)}"


def say_cheaper(lift: Lift, interval: Interval, tokens: Ratio, *, claim: Claim, cases: int) -> str:
    """No worse, and fewer tokens."""
    where = "" if claim == "cases like these" else f" on {these(cases)}"
    between = "" if tokens.interval is None else f", between {tokens.interval.low:.2f} and {tokens.interval.high:.2f}"
    return f"cheaper{where}: {tokens.typical:.2f} times the tokens{between}; lift {figures(lift, interval)}"


def say_undecided(
    lift: Lift, interval: Interval, *, interrupted: bool, next_run: NextRun | None, arms: int | None = None
) -> str:
    """What is still possible, and what it would take to know.

    Where a trial is one call, that is told in calls; where it takes many, in attempts, one per arm.
    """
    head = "undecided, interrupted" if interrupted else "undecided"
    said = f"{head}: at most {points(interval.high)} points ({figures(lift, interval, unit='')})"
    if next_run is None:
        return said
    cases = "" if next_run.cases is None else f" on {next_run.cases} cases"
    more = f"{next_run.calls:,} more calls" if arms is None else f"{next_run.calls // 2 * arms:,} more attempts"
    return f"{said}; {more}{cases} would find {points(next_run.lift)}"


def say_asked(sentence: str, *, min_lift: float, clears: bool | None) -> str:
    """Add what became of the lift a person asked for."""
    asked = f"{points(min_lift)} points"
    if clears:
        return f"{sentence}; at least {asked} is shown"
    return f"{sentence}; {f'{asked} is not reached' if clears is False else f'at least {asked} is not shown'}"


def these(cases: int) -> str:
    """The cases that were run."""
    return "this 1 case" if cases == 1 else f"these {cases} cases"


def figures(lift: Lift, interval: Interval, *, unit: str = " points") -> str:
    """The lift, its interval and its number of pairs."""
    return f"{points(lift.mean)}{unit}, {_range(interval)}, {lift.pairs} pair{'' if lift.pairs == 1 else 's'}"


def points(share: float) -> str:
    """A share as signed whole points, never rounded across zero: a gain above zero is not shown as 0."""
    rounded = round(share * 100)
    if rounded == 0 and abs(share) > 1e-12:  # below that it is what sums of fractions leave behind
        return f"{share * 100:+.1f}"
    return f"{rounded:+d}" if rounded else "0"


def _range(interval: Interval) -> str:
    # An interval cut at zero has no figure at that end: the verdict says that zero is excluded, and no more.
    if 0 < interval.low < _NEXT_TO_ZERO:
        return f"above 0 and up to {points(interval.high)}"
    if -_NEXT_TO_ZERO < interval.high < 0:
        return f"below 0 and down to {points(interval.low)}"
    return f"between {points(interval.low)} and {points(interval.high)}"
