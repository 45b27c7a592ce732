"""The page of a sweep: skills by models, what needs a person first, and what changed since the report before.

`history.jsonl` has a line for each report of a place. Nothing on the page needs a script.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from shlex import quote
from statistics import median
from typing import Any

from markupsafe import Markup

from upskill.core.nouns.lift import with_scope
from upskill.core.nouns.text import count, points, points_range
from upskill.report.html.shell import plain, shell
from upskill.report.wording import paid
from upskill.sweep.table import STATES, AboutSkill, RowState, SweepTable, TableRow

MOST_SKILLS = 1_000
"""Rows of the matrix; `table.csv` has all."""
FIRST_LISTED, MOST_LISTED = 8, 500
"""Lines of a list that are seen at once, and behind a fold."""
MOST_REPORTS = 60
SIGNS: dict[RowState, tuple[str, str]] = {
    "confirmed": ("▲", "pass"),
    "found once": ("△", "pass"),
    "cheaper": ("◆", "pass"),
    "no difference": ("=", "same"),
    "undecided": ("?", "same"),
    "not compared": ("–", "same"),
    "not reached": ("·", "error"),
    "invalid": ("!", "error"),
    "hurts": ("▼", "fail"),
}
"""The sign of a state and its colour, the best first: a later one is worse."""
_RANK = {state: rank for rank, state in enumerate(SIGNS)}
_FAILED: tuple[RowState, ...] = ("hurts", "invalid", "not reached")
_HELPS: tuple[RowState, ...] = ("confirmed", "found once")
_KEYS: dict[RowState, str] = {
    "confirmed": "helps (shown twice)",
    "found once": "helps (shown once)",
    "cheaper": "cheaper",
    "no difference": "no difference",
    "undecided": "undecided",
    "not compared": "not compared",
    "hurts": "hurts",
    "invalid": "no verdict",
    "not reached": "no result",
}

Cell = tuple[str, str]
"""A skill and a model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """What an earlier report of the same place said."""

    at: str
    states: Mapping[Cell, tuple[RowState, float | None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A skill on a model whose state is another than in the report before."""

    row: TableRow
    before: RowState

    @property
    def is_worse(self) -> bool:
        """Whether it helped and does not now, or hurts now and did not."""
        lost = self.before in _HELPS and self.row.state not in _HELPS
        return lost or (self.row.state == "hurts" and self.before != "hurts")

    def __str__(self) -> str:
        return f"{self.row.skill} on {self.row.model}: {_KEYS[self.row.state]} now; before: {_KEYS[self.before]}"


def history_line(table: SweepTable, *, at: str) -> str:
    """The line that a report adds to the history."""
    states = [[row.skill, row.model, row.state, row.lift] for row in table.rows]
    return json.dumps({"at": at, "states": states}, ensure_ascii=False) + "\n"


def read_history(text: str) -> list[Past]:
    """The reports before, oldest first. Lines that cannot be read are left out: the folder may be a stranger's."""
    found = []
    for line in text.splitlines()[-MOST_REPORTS:]:
        try:
            value: Any = json.loads(line)
            states = {
                (str(skill), str(model)): (state, None if lift is None else float(lift))
                for skill, model, state, lift in value["states"]
                if state in STATES
            }
            found.append(Past(at=str(value["at"])[:40], states=states))
        except (ValueError, TypeError, KeyError):
            continue
    return found


def changes_since(table: SweepTable, past: Sequence[Past]) -> tuple[Change, ...]:
    """What differs from the report before, the worse first."""
    if not past:
        return ()
    before = past[-1].states
    found = [
        Change(row=row, before=before[row.skill, row.model][0])
        for row in table.rows
        if (row.skill, row.model) in before and before[row.skill, row.model][0] != row.state
    ]
    return tuple(sorted(found, key=lambda one: (not one.is_worse, -_RANK[one.row.state], one.row.skill)))


_CHAT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "\uff20"})
"""What chat programs read as a command, such as `<!channel>` and `@here`."""


def alerts_json(table: SweepTable, changes: Sequence[Change], problems: Sequence[str]) -> str:
    """What a team wants to be told, as one object with a `text`, which chat services take as a message."""
    worse = [change for change in changes if change.is_worse]
    failed = Counter(row.state for row in table.rows if row.state in _FAILED)
    said = (
        ", ".join(f"{number} {_KEYS[state]}" for state, number in failed.items()) or "nothing hurts or lacks a result"
    )
    first = f"{_became(worse) or 'nothing became worse'}; {said}" if changes else said
    lines = [first, *(f"- {change}" for change in worse[:20]), *problems[:5]]
    alert = {
        "text": "\n".join(lines).translate(_CHAT),
        "worse": [
            {"skill": one.row.skill, "model": one.row.model, "before": one.before, "now": one.row.state}
            for one in worse
        ],
        "failed": dict(failed),
    }
    return json.dumps(alert, ensure_ascii=False, indent=2) + "\n"


