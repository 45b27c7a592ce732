"""An evaluation on a terminal: the answer first, a picture of it, and in few rows what else is worth knowing.

What has no room is counted, with the command that shows it; `figures` prints every figure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from upskill.domain import Evaluation, Purchase
from upskill.domain.text import count
from upskill.reporting.glance import Glance, glance, terminal_lines
from upskill.reporting.lines import cut_to, height_of, print_lines
from upskill.reporting.result_notes import ResultNote, result_notes
from upskill.reporting.wording import dollars

MOST_ROWS, ROWS_PER_MODEL = 12, 2
"""Rows for one model, and for each further one: everything that is left on the screen."""
MOST_NOTES = 3
_MUST_ROWS = 2


def most_rows(models: int) -> int:
    """How many rows of a terminal a command may leave, all together."""
    return MOST_ROWS + ROWS_PER_MODEL * max(0, models - 1)


def show_evaluation(
    evaluation: Evaluation, console: Console, *, shown: Glance | None = None, taken: int = 0, every_note: bool = False
) -> None:
    """Print the result. `taken` rows of those it may take are used for something else."""
    shown = glance(evaluation) if shown is None else shown
    sentences = [Text(one, style="bold") for one in shown.sentences]
    head = [*sentences, *picture(shown, console), Text(_spent(evaluation.bought), style="dim")]
    notes = list(result_notes(evaluation))
    most = None if every_note else most_rows(len(evaluation.students)) - taken
    run = evaluation.run if evaluation.run_is_here else None
    print_lines([*head, *note_lines(notes, console, run=run, most=most, above=head)], console)


def picture(shown: Glance, console: Console) -> list[Text]:
    """A row for each model, and the key; sentences are wrapped with all other lines, and not where they are piped."""
    return terminal_lines(replace(shown, sentences=()), console)


def note_lines(
    notes: Sequence[ResultNote],
    console: Console,
    *,
    run: str | None,
    most: int | None,
    above: Iterable[Text],
    where: Sequence[Text] = (),
) -> list[Text]:
    """As many notes as there is room for under what is `above`, how many there are more, and where everything is kept.

    `where` says so of all but the run folder.
    """
    must = [_line(note, console) for note in notes if note.must_show]
    others = [_line(note, console) for note in notes if not note.must_show]
    facts = sum(note.is_fact for note in notes)
    kept = [*where, *([] if run is None else [Text(f"Run kept in {run}")])]
    if most is None:
        return [*must, *others, *kept]
    room = most - height_of([*above, *must], console)
    for number in range(min(len(others), max(0, MOST_NOTES - len(must)) + facts), -1, -1):
        lines = [*others[:number], *_more(len(others) - number, run), *kept]
        if height_of(lines, console) <= room:
            return [*must, *lines]
    return [*must, *_more(len(others), run), *(where if others else kept)]  # what names the notes names the run


def _more(number: int, run: str | None) -> list[Text]:
    if not number:
        return []
    command = "add --verbose" if run is None else f"upskill report {run}"
    return [Text(f"{number} more {'note' if number == 1 else 'notes'}: {command}", style="dim")]


def _line(note: ResultNote, console: Console) -> Text:
    if note.must_show:
        return Text(cut_to(note.text, console, rows=_MUST_ROWS), style="yellow")
    return Text(note.text, style="" if note.is_fact else "dim")


def _spent(bought: Purchase) -> str:
    cost = "price unknown" if bought.cost is None else dollars(bought.cost)
    line = f"spent: {cost}, {bought.calls:,} calls, {bought.tokens:,} tokens"
    if bought.failed_calls:
        line += f"; {count(bought.failed_calls, 'call')} brought no answer"
        line += f" (~{dollars(bought.lost)})" if bought.lost else ""
    if bought.reused:
        age = "" if bought.oldest_reused_days is None else f", the oldest {_age(bought.oldest_reused_days)}"
        line += f"; {bought.reused:,} answers reused from the store{age}"
    return line


def _age(days: float) -> str:
    if days < 1 / 24:
        return "less than an hour old"
    return f"{count(round(days * 24), 'hour')} old" if days < 2 else f"{days:.0f} days old"
