"""How long work reports how far it has come. Knows neither the work nor who shows it."""


class Progress:
    """Receives reports on long work; each method does nothing until it is overridden.

    It is called on the thread that does the work, so it must return at once.
    """

    def note(self, line: str) -> None:
        """Report a line for a person."""

    def step(self, what: str, done: int, of: int | None) -> None:
        """Report that `done` of `of` are done; `of` is `None` where the total is unknown."""


SILENT = Progress()
