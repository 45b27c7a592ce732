"""Shows how far something has come: a block that a thread redraws on a terminal, a line now and then elsewhere.

Whoever does the work only changes the content; it never waits for a terminal.
"""

import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from upskill.cli.screen import Line, Screen
from upskill.domain.progress import Progress

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

    def __init__(self, *, no_color: bool = False) -> None:
        self._screen = Screen(no_color=no_color)
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
        from upskill.reporting.live_table import clock, progress_bar

        of = "" if self.of is None else f" of {self.of:,}"
        count = f": {self.done:,}{of}" if self.done or self.of is not None else ""
        bar = "" if drawn is None or not self.of else f"{progress_bar(self.done, self.of, drawn=drawn)}  "
        return f"{bar}{self.what}{count}, {clock(time.monotonic() - self._began)}"


class StepProgress(LiveDisplay, Progress):
    """Shows notes and steps. Use it in a `with` block."""

    def __init__(self, *, no_color: bool = False) -> None:
        super().__init__(no_color=no_color)
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
