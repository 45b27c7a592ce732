"""An evaluation on a terminal: the answer first, a picture of it, and in few rows what else is worth knowing.

What has no room is counted, with the command that shows it; `figures` prints every figure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise, product

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from upskill.core.nouns import Evaluation, Purchase
from upskill.core.nouns.text import count
from upskill.report.console import cut_to, height_of, print_lines
from upskill.report.dumbbell import ASCII, UNICODE, Glyphs, drawn
from upskill.report.glance import ASCII_SIGNS, IN_ASCII, Glance, GlanceRow, glance
from upskill.report.result_notes import ResultNote, result_notes
from upskill.report.wording import USUAL, can_draw, dollars, paid, told_apart

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


MOST_ROWS, ROWS_PER_MODEL = 12, 2
"""Rows for one model, and for each further one: everything that is left on the screen."""
MOST_NOTES = 3
_ALL_ROWS = 1_000


def most_rows(models: int) -> int:
    """How many rows of a terminal a command may leave, all together."""
    return MOST_ROWS + ROWS_PER_MODEL * max(0, models - 1)


def show_evaluation(
    evaluation: Evaluation, console: Console, *, shown: Glance | None = None, taken: int = 0, every_note: bool = False
) -> None:
    """Print the result. `taken` rows of those it may take are used for something else."""
    shown = glance(evaluation) if shown is None else shown
    result = TerminalResult(
        head=(*(Text(one, style="bold") for one in shown.sentences), *picture(shown, console)),
        facts=(spent_words(evaluation.bought),),
        notes=tuple(result_notes(evaluation)),
        run=evaluation.run if evaluation.run_is_here else None,
    )
    most = None if every_note else most_rows(len(evaluation.students)) - taken
    print_lines(result.lines(console, most=most), console)


def picture(shown: Glance, console: Console) -> list[Text]:
    """A row for each model, and the key; sentences are wrapped with all other lines, and not where they are piped."""
    return terminal_lines(replace(shown, sentences=()), console)


@dataclass(frozen=True, kw_only=True, slots=True)
class TerminalResult:
    """A result as lines, of which more or fewer are printed."""

    head: tuple[Text, ...]
    """The answer and the picture."""
    facts: tuple[str, ...]
    """What it took, and how it came about."""
    notes: tuple[ResultNote, ...]
    where: tuple[str, ...] = ()
    """Where things were saved, besides the run folder."""
    run: str | None
    """The run folder; `None` where it is gone."""

    def lines(self, console: Console, *, most: int | None) -> list[Text]:
        """At most so many rows where that is possible. Notes go first, and then the ends of what must be shown."""
        if most is None:
            return self._lines(console, others=len(self.notes), must_rows=_ALL_ROWS)
        others = [note for note in self.notes if not note.must_show]
        must = len(self.notes) - len(others)
        shown = min(len(others), max(0, MOST_NOTES - must) + sum(note.is_fact for note in others))
        numbers = range(shown, 0, -1)
        # A note is worth more than a second line with the name of the run.
        choices = [*product((False,), numbers), *product((True,), numbers), (False, 0), (True, 0)]
        for must_rows, (once, number) in product((3, 2, 1), choices):
            lines = self._lines(console, others=number, must_rows=must_rows, name_run_once=once)
            if height_of(lines, console) <= most:
                break
        return lines

    def _lines(self, console: Console, *, others: int, must_rows: int, name_run_once: bool = False) -> list[Text]:
        must = [
            Text(cut_to(one.short or one.text if must_rows == 1 else one.text, console, rows=must_rows), style="yellow")
            for one in self.notes
            if one.must_show
        ]
        notes = [Text(one.text, style="" if one.is_fact else "dim") for one in self.notes if not one.must_show]
        more = self._more(len(notes) - others)
        kept = [] if self.run is None or (more and name_run_once) else [f"Run saved in {self.run}"]
        return [
            *self.head,
            *(Text(cut_to(one, console, rows=must_rows), style="dim") for one in self.facts),
            *must,
            *notes[:others],
            *(Text(one, style="dim") for one in more),
            *map(Text, (*self.where, *kept)),
        ]

    def _more(self, number: int) -> list[str]:
        command = "add --verbose" if self.run is None else f"upskill report {self.run}"
        return [f"{number} more {'note' if number == 1 else 'notes'}: {command}"] if number > 0 else []


def spent_words(bought: Purchase) -> str:
    """What an evaluation took, in one line."""
    line = f"spent: {paid(bought.cost)}, {bought.calls:,} calls, {bought.tokens:,} tokens"
    if bought.failed_calls:
        line += f"; {count(bought.failed_calls, 'call')} returned no answer"
        line += f" (~{dollars(bought.lost)})" if bought.lost else ""
    if bought.reused:
        age = "" if bought.oldest_reused_days is None else f", oldest {_age(bought.oldest_reused_days)}"
        line += f"; {bought.reused:,} answers from the cache{age}"
    return line


def _age(days: float) -> str:
    if days < 1 / 24:
        return "less than an hour old"
    return f"{count(round(days * 24), 'hour')} old" if days < 2 else f"{days:.0f} days old"
