"""A result as a short block of Markdown, for a README, a pull request or the summary of a build."""

from collections.abc import Iterator

from upskill.domain import Evaluation, StudentReport
from upskill.domain.text import count
from upskill.reporting.glance import Glance, glance, markdown
from upskill.reporting.glance.markdown_block import markdown_text
from upskill.reporting.wording import ceiling_words, dollars, loss_lines


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
    most = "up to " if evaluation.design == "sequential" else ""
    others = "" if evaluation.others is None else f", {evaluation.others.words}"
    return (
        f"{markdown_text(evaluation.skill.name)}{others}: {count(evaluation.cases, 'case')}, "
        f"{most}{count(evaluation.repeats, 'repeat')} of each, skill `{evaluation.skill.digest[:12]}`, {day}."
    )


def _beside(evaluation: Evaluation, report: StudentReport) -> Iterator[str]:
    """What the table has no column for."""
    if (ceiling := ceiling_words(report, cases=evaluation.cases)) is not None:
        yield ceiling
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
