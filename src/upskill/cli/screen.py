"""A few lines at the foot of a terminal that are rewritten in place, and lines above them that stay.

Knows nothing of what the lines say. The cursor rests on the free line under the block: whatever the terminal echoes
there, such as ^C, is gone with the next drawing.
"""

import os
import shutil
import sys
import textwrap
import threading
from collections.abc import Sequence
from typing import NamedTuple, TextIO

import click

from upskill.domain.text import visible

_STYLES = {"dim": "\x1b[2m", "bold": "\x1b[1m", "blue": "\x1b[94m", "orange": "\x1b[33m"}
"""Of the sixteen colours that every terminal has: its yellow is the one nearest to orange."""
_PLAIN = "\x1b[0m"


class Line(NamedTuple):
    """One line of a block, and how it looks."""

    text: str
    style: str = ""


def can_animate(stream: TextIO, *, no_color: bool) -> bool:
    """Whether a block may be drawn: only on a terminal that can move its cursor, and that nobody wants plain."""
    wanted = not no_color and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in ("dumb", "")
    return stream.isatty() and (wanted if os.name == "posix" else not no_color)


def wrapped(text: str, columns: int) -> list[str]:
    """A line in rows of a terminal, broken between words only: a path in two parts cannot be copied.

    Later rows stand a little further in than the first.
    """
    margin = " " * (len(text) - len(text.lstrip()) + 2)
    rows = textwrap.wrap(
        text,
        max(20, columns - 1),
        subsequent_indent=margin,
        replace_whitespace=False,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return rows or [""]


class Screen:
    """One stream, shared by the block and the lines that stay. Safe to be used from two threads."""

    def __init__(self, *, no_color: bool = False) -> None:
        self._stream = sys.stderr
        self.animated = can_animate(self._stream, no_color=no_color)
        self.draws_blocks = _encodes(self._stream, "█░…")
        self._lock = threading.RLock()
        self._drawn: tuple[Line, ...] = ()
        self._width = self._seen = 0

    @property
    def size(self) -> os.terminal_size:
        """Columns and rows as they are now; a stream that is no terminal is taken to be wide."""
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            return shutil.get_terminal_size((120, 24))
        return size if size.columns > 0 else os.terminal_size((80, 24))

    def say(self, text: str) -> int:
        """A line that stays, above the block. On a terminal it is wrapped at words. Returns how many rows it takes."""
        text = visible(text)
        rows = wrapped(text, self.size.columns) if self._stream.isatty() else [text]
        with self._lock:
            drawn = self._drawn
            self.clear()
            for row in rows:
                click.echo(row, err=True)
            self.draw(drawn)
        return len(rows)

    def draw(self, lines: Sequence[Line]) -> None:
        """Put these lines in place of those drawn before. What is drawn already is not sent again."""
        lines = [Line(visible(line.text), line.style) for line in lines]
        with self._lock:
            width, seen = self.size.columns, self._seen
            self._seen = width
            if not self.animated or (tuple(lines) == self._drawn and width == self._width):
                return
            if seen not in (0, width):
                return  # the window is being dragged: until it holds still, its rows cannot be counted
            painted = "".join(f"{_painted(line)}\x1b[K\n" for line in lines)
            # A terminal remembers which rows it has wrapped and joins them again when it becomes wider, whatever is
            # written there by then: the block would have fewer rows than lines. A row that is erased is forgotten.
            start = self._to_top(width) if width == self._width else self._erased(width)
            self._write(f"{start}{painted}\x1b[J")
            self._drawn, self._width = tuple(lines), width

    def clear(self) -> None:
        """Take the block away; what stood above it stays."""
        with self._lock:
            if self._drawn:
                self._write(self._erased(self.size.columns))
                self._drawn = ()

    def _erased(self, width: int) -> str:
        """To the first column of the block's first row, with every row of the block erased, and the free one under it.

        Row by row: a terminal that is told to erase everything from its first row on keeps a copy above it.
        """
        erased_rows = "\x1b[2K\x1b[B" * self._rows(width)
        return f"{self._to_top(width)}{erased_rows}\x1b[2K{self._to_top(width)}"

    def _to_top(self, width: int) -> str:
        """To the first column of the block's first row."""
        rows = self._rows(width)
        return f"\r\x1b[{rows}A" if rows else "\r"

    def _rows(self, width: int) -> int:
        """How many rows the block takes. Lines longer than a terminal that became narrower are wrapped there by now,
        so they take more than when they were drawn."""
        from rich.cells import cell_len

        return sum(max(1, -(-cell_len(line.text) // width)) for line in self._drawn)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self.animated = False  # nobody reads any more


def _painted(line: Line) -> str:
    return f"{_STYLES[line.style]}{line.text}{_PLAIN}" if line.style else line.text


def _encodes(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
