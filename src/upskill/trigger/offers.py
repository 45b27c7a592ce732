"""What a measurement of loads asks of a teacher, if there is one."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from upskill.plugin import Offer

if TYPE_CHECKING:
    from upskill.core.models import MeteredClient
    from upskill.core.progress import PricedPlan, Progress
    from upskill.core.settings import ResolvedSettings


class WriteMissingPrompts(Protocol):
    """Lets a teacher write the prompts of a skill that has none, and saves them with it."""

    def __call__(
        self,
        skill: Path,
        *,
        settings: "ResolvedSettings",
        progress: "Progress",
        confirm: "Callable[[PricedPlan], bool]",
        client: "MeteredClient",
    ) -> None: ...


class WritePrompts(Protocol):
    """Lets a teacher write prompts because a person asked for them, and gives the exit code."""

    def __call__(
        self,
        skill: Path,
        settings: dict[str, object],
        *,
        output: Path | None,
        dry_run: bool,
        as_json: bool,
        yes: bool,
    ) -> int: ...


WRITE_MISSING_PROMPTS: Offer[WriteMissingPrompts] = Offer("write missing trigger prompts")
WRITE_PROMPTS: Offer[WritePrompts] = Offer("write trigger prompts")
