"""The table of a sweep for people: a summary first, then the rows that matter most. Readable for 5 rows and 100,000."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from upskill.domain.job import JobSpending
from upskill.domain.sweep_table import STATES, RowState, SweepTable, TableRow
from upskill.domain.text import count, points, points_range, shortened, visible
from upskill.reporting.glance.names import fitted, is_scripted, names_by_model
from upskill.reporting.glance.terminal_block import style_of
from upskill.reporting.glance.values import IN_ASCII
from upskill.reporting.lines import print_lines
from upskill.reporting.sufficient_students import ENOUGH
from upskill.reporting.wording import USUAL, can_draw, covers, paid

MOST_ROWS = 24
"""A table of at most so many rows is shown whole; of a longer one these."""
_SHARES: dict[RowState, int] = {"confirmed": 12, "found once": 5, "hurts": 4, "cheaper": 3}
"""Of the rows that are shown of a long table; what one state leaves goes to the others."""
_MOST_REASONS = 3
_LONGEST_REASON = 200
_GAP = 2
_LEAST_NAME = 10
_MOST_NAME = 36
_LEAST_STATE = 10
_NEEDED = "−–…"
_VERDICTS: dict[RowState, str] = {"confirmed": "helps", "hurts": "hurts", "cheaper": "cheaper"}


def show_sweep(table: SweepTable, console: Console, *, folder: str) -> None:
    """Print the summary, the rows that matter most, and where the others are."""
    plain = not can_draw(console, _NEEDED)
    head, *rest = summary(table)
    lines = [Text(head, style="bold"), *map(Text, rest)]
    shown = chosen(table.rows, MOST_ROWS)
    lines += _drawn(shown, console)
    hidden = len(table.rows) - len(shown)
    if any(row.interval_for == "these cases" for row in shown):
        lines.append(Text("* on these cases only; nothing is shown for new cases of this kind", style="dim"))
    where = visible(folder)
    lines.append(Text(f"{count(hidden, 'more row')} in {where}/table.csv" if hidden else f"Written to {where}"))
    print_lines([Text(line.plain.translate(IN_ASCII), style=line.style) if plain else line for line in lines], console)


def summary(table: SweepTable) -> list[str]:
    """What became of all rows, what was charged, what chance does, and which model is the cheapest: a line each."""
    states = ", ".join(f"{number:,} {state}" for state, number in table.states.items()) or "nothing planned"
    left = table.evaluations - table.evaluations_done
    done = "" if not left else f" ({left:,} of {count(table.evaluations, 'evaluation')} without a result)"
    lines = [f"{count(table.skills, 'skill')} on {count(len(table.models), 'model')}{done}: {states}."]
    lines += (
        f"{state}: {_reasons(table.rows, state)}." for state in ("invalid", "not reached") if state in table.states
    )
    lines.append(_charged(table))
    if table.tested:
        lines.append(chance(table))
    if cheapest := _cheapest(table.rows):
        lines.append(cheapest)
    if any(map(is_scripted, table.models)):
        lines.append("Scripts answer, not models: this says nothing about any model.")
    return lines


def chance(table: SweepTable) -> str:
    """How many winners are to be expected where no skill helps, without a second evaluation and with one."""
    expected, found = table.false_by_chance, table.found
    level = f"{100 * expected / table.tested:.2g}%"
    said = (
        f"Chance: {count(table.tested, 'test')} at {level} each, one for each skill and model. If no skill helped, "
        f"{_figure(expected)} would be found on average; {found:,} {'was' if found == 1 else 'were'} found"
    )
    if found:
        said += f", so up to {min(1.0, expected / found):.0%} of them may be false without a confirmation"
    if table.confirms:
        confirmed = table.states.get("confirmed", 0)
        said += (
            f". A second evaluation lets {_figure(table.false_by_chance_twice)} of such false ones pass; "
            f"{confirmed:,} {'is' if confirmed == 1 else 'are'} confirmed"
        )
    return f"{said}."


def _figure(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def _charged(table: SweepTable) -> str:
    second = table.charged_for_confirmations
    of_these = f", of these {_spent(second)} for confirmations" if second.calls else ""
    unknown = ""
    if table.unpriced and table.charged.cost is not None:
        names = ", ".join(visible(name) for name in table.unpriced[:_MOST_REASONS])
        more = f" and {len(table.unpriced) - _MOST_REASONS} more" if len(table.unpriced) > _MOST_REASONS else ""
        unknown = f"; without the dollars of {names}{more}, whose price is unknown"
    return f"Charged: {_spent(table.charged)}{of_these}{unknown}."


def _spent(spending: JobSpending) -> str:
    return f"{count(spending.calls, 'call')} ({paid(spending.cost)})"


def _cheapest(rows: Iterable[TableRow]) -> str:
    """For how many skills each model is the cheapest; empty where nothing was measured."""
    by_skill = {(row.skill, row.version): row.cheapest for row in rows if row.pairs is not None}
    if not by_skill:
        return ""
    models = Counter(one.model for one in by_skill.values() if one is not None)
    said = [f"{visible(model)} for {count(number, 'skill')}" for model, number in models.most_common()]
    if none := sum(one is None for one in by_skill.values()):
        said.append(f"none for {count(none, 'skill')}")
    return f"Cheapest model with a pass rate of {ENOUGH:.0%} or more: {', '.join(said)}."


def _reasons(rows: Iterable[TableRow], state: str) -> str:
    reasons = Counter(shortened(visible(row.why or "unknown"), _LONGEST_REASON) for row in rows if row.state == state)
    said = [f"{number:,} {why.rstrip('.')}" for why, number in reasons.most_common(_MOST_REASONS)]
    if more := len(reasons) - _MOST_REASONS:
        said += [f"{more:,} other reasons"] if more > 0 else []
    return "; ".join(said)


def chosen(rows: Sequence[TableRow], most: int) -> list[TableRow]:
    """The rows that matter most, best first: all of them where they are few."""
    ordered = sorted(rows, key=_order)
    if len(ordered) <= most:
        return ordered
    left = dict(_SHARES)
    taken: set[int] = set()
    for number, row in enumerate(ordered):
        if left.get(row.state, 0) and len(taken) < most:
            left[row.state] -= 1
            taken.add(number)
    measured = (number for number, row in enumerate(ordered) if row.lift is not None and number not in taken)
    for number in measured:
        if len(taken) == most:
            break
        taken.add(number)
    return [ordered[number] for number in sorted(taken)]


def _order(row: TableRow) -> tuple[int, float, str, str]:
    """By state, then the surest gain first; of `hurts` the surest loss."""
    sure = 0.0 if row.low is None or row.high is None else row.high if row.state == "hurts" else -row.low
    return STATES.index(row.state), sure, row.skill, row.model


def lift_words(row: TableRow) -> str:
    """The lift in points with its interval; a star where that is on these cases only."""
    if row.lift is None or row.low is None or row.high is None:
        return "–"
    share = "" if row.confidence is None or covers(row.confidence) == USUAL else f"{covers(row.confidence)} "
    star = "*" if row.interval_for == "these cases" else ""
    return f"{points(row.lift)} ({share}{points_range(row.low, row.high)}){star}"


def state_words(row: TableRow) -> str:
    """The state, and why it is no better."""
    return row.state if row.why is None else f"{row.state}: {visible(row.why)}"


def _drawn(rows: Sequence[TableRow], console: Console) -> Iterator[Text]:
    """A line for each row, as wide as the console."""
    if not rows:
        return
    ranks = any(row.rank is not None for row in rows)
    skills = names_by_model(list(dict.fromkeys(row.skill for row in rows)))
    models = names_by_model(list(dict.fromkeys(row.model for row in rows if row.model)))
    heads = ("skill", "model", f"lift ({USUAL})", "pairs", *(("rank",) if ranks else ()), "state")
    cells = [
        (
            skills[row.skill],
            models.get(row.model, "–"),
            lift_words(row),
            "–" if row.pairs is None else f"{row.pairs:,}",
            *(("" if row.rank is None else str(row.rank),) if ranks else ()),
            state_words(row),
        )
        for row in rows
    ]
    widths = [max(cell_len(row[column]) for row in (heads, *cells)) for column in range(len(heads))]
    figures = sum(widths[2:-1]) + _GAP * (len(heads) - 1)
    state = min(widths[-1], max(cell_len(row.state) for row in rows) + _LEAST_STATE)
    room = console.width - figures - state
    skill = min(widths[0], _MOST_NAME, max(_LEAST_NAME, room * 3 // 5, room - widths[1]))
    widths[:2] = skill, min(widths[1], _MOST_NAME, max(_LEAST_NAME, room - skill))
    widths[-1] = max(_LEAST_STATE, console.width - figures - sum(widths[:2]))
    yield Text(_line(heads, widths), style="dim")
    for row, mine in zip(rows, cells, strict=True):
        yield Text(_line(mine, widths), style=style_of(_VERDICTS.get(row.state, "")) if row.state in _VERDICTS else "")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """The names cut in the middle, the numbers to the right, the state at the end."""
    names = [_left(fitted(cell, width), width) for cell, width in zip(cells[:2], widths[:2], strict=True)]
    numbers = [" " * (width - cell_len(cell)) + cell for cell, width in zip(cells[3:-1], widths[3:-1], strict=True)]
    line = [*names, _left(cells[2], widths[2]), *numbers, shortened(cells[-1], widths[-1])]
    return (" " * _GAP).join(line).rstrip()


def _left(cell: str, width: int) -> str:
    return cell + " " * (width - cell_len(cell))
