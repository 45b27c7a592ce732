"""The answer at the top of a report, with the one command to type next."""

from collections.abc import Iterator

from markupsafe import Markup

from upskill.reporting.glance import Glance, svg
from upskill.reporting.html.glossary import word_link
from upskill.reporting.html.templating import render


def headline_section(answer: Glance) -> Markup:
    """The answer in words, the dumbbell, and the same as a table with the interval that the picture leaves out."""
    return render(
        "headline.html",
        answer=answer,
        first=_unbroken(answer.sentences[0]),
        picture=Markup(svg(answer, standalone=False)),  # it escapes its texts itself
        rows=list(_rows(answer)),
        # Of a single model the sentences say why.
        unclear=[row for row in answer.rows if row.why is not None and len(answer.rows) > 1],
    )


def _rows(answer: Glance) -> Iterator[tuple[str, ...]]:
    for row in answer.rows:
        if row.after is None:
            continue  # there is nothing to be sure of
        yield (
            row.name,
            row.before_text,
            row.after_text,
            f"{row.figures} {row.reach}".strip(),
            row.other_interval or "–",
            f"{row.sign}\N{NO-BREAK SPACE}{row.verdict}" + (f", {row.among}" if row.among else ""),
            str(row.pairs),
            row.tokens or "–",
        )


def _unbroken(sentence: str) -> Markup:
    """A heading in which no line ends inside `held-out`; the first one leads to what it means."""
    before, *others = sentence.split("held-out")
    marked = [
        Markup('<span class="whole">{}</span>').format(
            word_link("held-out case", "held-out") if at == 0 else "held-out"
        )
        for at in range(len(others))
    ]
    return Markup().join([before, *(part for mark, rest in zip(marked, others, strict=True) for part in (mark, rest))])
