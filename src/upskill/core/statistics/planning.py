"""What a plan can find, before anything is spent: the smallest lift that it shows in four runs of five.

One table for every design, simulated with cases that a skill turns from failed to passed, and 5% that it breaks
(benchmarks/results/statistics.md). Where all cases gain alike, asking each case again finds less than that.
"""

DETECTABLE = {
    6: 0.94,
    7: 0.80,
    8: 0.72,
    10: 0.68,
    12: 0.58,
    16: 0.50,
    20: 0.42,
    24: 0.36,
    30: 0.32,
    40: 0.26,
    60: 0.20,
    80: 0.16,
    100: 0.14,
    150: 0.12,
}
"""By the number of cases, or of families."""


def detectable_lift(units: int) -> float | None:
    """The lift on new cases that is shown in four runs of five; `None` with too few cases."""
    return next((lift for cases, lift in reversed(DETECTABLE.items()) if cases <= units), None)


def cases_to_find(lift: float) -> int | None:
    """How many cases show such a lift in four runs of five; `None` where more would be needed than anybody has."""
    return next((cases for cases, smallest in DETECTABLE.items() if smallest <= lift), None)


def describe_plan(*, units: int, pairs: int, at_most: bool) -> str:
    """The line to print before spending; `units` are families, and cases without one."""
    size = f"{'at most ' if at_most else ''}{pairs} pairs"
    lift = detectable_lift(units)
    if lift is None:
        return f"{size}: too few cases for a verdict about new ones"
    return f"{size}: a first look finds a lift of {lift * 100:.0f} points on new cases four times in five"
