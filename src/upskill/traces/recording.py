"""A file of recorded work, streamed and bounded, and what a reader of such files is. Knows no formats."""

import io
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from upskill.domain.trace import Trace
from upskill.errors import UsageError
from upskill.traces.excerpt import cut, joined, tidy
from upskill.traces.fields import items, objects, parsed
from upskill.traces.unpacking import MEGABYTE, Unpacked, UnpackingBudget

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

LONGEST_LINE = 20 * MEGABYTE
"""A picture of the largest size agents send, written twice, takes 14."""
LARGEST_DOCUMENT = 96 * MEGABYTE
MOST_BRACKETS = 4_000_000
"""Of a JSON document: each pair is a list or an object, and an empty one takes thirty times its characters."""
LARGEST_UNPACKED = 4_000 * MEGABYTE
WHOLE_OUTPUTS = 16 * MEGABYTE
"""Up to this size outputs keep `OBSERVED` characters each; above it fewer in proportion: the trace stays small."""
SEEN_AT_EACH_END = 250_000
"""Characters of a very long text that are looked through for secrets at its beginning and at its end."""
LINES_PER_LOOK = 1_000
"""How many lines are read between two looks at the clock."""
NOTES = 20
DAMAGED = "the compressed file is damaged; it was read up to the damage"

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
ZSTANDARD = b"\x28\xb5\x2f\xfd"
ZIP = b"PK\x03\x04"
UTF16 = (b"\xff\xfe", b"\xfe\xff")


def has_too_many_parts(content: bytes) -> bool:
    """Whether a JSON document would take gigabytes once it is parsed."""
    return content.count(b"[") + content.count(b"{") > MOST_BRACKETS


def unchanged(text: str) -> str:
    """The `Clean` that takes nothing out: for recordings without secrets, as in tests."""
    return text


