"""Tables of skills, runs, models and settings, and the same as JSON rows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

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
