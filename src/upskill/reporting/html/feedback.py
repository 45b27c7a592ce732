"""Comments on answers: what `feedback.js` must know to save them, and the bar from which they are saved."""

from collections.abc import Sequence

from markupsafe import Markup

from upskill.domain.case import Json
from upskill.reporting.html.elements import json_in_html
from upskill.reporting.html.facts import CaseText, RunFacts
from upskill.reporting.html.templating import render


def feedback_section(facts: RunFacts, cases: Sequence[CaseText]) -> Markup:
    """Hidden until there is a comment. Empty where nothing was measured: then there is no answer to comment on."""
    if facts.skill_digest is None:
        return Markup()
    data: dict[str, Json] = {
        "run": facts.folder,
        "skill": {"name": facts.skill, "digest": facts.skill_digest},
        "cases": {case.id: case.digest for case in cases},
    }
    return render("feedback.html", data=Markup(json_in_html(data)))
