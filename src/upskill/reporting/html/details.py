"""What stands behind the result, folded: cost, how the estimate settled, cases, method, settings and notes."""

from collections.abc import Sequence

from markupsafe import Markup

from upskill.domain import Evaluation
from upskill.domain.text import count
from upskill.reporting.estimate_path import StudentPath
from upskill.reporting.html.case_states import cases_fold
from upskill.reporting.html.cost import cost_fold
from upskill.reporting.html.facts import RunFacts
from upskill.reporting.html.folds import Fold
from upskill.reporting.html.method import method_fold
from upskill.reporting.html.settled import settled_fold
from upskill.reporting.html.templating import render
from upskill.reporting.token_change import TokenRatio


def details_section(
    evaluation: Evaluation | None,
    facts: RunFacts,
    *,
    paths: Sequence[StudentPath],
    ratios: Sequence[TokenRatio],
    enough: float,
) -> Markup:
    """Every fold that has something in it."""
    measured = [] if evaluation is None else _measured(evaluation, facts, paths, ratios, enough)
    folds = [*measured, _settings(facts), _notes(() if evaluation is None else evaluation.notes)]
    return render("details.html", folds=[fold for fold in folds if fold is not None])


def _measured(
    evaluation: Evaluation,
    facts: RunFacts,
    paths: Sequence[StudentPath],
    ratios: Sequence[TokenRatio],
    enough: float,
) -> list[Fold | None]:
    return [
        cost_fold(evaluation, ratios, enough=enough),
        settled_fold(evaluation, paths),
        cases_fold(evaluation),
        method_fold(evaluation, facts),
    ]


def _settings(facts: RunFacts) -> Fold | None:
    if not facts.settings:
        return None
    body = render("settings.html", rows=facts.settings)
    finding = f"{len(facts.settings)} not at their defaults"
    return Fold(name="settings", title="Settings", finding=finding, body=body)


def _notes(notes: Sequence[str]) -> Fold | None:
    if not notes:
        return None
    body = render("notes.html", notes=notes)
    return Fold(name="notes", title="Notes", finding=count(len(notes), "note"), body=body)
