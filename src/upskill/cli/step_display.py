"""How far something has come that is no evaluation: one line, once it takes longer than a moment."""

import time
from collections.abc import Sequence

from upskill.cli.live_display import LiveDisplay
from upskill.cli.screen import Line
from upskill.domain.progress import Progress


class Step:
    """So many of so many; how many there are in all may be unknown."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.done = 0
        self.of: int | None = None
        self._began = time.monotonic()

    def block(self, *, width: int, height: int, drawn: bool) -> Sequence[Line]:
        text = f"  {self._text()}"
        return [Line(text if len(text) < width else text[: max(1, width - 1)], "dim")]

    def lines(self) -> Sequence[str]:
        """One line, but none in the first seconds."""
        return [f"  {self._text()}"] if time.monotonic() - self._began >= 2 else []

    def _text(self) -> str:
        from upskill.reporting.live_table import clock

        of = "" if self.of is None else f" of {self.of:,}"
        count = f": {self.done:,}{of}" if self.done or self.of is not None else ""
        return f"{self.what}{count}, {clock(time.monotonic() - self._began)}"


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
