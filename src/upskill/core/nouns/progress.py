"""How long work reports how far it has come. Knows neither the work nor who shows it."""

from dataclasses import dataclass
from typing import Protocol


class Progress:
    """Receives reports on long work; each method does nothing until it is overridden.

    It is called on the thread that does the work, so it must return at once.
    """

    def note(self, line: str) -> None:
        """Report a line for a person."""

    def announce(self, line: str) -> None:
        """Report a server or an alias that nobody typed, before anything is sent."""
        self.note(line)

    def step(self, what: str, done: int, of: int | None) -> None:
        """Report that `done` of `of` are done; `of` is `None` where the total is unknown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """What a run waits for at one moment."""

    answers: int = 0
    """Requests that are under way."""
    longest_seconds: float = 0.0
    """For how long the oldest of them is under way."""
    retries: int = 0
    """Requests that will be sent again."""
    retry_seconds: float = 0.0
    """Until the first of them."""
    busy: bool = False
    """Whether that one was told to slow down; otherwise it was lost."""


class PricedPlan(Protocol):
    """A plan with its price and time in words, about which a person is asked."""

    @property
    def price(self) -> str: ...

    @property
    def minutes(self) -> str: ...


SILENT = Progress()
