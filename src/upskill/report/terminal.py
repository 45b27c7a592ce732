"""An evaluation on a terminal: the answer first, a picture of it, and in few rows what else is worth knowing.

What has no room is counted, with the command that shows it; `show_figures` prints every figure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from upskill.core.nouns import ArmSummary, Evaluation, Lift, Purchase, StudentReport
from upskill.core.nouns.harness import harness_info
from upskill.core.nouns.lift import with_scope
from upskill.core.nouns.text import count
from upskill.report.cases import label_lines
from upskill.report.console import cut_to, height_of, print_lines, table_lines
from upskill.report.dumbbell import ASCII, UNICODE, drawn
from upskill.report.facts import end_words
from upskill.report.glance import ASCII_SIGNS, IN_ASCII, Glance, GlanceRow, glance
from upskill.report.result_notes import ResultNote, result_notes
from upskill.report.wording import (
    USUAL,
    arm_name,
    arm_percents,
    can_draw,
    ceiling_words,
    control_lines,
    dollars,
    drawn_bar,
    fitted,
    interval_in_column,
    loading_lines,
    paid,
    percent,
    points,
    turn_words,
    widest_name,
)

_GAP = 2
_LEAST_BAR, _MOST_BAR = 10, 41
WITH_TOKENS = 100
"""Columns from which a line has room for the tokens."""
_STYLES = {
    "helps": "bright_blue",
    "cheaper": "bright_blue",
    "hurts": "dark_orange",
    "breaks": "dark_orange",
    "no difference": "",
}
_NEEDED = "○●◉━╌╱·▲▼◆→−–…"


def style_of(verdict: str) -> str:
    """Blue where the skill helps, orange where it hurts, dim where nothing is clear."""
    return _STYLES.get(verdict, "dim")


def terminal_lines(glance: Glance, console: Console) -> list[Text]:
    """The sentences, a line or two for each row and a key: no line is wider than the console, 80 columns at least."""
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
    """The lines of the rows of each group, in columns that are the same for all: one for each row where there is room.

    Where there is little room there are no bars, and then the names stand above the figures.
    """
    width, plain = max(80, console.width), not can_draw(console, _NEEDED)
    rows = [
        replace(row, name=fitted(_encodable(row.name, console), width, "~" if plain else "…"))
        for group in groups
        for row in group
    ]
    bar, glyphs = _bar_width(rows, console), ASCII if plain else UNICODE
    cells = []
    for row in rows:
        style = style_of(row.verdict)
        rates, figures, verdict, tokens = _cells(row, plain=plain, tokens=width >= WITH_TOKENS)
        name = Text(row.name)
        drawing = Text(drawn(row, bar, glyphs) if bar else "", style=style)
        cells.append((name, drawing, Text(rates), Text(figures), Text(verdict, style=style), Text(tokens)))
    lines = iter(table_lines([""] * 6, cells, width)[1:])
    return [[line for _ in group for line in next(lines)] for group in groups]


def _bar_width(rows: Sequence[GlanceRow], console: Console) -> int:
    """How wide the bars are; 0 where the names and the figures need the room."""
    width, plain = max(80, console.width), not can_draw(console, _NEEDED)
    texts = [(row.name, *_cells(row, plain=plain, tokens=width >= WITH_TOKENS)) for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*texts, strict=True)]
    room = width - sum(one + _GAP for one in widths if one)
    return min(_MOST_BAR, room) if room >= _LEAST_BAR else 0


def _cells(row: GlanceRow, *, plain: bool, tokens: bool) -> list[str]:
    here = " here" if row.reach and row.clarity == "clear" else ""
    sign = ASCII_SIGNS[row.sign] if plain else row.sign
    if row.lift is None:
        rate = row.after_text if row.after is not None else ""
        cells = [rate, "", f"{sign} {row.verdict}"]
    else:
        rates = f"{row.before_text:>4} → {row.after_text:>4}"
        cells = [rates, row.figures, f"{sign} {row.verdict}{here}"]
    cells.append("" if row.tokens is None or not tokens else f"{row.tokens} tokens")
    return [cell.translate(IN_ASCII) if plain else cell for cell in cells]


def key_lines(glance: Glance, console: Console) -> list[Text]:
    """What the dots and figures of the rows are; empty where no row has any."""
    return [_key(glance, console)] if any(row.after is not None for row in glance.rows) else []


def _confidence(rows: Sequence[GlanceRow]) -> str:
    """The confidence of the rows, where all have the same one."""
    found = {row.confidence for row in rows if row.interval}
    return found.pop() if len(found) == 1 else f"{USUAL} unless stated"


def _key(glance: Glance, console: Console) -> Text:
    """What the dots are, and what the figures in brackets are; what has no room is left out, from the end."""
    plain, rows = not can_draw(console, _NEEDED), glance.rows
    has_bars, glyphs = _bar_width(rows, console) > 0, ASCII if plain else UNICODE
    parts = [f"{glance.before} {'->' if plain else '→'} {glance.after}"]
    if has_bars:
        parts = [f"{glyphs.hollow} {glance.before}", f"{glyphs.filled} {glance.after}"]
    if has_bars and any(row.clarity == "unclear" for row in rows):
        parts.append(f"{glyphs.unclear * 2} not clear")
    reach = next((row.reach for row in rows if row.reach and row.clarity == "clear"), "")
    if reach and len(rows) > 1:
        parts.append(f"here: {reach}")
    if any(row.interval for row in rows):
        parts.append(f"lift in points ({_confidence(rows)})")
    while cell_len("   ".join(parts)) > max(80, console.width):
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
        run=evaluation.run,
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
        command = "add --verbose" if self.run is None else f"upskill report {self.run} --open"
        return [f"{number} more {'note' if number == 1 else 'notes'}: {command}"] if number > 0 else []


def spent_words(bought: Purchase) -> str:
    """What an evaluation took, in one line."""
    line = f"spent: {paid(bought.cost)}, {bought.calls:,} calls, {bought.tokens:,} tokens"
    if not bought.calls:
        line = "spent: nothing"
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


def show_figures(evaluation: Evaluation, console: Console) -> None:
    """Print every figure: one student in full, several in one table."""
    if len(evaluation.students) == 1:
        print_lines(_one_model(evaluation, evaluation.students[0], console), console, indent=2)
        return
    print_lines(_several_lines(evaluation), console)
    print_lines([*_models_lines(evaluation, console), Text()], console)


def _one_model(evaluation: Evaluation, report: StudentReport, console: Console) -> Iterator[Text]:
    lift = report.lifts[0] if report.lifts else None
    skill, style = evaluation.skill, style_of(report.verdict or "")
    yield Text()
    yield Text(skill.name, style="bold")
    yield Text(" ".join(skill.description.split()))
    yield Text()
    yield Text(f"SKILL.md              ~{skill.tokens} tokens")
    yield Text()
    yield from bars(report, console)
    yield Text(report.sentence, style=style)
    yield from _beside(evaluation, report)
    if lift is not None:
        yield Text(_stopped(evaluation, report), style="dim")
    yield from (Text(line, style="dim") for line in label_lines(report.label_lifts))
    yield from _loading(report)
    yield Text()
    yield from _arm_figures(report, width=console.width)
    yield Text()


def _beside(evaluation: Evaluation, report: StudentReport) -> Iterator[Text]:
    if (said := ceiling_words(report, cases=evaluation.cases)) is not None:
        yield Text(said)
    yield from map(Text, control_lines(report))


def _loading(report: StudentReport) -> Iterator[Text]:
    """For students that may load the skill: how many did, and what it does once it is read."""
    yield from map(Text, loading_lines(report))
    if report.loads is not None and (turn := turn_words(report.loads)) is not None:
        yield Text(turn)
    offered = report.arm("offered")
    files = [] if offered is None else [(path, number) for path, number in offered.skill_files if path != "SKILL.md"]
    if files:
        named = ", ".join(f"{path} in {number}" for path, number in files)
        yield Text(f"files of the skill that were opened or run: {named}")


def _stopped(evaluation: Evaluation, report: StudentReport) -> str:
    """How far a design went, and why no further."""
    # A turn has a trial in each arm, but for cases that have no ceiling.
    trials = sum((evaluation.cases if arm.asked_cases is None else arm.asked_cases) for arm in report.arms)
    most = round(evaluation.planned * evaluation.cases / (len(evaluation.students) * max(1, trials)))
    done = report.lifts[0].pairs if report.lifts else 0
    return f"{done} of at most {most} pairs; {end_words(report.end)}"


def bars(report: StudentReport, console: Console) -> Iterator[Text]:
    """A bar for each arm, with its lift where there is one."""
    gains = {lift.arm: f"  ({points(lift.mean)} points)" for lift in report.lifts}
    width = widest_name([arm.arm for arm in report.arms], report.harness)
    shown = arm_percents(report)
    for arm in report.arms:
        name = arm_name(arm.arm, report.harness)
        bar = drawn_bar(report.rate(arm.arm), console, shown[arm.arm])
        yield Text(f"{name:<{width}} {bar}{gains.get(arm.arm, '')}")
    yield Text()


def _arm_figures(report: StudentReport, *, width: int) -> Iterator[Text]:
    arms = report.arms
    columns = [
        ["", *(arm_name(arm.arm, report.harness) for arm in arms)],
        ["Passed", *(f"{arm.passed}/{arm.trials}" for arm in arms)],
        ["Avg Checks", *map(_assertions, arms)],
        ["Avg Tokens", *(_number(arm.tokens) for arm in arms)],
        ["Cost/Answer", *(dollars(arm.cost) for arm in arms)],
        ["Spent", *(dollars(arm.spent) for arm in arms)],
        ["Errored", *(str(arm.errored) for arm in arms)],
    ]
    if any(arm.turns is not None for arm in arms):
        columns.append(["Avg Turns", *(_number(arm.turns, 1) for arm in arms)])
    if any(arm.runs > 1 for arm in arms):
        columns.append(["Repeats All Passed", *(f"{arm.runs_all_passed}/{arm.runs}" for arm in arms)])
    if sum(max(map(len, column)) + 2 for column in columns) > width:
        columns = _turned(columns)  # a row per figure, where an arm is too long for one
    widths = [max(map(len, column)) for column in columns]
    for number, row in enumerate(_turned(columns)):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        yield Text("  ".join(cells), style="" if number else "dim")


def _turned(table: list[list[str]]) -> list[list[str]]:
    return [list(row) for row in zip(*table, strict=True)]


def _assertions(arm: ArmSummary) -> str:
    if arm.checks_passed is None or arm.checks is None:
        return "-"
    of = f"{arm.checks:.0f}" if arm.checks == round(arm.checks) else f"{arm.checks:.1f}"
    return f"{arm.checks_passed:.1f}/{of}"


def _number(value: float | None, decimals: int = 0) -> str:
    return "unknown" if value is None else f"{value:.{decimals}f}"


def _several_lines(evaluation: Evaluation) -> Iterator[Text]:
    yield Text(f"Evaluating {evaluation.skill.name} across {len(evaluation.students)} models")
    most = "" if evaluation.design == "fixed" else "up to "
    yield Text(f"{count(evaluation.cases, 'case')}, {most}{count(evaluation.repeats, 'repeat')} per model")
    first = evaluation.students[0]
    with_tools = harness_info(first.harness).with_tools
    if with_tools or len(first.arms) > 2:
        named = ", then ".join(arm_name(arm.arm, first.harness) for arm in first.arms)
        yield Text(f"{'models have tools; ' if with_tools else ''}each row shows: {named}")
    yield Text()
    for report in evaluation.students:
        yield Text(report.student.name, style="bold")
        width = widest_name([arm.arm for arm in report.arms], report.harness)
        shown = arm_percents(report)
        rates = [f"{arm.passed}/{arm.trials} ({_share(shown[arm.arm], arm)})" for arm in report.arms]
        for arm, rate in zip(report.arms, rates, strict=True):
            runs = f"  All passed: {arm.runs_all_passed}/{arm.runs} repeats" if arm.runs > 1 else ""
            name = arm_name(arm.arm, report.harness).ljust(width)
            yield Text(f"  {name} Pass rate: {rate:>{max(map(len, rates))}}  Avg checks: {_assertions(arm)}{runs}")
        yield Text(f"  {report.sentence}", style=style_of(report.verdict or ""))
        yield from (
            Text(f"  {line.plain}", style=line.style)
            for line in (
                *_beside(evaluation, report),
                *_loading(report),
            )
        )
        if report.lifts:
            yield Text(f"  {_stopped(evaluation, report)}", style="dim")
        yield Text()


def _share(shown: str, arm: ArmSummary) -> str:
    """The rate beside the lift; it says so where that is not the rate over all answers that were counted before it."""
    return shown if arm.pass_rate is None or shown == percent(arm.pass_rate) else f"{shown} in complete pairs"


def _between(lift: Lift, report: StudentReport) -> str:
    """The interval that the verdict rests on, in brackets, and the verdict with its reach."""
    verdict = with_scope(report.verdict or "", report.claim)
    return f"({interval_in_column(report.interval, lift.confidence)}) {verdict}"


def _models_lines(evaluation: Evaluation, console: Console) -> Iterator[Text]:
    """Several students, a row each."""
    heads = ("model", "pass rate", "avg checks", "avg tokens", "cost/answer", f"lift in points ({USUAL})")
    arrow = " → " if can_draw(console) else " > "
    rows = []
    for report in evaluation.students:
        lift = report.lifts[0] if report.lifts else None
        cells = [
            report.student.name,
            arrow.join(arm_percents(report).values()),
            arrow.join(_assertions(arm) for arm in report.arms),
            arrow.join(_number(arm.tokens) for arm in report.arms),
            arrow.join(dict.fromkeys(dollars(arm.cost) for arm in report.arms)),
        ]
        lifted = f"{points(lift.mean)} {_between(lift, report)}" if lift else report.verdict or "-"
        rows.append([*map(Text, cells), Text(lifted, style=style_of(report.verdict or ""))])
    for lines in table_lines(heads, rows, console.width):
        yield from lines
