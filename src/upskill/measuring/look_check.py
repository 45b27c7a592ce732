"""Whether a line of a ledger can be true: its figures are figures, and its verdict follows from its own pairs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from upskill.domain import Interval
from upskill.domain.look import Look
from upskill.domain.text import points
from upskill.measuring.copies import without_copies
from upskill.measuring.intervals import NO_DIFFERENCE, Level, cases_like_these, merge_families, these_cases
from upskill.measuring.pairs import CaseTally, Pair, tally_pairs

_SIGNED = frozenset({"mean", "these_cases", "cases_like_these", "corrected", "lift", "interval"})
_SHARES = frozenset({"pass_rate", "rate", "rate_against", "load_rate", "confidence"})
_CLOSE = 1e-6
_MOST_EXACT = 1_000
"""Pairs that only one arm passed, up to which the law of a fair coin is summed up."""


def contradiction(look: Look) -> str | None:
    """What cannot be true of a look, in a few words; `None` where nothing is wrong.

    Pairs of earlier looks are not in a line, so where some counted only signs and intervals are compared.
    """
    try:
        return _bad_figure(look) or _bad_verdict(look)
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
    wrong = [arm for arm in look.report["arms"].values() if arm["passed"] > arm["trials"]]
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
