"""A few lines at the foot of a terminal that are rewritten in place, lines above them that stay, and lines of a log.

A block is redrawn by a thread: the work only changes its content, and never waits for a terminal. The cursor rests on
the free line under the block: whatever the terminal echoes there, such as ^C, is gone with the next drawing.
"""

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import NamedTuple, Protocol, Self, TextIO

import click

from upskill.core.nouns.text import visible, wrapped
from upskill.core.progress import Progress

_STYLES = {"dim": "\x1b[2m", "bold": "\x1b[1m", "blue": "\x1b[94m", "orange": "\x1b[33m"}
"""Colours are from the sixteen that every terminal has: its yellow is the one nearest to orange."""
_PLAIN = "\x1b[0m"
_BAR = 20
"""Characters of a bar."""


class Line(NamedTuple):
    """One line of a block, and how it looks."""

    text: str
    style: str = ""


def can_animate(stream: TextIO) -> bool:
    """Whether a block may be drawn: only on a terminal that can move its cursor, and that nobody wants plain."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in ("dumb", "")
    return stream.isatty() and (wanted or os.name != "posix")


class Screen:
    """One stream, shared by the block and the lines that stay. Safe to be used from two threads."""

    def __init__(self) -> None:
        self._stream = sys.stderr
        self.animated = can_animate(self._stream)
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
        rows = wrapped(text, max(20, self.size.columns - 1)) if self._stream.isatty() else [text]
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


REDRAW_SECONDS = 0.25
MOST_SHARE = 0.05
"""Drawing may take so much of the time, no more: a block that is slow to make is drawn more rarely."""
FIRST_DRAW_SECONDS = 0.6
"""What is over sooner shows nothing."""
FIRST_LINE_SECONDS = 10.0
LONGEST_SILENCE_SECONDS = 300.0
"""Logs of machines: the silence between two lines doubles up to this, which no CI takes for a hang."""


class Content(Protocol):
    """What is shown. Asked on the drawing thread while the work goes on, so it must bear being changed meanwhile."""

    def block(self, *, width: int, height: int, drawn: bool) -> Sequence[Line]:
        """At most so many rows, each shorter than the width; `drawn`: whether bars can be shown."""
        ...

    def lines(self) -> Sequence[str]:
        """The same as lines of a log; empty while there is nothing worth one."""
        ...


class LiveDisplay:
    """Use it in a `with` block; afterwards the screen is as if nothing had been drawn."""

    def __init__(self) -> None:
        self._screen = Screen()
        self.rows_noted = 0
        """How many rows the notes so far take."""
        self._content: Content | None = None
        self._since = 0.0
        self._next_line = 0.0
        self._turn = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=2)
        self._screen.clear()

    @property
    def animated(self) -> bool:
        """Whether a block is drawn; otherwise lines are written now and then."""
        return self._screen.animated

    def note(self, line: str) -> None:
        self.rows_noted += self._screen.say(line)

    def show(self, content: Content | None) -> None:
        """Show this from now on; `None` takes the block away, so that a person can be asked something."""
        with self._turn:
            self._content, self._since, self._next_line = content, time.monotonic(), 0.0
            if content is None:
                self._screen.clear()
        if content is not None and self._thread is None:
            self._thread = threading.Thread(target=self._keep_showing, name="progress", daemon=True)
            self._thread.start()

    def _keep_showing(self) -> None:
        pause = REDRAW_SECONDS
        while not self._stop.wait(pause):
            began = time.thread_time()
            content, elapsed = self._content, time.monotonic() - self._since
            if content is not None and self._screen.animated:
                if elapsed >= FIRST_DRAW_SECONDS:
                    self._draw(content)
            elif content is not None and elapsed >= self._next_line:
                self._say_lines(content, elapsed)
            pause = max(REDRAW_SECONDS, (time.thread_time() - began) / MOST_SHARE)

    def _draw(self, content: Content) -> None:
        columns, rows = self._screen.size
        block = content.block(width=columns, height=max(2, rows - 2), drawn=self._screen.draws_blocks)
        with self._turn:
            if content is self._content and not self._stop.is_set():
                self._screen.draw(block)

    def _say_lines(self, content: Content, elapsed: float) -> None:
        lines = content.lines()
        for line in lines:
            self._screen.say(line)
        if lines:
            silence = min(max(elapsed, FIRST_LINE_SECONDS), LONGEST_SILENCE_SECONDS)
            self._next_line = FIRST_LINE_SECONDS if elapsed < FIRST_LINE_SECONDS else elapsed + silence


def progress_bar(done: int, of: int, *, drawn: bool) -> str:
    """How much is done, as a bar with the percentage after it."""
    full, empty = ("█", "░") if drawn else ("#", ".")
    share = min(1.0, done / of) if of else 0.0
    filled = int(share * _BAR)
    return f"{full * filled}{empty * (_BAR - filled)} {int(share * 100):>3}%"


def clock(seconds: float) -> str:
    """A duration as people say it."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class Step:
    """So many of so many; how many there are in all may be unknown."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.done = 0
        self.of: int | None = None
        self._began = time.monotonic()

    def block(self, *, width: int, height: int, drawn: bool) -> Sequence[Line]:
        text = f"  {self._text(drawn=drawn)}"
        return [Line(text if len(text) < width else text[: max(1, width - 1)], "dim")]

    def lines(self) -> Sequence[str]:
        """One line, but none in the first seconds."""
        return [f"  {self._text()}"] if time.monotonic() - self._began >= 2 else []

    def _text(self, *, drawn: bool | None = None) -> str:
        """With a bar where something is drawn and the total is known."""
        of = "" if self.of is None else f" of {self.of:,}"
        count = f": {self.done:,}{of}" if self.done or self.of is not None else ""
        bar = "" if drawn is None or not self.of else f"{progress_bar(self.done, self.of, drawn=drawn)}  "
        return f"{bar}{self.what}{count}, {clock(time.monotonic() - self._began)}"


class StepProgress(LiveDisplay, Progress):
    """Shows notes and steps. Use it in a `with` block."""

    def __init__(self) -> None:
        super().__init__()
        self._step: Step | None = None

    def step(self, what: str, done: int, of: int | None) -> None:
        self.show_step(what, done, of)

    def show_step(self, what: str, done: int, of: int | None) -> None:
        """Change the line below the notes; its clock goes on while `what` stays the same."""
        if self._step is None or self._step.what != what:
            self._step = Step(what)
            self._step.done, self._step.of = done, of
            self.show(self._step)
        self._step.done, self._step.of = done, of


class TimedProgress(StepProgress):
    """A teacher can take minutes to answer: a clock runs under the last line meanwhile."""

    def note(self, line: str) -> None:
        """Show the line, and a clock that begins now."""
        super().note(line)
        self._begin("working", None)

    def ask(self, question: Callable[[], bool]) -> bool:
        """What the person answers. No clock runs meanwhile."""
        self.show(None)
        answer = question()
        self._begin("working", None)
        return answer

    def _begin(self, what: str, of: int | None) -> None:
        self._step = None
        self.show_step(what, 0, of)
