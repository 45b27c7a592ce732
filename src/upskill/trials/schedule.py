"""Which turn comes next: what the engine asks while a student is on trial. Who decides, and why, is not known here."""

from collections.abc import Mapping
from typing import Protocol

from upskill.domain import Arm, Trial, Turn


class Schedule(Protocol):
    """The schedule of one student's trials. Called on the engine's event loop, so it must return at once."""

    def take(self) -> Turn | None:
        """The next turn to begin; `None` when none may begin now. Asked again after every turn that ends."""
        ...

    def ended(self, turn: Turn, trials: Mapping[Arm, Trial]) -> None:
        """A turn that was taken has ended in all its arms, whatever order the answers came in."""
        ...
