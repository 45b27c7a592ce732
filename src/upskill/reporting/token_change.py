"""How many more or fewer tokens a skill takes, in words."""

from dataclasses import dataclass

from upskill.domain import Interval


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenRatio:
    """Tokens of the measured arm for one token of the other, in the typical case."""

    student: str
    typical: float
    interval: Interval | None


def token_change(ratio: TokenRatio) -> str:
    """The change in the typical case, with its interval where it has one."""
    said = f"{_times(ratio.typical)} tokens"
    return said if ratio.interval is None else f"{said} ({_range(ratio.interval)})"


def _range(interval: Interval) -> str:
    """Both ends; where they lie on the same side, its word stands once."""
    low, high = _times(interval.low), _times(interval.high)
    if low == high:
        return low
    if interval.high < 1:
        return f"{high.removesuffix(' fewer')} to {low}"
    if low.rpartition(" ")[2] == high.rpartition(" ")[2]:
        low = low.rpartition(" ")[0]
    return f"{low} to {high}".removesuffix(" the")


def _times(ratio: float) -> str:
    if ratio >= 2:
        return f"{ratio:.1f}× the"
    change = round((ratio - 1) * 100)
    return "as many" if change == 0 else f"{abs(change)}% {'more' if change > 0 else 'fewer'}"
