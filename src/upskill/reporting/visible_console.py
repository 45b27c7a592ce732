"""The console of rich, through which tables and coloured lines are printed: no text that is printed can act on it.

Control characters are shown as escapes, a newline too, and square brackets are no markup. Only styles that our own code
gives to a text become escape sequences.
"""

from typing import Any

from rich.console import Console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from upskill.domain.text import visible


class VisibleConsole(Console):
    """Prints lines and tables. Each text is one line, each cell of a table likewise."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*map(_visible, objects), **options)

    def render_lines(self, renderable: Any, *settings: Any, **options: Any) -> list[list[Segment]]:
        return super().render_lines(_visible(renderable), *settings, **options)


def _visible(shown: Any) -> Any:
    if isinstance(shown, Table):
        shown.title = None if shown.title is None else _visible(shown.title)
        for column in shown.columns:
            column.header = _visible(column.header)
            column._cells = [_visible(cell) for cell in column._cells]
        return shown
    if isinstance(shown, str):
        return Text(visible(shown))
    if isinstance(shown, Text) and visible(shown.plain) != shown.plain:
        shown = shown.copy()
        shown.plain = visible(shown.plain)
    return shown
