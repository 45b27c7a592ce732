"""Lines and tables for people, on a console of rich on which no text that is printed can act.

Control characters are shown as escapes, a newline too, and square brackets are no markup. Only styles that our own code
gives to a text become escape sequences."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from upskill.core.nouns.text import visible, wrapped


class VisibleConsole(Console):
    """Prints lines and tables. Each text is one line, each cell of a table, or each part of it, likewise."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*map(_visible, objects), **options)

    def render_lines(self, renderable: Any, *settings: Any, **options: Any) -> list[list[Segment]]:
        return super().render_lines(_visible(renderable), *settings, **options)


def _visible(shown: Any) -> Any:
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


def table_lines(
    heads: Sequence[str],
    rows: Iterable[Sequence[Text]],
    width: int,
    *,
    names: int = 1,
    folded: Collection[int] = (),
    right: Collection[int] = (),
) -> list[list[Text]]:
    """The lines of the heads, and those of each row. No word is broken, however narrow the terminal is.

    A row is one line where there is room, and the columns `folded` take more lines between words. Where that is not
    enough, the first cells, so many as there are `names`, stand above the others. `right`: columns of numbers.
    """
    table = [[Text(head, style="dim") for head in heads], *([_visible(cell) for cell in row] for row in rows)]
    widest = [max(cell_len(row[column].plain) for row in table) for column in range(len(heads))]
    least = [
        max(cell_len(word) for row in table for word in row[column].plain.split() or [""]) if column in folded else most
        for column, most in enumerate(widest)
    ]
    spare = width - sum(least) - _GAP * (sum(map(bool, least)) - 1)
    if spare >= 0:
        wanted = sum(widest) - sum(least)
        shares = zip(least, widest, strict=True)
        widths = [a + min(b - a, spare * (b - a) // max(1, wanted)) for a, b in shares]
        return [list(_beside(row, widths, right)) for row in table]
    if names == 0:
        labelled = (
            "  ".join(f"{head} {cell}".strip() for head, cell in zip(heads, row, strict=True)) for row in table[1:]
        )
        return [[], *([Text(part) for part in wrapped(line, width)] for line in labelled)]
    others = table_lines(
        heads[names:],
        [row[names:] for row in table[1:]],
        width - _GAP,
        names=0,
        folded={column - names for column in folded},
        right={column - names for column in right},
    )
    return [
        [*_above(row[:names], width), *(Text.assemble(" " * _GAP, line) for line in below)]
        for row, below in zip(table, others, strict=True)
    ]


_GAP = 2
_ANY = VisibleConsole()


def _beside(row: Sequence[Text], widths: Sequence[int], right: Collection[int]) -> Iterator[Text]:
    """The lines of a row whose cells stand beside each other."""
    columns = [number for number, width in enumerate(widths) if width]
    cells = [row[number].wrap(_ANY, widths[number], overflow="crop") for number in columns]
    for parts in zip_longest(*cells, fillvalue=Text()):
        line = Text()
        for number, part in zip(columns, parts, strict=True):
            space = " " * (widths[number] - cell_len(part.plain.rstrip()))
            gap = " " * _GAP if line else ""
            part.rstrip()
            line = Text.assemble(line, gap, *((space, part) if number in right else (part, space)))
        line.rstrip()
        yield line


def _above(names: Sequence[Text], width: int) -> list[Text]:
    """The names on one line, or on one each."""
    names = [name for name in names if name.plain]
    line = Text("  ").join(names)
    return [line] if cell_len(line.plain) <= width and names else list(names)


def show_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[Text]],
    console: Console,
    *,
    names: int = 1,
    folded: Collection[int] = (),
    right: Collection[int] = (),
) -> None:
    """Print a table as `table_lines` lays it out."""
    for lines in table_lines(heads, rows, console.width, names=names, folded=folded, right=right):
        for line in lines:
            console.print(line, soft_wrap=True)


def show_rows(
    rows: Sequence[Mapping[str, object]],
    columns: Sequence[str],
    console: Console,
    *,
    names: int = 1,
    folded: Collection[str] = (),
    right: Collection[str] = (),
) -> None:
    """Print rows under their column names; the first `names` columns stand above the others where space is short."""
    show_table(
        [column.replace("_", " ") for column in columns],
        [[Text("" if (cell := row.get(column)) is None else str(cell)) for column in columns] for row in rows],
        console,
        names=names,
        folded=[number for number, column in enumerate(columns) if column in folded],
        right=[number for number, column in enumerate(columns) if column in right],
    )


def show_probes(title: str, probes: Iterable[tuple[int, str, bool, str]], console: Console) -> None:
    """A row for each thing that a program tried: its number, whether the sandbox held, and what was seen."""
    rows = [
        (Text(str(number)), Text(what), Text("held", "green") if held else Text("BROKE", "bold red"), Text(saw))
        for number, what, held, saw in probes
    ]
    show_table(("", title, "", "seen"), rows, console, names=2, folded=(1, 3), right=(0,))
