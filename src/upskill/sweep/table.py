"""The table of a sweep: skills by models with a state for each, for a terminal and as CSV, JSON and Markdown.

Readable for 5 rows and for 100,000. Foreign text is only text.
"""

import csv
import io
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from textwrap import shorten
from typing import Literal, get_args

from pydantic_core import to_jsonable_python
from rich.console import Console
from rich.text import Text

from upskill.core.nouns.case import Json
from upskill.core.nouns.lift import with_scope
from upskill.core.nouns.text import count, points, points_range, shortened, visible
from upskill.report.console import print_lines, table_lines
from upskill.report.facts import ENOUGH
from upskill.report.formats import safe_cell
from upskill.report.glance import IN_ASCII
from upskill.report.markdown import markdown_text
from upskill.report.terminal import style_of
from upskill.report.wording import USUAL, can_draw, covers, is_scripted, names_by_model, paid
from upskill.sweep.values import JobSpending

RowState = Literal[
    "confirmed",
    "found once",
    "hurts",
    "cheaper",
    "no difference",
    "undecided",
    "not compared",
    "invalid",
    "not reached",
]
"""`confirmed`: helps in the first evaluation and in a second one with fresh answers. `found once`: helps in the first
only. `not reached`: no result. The others are verdicts of the first evaluation; `not compared` is that of one without
a baseline."""
STATES: tuple[RowState, ...] = get_args(RowState)
_WORST_FIRST: tuple[RowState, ...] = (
    *("hurts", "invalid", "not reached", "undecided", "no difference", "not compared"),
    *("cheaper", "found once", "confirmed"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class TableRow:
    """One skill on one model, in the order of the columns. Figures are `None` where nothing was measured."""

    skill: str
    """As the manifest names it."""
    model: str
    """Empty for a skill that no evaluation can measure."""
    state: RowState
    lift: float | None = None
    """Share of one. Of a confirmed row that of the confirmation, which did not choose the skill."""
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    interval_for: str | None = None
    """`new cases` (of this kind) or `these cases`."""
    pairs: int | None = None
    rate_without: float | None = None
    rate_with: float | None = None
    rank: int | None = None
    """Among all skills on this model; `None` where its interval overlaps another one."""
    why: str | None = None
    """Why the state is no better: of `found once`, `invalid` and `not reached`."""
    first_lift: float | None = None
    """The lift of the first evaluation, where the lift is that of the confirmation."""
    cheapest_model: str | None = None
    """That does the skill's cases well enough, with the skill or without it; the same in all rows of the skill."""
    cheapest_with_skill: bool | None = None
    cheapest_pass_rate: float | None = None
    cheapest_per_answer: float | None = None
    cheapest_unit: Literal["dollars", "tokens"] | None = None
    cheapest_surely: bool | None = None
    """Whether the pass rate is high enough at the low end of its interval, too."""
    name: str
    """The skill's own name."""
    version: str
    evaluation: str = ""
    """The id of the first evaluation."""
    confirmation: str | None = None
    """The id of the second one, where it has a result."""
    answers: str | None = None
    """The run folder of the evaluation that the figures are of, below the place of the sweep."""
    level: float | None = None
    """The one-sided level at which the first evaluation was tested; `None` where nothing was. No column."""


COLUMNS = tuple(one.name for one in fields(TableRow) if one.name != "level")
"""Later versions add columns at the end only. Unknown values are `None`, never 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AboutSkill:
    """What concerns a skill on all models."""

    owner: str = ""
    """From `metadata` of the skill, or from CODEOWNERS."""
    charged: JobSpending = field(default_factory=JobSpending)


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepTable:
    """What a sweep found so far."""

    rows: tuple[TableRow, ...]
    skills: int
    models: tuple[str, ...]
    evaluations: int
    """In the plan, without confirmations."""
    evaluations_done: int
    charged: JobSpending
    """For all evaluations of the plan, each killed attempt with all that was reserved for it."""
    charged_for_confirmations: JobSpending
    """What of this was charged for confirmations."""
    unpriced: tuple[str, ...] = ()
    """Models whose price is unknown: their dollars are missing in what was charged."""
    confirms: bool
    """Whether winners are evaluated a second time."""
    about: Mapping[str, AboutSkill] = field(default_factory=dict)
    """By skill, as the manifest names it."""

    @property
    def states(self) -> dict[RowState, int]:
        """How many rows are in each state, without states that none is in."""
        counted = Counter(row.state for row in self.rows)
        return {state: counted[state] for state in STATES if counted[state]}

    @property
    def tested(self) -> int:
        """Skills times models of which a lift was measured."""
        return sum(row.level is not None for row in self.rows)

    @property
    def found(self) -> int:
        """Those of them that the first evaluation said help."""
        return sum(row.state in ("confirmed", "found once") for row in self.rows)

    @property
    def false_by_chance(self) -> float:
        """How many of the tested would be said to help on average if none did: the sum of the levels of the tests."""
        return sum(row.level for row in self.rows if row.level is not None)

    @property
    def false_by_chance_twice(self) -> float:
        """How many of them a confirmation, tested at the level of a first look, would say help again."""
        return sum(row.level**2 for row in self.rows if row.level is not None)


def ranked(rows: Iterable[TableRow]) -> tuple[TableRow, ...]:
    """The rows with a rank wherever the interval overlaps no other interval of the same model."""
    listed = list(rows)
    by_model: defaultdict[str, dict[int, tuple[float, float]]] = defaultdict(dict)
    for number, row in enumerate(listed):
        if row.low is not None and row.high is not None:
            by_model[row.model][number] = (row.low, row.high)
    for intervals in by_model.values():
        for number, rank in zip(intervals, _ranks(list(intervals.values())), strict=True):
            if rank is not None:
                listed[number] = replace(listed[number], rank=rank)
    return tuple(listed)


def _ranks(intervals: Sequence[tuple[float, float]]) -> list[int | None]:
    """1 for the highest; `None` where an interval overlaps or touches another, or where there is only one."""
    lows, highs = sorted(low for low, _ in intervals), sorted(high for _, high in intervals)
    ranks: list[int | None] = []
    for low, high in intervals:
        above = len(lows) - bisect_right(lows, high)
        below = bisect_left(highs, low)
        alone = above + below == len(intervals) - 1
        ranks.append(above + 1 if alone and len(intervals) > 1 else None)
    return ranks


MOST_ROWS = 24
"""A table of at most so many rows is shown whole; of a longer one these."""
_SHARES: dict[RowState, int] = {"confirmed": 12, "found once": 5, "hurts": 4, "cheaper": 3}
"""Rows of each state that are shown of a long table; what one state leaves goes to the others."""
_MOST_REASONS = 3
_LONGEST_REASON = 200
_LONGEST_STATE = 80
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
    by_skill = {(row.skill, row.version): row.cheapest_model for row in rows if row.pairs is not None}
    if not by_skill:
        return ""
    models = Counter(one for one in by_skill.values() if one is not None)
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
    """The rows that matter most, the worst state first: all of them where they are few."""
    ordered = sorted(rows, key=_order)
    if len(ordered) <= most:
        return sorted(ordered, key=_worst)
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
    return sorted((ordered[number] for number in sorted(taken)), key=_worst)


def _worst(row: TableRow) -> int:
    return _WORST_FIRST.index(row.state)


def _order(row: TableRow) -> tuple[bool, int, float, str, str]:
    """What hurts, the surest loss first, then by state and the surest gain."""
    sure = 0.0 if row.low is None or row.high is None else row.high if row.state == "hurts" else -row.low
    return row.state != "hurts", STATES.index(row.state), sure, row.skill, row.model


def lift_words(row: TableRow) -> str:
    """The lift in points with its interval."""
    if row.lift is None or row.low is None or row.high is None:
        return "–"
    share = "" if row.confidence is None or covers(row.confidence) == USUAL else f"{covers(row.confidence)} "
    return f"{points(row.lift)} ({share}{points_range(row.low, row.high)})"


def state_words(row: TableRow) -> str:
    """The state with its scope, and why it is no better."""
    state = with_scope(row.state, row.interval_for)
    return state if row.why is None else f"{state}: {visible(row.why)}"


def _drawn(rows: Sequence[TableRow], console: Console) -> Iterator[Text]:
    """Each row, in the width of the console."""
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
            shorten(state_words(row), _LONGEST_STATE, placeholder=" …"),
        )
        for row in rows
    ]
    styled = (
        [Text(cell, style=style_of(_VERDICTS[row.state]) if row.state in _VERDICTS else "") for cell in mine]
        for row, mine in zip(rows, cells, strict=True)
    )
    last = len(heads) - 1
    for lines in table_lines(heads, styled, console.width, names=2, folded=(last,), right=range(3, last)):
        yield from lines


SCHEMA = "upskill.sweep-report/1"
_MOST_ROWS = 100


def table_csv(table: SweepTable) -> str:
    """A header and every row (RFC 4180), safe to open in a spreadsheet."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in table.rows:
        writer.writerow(safe_cell(getattr(row, name)) for name in COLUMNS)
    return file.getvalue()


_FIGURES = (
    *("skills", "models", "evaluations", "evaluations_done", "states", "charged", "charged_for_confirmations"),
    *("unpriced", "tested", "found", "false_by_chance", "false_by_chance_twice"),
)


def table_json(table: SweepTable, *, problems: Sequence[str], folder: str) -> dict[str, Json]:
    """The object of `upskill sweep report --json`. Keys are a promise: added, never changed."""
    return {
        "schema": SCHEMA,
        **{name: to_jsonable_python(getattr(table, name)) for name in _FIGURES},
        "problems": list(problems),
        "folder": folder,
        "rows": [{name: getattr(row, name) for name in COLUMNS} for row in table.rows],
    }


def table_markdown(table: SweepTable, problems: Sequence[str]) -> str:
    """The summary and the rows that matter most, as a page."""
    shown = chosen(table.rows, _MOST_ROWS)
    lines = ["# Sweep", "", *(f"{line}\n" for line in map(markdown_text, summary(table)))]
    if problems:
        lines += ["**The answers contradict the results:**", "", *(f"- {markdown_text(one)}" for one in problems), ""]
    lines += [f"| Skill | Model | Lift in points ({USUAL}) | Pairs | Rank | State |", "|---|---|---|--:|--:|---|"]
    lines += map(_row, shown)
    hidden = len(table.rows) - len(shown)
    lines += ["", *_HOW_TO_READ]
    if hidden:
        lines.insert(-len(_HOW_TO_READ), f"{count(hidden, 'more row')} in `table.csv`.\n")
    return "\n".join(lines) + "\n"


_HOW_TO_READ = (
    "A lift is the pass rate with the skill minus the pass rate without it. *confirmed*: the skill helps in a first "
    "and in a second evaluation with fresh answers; the lift is that of the second. *found once*: it helps in the "
    "first only. With fewer than 40 cases the second asks the same cases as the first, so it cannot show what others "
    "would.",
    "",
    "A row has a rank only if its interval overlaps no other interval of the same model. `table.csv` has "
    "every row, `answers.csv.gz` every scored answer.",
)


def _row(row: TableRow) -> str:
    cells = (
        markdown_text(row.skill),
        markdown_text(row.model) or "–",
        markdown_text(lift_words(row)),
        "–" if row.pairs is None else f"{row.pairs:,}",
        "" if row.rank is None else str(row.rank),
        markdown_text(state_words(row)),
    )
    return f"| {' | '.join(cells)} |"