def _became(worse: Sequence[Change]) -> str:
    """How many are no longer shown to help, and how many hurt that did not; empty where none."""
    lost = sum(change.before in _HELPS for change in worse)
    others = len(worse) - lost
    unproven = f"{lost} no longer shown to help" if lost else ""
    hurting = f"{others} did not hurt before" if others else ""
    return ", ".join(filter(None, (unproven, hurting)))


def sweep_page(table: SweepTable, *, past: Sequence[Past], problems: Sequence[str], at: str, place: str) -> str:
    """The whole page. `place` is where the sweep is, as it is typed."""
    changes = changes_since(table, past)
    failed = [row for row in table.rows if row.state in _FAILED]
    body = Markup("").join(
        (
            _headline(table, changes, failed, at, place),
            _listed("attention", "These contradict their answers", problems),
            _listed("worse", "Became worse", [str(one) for one in changes if one.is_worse]),
            _failures(failed, place),
            _models(table, past),
            _matrix(table, {(one.row.skill, one.row.model): one for one in changes}),
            _listed("changed", "Other changes", [str(one) for one in changes if not one.is_worse]),
            _history(past),
            Markup(
                "</main><footer><p>Made by upskill. Works offline, sends nothing. "
                '<a href="table.csv">All columns</a>, <a href="answers.csv.gz">every answer</a>.</p></footer>'
            ),
        )
    )
    return shell("Sweep", body, script=False)


def _headline(table: SweepTable, changes: Sequence[Change], failed: Sequence[TableRow], at: str, place: str) -> Markup:
    helps = sum(row.state in _HELPS for row in table.rows)
    hurts = sum(row.state == "hurts" for row in table.rows)
    title = f"{helps} of {count(len(table.rows), 'result')} help, {hurts} {'hurts' if hurts == 1 else 'hurt'}"
    title += f"; {became}" if (became := _became([change for change in changes if change.is_worse])) else ""
    missing = len(failed) - hurts
    second = f"Look first at {first}. " if (first := _first(changes, failed)) else ""
    second += f"{count(missing, 'result')} without a verdict. " if missing else ""
    second += (
        f"{table.evaluations_done} of {table.evaluations} evaluations are done; spent {paid(table.charged.cost)}, "
        f"{table.charged.calls:,} calls. If no skill helped, about {table.false_by_chance:.1f} results would seem to."
    )
    scope = f"{count(table.skills, 'skill')} × {count(len(table.models), 'model')}"
    return Markup(
        '<header><p class="line"><span>{}</span><span>sweep</span><span>{}</span></p><h1>{}</h1>'
        '<p class="second">{}</p>{}</header><main>'
    ).format(scope, at, title, second, _next(table, place))


def _next(table: SweepTable, place: str) -> Markup:
    """The command that finishes the sweep; nothing where it is done."""
    if table.evaluations_done >= table.evaluations:
        return Markup("")
    return Markup('<p class="second">Next: finish the sweep: <code>upskill sweep run {}</code></p>').format(
        plain(quote(place))
    )


def _first(changes: Sequence[Change], failed: Sequence[TableRow]) -> str:
    """What a person should look at before all else, and why; empty where nothing asks for it."""
    if worse := next((change for change in changes if change.is_worse), None):
        return str(worse)
    row = next(iter(_worst_first(failed)), None)
    return "" if row is None else _failure(row)


def _listed(name: str, title: str, lines: Sequence[str]) -> Markup:
    """The first lines, and the others behind a fold."""
    if not lines:
        return Markup("")
    first, others = (_items(some) for some in (lines[:FIRST_LISTED], lines[FIRST_LISTED:MOST_LISTED]))
    more = len(lines) - FIRST_LISTED
    rest = Markup("<details><summary>{} more</summary>{}</details>").format(f"{more:,}", others) if more > 0 else ""
    return Markup('<section class="card" id="{}"><h2>{} <span class="muted">{}</span></h2>{}{}</section>').format(
        name, title, f"{len(lines):,}", first, rest
    )


def _items(lines: Sequence[str]) -> Markup:
    return Markup("<ul>{}</ul>").format(Markup("").join(Markup("<li>{}</li>").format(plain(line)) for line in lines))


def _failures(failed: Sequence[TableRow], place: str) -> Markup:
    lines = [
        _failure(row) + (f"; answers: {place.rstrip('/')}/{row.answers}" if row.answers else "")
        for row in _worst_first(failed)
    ]
    return _listed("failed", "Hurts, or has no verdict", lines)


def _worst_first(failed: Sequence[TableRow]) -> list[TableRow]:
    return sorted(failed, key=lambda row: (_FAILED.index(row.state), row.lift or 0.0, row.skill, row.model))


def _failure(row: TableRow) -> str:
    figures = "" if row.lift is None else f", {points(row.lift)} points {_interval(row, level='95% CI ')}"
    model = f" on {row.model}" if row.model else ""
    return f"{row.skill}{model}: {with_scope(_KEYS[row.state], row.interval_for)}{figures}{_why(row)}"


