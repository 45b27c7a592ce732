"""The ledger of looks: a file of JSON lines, one per look, which is only ever appended to.

It lies beside the trial store, or where the setting `ledger` says, e.g. in a repository: lines are independent of each
other, so that two branches can be merged by keeping the lines of both. Whatever is wrong with it becomes a note.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import IO

from pydantic import TypeAdapter

from upskill.core.nouns.look import LOOK_FORMAT, Look
from upskill.core.nouns.text import count, on_one_line, whole_characters
from upskill.core.runs.trial_store import default_store_path
from upskill.core.statistics.intervals import FIRST_LEVEL
from upskill.redaction import redactor_from

if sys.platform != "win32":
    import fcntl

LEDGER_FILE = "looks.jsonl"
MOST_LINE_BYTES = 8_000_000
_LOOK = TypeAdapter(Look)


def default_ledger_path() -> Path:
    """Where looks are kept unless told otherwise. Ask before a run: the engine is given a cache folder of its own."""
    return default_store_path().with_name(LEDGER_FILE)


class LookLedger:
    """The looks in one file. Neither reading nor appending ever raises: `notes` says what went wrong."""

    def __init__(self, path: Path, *, contradiction: Callable[[Look], str | None] = lambda _: None) -> None:
        """`contradiction` says what cannot be true of a look; of such a look only its level counts."""
        self.path = path
        self._contradiction = contradiction
        self._notes: list[str] = []
        self._is_locked = False

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the report should know about the ledger."""
        return tuple(self._notes)

    def read(self) -> tuple[Look, ...]:
        """Every look, oldest first. Of the looks of one run at one student, which was resumed, the last."""
        looks: dict[tuple[str, str, str], Look] = {}
        damaged, refused = [], []
        try:
            with self.path.open("rb") as file:
                number = 0
                while line := file.readline(MOST_LINE_BYTES + 1):
                    number += 1
                    if (look := _look(line)) is not None and (wrong := self._contradiction(look)) is not None:
                        refused.append(f"line {number} contradicts itself, so only its level counts: {wrong}")
                        look = _without_claim(look)
                    if look is not None:
                        known = looks.get(_place(look))
                        looks[_place(look)] = look if known is None or look.at >= known.at else known
                    elif line.strip():
                        damaged.append(number)
                    while line and not line.endswith(b"\n"):  # the rest of a line that is too long
                        line = file.readline(MOST_LINE_BYTES)
        except FileNotFoundError:
            return ()
        except OSError as error:
            self._note(f"cannot be read ({error.strerror}); earlier looks are not counted")
        for note in refused[:3]:
            self._note(note)
        if len(refused) > 3:
            self._note(f"{len(refused) - 3} more contradict themselves")
        if damaged:
            shown = ", ".join(map(str, damaged[:3])) + (" …" if len(damaged) > 3 else "")
            lines = count(len(damaged), "line")
            self._note(f"{lines} cannot be read and {'is' if len(damaged) == 1 else 'are'} not counted: {shown}")
        return tuple(sorted(looks.values(), key=lambda look: look.at))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from concluding at the same time: looks count in the order in which they end."""
        with ExitStack() as opened:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                _lock(opened.enter_context(self.path.open("ab")))
                self._is_locked = True
            except OSError as error:
                self._note(f"cannot be locked ({error.strerror}); a look that ends at the same time may not count")
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
            with self.path.open("a+b", buffering=0) as file:
                if not self._is_locked:
                    _lock(file)
                size = file.seek(0, os.SEEK_END)
                if size:
                    file.seek(size - 1)
                    if file.read(1) != b"\n":  # what a kill or an editor left of a last line would swallow this one
                        line = b"\n" + line
                if file.write(line) != len(line):
                    file.truncate(size)
                    self._note("the disk is full; this look was not saved and will not count")
                os.fsync(file.fileno())
        except OSError as error:
            self._note(f"cannot be written ({error.strerror}); this look was not saved and will not count")

    def _note(self, text: str) -> None:
        note = on_one_line(f"ledger {self.path}: {text}")
        if note not in self._notes:
            self._notes.append(note)


def _lock(file: IO[bytes]) -> None:
    """Wait until no other process has this file locked; it is unlocked when it is closed."""
    if sys.platform != "win32":
        fcntl.flock(file, fcntl.LOCK_EX)


def _without_claim(look: Look) -> Look:
    """A look that says nothing and spends its level: whoever damages a line must not get it back."""
    level = look.level if 0 < look.level < FIRST_LEVEL else FIRST_LEVEL
    return replace(look, verdict="invalid", claim=None, end="withdrawn", lost=1, level=level)


def _look(line: bytes) -> Look | None:
    """The look in a line; `None` where there is none that can be read."""
    if len(line) > MOST_LINE_BYTES:
        return None
    try:
        look = _LOOK.validate_json(line)
        is_dated = datetime.fromisoformat(look.at).tzinfo is not None
    except ValueError:
        return None
    return look if is_dated and look.format == LOOK_FORMAT else None


def _place(look: Look) -> tuple[str, str, str]:
    """A run folder has a name of its own, wherever it lies, and its students have."""
    return look.run.rpartition("/")[2], look.student, look.asked
