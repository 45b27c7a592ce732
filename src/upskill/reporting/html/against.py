"""The page of two runs beside each other."""

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from upskill.domain import Evaluation
from upskill.reporting.against import Against, RunSide
from upskill.reporting.html.changed import Sides, changed_section
from upskill.reporting.html.facts import CaseText, LoggedTrial
from upskill.reporting.html.headline import headline_section
from upskill.reporting.html.page import SCRIPTED
from upskill.reporting.html.shell import shell
from upskill.reporting.html.templating import render
from upskill.reporting.html.words import words_section

SIDES = Sides(titles=("A, with the skill", "B, with the skill"), better="better in B", worse="worse in B")


def against_page(
    found: Against, answered: Evaluation | None, *, cases: Sequence[CaseText] = (), trials: Iterable[LoggedTrial] = ()
) -> str:
    """What differs, both dumbbells, and the answers with the skill side by side.

    `answered` has the models that answered shared cases in both runs, `None` where there are none; in `trials` those of
    the first run have the arm `previous`, those of the second `with_skill`.
    """
    changed = Markup() if answered is None else changed_section(answered, cases, trials, sides=SIDES)
    headline = headline_section(found.glance)
    body = render(
        "against.html",
        scripted=found.glance.scripted,
        runs=[_side(found.first), _side(found.second)],
        headline=headline,
        changed=changed,
        words=words_section(SCRIPTED if found.glance.scripted else "", headline, changed),
    )
    return shell(f"{found.glance.skill}: two runs", body, script=answered is not None)


def _side(side: RunSide) -> str:
    skill = side.evaluation.skill
    return f"{side.label}: {skill.name} {skill.digest[:12]}, {side.day}, {side.run}"
