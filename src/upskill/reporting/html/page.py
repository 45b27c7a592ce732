"""The report of a run: the order of its sections. What each one shows is its own module's matter."""

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from upskill.domain import Evaluation
from upskill.reporting.html.changed import changed_section
from upskill.reporting.html.facts import CaseText, LoggedTrial, RunFacts
from upskill.reporting.html.feedback import feedback_section
from upskill.reporting.html.headline import headline_section, next_section
from upskill.reporting.html.origin import origin, spent
from upskill.reporting.html.shell import shell
from upskill.reporting.html.templating import render

CUT_SHORT = "This run was cut short. The page shows what had been measured by then."


def report_page(
    evaluation: Evaluation | None,
    facts: RunFacts,
    *,
    cases: Sequence[CaseText] = (),
    trials: Iterable[LoggedTrial] = (),
) -> str:
    """One HTML file. `evaluation` is `None` where a generate measured nothing on held-out cases.

    `trials` may come one at a time; their answers are held only as far as they are shown.
    """
    body = render(
        "page.html",
        line=_line(evaluation, facts),
        scripted=False,
        first=_first(evaluation, facts),
        headline=headline_section(evaluation),
        changed=Markup() if evaluation is None else changed_section(evaluation, cases, trials),
        skill=Markup(),
        next=next_section(evaluation),
        feedback=Markup() if evaluation is None else feedback_section(facts, cases),
        details=Markup() if evaluation is None else Markup(origin(evaluation, facts, 0)),
    )
    return shell(f"{facts.skill}: upskill report", body, script=evaluation is not None)


def _line(evaluation: Evaluation | None, facts: RunFacts) -> list[str]:
    """What this page is of, when it was made and what it cost."""
    kind = "skill evaluation" if evaluation is not None else "skill generation"
    cost = [] if evaluation is None or not evaluation.bought.calls else [spent(evaluation.bought.cost)]
    return [facts.skill, kind, facts.started_at[:10], *cost]


def _first(evaluation: Evaluation | None, facts: RunFacts) -> list[str]:
    """What a reader must know before the result: that it is not whole, or could not be read as a whole."""
    cut_short = facts.status != "finished" or (evaluation is not None and evaluation.interrupted)
    return [*([CUT_SHORT] if cut_short else []), *facts.problems]
