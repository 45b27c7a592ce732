"""How an evaluation stands while it runs, as a block of a terminal and as lines of a log. Draws nothing itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from upskill.domain import Interval
from upskill.domain.progress import Waiting
from upskill.domain.text import MINUS, count, printable
from upskill.reporting.glance.values import SIGNS
from upskill.reporting.wording import BAR, between, dollars, points

_LEAST_NAME = 12
_GAP = "  "
_SHORT_WAIT_SECONDS = 2.0
"""An answer that takes less is not worth a word."""


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
    verdict: str | None = None
    """Once its design has decided; `None` before, and where the verdict comes with the result."""

    @property
    def at_most(self) -> int:
        """How many pairs it can still come to."""
        return self.done if self.over else self.most


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
    waiting: Waiting = Waiting()  # noqa: RUF009 - frozen
    with_sandbox: bool = False
    """Whether something is executed, so that not all waiting is for answers."""

    @property
    def is_over(self) -> bool:
        """Whether every student is done."""
        return all(one.over for one in self.students)

    @property
    def has_begun(self) -> bool:
        """Whether anything was sent or came back."""
        return bool(self.spent.calls or self.errored or any(one.done for one in self.students))


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveRow:
    """One line of the table; `verdict` where the student is done and has one."""

    text: str
    verdict: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveBlock:
    """The lines of a block, each shorter than the terminal is wide."""

    progress: str
    head: str
    rows: tuple[LiveRow, ...]
    status: str


def live_block(now: LiveTable, *, width: int, height: int, drawn: bool) -> LiveBlock:
    """A bar, a line of names, one line per student, a line on money, time and what is waited for."""
    most = max(1, height - 3)
    shown = now.students if len(now.students) <= most else now.students[: most - 1]
    dots = "…" if drawn else "~"
    compared = any(student.lift is not None for student in now.students) or now.unit == "pairs"
    names = [one.name.removesuffix(" the skill") for one in now.students[0].conditions]
    head = ["model", now.unit, *names, *(["lift so far"] if compared else [])]
    body = [_cells(student, compared=compared, drawn=drawn) for student in shown]
    widths = [max(map(cell_len, column)) for column in zip(head, *body, strict=True)]
    room = width - 1 - 2 - sum(widths[1:]) - len(_GAP) * (len(widths) - 1)
    widths[0] = max(min(widths[0], room), min(_LEAST_NAME, widths[0]))
    rows = [
        LiveRow(text=_row(cells, widths, dots=dots, width=width), verdict=student.verdict if student.over else None)
        for cells, student in zip(body, shown, strict=True)
    ]
    if len(shown) < len(now.students):
        rows.append(LiveRow(text=_fitted(f"  and {len(now.students) - len(shown)} more", width - 1, dots)))
    return LiveBlock(
        progress=_joined(list(_progress(now, drawn=drawn)), width - 1, dots),
        head=_row(head, widths, dots=dots, width=width),
        rows=tuple(rows),
        status=_joined(list(_status(now)), width - 1, dots),
    )


def log_lines(now: LiveTable) -> Iterator[str]:
    """The same for a log: a line per student and one on money and time."""
    for student in now.students:
        rates = ", ".join(f"{one.name} {one.rate}" for one in student.conditions)
        lift = "" if student.lift is None else f", lift so far {_lift(student)}"
        done = f"{student.done:,} {now.unit}, done" if student.over else f"{_count(student)} {now.unit}"
        yield f"  {student.name}: {done}, {rates}{lift}"
    left = [] if now.is_over or now.seconds_left is None else [_left(now.seconds_left)]
    clocked, *others = _status(now)
    yield f"  {', '.join([clocked.strip(), *left, *others])}"


def progress_bar(done: int, of: int, *, drawn: bool) -> str:
    """How much is done, as a bar with the percentage after it."""
    full, empty = ("█", "░") if drawn else ("#", ".")
    share = min(1.0, done / of) if of else 0.0
    filled = int(share * BAR)
    return f"{full * filled}{empty * (BAR - filled)} {int(share * 100):>3}%"


def _progress(now: LiveTable, *, drawn: bool) -> Iterator[str]:
    """How much of the whole evaluation is done. Whoever is decided needs no more, so the whole becomes smaller."""
    done, most = sum(one.done for one in now.students), sum(one.at_most for one in now.students)
    yield f"  {progress_bar(done, most, drawn=drawn)}  {done:,} of at most {most:,} {now.unit}"
    if not now.is_over and now.has_begun:
        yield "no time estimate yet" if now.seconds_left is None else _left(now.seconds_left)


def _cells(student: LiveStudent, *, compared: bool, drawn: bool) -> list[str]:
    name = printable(student.name, instead="?")
    cells = [name, _count(student), *(f"{one.rate:>4}" for one in student.conditions)]
    if not compared:
        return cells
    return [*cells, _lift(student, signs=True) if drawn else _lift(student).replace(MINUS, "-")]


def _count(student: LiveStudent) -> str:
    return f"{student.done:,}, done" if student.over else f"{student.done:,} of {student.most:,}"


def _lift(student: LiveStudent, *, signs: bool = False) -> str:
    if student.lift is None:
        return "-"
    mean = points(student.lift)
    if not student.over:
        return f"{mean} ({'too early' if student.interval is None else between(student.interval)})"
    # The result comes next, with the interval of its design.
    sign = f" {SIGNS[student.verdict]}" if signs and student.verdict in SIGNS else ""
    return mean if student.verdict is None else f"{mean}{sign} {student.verdict}"


def _status(now: LiveTable) -> Iterator[str]:
    yield f"  {clock(now.seconds)}"
    if not now.is_over and (waiting := waiting_words(now)):
        yield waiting
    spent = now.spent
    if spent.cost is None:
        yield "price unknown"
    else:
        yield f"spent {dollars(spent.cost)}" + ("" if spent.max_cost is None else f" of at most ${spent.max_cost:,.2f}")
    if now.errored:
        yield f"{now.errored:,} errored"
    yield f"{spent.calls:,}{'' if spent.max_calls is None else f' of at most {spent.max_calls:,}'} calls"
    yield f"{spent.tokens:,}{'' if spent.max_tokens is None else f' of at most {spent.max_tokens:,}'} tokens"


def waiting_words(now: LiveTable) -> str:
    """What holds the evaluation up, as far as that is known; nothing where it is not, or not for long."""
    waiting = now.waiting
    if waiting.answers and waiting.longest_seconds >= _SHORT_WAIT_SECONDS:
        return f"waiting for {count(waiting.answers, 'answer')}, longest {clock(waiting.longest_seconds)}"
    if waiting.retries and not waiting.answers:
        why = "server busy" if waiting.busy else "no answer"
        return f"{why}: retry in {clock(max(1.0, waiting.retry_seconds))}"
    if not now.has_begun:
        return "starting sandboxes" if now.with_sandbox else "starting"
    return "running tools and checks" if now.with_sandbox and not waiting.answers else ""


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
