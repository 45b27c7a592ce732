"""Sums of money, as people read them."""

from decimal import Decimal


def dollars(cost: float | None) -> str:
    """A sum with as many digits as it needs; unknown is said, never 0."""
    if cost is None:
        return "unknown"
    return f"${cost:.2f}" if cost >= 0.1 or cost == 0 else f"${Decimal(f'{cost:.2g}'):f}"
