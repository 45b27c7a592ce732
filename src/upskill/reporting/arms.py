"""The arms in people's words."""

from collections.abc import Iterable

from upskill.domain import Arm, harness_info


def arm_name(arm: Arm, harness: str) -> str:
    """An arm as people call it. A student with tools can be offered a skill; others can only be given it."""
    return harness_info(harness).arm_name(arm)


def widest_name(arms: Iterable[Arm], harness: str) -> int:
    """Characters that the names of these arms need in a column."""
    return max(10, *(len(arm_name(arm, harness)) for arm in arms))
