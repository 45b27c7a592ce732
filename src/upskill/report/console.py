"""Lines and tables for people, on a console of rich on which no text that is printed can act.

Control characters are shown as escapes, a newline too, and square brackets are no markup. Only styles that our own code
gives to a text become escape sequences."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from rich.cells import cell_len
from rich.console import Console, Group
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from upskill.core.nouns.text import visible, wrapped


class VisibleConsole(Console):
    """Prints lines and tables. Each text is one line, each cell of a table, or each part of it, likewise."""

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
    if isinstance(shown, Group):
        return Group(*map(_visible, shown.renderables))
    if isinstance(shown, str):
        return Text(visible(shown))
    if isinstance(shown, Text) and visible(shown.plain) != shown.plain:
        shown = shown.copy()
        shown.plain = visible(shown.plain)
    return shown


def print_lines(lines: Iterable[Text], console: Console, *, indent: int = 0) -> None:
    """Print lines, so far from the left, without a trailing space."""
    for line in lines:
        for row in rows_of(line, console, indent=indent):
            console.print(row, soft_wrap=True)


def rows_of(line: Text, console: Console, *, indent: int = 0) -> list[Text]:
    """The rows that a line takes. A word that is wider than the terminal stays whole: a path is to be copied."""
    margin = " " * (indent if line.plain.strip() else 0)
    if not console.is_terminal or cell_len(line.plain) + indent <= console.width:
        return [Text.assemble(margin, line) if margin else line]
    rows = wrapped(line.plain, max(20, console.width - indent))
    return [Text(margin + row, style=line.style) for row in rows]


def height_of(lines: Iterable[Text], console: Console) -> int:
    """How many rows lines take; where they are piped, as many as there are."""
    if not console.is_terminal:
        return len(list(lines))
    return sum(max(1, -(-cell_len(row.plain) // console.width)) for line in lines for row in rows_of(line, console))


def cut_to(text: str, console: Console, *, rows: int) -> str:
    """The text in at most so many rows of the terminal; whole where it is piped."""
    if not console.is_terminal or len(wrapped(text, console.width)) <= rows:
        return text
    words = text.split()
    while len(words) > 1 and len(wrapped(f"{' '.join(words)} …", console.width)) > rows:
        words.pop()
    return f"{' '.join(words)} …"


Row = Mapping[str, object]


def show_rows(
    rows: Sequence[Row],
    columns: Sequence[str],
    console: Console,
    *,
    folded: Iterable[str] = (),
    right: Iterable[str] = (),
) -> None:
    """Print rows under their column names. Columns named in `folded` give way first when space is short.

    `right`: columns of numbers, which end where their names end.
    """
    fold, numbers = set(folded), set(right)
    table = plain_table()
    for column in columns:
        if column in fold:
            table.add_column(column.replace("_", " "), overflow="fold")
        else:
            justify: Literal["left", "right"] = "right" if column in numbers else "left"
            table.add_column(column.replace("_", " "), no_wrap=True, justify=justify)
    for row in rows:
        table.add_row(*(Text("" if (cell := row.get(column)) is None else str(cell)) for column in columns))
    print_table(table, console)


def plain_table(*columns: str) -> Table:
    """A table without lines; its columns are folded where space is short."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def print_table(table: Table, console: Console) -> None:
    """A table without the spaces at the end of its lines: piped into a narrow terminal, they would make empty lines."""
    for line in console.render_lines(table, pad=False):
        text = Text.assemble(*((segment.text, segment.style or "") for segment in line if not segment.control))
        text.rstrip()
        console.print(text, soft_wrap=True)
