"""The report of a run: the order of its sections. What each one shows is its own module's matter."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date

from markupsafe import Markup

from upskill.domain import Evaluation
from upskill.domain.skill_text import SkillText
from upskill.reporting.estimate_path import StudentPath
from upskill.reporting.glance import Glance, glance, glance_of_nothing
from upskill.reporting.html.changed import changed_section
from upskill.reporting.html.details import details_section
from upskill.reporting.html.facts import CaseText, LoggedTrial, RunFacts
from upskill.reporting.html.feedback import feedback_section
from upskill.reporting.html.headline import headline_section
from upskill.reporting.html.loading import loading_section
from upskill.reporting.html.shell import shell
from upskill.reporting.html.story import TeachingStory, skill_section
from upskill.reporting.html.templating import render
from upskill.reporting.sufficient_students import ENOUGH
from upskill.reporting.token_change import TokenRatio
from upskill.reporting.wording import paid

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
"""Not those of the system's language: the page is in English."""
SCRIPTED = "scripted demo"
"""What the badge says where a script answered."""
CUT_SHORT = "This run did not finish. The page shows what was measured until then."


def report_page(
    evaluation: Evaluation | None,
    facts: RunFacts,
    *,
    cases: Sequence[CaseText] = (),
    trials: Iterable[LoggedTrial] = (),
    skill: SkillText | None = None,
    story: TeachingStory | None = None,
    paths: Sequence[StudentPath] = (),
    ratios: Sequence[TokenRatio] = (),
    enough: float = ENOUGH,
) -> str:
    """One HTML file. `evaluation` is `None` where a generate measured nothing on held-out cases.

    `trials` may come one at a time; their answers are held only as far as they are shown.
    """
    answer = report_glance(evaluation, facts, story)
    sections = {
        "headline": headline_section(answer),
        "loading": Markup() if evaluation is None else loading_section(evaluation),
        "changed": Markup() if evaluation is None else changed_section(evaluation, cases, trials),
        "skill": skill_section(skill, story),
    }
    body = render(
        "page.html",
        line=_line(evaluation, facts, story),
        scripted=answer.scripted,
        first=_first(evaluation, facts, story),
        **sections,
        feedback=Markup() if evaluation is None else feedback_section(facts, cases, run=evaluation.run),
        details=details_section(
            evaluation,
            facts,
            paths=paths,
            ratios=ratios,
            enough=enough,
            spent=() if story is None else story.spent,
            before=(SCRIPTED if answer.scripted else "", *sections.values()),
        ),
    )
    return shell(f"{facts.skill}: upskill report", body, script=True)


def report_glance(evaluation: Evaluation | None, facts: RunFacts, story: TeachingStory | None) -> Glance:
    """The answer. After a generate the decision comes first, and what to do next follows from it."""
    decision, step = (None, None) if story is None else (story.decision, story.next_step)
    if evaluation is None:
        return glance_of_nothing(facts.skill, decision or "Nothing was measured.", step)
    answer = glance(evaluation, skill=facts.skill_folder, tests=facts.case_file, resume=facts.resume, decision=decision)
    return answer if story is None else replace(answer, next_step=step)


def _line(evaluation: Evaluation | None, facts: RunFacts, story: TeachingStory | None) -> list[str]:
    """What this page is of, when it was made and what it cost."""
    kind = "skill evaluation" if story is None else "skill generation"
    # What a generate cost as a whole is part of its story.
    bought = None if evaluation is None or story is not None else evaluation.bought
    cost = [] if bought is None or not bought.calls else [paid(bought.cost)]
    return [facts.skill, kind, _day(facts.started_at), *cost]


def _day(moment: str) -> str:
    """`15 Nov 2026`; as it was recorded where it is no moment."""
    try:
        day = date.fromisoformat(moment[:10])
    except ValueError:
        return moment[:10]
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def _first(evaluation: Evaluation | None, facts: RunFacts, story: TeachingStory | None) -> list[str]:
    """What a reader must know before the result: that it is not whole, or could not be read as a whole."""
    cut_short = facts.status != "finished" or (evaluation is not None and evaluation.interrupted)
    return [*([CUT_SHORT] if cut_short else []), *facts.problems, *(() if story is None else story.problems)]
