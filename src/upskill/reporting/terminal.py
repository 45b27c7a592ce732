"""An evaluation on a terminal: the answer first, a picture of it, and in few rows what else is worth knowing.

What has no room is counted, with the command that shows it; `figures` prints every figure.
"""

from dataclasses import dataclass, replace
from itertools import product

from rich.console import Console
from rich.text import Text

from upskill.domain import Evaluation, Purchase
from upskill.domain.text import count
from upskill.reporting.glance import Glance, glance, terminal_lines
from upskill.reporting.lines import cut_to, height_of, print_lines
from upskill.reporting.result_notes import ResultNote, result_notes
from upskill.reporting.wording import dollars, paid

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
