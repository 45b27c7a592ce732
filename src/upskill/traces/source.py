"""One recording as a reader sees it: lines, a document or text, each streamed and bounded."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from upskill.domain.trace import Trace

Clean = Callable[[str], str]
"""Takes secrets out of a text and cuts it to what is worth keeping; applied to every text that enters a `Trace`."""


class Recording(Protocol):
    """What is handed to a reader. Everything it yields is as recorded: readers call `clean` on what they keep."""

    path: Path
    clean: Clean

    def records(self) -> Iterator[tuple[int, Any]]:
        """The parsed JSON lines with their numbers, streamed; broken and blank lines are left out and counted."""
        ...

    def document(self) -> Any:
        """The whole file as one JSON value. Only for formats that are one document."""
        ...

    def lines(self) -> Iterator[str]:
        """The lines of a text file, streamed."""
        ...

    def note(self, what: str, *, line: int | None = None) -> None:
        """Something a person should know; never content."""
        ...


Reader = Callable[[Recording], Iterator[Trace]]
"""One module per recorder, each with one `read`."""
