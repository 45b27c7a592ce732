"""Every trial as a row, with its values as they are, and as CSV (RFC 4180) for spreadsheets."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator

from upskill.core.nouns import Errored, Evaluation, Trial
from upskill.core.nouns.text import visible, whole_characters

Cell = str | int | float | None

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
"""A spreadsheet would take a cell that begins so for a formula. The apostrophe is here so that a reader can undo it."""
COLUMNS = (
    *("student", "case", "arm", "repeat"),
    *("outcome", "end", "fault", "passed", "checks_passed", "checks"),
    *("input_tokens", "output_tokens", "cost", "seconds", "calls", "served_model", "trial"),
    *("skill", "skill_digest", "run"),
    *("turns", "skill_loaded", "skill_files", "files_left"),
    *("load_turn", "other_skills"),
)
"""Later versions add columns at the end only."""


def safe_cell(cell: Cell) -> Cell:
    """The cell as text and nothing else: what would act on a terminal that shows it is written as an escape."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if not isinstance(cell, str):
        return cell
    shown = visible(whole_characters(cell))
    return f"'{shown}" if cell.startswith(_FORMULA) else shown


def csv_report(evaluation: Evaluation, trials: Iterable[Trial]) -> str:
    """A header and one row per answer, in the order given. Unknown values are empty, never 0."""
    return csv_of_evaluations([evaluation], lambda _: trials)


def csv_of_evaluations(evaluations: Iterable[Evaluation], trials_of: Callable[[Evaluation], Iterable[Trial]]) -> str:
    """The same for several evaluations under one header, one after the other."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for evaluation in evaluations:
        for row in trial_rows(evaluation, trials_of(evaluation)):
            writer.writerow(map(safe_cell, row.values()))
    return file.getvalue()


def trial_rows(evaluation: Evaluation, trials: Iterable[Trial]) -> Iterator[dict[str, Cell]]:
    """One row per answer, in the order given, by column. Unknown values are `None`, never 0."""
    last = (evaluation.skill.name, evaluation.skill.digest, evaluation.run)
    for trial in trials:
        yield dict(zip(COLUMNS, (*_cells(trial), *last, *_with_tools(trial)), strict=True))


def _cells(trial: Trial) -> tuple[Cell, ...]:
    outcome, usage = trial.outcome, trial.usage
    measured: tuple[Cell, ...]
    if isinstance(outcome, Errored):
        measured = ("errored", None, outcome.fault, None, None, None)
    else:
        grade = outcome.grade
        measured = ("scored", outcome.end, None, outcome.passed, grade.checks_passed, len(grade.results))
    return (
        trial.student,
        trial.case_id,
        trial.arm,
        trial.repeat,
        *measured,
        usage.input_tokens,
        usage.output_tokens,
        usage.cost,
        trial.seconds,
        trial.calls,
        trial.served_model,
        trial.id,
    )


def _with_tools(trial: Trial) -> tuple[Cell, ...]:
    """Empty for a student without tools."""
    use = trial.skill_use if trial.skill_use is not None and trial.skill_use.present else None
    return (
        trial.turns or None,
        None if use is None else use.loaded,
        None if use is None else " ".join(use.files),
        len(trial.files) if trial.turns else None,
        None if use is None else use.turn,
        None if trial.skill_use is None else " ".join(trial.skill_use.others),
    )
