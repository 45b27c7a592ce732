"""Comments on answers: what `feedback.js` must know to save them, and the bar from which they are saved."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from shlex import quote

from markupsafe import Markup

from upskill.domain.case import Json
from upskill.reporting.html.elements import json_in_html
from upskill.reporting.html.facts import CaseText, RunFacts
from upskill.reporting.html.templating import render

FILE = "upskill-feedback.json"


def feedback_section(facts: RunFacts, cases: Sequence[CaseText], *, run: str) -> Markup:
    """Hidden until there is a comment. Empty where nothing was measured: then there is no answer to comment on.

    `run` is the path of the run, for the command that reads the comments.
    """
    if facts.skill_digest is None:
        return Markup()
    data: dict[str, Json] = {
        "run": facts.folder,
        "skill": {"name": facts.skill, "digest": facts.skill_digest},
        "cases": {case.id: case.digest for case in cases},
        "file": FILE,
        "next": f"upskill generate --from {quote(_typed(run))} --feedback {FILE}",
    }
    return render("feedback.html", data=Markup(json_in_html(data)))


def _typed(run: str) -> str:
    """The run as a person types it: of a held-out test the `generate` around it; never an absolute path."""
    path = PurePosixPath(run)
    if path.parent.name == "trials":
        path = path.parents[1]
    return path.name if path.is_absolute() else path.as_posix()
