"""The arms in people's words."""

from collections.abc import Iterable

from upskill.domain import Arm

ORDER: tuple[Arm, ...] = ("baseline", "previous", "offered", "with_skill")
"""As tables show them."""

_WITHOUT_TOOLS: dict[Arm, str] = {"baseline": "baseline", "with_skill": "with skill", "previous": "previous"}
_WITH_TOOLS: dict[Arm, str] = {
    "baseline": "baseline",
    "offered": "skill offered",
    "with_skill": "skill given",
    "previous": "previous offered",
}


def arm_name(arm: Arm, harness: str) -> str:
    """An arm as people call it. A student with tools can be offered a skill; others can only be given it."""
    names = _WITH_TOOLS if harness == "agent" else _WITHOUT_TOOLS
    return names.get(arm, arm)


def widest_name(arms: Iterable[Arm], harness: str) -> int:
    """Characters that the names of these arms need in a column."""
    return max(10, *(len(arm_name(arm, harness)) for arm in arms))
