"""A file of recorded work, streamed and bounded; values of the JSON in it; what a reader of such files is.

Knows no formats. A compressed file of a few kilobytes can unpack to anything. Recordings shrink to a tenth, seldom to a
hundredth; what shrinks further is hardly a recording, and is read no further than an uncompressed file of ordinary size
would be.
"""

import gc
import io
import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from upskill import disk
from upskill.errors import UsageError
from upskill.traces.excerpt import cut, joined, tidy
from upskill.traces.trace import Trace

_LARGEST_CODE = 2**31
_FIRST_MILLISECONDS = 1e11
"""A time beyond it is in milliseconds: in seconds it would be after the year 5000."""
_LAST_SECOND = 1e10
_TIMES = ("timestamp", "timestamp_ms", "created_at", "ts")


def mapping(value: Any) -> dict[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """The list, or an empty one."""
    return value if isinstance(value, list) else []


def objects(value: Any) -> list[dict[str, Any]]:
    """The list with an object for each item, empty where the item is none."""
    return [mapping(item) for item in items(value)]


def at(value: Any, *path: str) -> Any:
    """What lies below these keys, one after the other; `None` where there is nothing."""
    for key in path:
        value = mapping(value).get(key)
    return value


def first_string(record: dict[str, Any], *names: str) -> str:
    """The first text under one of these names that is not empty."""
    return next(filter(None, (string(record.get(name)) for name in names)), "")


def distinct(records: Iterable[dict[str, Any]], *path: str) -> Iterator[dict[str, Any]]:
    """The first record of each id, and all that have none. `path` leads to the id."""
    seen: set[str] = set()
    for record in records:
        record_id = string(at(record, *path))
        if not record_id or record_id not in seen:
            seen.add(record_id)
            yield record


def string(value: Any) -> str:
    """The text, or an empty one."""
    return value if isinstance(value, str) else ""


def whole(value: Any) -> int | None:
    """A whole number that an exit code can be, or `None`."""
    if isinstance(value, int) and not isinstance(value, bool) and -_LARGEST_CODE <= value < _LARGEST_CODE:
        return value
    return None


def time_in(record: dict[str, Any]) -> float | None:
    """When a record says that it was written, in seconds since the epoch; `None` where it does not say."""
    for value in (*map(record.get, _TIMES), at(record, "time", "created")):
        if isinstance(value, str) and len(value) < 40:
            try:
                written = datetime.fromisoformat(value)
                value = (written if written.tzinfo else written.replace(tzinfo=UTC)).timestamp()
            except (ValueError, OverflowError):
                continue
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1_000 if value > _FIRST_MILLISECONDS else float(value)
            if 0 < seconds < _LAST_SECOND:
                return seconds
    return None


def flag(value: Any) -> bool | None:
    """True or false as recorded, or `None`."""
    return value if isinstance(value, bool) else None


def parsed(text: Any) -> Any:
    """The value of JSON inside a string; `None` where it is none: no string, broken, too deep, a number too long."""
    # New values are in no cycle: to look for some takes most of the seconds of a large document, deaf to signals.
    collects = gc.isenabled()
    gc.disable()
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
    finally:
        if collects:
            gc.enable()


def texts(content: Any) -> str:
    """The visible text of a message: itself, or its blocks that carry `text`, one below the other."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    found = [block if isinstance(block, str) else string(mapping(block).get("text")) for block in items(content)]
    return "\n".join(text for text in found if text)


def blocks(content: Any) -> list[dict[str, Any]]:
    """The content as blocks, whichever of the two forms it has."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [{"type": "text", "text": block} if isinstance(block, str) else mapping(block) for block in items(content)]


def as_json(value: Any) -> str:
    """The value written as JSON, characters as they are; empty where it is too deep to write."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError, TypeError):
        return ""


MEGABYTE = 1_000_000
RATIO = 100
LEAST_ALLOWED = 16 * MEGABYTE
SECONDS = 10.0
SECONDS_PER_MEGABYTE = 20.0
"""CPU time for each megabyte on disk: several times what recordings of that size take."""


class UnpackingBudget:
    """The budget of one file; its clock runs from the beginning. Raises `UsageError` where it is used up."""

    def __init__(self, path: Path, *, on_disk: int, packed: bool, largest: int) -> None:
        self._path = path
        self._packed = packed
        self.most = min(largest, max(LEAST_ALLOWED, RATIO * on_disk)) if packed else largest
        """Bytes, once unpacked."""
        self._seconds = SECONDS + SECONDS_PER_MEGABYTE * on_disk / MEGABYTE
        self._began = time.thread_time()

    def require_size(self, size: int) -> None:
        if size > self.most:
            allowed = f"more than {self.most // MEGABYTE:,} MB"
            if not self._packed:
                raise UsageError(f"{self._path}: has {allowed}", hint="split it, and name the parts")
            raise UsageError(f"{self._path}: unpacks to {allowed}, the limit for a file of its size", hint=UNPACK_IT)

    def require_time(self) -> None:
        if self._packed and time.thread_time() - self._began > self._seconds:
            limit = f"{self._seconds:.0f} s, the limit for a compressed file of its size"
            raise UsageError(f"{self._path}: takes longer to read than {limit}", hint=UNPACK_IT)


UNPACK_IT = "if you trust its source, unpack it yourself and name the files inside"


class Unpacked(io.RawIOBase):
    """A file compressed with Zstandard, unpacked as it is read. Where it is damaged it ends."""

    def __init__(self, file: BinaryIO, damaged: Callable[[], None]) -> None:
        import zstandard

        super().__init__()
        self._file = file
        # Several frames are usual, and a frame may ask for a window of gigabytes.
        unpacking = zstandard.ZstdDecompressor(max_window_size=2**27)
        self._reader = unpacking.stream_reader(file, read_size=2**16, read_across_frames=True)
        self._error = zstandard.ZstdError
        self._damaged = damaged

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            # Not `readinto`: that loses what it has unpacked when it comes to the damage.
            data = self._reader.read1(min(len(buffer), 2**17))
        except self._error:
            self._damaged()
            return 0
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


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
"""Brackets of a JSON document: each pair is a list or an object, and an empty one takes thirty times its characters."""
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


def _unreadable(path: Path, error: Exception) -> UsageError:
    return UsageError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}")


class Recording:
    """One ordinary file, and never what a link leads to: a person who names a link names its target.

    Reading it again gives the same again; what is broken is counted once.

    Everything it yields is as recorded: readers call `clean` on what they keep.
    """

    def __init__(self, path: Path, *, clean: Clean = unchanged, parent: "Recording | None" = None) -> None:
        self.path = path
        self.is_document = False
        """Whether it was recognised as one JSON document; else it is lines."""
        self.written_at: float | None = None
        """When the record that is being read was written, as far as is known."""
        self._remove_secrets = clean
        self._parent = parent
        self._parts: list[Recording] = []
        self._notes: list[str] = []
        self._more_notes = 0
        self._size = self._broken = self._too_long = 0
        self._document: Any = None
        self._parsed = False
        try:
            with disk.opened(path) as file:
                self.magic = file.read(4)
                on_disk = os.fstat(file.fileno()).st_size
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from error
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
                yield number, self.dated(record)
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
            yield from map(self.dated, objects(items(document) or [document]))
        else:
            yield from (record for _, record in self.records())

    def dated(self, record: dict[str, Any]) -> dict[str, Any]:
        """The record; the steps that begin while it is read have its time, else that of the record before it."""
        self.written_at = time_in(record) or self.written_at
        return record

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """The lines that are not blank, with their numbers. One that is too long is left out and counted."""
        size = number = too_long = 0
        self.written_at = None
        with closing(self.content()) as file:
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
        with closing(self.content()) as file:
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
            with closing(self.content()) as file:
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
        with closing(self.content()) as file:
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

    def content(self) -> BinaryIO:
        """The file from its beginning, unpacked where it was compressed with Zstandard."""
        try:
            file = disk.opened(self.path)
        except OSError as error:
            raise _unreadable(self.path, error) from error
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
    in_list: Callable[[Sequence[Record]], bool] = _never
    """Recognises one JSON list, by its items."""
    in_lines: Callable[[Sequence[Record]], bool] = _never
    """Recognises JSON lines."""
    in_archive: Callable[[Collection[str]], bool] = _never
    """Recognises an archive, by the names in it."""
