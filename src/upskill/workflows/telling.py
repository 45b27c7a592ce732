"""How a workflow tells how far it has come. Who listens must return at once."""

from collections.abc import Callable

Step = Callable[[str, int, int | None], None]
"""What is done, how many of it so far, and how many in all where that is known."""


def nobody(what: str, done: int, of: int | None) -> None:
    """Nobody listens."""
