"""The answer at the top of a report, and the one command that comes after it."""

from markupsafe import Markup

from upskill.domain import Evaluation
from upskill.reporting.html.summary import summary
from upskill.reporting.html.templating import render
from upskill.reporting.next_step import next_steps


def headline_section(evaluation: Evaluation | None) -> Markup:
    """Which models the skill helps, and by how much."""
    return Markup() if evaluation is None else Markup(summary(evaluation))


def next_section(evaluation: Evaluation | None) -> Markup:
    """What to type next; nothing where there is nothing to do."""
    step = None if evaluation is None else next(next_steps(evaluation), None)
    return Markup() if step is None else render("next.html", step=step)
