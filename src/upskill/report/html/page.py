"""The report of a run, the page of two runs beside each other, and that of one skill over its versions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import PurePosixPath
from shlex import quote
from typing import Protocol

from markupsafe import Markup

from upskill.core.nouns import Evaluation, Lift, StudentReport
from upskill.core.nouns.case import Json
from upskill.core.runs.skill_copy import SkillText
from upskill.report.dumbbell import svg
from upskill.report.facts import ENOUGH, CaseText, LoggedTrial, RunFacts, TokenRatio
from upskill.report.glance import Glance, glance, glance_of_nothing
from upskill.report.html.changed import Sides, changed_section
from upskill.report.html.details import details_section
from upskill.report.html.figures import Spent
from upskill.report.html.shell import json_in_html, render, shell, word_link, words_section
from upskill.report.next_step import NextStep
from upskill.report.result_notes import headline_names
from upskill.report.side_by_side import Against, History, RunSide
from upskill.report.wording import (
    arm_name,
    confidence_interval,
    instead_words,
    paid,
    points,
    rate_words,
    turn_words,
)


def headline_section(answer: Glance) -> Markup:
    """The answer in words, the dumbbell, and the same as a table."""
    return render(
        "headline.html",
        answer=answer,
        first=_unbroken(answer.sentences[0]),
        picture=Markup(svg(answer, standalone=False)),  # it escapes its texts itself
        rows=list(_headline_rows(answer)),
        # Of a single model the sentences say why.
        unclear=[row for row in answer.rows if row.why is not None and len(answer.rows) > 1],
    )


def _headline_rows(answer: Glance) -> Iterator[tuple[str, ...]]:
    for row in answer.rows:
        if row.after is None:
            continue  # there is nothing to be sure of
        yield (
            row.name,
            row.before_text,
            row.after_text,
            f"{row.figures} {row.reach}".strip(),
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


def loading_section(evaluation: Evaluation) -> Markup:
    """The section "Was it loaded?"; empty where no skill was offered, and for results of earlier versions."""
    reports = [report for report in evaluation.students if report.loads is not None]
    if not reports:
        return Markup()
    names = headline_names(evaluation)
    harness = reports[0].harness
    others = evaluation.others
    return render(
        "loading.html",
        columns=(
            "Model",
            "Load rate",
            *(arm_name(arm, harness).capitalize() for arm in ("offered", "with_skill")),
        ),
        rows=[_row(report, names[report.student.name]) for report in reports],
        remarks=[said for report in reports for said in _remarks(report, names, alone=len(reports) == 1)],
        among="" if others is None else others.words,
    )


def _row(report: StudentReport, name: str) -> tuple[str, ...]:
    loads = report.loads
    if loads is None:
        return (name, "–", "–", "–")
    return (
        name,
        f"{loads.loaded} of {loads.answers}: {rate_words(loads)}",
        _lift(report.lifts[0] if report.lifts else None),
        _lift(report.forced),
    )


def _lift(lift: Lift | None) -> str:
    return "–" if lift is None else f"{points(lift.mean)} ({confidence_interval(lift)})"


def _remarks(report: StudentReport, names: dict[str, str], *, alone: bool) -> Iterator[str]:
    loads = report.loads
    if loads is None:
        return
    who = "" if alone else f"{names[report.student.name]}: "
    for said in (turn_words(loads), instead_words(loads)):
        if said is not None:
            yield f"{who}{said[:1].upper()}{said[1:]}."


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


MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
"""Not those of the system's language: the page is in English."""
SCRIPTED = "scripted demo"
"""What the badge says where a script answered."""
CUT_SHORT = "This run did not finish. The page shows what was measured until then."


class Story(Protocol):
    """A story that a feature tells on the page of a run: how it came to its skill, and what it decided."""

    @property
    def decision(self) -> str:
        """One sentence, the first on the page."""
        ...

    @property
    def next_step(self) -> NextStep | None: ...

    @property
    def spent(self) -> tuple[Spent, ...]:
        """The parts of what the run cost as a whole."""
        ...

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be read, a line each."""
        ...

    def section(self, skill: SkillText | None) -> Markup:
        """The section "The skill"."""
        ...


def skill_section(skill: SkillText | None) -> Markup:
    """The skill as text; empty where it cannot be read."""
    return Markup() if skill is None else render("skill.html", skill=skill, story=None, steps=())


def report_page(
    evaluation: Evaluation | None,
    facts: RunFacts,
    *,
    cases: Sequence[CaseText] = (),
    trials: Iterable[LoggedTrial] = (),
    skill: SkillText | None = None,
    story: Story | None = None,
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
        "skill": skill_section(skill) if story is None else story.section(skill),
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
            ratios=ratios,
            enough=enough,
            spent=() if story is None else story.spent,
            before=(SCRIPTED if answer.scripted else "", *sections.values()),
        ),
    )
    return shell(f"{facts.skill}: upskill report", body, script=True)


def report_glance(evaluation: Evaluation | None, facts: RunFacts, story: Story | None) -> Glance:
    """The answer. After a generate the decision comes first, and what to do next follows from it."""
    decision, step = (None, None) if story is None else (story.decision, story.next_step)
    if evaluation is None:
        return glance_of_nothing(facts.skill, decision or "Nothing was measured.", step)
    known = {"skill": facts.skill_folder, "tests": facts.case_file, "resume": facts.resume}
    answer = glance(evaluation, **known, again=facts.again, decision=decision)
    return answer if story is None else replace(answer, next_step=step)


def _line(evaluation: Evaluation | None, facts: RunFacts, story: Story | None) -> list[str]:
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


def _first(evaluation: Evaluation | None, facts: RunFacts, story: Story | None) -> list[str]:
    """What a reader must know before the result: that it is not whole, or could not be read as a whole."""
    cut_short = facts.status != "finished" or (evaluation is not None and evaluation.interrupted)
    return [*([CUT_SHORT] if cut_short else []), *facts.problems, *(() if story is None else story.problems)]


def history_page(found: History) -> str:
    """The answer, a dumbbell for each model with a row for each version, and the same as a table."""
    section = render(
        "history_section.html",
        sentences=found.sentences,
        step=found.next_step,
        models=[(model.sentences[0], Markup(svg(model, standalone=False))) for model in found.models],
        rows=list(_version_rows(found)),
    )
    scripted = all(model.scripted for model in found.models)
    words = words_section(SCRIPTED if scripted else "", section)
    body = render("history.html", skill=found.skill, scripted=scripted, section=section, words=words)
    return shell(f"{found.skill}: history", body, script=False)


def _version_rows(found: History) -> Iterator[tuple[str, ...]]:
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
