"""What a small number of cases costs: power that more repeats do not buy, and breakage that it cannot exclude."""

from upskill.domain.text import count

ENOUGH_CASES = 30
ENOUGH_FAMILIES = 12
"""With fewer, more cases are worth more than more repeats."""
ENOUGH_AGAINST_BREAKAGE = 20
"""With fewer families, a notable part of all such cases could be broken and none of these show it."""
_MORE_CASES = "the power to detect +20 points is 68% with 20 cases and 79% with 50, for about as many calls"
"""From docs/explanation/decisions/0004-statistics.md."""
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
