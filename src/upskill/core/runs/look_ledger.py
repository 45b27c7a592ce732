"""The ledger of looks: JSON lines, only ever appended to, one where a look is opened and one where it is closed.

It lies beside the trial store, or where the setting `ledger` says, e.g. in a repository: lines are independent of each
other, so that two branches can be merged by keeping the lines of both. Whatever is wrong with it becomes a note.
"""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter

from upskill import disk
from upskill.core.nouns.look import LOOK_FORMAT, Look
from upskill.core.nouns.text import count, on_one_line, whole_characters
from upskill.core.runs.trial_store import default_store_path
from upskill.core.statistics.intervals import FIRST_LEVEL
from upskill.redaction import redactor_from

LEDGER_FILE = "looks.jsonl"
MOST_LINE_BYTES = 8_000_000
_LOOK = TypeAdapter(Look)


def default_ledger_path() -> Path:
    """Where looks are kept unless told otherwise. Ask before a run: the engine is given a cache folder of its own."""
    return default_store_path().with_name(LEDGER_FILE)


class LookLedger:
    """The looks in one file. Neither reading nor appending ever raises: `notes` says what went wrong."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._notes: list[str] = []
        self._is_locked = False

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the report should know about the ledger."""
        return tuple(self._notes)

    def read(self) -> tuple[Look, ...]:
        """Every look, oldest first: of the lines of one, in which it was opened and closed, the last counts."""
        looks: dict[tuple[str, str, str], Look] = {}
        damaged = []
        try:
            with disk.opened(self.path) as file:
                number = 0
                while line := file.readline(MOST_LINE_BYTES + 1):
                    number += 1
                    if (look := _look(line)) is not None:
                        known = looks.get(_place(look))
                        looks[_place(look)] = look if known is None or _is_later(look, known) else known
                    elif line.strip():
                        damaged.append(number)
                    while line and not line.endswith(b"\n"):  # the rest of a line that is too long
                        line = file.readline(MOST_LINE_BYTES)
        except FileNotFoundError:
            return ()
        except OSError as error:
            self._note(f"cannot be read ({error.strerror}); earlier looks are not counted")
        if damaged:
            shown = ", ".join(map(str, damaged[:3])) + (" …" if len(damaged) > 3 else "")
            lines = count(len(damaged), "line")
            self._note(f"{lines} cannot be read and {'is' if len(damaged) == 1 else 'are'} not counted: {shown}")
        return tuple(sorted(looks.values(), key=lambda look: look.at))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from opening a look meanwhile: looks count in the order in which they are opened."""
        with ExitStack() as opened:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                disk.lock(opened.enter_context(disk.for_appending(self.path, mode=0o666)))
                self._is_locked = True
            except OSError as error:
                self._note(f"cannot be locked ({error.strerror}); a look that is opened at the same time may not count")
            try:
                yield
            finally:
                self._is_locked = False

    def append(self, look: Look) -> None:
        """Add a look by one write, while no other process does."""
        text = json.dumps(_LOOK.dump_python(look, mode="json"), ensure_ascii=False, separators=(",", ":"))
        line = redactor_from(os.environ).clean_own(whole_characters(text)).encode() + b"\n"
        if len(line) > MOST_LINE_BYTES:
            self._note(f"the look at {look.student} was not saved: {len(line):,} bytes are too many")
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with disk.for_appending(self.path, mode=0o666) as file:
                if not self._is_locked:
                    disk.lock(file)
                if file.seek(0, os.SEEK_END):
                    file.seek(-1, os.SEEK_END)
                    if file.read(1) != b"\n":  # what a kill or an editor left of a last line would swallow this one
                        line = b"\n" + line
                if not disk.append(file, line):
                    self._note("the disk is full; this look was not saved and will not count")
        except OSError as error:
            self._note(f"cannot be written ({error.strerror}); this look was not saved and will not count")

    def _note(self, text: str) -> None:
        note = on_one_line(f"ledger {self.path}: {text}")
        if note not in self._notes:
            self._notes.append(note)


def _look(line: bytes) -> Look | None:
    """The look in a line; `None` where there is none that can be read."""
    if len(line) > MOST_LINE_BYTES:
        return None
    try:
        look = _LOOK.validate_json(line)
        is_dated = datetime.fromisoformat(look.at).tzinfo is not None
    except ValueError:
        return None
    if not is_dated or look.format != LOOK_FORMAT:
        return None
    # Whoever writes a line of no level, or of one that nobody may have, spends the first.
    return look if 0 < look.level <= FIRST_LEVEL else replace(look, level=FIRST_LEVEL)


def _is_later(look: Look, known: Look) -> bool:
    """Whether a line of the same look replaces another, in whatever order branches were merged: it was closed later."""
    return (look.ended_at or "") >= (known.ended_at or "")


def _place(look: Look) -> tuple[str, str, str]:
    """What names a look: the run folder in which it was opened, and the student."""
    return look.id, look.student, look.asked
