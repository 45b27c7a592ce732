"""How an evaluation stands while it runs, as a block of a terminal and as lines of a log. Draws nothing itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from upskill.domain import Interval
from upskill.reporting.wording import between, dollars, points

BAR = 10
_LEAST_NAME = 12
_GAP = "  "


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """What one student did so far with the skill, or without it."""

    name: str
    share: float | None
    """What passed; `None` where nothing was measured."""
    shown: str | None = None
    """In percent, as it stands beside a lift; `None` where there is none."""

    @property
    def rate(self) -> str:
        """In whole percent; a dash where nothing was measured."""
        return "-" if self.share is None else self.shown or f"{self.share:.0%}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveStudent:
    """How far one student has come."""

    name: str
    done: int
    most: int
    over: bool
    conditions: tuple[Condition, ...]
    lift: float | None
    interval: Interval | None
    """`None` while it is too early for one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveSpending:
    """What was bought, and the caps; `None` where a price is unknown, or where there is no cap."""

    cost: float | None
    max_cost: float | None
    calls: int
    max_calls: int | None
    tokens: int
    max_tokens: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveTable:
    """The whole evaluation at one moment."""

    unit: str
    """What is counted: pairs, or answers where nothing is compared."""
    students: tuple[LiveStudent, ...]
    seconds: float
    seconds_left: float | None
    """At most; `None` while nobody knows."""
    spent: LiveSpending
    errored: int


def table_rows(now: LiveTable, *, width: int, height: int, drawn: bool) -> tuple[str, list[str], str]:
    """A line of names, one line per student, a line on money and time; each shorter than the width."""
    most = max(1, height - 2)
    shown = now.students if len(now.students) <= most else now.students[: most - 1]
    dots = "…" if drawn else "~"
    compared = any(student.lift is not None for student in now.students) or now.unit == "pairs"
    head = [
        "model",
        now.unit,
        *(one.name for one in now.students[0].conditions),
        *(["lift so far"] if compared else []),
    ]
    body = [_cells(student, compared=compared) for student in shown]
    widths = [max(map(cell_len, column)) for column in zip(head, *body, strict=True)]
    room = width - 1 - 2 - sum(widths[1:]) - len(_GAP) * (len(widths) - 1)
    bars = drawn and room - min(widths[0], 30) >= (BAR + 1) * len(now.students[0].conditions)
    if bars:
        for number, student in enumerate(shown):
            for place, condition in enumerate(student.conditions, 2):
                body[number][place] = f"{_bar(condition)} {condition.rate:>4}"
        widths = [max(map(cell_len, column)) for column in zip(head, *body, strict=True)]
        room = width - 1 - 2 - sum(widths[1:]) - len(_GAP) * (len(widths) - 1)
    widths[0] = max(min(widths[0], room), min(_LEAST_NAME, widths[0]))
    rows = [_row(cells, widths, dots=dots, width=width) for cells in (head, *body)]
    if len(shown) < len(now.students):
        rows.append(_fitted(f"  and {len(now.students) - len(shown)} more", width - 1, dots))
    return rows[0], rows[1:], _joined(list(_status(now)), width - 1, dots)


def log_lines(now: LiveTable) -> Iterator[str]:
    """The same for a log: a line per student and one on money and time."""
    for student in now.students:
        rates = ", ".join(f"{one.name} {one.rate}" for one in student.conditions)
        lift = "" if student.lift is None else f", lift so far {_lift(student)}"
        count = f"{student.done:,} {now.unit}, done" if student.over else f"{_count(student)} {now.unit}"
        yield f"  {student.name}: {count}, {rates}{lift}"
    yield f"  {', '.join(_status(now)).strip()}"


def _cells(student: LiveStudent, *, compared: bool) -> list[str]:
    cells = [_printable(student.name), _count(student), *(f"{one.rate:>4}" for one in student.conditions)]
    return [*cells, _lift(student)] if compared else cells


def _count(student: LiveStudent) -> str:
    return f"{student.done:,}, done" if student.over else f"{student.done:,} of {student.most:,}"


def _lift(student: LiveStudent) -> str:
    if student.lift is None:
        return "-"
    mean = points(student.lift)
    if student.over:  # the result comes next, with the interval of its design
        return mean
    if student.interval is None:
        return f"{mean} (too early)"
    return f"{mean} ({between(student.interval)})"


def _bar(condition: Condition) -> str:
    filled = round((condition.share or 0.0) * BAR)
    return "█" * filled + "░" * (BAR - filled)


def _status(now: LiveTable) -> Iterator[str]:
    over = all(one.over for one in now.students)
    left = "" if now.seconds_left is None or over else f", {_left(now.seconds_left)}"
    starting = "" if now.spent.calls or now.errored or any(one.done for one in now.students) else ", starting"
    yield f"  {clock(now.seconds)}{left}{starting}"
    spent = now.spent
    if spent.cost is None:
        yield "price unknown"
    else:
        yield f"spent {dollars(spent.cost)}" + ("" if spent.max_cost is None else f" of at most ${spent.max_cost:,.2f}")
    if now.errored:
        yield f"{now.errored:,} errored"
    yield f"{spent.calls:,}{'' if spent.max_calls is None else f' of at most {spent.max_calls:,}'} calls"
    yield f"{spent.tokens:,}{'' if spent.max_tokens is None else f' of at most {spent.max_tokens:,}'} tokens"


def clock(seconds: float) -> str:
    """A duration as people say it."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _left(seconds: float) -> str:
    if seconds < 60:
        return "less than a minute left"
    minutes = -(-int(seconds) // 60)
    return f"at most {minutes} min left" if minutes < 120 else f"at most {-(-minutes // 60)} h left"


def _row(cells: Sequence[str], widths: Sequence[int], *, dots: str, width: int) -> str:
    name = cells[0]
    if cell_len(name) > widths[0]:
        # Names of models differ at their end.
        name = dots + _last_cells(name, widths[0] - 1)
    parts = [set_cell_size(name, widths[0])]
    parts += [set_cell_size(cell, size) for cell, size in zip(cells[1:], widths[1:], strict=True)]
    return _fitted(f"  {_GAP.join(parts)}".rstrip(), width - 1, dots)


def _last_cells(text: str, most: int) -> str:
    while cell_len(text) > most:
        text = text[1:]
    return text


def _joined(parts: list[str], most: int, dots: str) -> str:
    """As many as there is room for, the most telling first."""
    said = parts[0]
    for part in parts[1:]:
        if cell_len(said) + 2 + cell_len(part) <= most:
            said = f"{said}, {part}"
    return _fitted(said, most, dots)


def _fitted(text: str, most: int, dots: str) -> str:
    return text if cell_len(text) <= most else set_cell_size(text, max(1, most - 1)) + dots


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)
