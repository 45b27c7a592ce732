"""Levels of repeated looks at the same cases: what is tested again is tested more strictly.

The sum of all levels never exceeds 5% times the number of versions that were found to help, or 5% before the first.
So where no version helps, the chance of ever saying `helps` is at most 5%, however often somebody looks; and of the
versions that are said to help, at most one in twenty does not, on average (the false discovery rate).
"""

from collections.abc import Sequence

ERROR_OF_ALL_LOOKS = 0.05
FIRST_LEVEL = 0.025
"""The one-sided level of the first look, and the most that a later one gets."""
SHARE_OF_A_LOOK = 0.1
"""A later look takes this share of what is left."""


def level_of_look(earlier: Sequence[float], *, helped: int) -> float:
    """The one-sided level of the next look, after looks at `earlier` levels of which `helped` versions were helpful.

    The first gets .025. While nothing helps, the second gets .0025, the tenth .0011. A version that helps pays for
    those after it.
    """
    if not earlier:
        return FIRST_LEVEL
    left = ERROR_OF_ALL_LOOKS * max(1, helped) - sum(earlier)
    return min(FIRST_LEVEL, SHARE_OF_A_LOOK * left)
