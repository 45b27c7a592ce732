"""The report of a run, put together."""

from collections.abc import Iterable, Mapping, Sequence

from upskill.domain import Evaluation
from upskill.domain.text import count
from upskill.reporting.html.elements import escaped, figure, listed, table
from upskill.reporting.html.facts import CaseText, LoggedTrial, RunFacts
from upskill.reporting.html.origin import origin, spent
from upskill.reporting.html.shell import shell
from upskill.reporting.html.summary import summary
from upskill.reporting.html.trial_map import map_data, map_section
from upskill.reporting.pictures import DrawnPicture, Picture

STATES_SHOWN = 300


def report_page(
    evaluation: Evaluation,
    facts: RunFacts,
    *,
    cases: Sequence[CaseText],
    trials: Iterable[LoggedTrial],
    pictures: Sequence[Picture],
    drawn: Mapping[str, DrawnPicture],
) -> str:
    """One HTML file. `trials` may come one at a time; their answers are held only as far as they are shown."""
    skill = evaluation.skill
    expected = sum(arm.trials + arm.errored for report in evaluation.students for arm in report.arms)
    data = map_data(evaluation, cases, trials, expected=expected)
    parts = [
        f'<header><p class="kind">Skill on trial</p><h1>{escaped(skill.name)}</h1>',
        f"<p>{escaped(skill.description)}</p>" if skill.description else "",
        f'<p class="muted">{escaped(_scope(evaluation, facts))}</p></header><main>',
        _warnings(evaluation, facts),
        summary(evaluation),
        _figures(pictures, drawn),
        map_section(evaluation, cases, data),
        _states(evaluation),
        origin(evaluation, facts, data.trials),
        "</main><footer><p>Made by upskill. This file is whole: it loads nothing and sends nothing.</p></footer>",
    ]
    return shell(f"{skill.name}: upskill report", "\n".join(part for part in parts if part), script=True)


def _figures(pictures: Sequence[Picture], drawn: Mapping[str, DrawnPicture]) -> str:
    if not pictures:
        return ""
    return f'<div class="figures">{"".join(figure(picture, drawn.get(picture.name)) for picture in pictures)}</div>'


def _scope(evaluation: Evaluation, facts: RunFacts) -> str:
    most = "up to " if evaluation.design == "sequential" else ""
    cases, students = count(evaluation.cases, "test case"), count(len(evaluation.students), "student")
    cost = f", {spent(evaluation.bought.cost)}" if evaluation.bought.calls else ""
    when = facts.started_at[:10]
    return f"{cases}, {most}{count(evaluation.repeats, 'run')} of each, {students}{cost}, {when}."


def _warnings(evaluation: Evaluation, facts: RunFacts) -> str:
    said = [*facts.problems]
    if evaluation.interrupted or facts.status != "finished":
        said.insert(0, "This run was cut short: what follows is what had been measured by then.")
    said += evaluation.notes
    if not said:
        return ""
    return f'<section class="card notes" aria-labelledby="h-notes"><h2 id="h-notes">Notes</h2>{listed(said)}</section>'


def _states(evaluation: Evaluation) -> str:
    """What is wrong with cases, for whoever can mend them."""
    faulty = [one for one in evaluation.case_states if one.reasons]
    if not faulty:
        return ""
    rows = [
        (
            one.case_id,
            one.state,
            ", ".join(one.labels) or "–",
            "; ".join(reason.saw for reason in one.reasons[:3]),
            "; ".join(dict.fromkeys(reason.change for reason in one.reasons[:3] if reason.change)) or "–",
        )
        for one in faulty[:STATES_SHOWN]
    ]
    more = f" The first {STATES_SHOWN} are shown." if len(faulty) > STATES_SHOWN else ""
    columns = ("Case", "State", "Labels", "Seen", "What to change")
    return (
        '<section class="card" aria-labelledby="h-states"><h2 id="h-states">What is known of the cases</h2>'
        f"<details><summary>{count(len(faulty), 'case')} with something to say.{more}</summary>"
        f"{table(columns, rows, caption='Cases, their state and why')}</details></section>"
    )
