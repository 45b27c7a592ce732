"""Lines for people: wrapped between words on a terminal, and as they are where they are piped."""

import textwrap
from collections.abc import Iterable

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text


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
    rows = _wrapped(line.plain, max(20, console.width - indent))
    return [Text(margin + row, style=line.style) for row in rows]


def height_of(lines: Iterable[Text], console: Console) -> int:
    """How many rows lines take; where they are piped, as many as there are."""
    if not console.is_terminal:
        return len(list(lines))
    return sum(max(1, -(-cell_len(row.plain) // console.width)) for line in lines for row in rows_of(line, console))


def cut_to(text: str, console: Console, *, rows: int) -> str:
    """The text in at most so many rows of the terminal; whole where it is piped."""
    if not console.is_terminal or len(_wrapped(text, console.width)) <= rows:
        return text
    words = text.split()
    while len(words) > 1 and len(_wrapped(f"{' '.join(words)} …", console.width)) > rows:
        words.pop()
    return f"{' '.join(words)} …"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        subsequent_indent=" " * (len(text) - len(text.lstrip()) + 2),
        replace_whitespace=False,
        break_on_hyphens=False,
        break_long_words=False,
    ) or [""]
