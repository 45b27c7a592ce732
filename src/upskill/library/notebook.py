"""Results as small pieces of HTML for a notebook: self-contained, everything in them escaped."""

from collections.abc import Iterator

from upskill.core.nouns import Evaluation, StudentReport
from upskill.core.nouns.text import count
from upskill.generation.generated import GenerateResult
from upskill.report.html.shell import escaped
from upskill.report.wording import arm_name, arm_percents, confidence_interval, points

_LEFT = "text-align:left;vertical-align:top;padding:4px 12px 4px 0;overflow-wrap:anywhere"
_RIGHT = "text-align:right;vertical-align:top;padding:4px 12px 4px 0;white-space:nowrap"


def evaluation_table(evaluation: Evaluation) -> str:
    """One row per model: both pass rates, the lift in points with its interval, the pairs, the verdict in words."""
    first = evaluation.students[0]
    measured, against = (arm_name(arm, first.harness) for arm in first.compared)
    titles = ("model", against, measured, "lift in points", "pairs", "verdict")
    head = "".join(
        f'<th scope="col" style="{_LEFT if title in ("model", "verdict") else _RIGHT}">{escaped(title)}</th>'
        for title in titles
    )
    rows = "".join(f"<tr>{''.join(_cells(report))}</tr>" for report in evaluation.students)
    cases = count(evaluation.cases, "case") + (f", run saved in {evaluation.run}" if evaluation.run_is_here else "")
    notes = "".join(f"<br>note: {escaped(note)}" for note in evaluation.notes).removeprefix("<br>")
    return (
        f'<table style="border-collapse:collapse"><caption style="{_LEFT}"><strong>{escaped(evaluation.skill.name)}'
        f"</strong>: {escaped(cases)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"<small>{notes}</small>"
    )


def _cells(report: StudentReport) -> Iterator[str]:
    rates = [arm_percents(report).get(arm, "–") for arm in reversed(report.compared)]
    lift, pairs = "–", "–"
    if report.lifts:
        found = report.lifts[0]
        interval = confidence_interval(found, report.interval)
        lift, pairs = f"{points(found.mean)} ({interval})", str(found.pairs)
    yield f'<th scope="row" style="{_LEFT};min-width:7em">{escaped(report.student.name)}</th>'
    yield from (f'<td style="{_RIGHT}">{escaped(cell)}</td>' for cell in (*rates, lift, pairs))
    yield f'<td style="{_LEFT};min-width:16em">{escaped(report.sentence)}</td>'


def generated_html(generated: GenerateResult) -> str:
    """The skill, what is known of it, and the table of its held-out evaluation where there was one."""
    place = f"saved in {generated.saved}" if generated.saved is not None else f"run saved in {generated.run}"
    said = f"<p><strong>{escaped(generated.skill.name)}</strong>: {escaped(generated.sentence)}; {escaped(place)}</p>"
    return said + ("" if generated.evaluation is None else evaluation_table(generated.evaluation))


def preformatted(text: str) -> str:
    """Text as it would stand on a terminal."""
    return f"<pre>{escaped(text)}</pre>"
