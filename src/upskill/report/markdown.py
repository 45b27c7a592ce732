"""A result as a short block of Markdown, for a README, a pull request or the summary of a build."""

import re
from collections.abc import Iterator

from upskill.core.nouns import Evaluation, StudentReport
from upskill.core.nouns.text import count, printable
from upskill.report.dumbbell import UNICODE, drawn
from upskill.report.glance import Glance, GlanceRow, glance
from upskill.report.wording import USUAL, ceiling_words, control_lines, dollars, loss_lines

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$&@])")
_ADDRESS = re.compile(r"(?i)\b(https?|ftp)://|\bwww\.")
"""What GitHub makes a link of without being asked."""
_MENTION = re.compile(r"([@#])(?=\w)")
_BAR = 21


def markdown(glance: Glance) -> str:
    """The sentences in bold, and a row for each model; nothing but the sentences where there are none."""
    first, *others = [markdown_text(one) for one in glance.sentences]
    lines = [f"**{first}**" + "".join(f" {one}" for one in others)]
    if glance.rows:
        before, after = (text.capitalize() for text in (glance.before, glance.after))
        lines += [
            "",
            f"| Model | 0% to 100% | {before} | {after} | Lift in points ({USUAL}) | Verdict | Tokens |",
            "|---|---|--:|--:|---|---|--:|",
            *(_row(row) for row in glance.rows),
            "",
            f"{UNICODE.hollow} {glance.before}, {UNICODE.filled} {glance.after}"
            + (f", {UNICODE.unclear * 2} not clear" if any(row.clarity == "unclear" for row in glance.rows) else ""),
        ]
    return "\n".join(lines) + "\n"


def markdown_text(text: str) -> str:
    """Only text, whatever it holds: no markup, no link, no mention, on one line."""
    plain = _SPECIAL.sub(r"\\\1", " ".join(printable(text).split()))
    # GitHub looks for mentions after it has read the Markdown, when the backslash is gone.
    plain = _MENTION.sub(r"\1&#8203;", plain)
    return _ADDRESS.sub(lambda found: found[0].replace(":", "&#58;").replace(".", "&#46;"), plain)


def _row(row: GlanceRow) -> str:
    reach = f" {row.reach}" if row.reach else ""
    lift = row.why or "–" if row.lift is None else f"{row.figures}{reach}"
    cells = (
        markdown_text(row.name),
        f"`{drawn(row, _BAR)}`",
        row.before_text,
        row.after_text,
        markdown_text(lift),
        f"{row.sign} {row.verdict}",
        row.tokens or "–",
    )
    return f"| {' | '.join(cells)} |"


def markdown_report(evaluation: Evaluation, *, day: str, seen: Glance | None = None) -> str:
    """The answer, a row for each model, what it rests on, and the next command.

    `seen` is the answer where more is known than the evaluation.
    """
    seen = seen or glance(evaluation)
    script = " The answers come from a script, not from a model." if seen.scripted else ""
    lines = [markdown(seen).rstrip(), "", _rests_on(evaluation, day) + script]
    for report in evaluation.students:
        for line in _beside(evaluation, report):
            lines += ["", f"{markdown_text(report.student.name)}: {markdown_text(line)}."]
    lines += _next(seen)
    return "\n".join(lines) + "\n"


def _rests_on(evaluation: Evaluation, day: str) -> str:
    most = "" if evaluation.design == "fixed" else "up to "
    others = "" if evaluation.others is None else f", {evaluation.others.words}"
    return (
        f"{markdown_text(evaluation.skill.name)}{others}: {count(evaluation.cases, 'case')}, "
        f"{most}{count(evaluation.repeats, 'repeat')} of each, skill `{evaluation.skill.digest[:12]}`, {day}."
    )


def _beside(evaluation: Evaluation, report: StudentReport) -> Iterator[str]:
    """What the table has no column for."""
    if (ceiling := ceiling_words(report, cases=evaluation.cases)) is not None:
        yield ceiling
    yield from control_lines(report)
    costs = [None if (arm := report.arm(name)) is None else arm.cost for name in reversed(report.compared)]
    if None not in costs and any(costs):
        yield f"cost per answer {' → '.join(map(dollars, costs))}"
    yield from loss_lines(report)


def _next(seen: Glance) -> list[str]:
    """The command in a fence that no text of its own can close."""
    if (step := seen.next_step) is None:
        return []
    command = " ".join(step.command.replace("`", "'").split())
    return ["", f"Next: {step.what}", "", "```sh", command, "```"]
