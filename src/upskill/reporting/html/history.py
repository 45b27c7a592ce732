"""The page of one skill over its versions."""

from collections.abc import Iterator

from markupsafe import Markup

from upskill.reporting.glance import svg
from upskill.reporting.history import History
from upskill.reporting.html.page import SCRIPTED
from upskill.reporting.html.shell import shell
from upskill.reporting.html.templating import render
from upskill.reporting.html.words import words_section


def history_page(found: History) -> str:
    """The answer, a dumbbell for each model with a row for each version, and the same as a table."""
    section = render(
        "history_section.html",
        sentences=found.sentences,
        step=found.next_step,
        models=[(model.sentences[0], Markup(svg(model, standalone=False))) for model in found.models],
        rows=list(_rows(found)),
    )
    scripted = all(model.scripted for model in found.models)
    words = words_section(SCRIPTED if scripted else "", section)
    body = render("history.html", skill=found.skill, scripted=scripted, section=section, words=words)
    return shell(f"{found.skill}: history", body, script=False)


def _rows(found: History) -> Iterator[tuple[str, ...]]:
    for version, row in found.rows():
        yield (
            version.day,
            version.digest[:12],
            version.report.student.name,
            row.rates,
            f"{row.figures} {row.reach}".strip(),
            row.verdict,
            str(row.pairs),
            version.run,
        )
