"""The harnesses as plain data, for planning, storing and reporting. What each of them does is in its own module.

A new harness is that module and an entry in the `harnesses` of a plug-in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from upskill import plugin
from upskill.core.nouns.trial import CONTROLS, Arm

Ceiling = Literal["beside", "alone"]
"""Whether the ceiling arm is run beside the others, where it decides nothing, or with the baseline only."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HarnessInfo:
    """What is known about a harness without running it."""

    name: str
    module: str = ""
    """The module whose `HARNESS` implements it (`trials/harness.py`); imported when it is used."""
    description: str = ""
    """How students work, in one line for people."""
    arms: Mapping[Arm, str] = field(default_factory=dict)
    """The arms of an evaluation, as people call them: the one measured against, the one that the verdict is about, and
    those that are run beside them."""
    previous: str = "old version"
    """The name for people of the arm with an older version, which reaches the student as in the second arm."""
    with_tools: bool = False
    """Students act, in a sandbox, where the files of the case and of the skill lie. Others see them in the prompt."""
    program: str = ""
    """The coding agent that the user must have installed; empty for a harness of ours."""
    package: str = ""
    """The npm package that installs it."""

    def planned_arms(
        self, *, baseline: bool, previous: bool, ceiling: Ceiling | None = None, controls: bool = False
    ) -> tuple[Arm, ...]:
        """First what is measured against, then what the verdict is about, then what is run beside it."""
        arms = tuple(self.arms)
        if ceiling == "alone":
            return ("baseline", "ceiling")
        if previous:
            return ("previous", arms[1])
        if not baseline:
            return (arms[1],)
        return (*arms, *(("ceiling",) if ceiling else ()), *(CONTROLS if controls else ()))

    def arm_name(self, arm: Arm) -> str:
        """An arm as people call it."""
        if arm == "previous":
            return self.previous
        return self.arms.get(arm, _BESIDE.get(arm, arm))


OWN: dict[str, HarnessInfo] = {
    info.name: info
    for info in (
        HarnessInfo(
            name="chat",
            module="upskill.core.trials.harnesses.chat",
            description="one question, one answer, no tools",
            arms={"baseline": "without the skill", "with_skill": "with the skill"},
        ),
        # Offered, because that is what a user gets; and given, to tell a skill that is not loaded from one that does
        # not help.
        HarnessInfo(
            name="agent",
            module="upskill.core.trials.harnesses.agent",
            description="with tools, in a sandbox",
            arms={"baseline": "without the skill", "offered": "skill offered", "with_skill": "skill given"},
            previous="old version offered",
            with_tools=True,
        ),
    )
}
"""The harnesses that need no plug-in. `auto` takes the first that can do what the cases need."""


def harness_names() -> tuple[str, ...]:
    """Every harness that is installed."""
    return (*OWN, *plugin.names("harnesses"))


def known_harness(name: str) -> HarnessInfo | None:
    """What is known of an installed harness by its bare name; `None` where there is none."""
    if name in OWN:
        return OWN[name]
    place = plugin.find("harnesses", name)
    return None if place is None else plugin.load(place)


_ANY_ARMS: Mapping[Arm, str] = {
    "baseline": "without the skill",
    "with_skill": "with the skill",
    "offered": "skill offered",
}
_BESIDE: Mapping[Arm, str] = {
    "ceiling": "with the passage itself",
    "placebo": "with a placebo",
    "corrupted": "with the skill corrupted",
}
"""What is run beside, by every harness."""

DEFAULT_HARNESS = next(iter(OWN))
"""The harness of a plan or a file that names none."""


def harness_info(name: str) -> HarnessInfo:
    """What is known of a harness, named with or without its version.

    A record of another version of upskill may name one that is unknown here: it has plain names for its arms, and its
    models are taken to have had the files of the skill.
    """
    bare = name.partition("/")[0]
    return known_harness(bare) or HarnessInfo(name=bare, arms=_ANY_ARMS, with_tools=True)


def harness_choices() -> tuple[str, ...]:
    """What a person may ask for."""
    return ("auto", *harness_names())


def choose_harness(wanted: str, *, tools: bool) -> str:
    """What was asked for; with `auto` the first harness that gives students tools, or the first if they need none."""
    if wanted != "auto":
        return wanted
    return next(info.name for info in OWN.values() if info.with_tools or not tools)
