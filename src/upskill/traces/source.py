"""What a reader is given, and what a reader is: a recording, streamed and bounded, and a `Reader`. Knows no formats."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from upskill.domain.trace import Trace

OBSERVED = 6_000
"""Characters kept of one output or of one call's arguments."""
SAID = 20_000
"""Characters kept of what a person or the model said in one message."""
READ = 400
"""Characters kept of a file that was only read: its content is in the repository, not in the lesson."""

LOOKED_AT = 50
"""Records, or parts of one, by which a recorder is recognised. Recorders say who they are at once."""

Clean = Callable[[str], str]
"""Takes secrets out of a text. It sees every text that enters a `Trace`, whole, before anything is cut off."""


class Recording(Protocol):
    """What is handed to a reader. Everything it yields is as recorded: readers call `clean` on what they keep."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    @property
    def is_document(self) -> bool:
        """Whether it was told apart as one JSON document; else it is lines."""
        ...

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The JSON lines that are objects, with their numbers, streamed. The rest is left out and counted.

        May be called again: the file is then read again.
        """
        ...

    def document(self) -> Any:
        """The whole file as one JSON value. Only for formats that are one document; refuses what is too large."""
        ...

    def lines(self) -> Iterator[str]:
        """The lines of a text file without their ends, streamed."""
        ...

    def clean(self, text: str, *, limit: int | None = None) -> str:
        """The text as it may be kept: encoded data and control characters dropped, secrets out, then cut.

        Without a limit it is cut to `OBSERVED` characters, to fewer where the recording is very large.
        """
        ...

    def note(self, what: str, *, line: int | None = None) -> None:
        """Something a person should know; never content."""
        ...


Record = dict[str, Any]


def any_record(is_one: Callable[[Record], bool]) -> Callable[[Sequence[Record]], bool]:
    """Recognises JSON lines by one of them."""
    return lambda records: any(map(is_one, records))


def _never(*_: object) -> bool:
    return False


@dataclass(frozen=True, kw_only=True, slots=True)
class Reader:
    """One recorder: its name, its title for people, how its recordings are recognised, and how one is read.

    A trace without steps that `read` yields is left out. A recogniser is handed the beginning only. It may raise
    `UsageError` for a file of this recorder that is not its recording.
    """

    name: str
    title: str
    read: Callable[[Recording], Iterator[Trace]]
    in_document: Callable[[Record], bool] = _never
    """Recognises one JSON object."""
    in_list: Callable[[Sequence[Record], Path], bool] = _never
    """Recognises one JSON list, by its items and where it lies."""
    in_lines: Callable[[Sequence[Record]], bool] = _never
    """Recognises JSON lines."""
    in_text: Callable[[Sequence[str]], bool] = _never
    """Recognises text, by its lines."""
    in_archive: Callable[[Collection[str]], bool] = _never
    """Recognises an archive, by the names in it."""