class Recording:
    """One file. Reading it again gives the same again; what is broken is counted once.

    Everything it yields is as recorded: readers call `clean` on what they keep.
    """

    def __init__(self, path: Path, *, clean: Clean = unchanged, parent: "Recording | None" = None) -> None:
        self.path = path
        self.is_document = False
        """Whether it was recognised as one JSON document; else it is lines."""
        self._remove_secrets = clean
        self._parent = parent
        self._parts: list[Recording] = []
        self._notes: list[str] = []
        self._more_notes = 0
        self._size = self._broken = self._too_long = 0
        self._document: Any = None
        self._parsed = False
        try:
            with path.open("rb") as file:
                self.magic = file.read(4)
            on_disk = path.stat().st_size
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
        if self.magic[:2] in UTF16:
            raise UsageError(f"{path}: is UTF-16", hint="save it as UTF-8")
        packed = self.magic in (ZSTANDARD, ZIP)
        self.budget = UnpackingBudget(path, on_disk=on_disk, packed=packed, largest=LARGEST_UNPACKED)
        self._limit = OBSERVED if on_disk <= WHOLE_OUTPUTS else max(READ, OBSERVED * WHOLE_OUTPUTS // on_disk)
        if parent is not None:
            self._limit = min(self._limit, parent._limit)

    def beside(self, path: Path) -> "Recording":
        """Another file of the same work, such as a subagent's: its notes and counts end up here."""
        part = Recording(path, clean=self._remove_secrets, parent=self)
        self._parts.append(part)
        return part

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The JSON lines that are objects, with their numbers, streamed. The rest is left out and counted."""
        broken = last_broken = number = 0
        for number, line in self.numbered():
            record = parsed(line)
            if isinstance(record, dict):
                yield number, record
            else:
                broken += 1
                last_broken = number
        if broken > self._broken:
            self._broken = broken
            if broken == 1 and last_broken == number:
                self.note("the last line is incomplete, skipped", line=number)
            elif broken == 1:
                self.note("not a JSON object, skipped", line=last_broken)
            else:
                self.note(f"{broken:,} lines are not JSON objects, skipped")

    def objects(self) -> Iterator[dict[str, Any]]:
        """The objects in it: of the lines, else of the list that the document is, else the document itself."""
        if self.is_document:
            document = self.document()
            yield from objects(items(document) or [document])
        else:
            yield from (record for _, record in self.records())

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """The lines that are not blank, with their numbers. One that is too long is left out and counted."""
        size = number = too_long = 0
        with closing(self._open()) as file:
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                size += len(line)
                if len(line) > LONGEST_LINE:
                    while not line.endswith(b"\n") and (line := file.readline(LONGEST_LINE + 1)):
                        size += len(line)
                        self.budget.require_size(size)
                    too_long += 1
                    if too_long > self._too_long:
                        self._too_long = too_long
                        self.note(f"longer than {LONGEST_LINE // MEGABYTE} MB, skipped", line=number)
                    continue
                self.budget.require_size(size)
                if number % LINES_PER_LOOK == 0:
                    self.budget.require_time()
                if number == 1:
                    line = line.removeprefix(BYTE_ORDER_MARK)
                if line and not line.isspace():
                    yield number, line
        self._size = max(self._size, size)

    def opening(self) -> bytes:
        """The first line that is not blank, without a byte order mark; cut off where it is too long."""
        size = 0
        with closing(self._open()) as file:
            while line := file.readline(LONGEST_LINE + 1):
                size += len(line)
                self.budget.require_size(size)
                line = line.removeprefix(BYTE_ORDER_MARK).strip()
                if line:
                    return line
        return b""

    def document(self) -> Any:
        """The whole file as one JSON value, parsed once; `None` where it is no JSON. Refuses what is too large."""
        if not self._parsed:
            with closing(self._open()) as file:
                content = file.read(min(LARGEST_DOCUMENT, self.budget.most) + 1)
            self.budget.require_size(len(content))
            if len(content) > LARGEST_DOCUMENT:
                raise UsageError(
                    f"{self.path}: is one JSON document of more than {LARGEST_DOCUMENT // MEGABYTE} MB",
                    hint="save the session as JSON Lines, or split it",
                )
            if has_too_many_parts(content):
                raise UsageError(
                    f"{self.path}: is one JSON document of more than {MOST_BRACKETS:,} lists and objects",
                    hint="save the session as JSON Lines, or split it",
                )
            self._size = max(self._size, len(content))
            self._document = parsed(content.removeprefix(BYTE_ORDER_MARK))
            self._parsed = True
        return self._document

    def lines(self) -> Iterator[str]:
        """The lines of a text file without their ends, streamed."""
        size = 0
        with closing(self._open()) as file:
            while line := file.readline(LONGEST_LINE + 1):
                if not size:
                    line = line.removeprefix(BYTE_ORDER_MARK)
                size += len(line)
                self.budget.require_size(size)
                yield line.decode("utf-8", "replace").rstrip("\r\n")
        self._size = max(self._size, size)

    def clean(self, text: str, *, limit: int | None = None) -> str:
        """The text as it may be kept: encoded data and control characters dropped, secrets out, then cut.

        Without a limit it is cut to `OBSERVED` characters, to fewer where the recording is very large. Of a text of
        many megabytes only the two ends are searched for secrets, each far longer than what is kept of it.
        """
        limit = self._limit if limit is None else limit
        seen = max(SEEN_AT_EACH_END, limit)
        if len(text) <= 2 * seen + limit:
            return cut(self._remove_secrets(tidy(text)), limit=limit)
        head, tail = (self._remove_secrets(tidy(end)) for end in (text[:seen], text[-seen:]))
        return joined(head, tail, limit=limit, lines=text.count("\n"), length=len(text))

    def note(self, what: str, *, line: int | None = None) -> None:
        """Something a person should know; never content."""
        whole = self
        while whole._parent is not None:
            whole = whole._parent
        note = f"{self.path.name}: {what}" if line is None else f"{self.path.name}:{line}: {what}"
        if note in whole._notes:
            return
        if len(whole._notes) < NOTES:
            whole._notes.append(note)
        else:
            whole._more_notes += 1

    @property
    def notes(self) -> tuple[str, ...]:
        """What was noted, each thing once, at most a screenful."""
        more = (f"and {self._more_notes:,} more notes",) if self._more_notes else ()
        return (*self._notes, *more)

    @property
    def size(self) -> int:
        """Bytes of content that were read, unpacked, with the files beside it."""
        return self._size + sum(part.size for part in self._parts)

    @property
    def bad_lines(self) -> int:
        """Lines left out because they are broken or too long, with those of the files beside it."""
        return self._broken + self._too_long + sum(part.bad_lines for part in self._parts)

    def _open(self) -> BinaryIO:
        try:
            file = self.path.open("rb")
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        if self.magic != ZSTANDARD:
            return file
        return io.BufferedReader(Unpacked(file, lambda: self.note(DAMAGED)), 2**20)


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