def _interval(row: TableRow, *, level: str = "") -> str:
    return "" if row.low is None or row.high is None else f"({level}{points_range(row.low, row.high)})"


def _why(row: TableRow) -> str:
    return f" ({row.why})" if row.why else ""


def _models(table: SweepTable, past: Sequence[Past]) -> Markup:
    """A line per model: what it came to, and its median lift over the reports."""
    states = _occurring(row.state for row in table.rows)
    head = ("model", *(_KEYS[state] for state in states), "median lift", "in earlier reports")
    rows = []
    for model in table.models:
        mine = [row for row in table.rows if row.model == model]
        counted = Counter(row.state for row in mine)
        lifts = [row.lift for row in mine if row.lift is not None]
        then = [_median(lift for (_, who), (_, lift) in one.states.items() if who == model) for one in past[-3:]]
        rows.append((model, *(str(counted[state] or "") for state in states), _median(lifts), ", ".join(then)))
    return Markup('<section class="card" id="models"><h2>Models</h2>{}</section>').format(_table(head, rows))


def _occurring(states: Iterable[RowState]) -> list[RowState]:
    """Those of the states that there are, the best first."""
    return sorted(set(states), key=_RANK.__getitem__)


def _median(lifts: Iterable[float | None]) -> str:
    known = [lift for lift in lifts if lift is not None]
    return points(median(known)) if known else "–"


def _matrix(table: SweepTable, changes: Mapping[Cell, Change]) -> Markup:
    by_skill: dict[str, dict[str, TableRow]] = defaultdict(dict)
    for row in table.rows:
        by_skill[row.skill][row.model] = row

    def worst(skill: str) -> tuple[bool, int, str]:
        rows = by_skill[skill].values()
        became = any(change.is_worse for row in rows if (change := changes.get((skill, row.model))))
        return not became, -max(_RANK[row.state] for row in rows), skill

    owned = any(one.owner for one in table.about.values())
    head = ("skill", *(("owner",) if owned else ()), *table.models, "spent")
    rows, last = [], Counter(skill.rpartition("/")[2] for skill in by_skill)
    for skill in islice(sorted(by_skill, key=worst), MOST_SKILLS):
        about = table.about.get(skill, AboutSkill())
        cells = [_cell(by_skill[skill].get(model), changes.get((skill, model))) for model in table.models]
        spent = paid(about.charged.cost) if about.charged.calls else "nothing"
        short = skill.rpartition("/")[2]
        name = Markup('<span title="{}">{}</span>').format(plain(skill), short if last[short] == 1 else skill)
        rows.append((name, *((about.owner,) if owned else ()), *cells, spent))
    key = ", ".join(f"{SIGNS[state][0]} {_KEYS[state]}" for state in _occurring(row.state for row in table.rows))
    more = len(by_skill) - MOST_SKILLS
    rest = f" {more:,} more skills are in table.csv." if more > 0 else ""
    return Markup(
        '<section class="card" id="matrix"><h2>Skills</h2><p class="muted">What needs a look first. Lift in points '
        "(95% CI): {}. *: changed since the report before.{}</p>{}</section>"
    ).format(key, rest, _table(head, rows))


def _cell(row: TableRow | None, change: Change | None) -> Markup:
    if row is None:
        return Markup("")
    sign, tone = SIGNS[row.state]
    figures = "" if row.lift is None else f" {points(row.lift)}"
    mark = "*" if change is not None else ""
    before = f"; {change.before} before" if change else ""
    title = f"{with_scope(_KEYS[row.state], row.interval_for)}{_why(row)}{before}"
    return Markup('<span class="end {}" title="{}">{}{}{}</span> <span class="muted">{}</span>').format(
        tone, plain(title), sign, figures, mark, _interval(row)
    )


def _history(past: Sequence[Past]) -> Markup:
    if not past:
        return Markup("")
    states = _occurring(state for one in past for state, _ in one.states.values())
    rows = []
    for one in reversed(past):
        counted = Counter(state for state, _ in one.states.values())
        rows.append((one.at[:16].replace("T", " "), *(str(counted[state] or "") for state in states)))
    return Markup('<section class="card" id="history"><h2>Earlier reports of this place</h2>{}</section>').format(
        _table(("report", *(_KEYS[state] for state in states)), rows)
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str | Markup]]) -> Markup:
    titles = Markup("").join(Markup('<th scope="col">{}</th>').format(plain(one)) for one in head)
    lines = []
    for first, *cells in rows:
        texts = (one if isinstance(one, Markup) else plain(one) for one in cells)
        lines.append(
            Markup('<tr><th scope="row">{}</th>{}</tr>').format(
                first if isinstance(first, Markup) else plain(first),
                Markup("").join(Markup("<td>{}</td>").format(text) for text in texts),
            )
        )
    return Markup(
        '<div class="scrolls" role="region" tabindex="0" aria-label="table"><table><thead><tr>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>"
    ).format(titles, Markup("").join(lines))
