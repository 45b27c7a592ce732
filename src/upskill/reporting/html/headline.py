"""The answer at the top of a report, and the one command that comes after it."""

from collections.abc import Iterator

from markupsafe import Markup

from upskill.reporting.glance import Glance, GlanceRow, svg
from upskill.reporting.html.templating import render


def headline_section(answer: Glance) -> Markup:
    """The answer in words, the dumbbell, and the same as a table with the interval that the picture leaves out."""
    return render(
        "headline.html",
        answer=answer,
        picture=Markup(svg(answer, standalone=False)),  # it escapes its texts itself
        rows=list(_rows(answer)),
        unclear=[row for row in answer.rows if row.why is not None],
    )


def _rows(answer: Glance) -> Iterator[tuple[str, ...]]:
    for row in answer.rows:
        yield (
            row.model,
            row.before_text,
            row.after_text,
            row.figures,
            _reach(row),
            row.other_interval or "–",
            f"{row.sign} {row.verdict}",
            str(row.pairs),
            row.tokens or "–",
        )


def _reach(row: GlanceRow) -> str:
    if row.lift is None:
        return "–"
    return row.reach or "on new cases of this kind"


def next_section(answer: Glance) -> Markup:
    """What to type next; nothing where there is nothing to do."""
    step = answer.next_step
    return Markup() if step is None else render("next.html", step=step)
