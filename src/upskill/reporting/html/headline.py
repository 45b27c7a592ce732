"""The answer at the top of a report, and the one command that comes after it."""

from collections.abc import Iterator

from markupsafe import Markup

from upskill.reporting.glance import Glance, svg
from upskill.reporting.html.templating import render


def headline_section(answer: Glance) -> Markup:
    """The answer in words, the dumbbell, and the same as a table with the interval that the picture leaves out."""
    return render(
        "headline.html",
        answer=answer,
        picture=Markup(svg(answer, standalone=False)),  # it escapes its texts itself
        rows=list(_rows(answer)),
        # Of a single model the sentences say why.
        unclear=[row for row in answer.rows if row.why is not None and len(answer.rows) > 1],
        decided=any(row.clarity != "none" for row in answer.rows),
    )


def _rows(answer: Glance) -> Iterator[tuple[str, ...]]:
    for row in answer.rows:
        yield (
            row.name,
            row.before_text,
            row.after_text,
            f"{row.figures} {row.reach}".strip(),
            row.other_interval or "–",
            f"{row.sign} {row.verdict}",
            str(row.pairs),
            row.tokens or "–",
        )


def next_section(answer: Glance) -> Markup:
    """What to type next; nothing where there is nothing to do."""
    step = answer.next_step
    return Markup() if step is None else render("next.html", step=step)
