"""A glance for a terminal: the sentences, a line per model with a dumbbell in it, and a key. Prints nothing."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from upskill.reporting.glance.names import told_apart
from upskill.reporting.glance.text_dumbbell import ASCII, UNICODE, Glyphs, drawn
from upskill.reporting.glance.values import ASCII_SIGNS, IN_ASCII, Glance, GlanceRow
from upskill.reporting.wording import USUAL, can_draw

_GAP = 2
_LEAST_BAR, _GOOD_BAR, _MOST_BAR = 10, 16, 41
_LEAST_NAME, _MOST_NAME = 14, 30
WITH_TOKENS = 100
"""Columns from which a line has room for the tokens."""
_STYLES = {"helps": "bright_blue", "cheaper": "bright_blue", "hurts": "dark_orange", "no difference": ""}
_NEEDED = "○●◉━╌╱·▲▼◆→−–…"


def style_of(verdict: str) -> str:
    """Blue where the skill helps, orange where it hurts, dim where nothing is clear."""
    return _STYLES.get(verdict, "dim")


def terminal_lines(glance: Glance, console: Console) -> list[Text]:
    """The sentences, a line for each row and a key: no line is wider than the console, 80 columns at least."""
    width = max(80, console.width)
    sentences = [Text(_encodable(one, console), style="bold") for one in glance.sentences]
    lines = [part for one in sentences for part in one.wrap(console, width)]
    if glance.rows:
        lines += aligned_rows([glance.rows], console)[0]
        lines += key_lines(glance, console)
    for line in lines:
        line.rstrip()
    return lines


def aligned_rows(groups: Sequence[Sequence[GlanceRow]], console: Console) -> list[list[Text]]:
    """A line for each row, in columns that are the same for all groups. Names differ within a group."""
    rows = [replace(row, name=_encodable(row.name, console)) for group in groups for row in group]
    if not rows:
        return [[] for _ in groups]
    plain = not can_draw(console, _NEEDED)
    lines = iter(_rows(rows, max(80, console.width), plain=plain, sizes=[len(group) for group in groups]))
    return [[next(lines) for _ in group] for group in groups]


def key_lines(glance: Glance, console: Console) -> list[Text]:
    """What the dots and figures of the rows are; empty where no row has any."""
    if not any(row.after is not None for row in glance.rows):
        return []
    return [_key(glance, max(80, console.width), plain=not can_draw(console, _NEEDED))]


def _rows(rows: Sequence[GlanceRow], width: int, *, plain: bool, sizes: Sequence[int]) -> list[Text]:
    glyphs = ASCII if plain else UNICODE
    texts = [_cells(row, plain=plain, tokens=width >= WITH_TOKENS) for row in rows]
    widths = [max(cell_len(row[column]) for row in texts) for column in range(len(texts[0]))]
    room = width - sum(one + _GAP for one in widths if one) - _GAP
    name = min(max(cell_len(row.name) for row in rows), _MOST_NAME, max(_LEAST_NAME, room - _GOOD_BAR))
    bar = max(_LEAST_BAR, min(_MOST_BAR, room - name))
    dots = "~" if plain else "…"
    ends = list(accumulate(sizes, initial=0))
    names = [
        one for begin, end in pairwise(ends) for one in told_apart([row.name for row in rows[begin:end]], name, dots)
    ]
    named = [replace(row, name=one) for row, one in zip(rows, names, strict=True)]
    return [_line(row, cells, (name, bar, *widths), glyphs) for row, cells in zip(named, texts, strict=True)]


def _cells(row: GlanceRow, *, plain: bool, tokens: bool) -> list[str]:
    here = " here" if row.reach and row.clarity == "clear" else ""
    sign = ASCII_SIGNS[row.sign] if plain else row.sign
    if row.lift is None:
        rate = row.after_text if row.after is not None else ""
        cells = [rate, "", f"{sign} {row.verdict}"]
    else:
        rates = f"{row.before_text:>4} → {row.after_text:>4}"
        cells = [rates, row.figures, f"{sign} {row.verdict}{here}"]
    if tokens:
        cells.append("" if row.tokens is None else f"{row.tokens} tokens")
    return [cell.translate(IN_ASCII) if plain else cell for cell in cells]


def _line(row: GlanceRow, cells: Sequence[str], widths: Sequence[int], glyphs: Glyphs) -> Text:
    style = style_of(row.verdict)
    name = row.name
    bar = drawn(row, widths[1], glyphs)
    line = Text(name + " " * (widths[0] - cell_len(name) + _GAP))
    line.append(bar, style=style)
    for number, (cell, width) in enumerate(zip(cells, widths[2:], strict=True)):
        if width:
            line.append(" " * _GAP + cell + " " * (width - cell_len(cell)), style=style if number == 2 else "")
    return line


def _confidence(rows: Sequence[GlanceRow]) -> str:
    """The confidence of the rows, where all have the same one."""
    found = {row.confidence for row in rows if row.interval}
    return found.pop() if len(found) == 1 else f"{USUAL} unless stated"


def _key(glance: Glance, width: int, *, plain: bool) -> Text:
    """What the dots are, and what the figures in brackets are; what has no room is left out, from the end."""
    glyphs, rows = (ASCII if plain else UNICODE), glance.rows
    parts = [f"{glyphs.hollow} {glance.before}", f"{glyphs.filled} {glance.after}"]
    if any(row.clarity == "unclear" for row in rows):
        parts.append(f"{glyphs.unclear * 2} not clear")
    reach = next((row.reach for row in rows if row.reach and row.clarity == "clear"), "")
    if reach and len(rows) > 1:
        parts.append(f"here: {reach}")
    if any(row.interval for row in rows):
        parts.append(f"lift in points ({_confidence(rows)})")
    while cell_len("   ".join(parts)) > width:
        parts.pop()
    return Text("   ".join(parts), style="dim")


def _encodable(text: str, console: Console) -> str:
    """The text in characters that the console can carry."""
    return text if can_draw(console, text) else text.translate(IN_ASCII).encode("ascii", "replace").decode("ascii")
