"""What stands behind the result, folded: cost, how the estimate settled, cases, method, settings and notes."""

from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup

from upskill.domain import Evaluation, StudentReport
from upskill.domain.text import count
from upskill.reporting.estimate_path import StudentPath
from upskill.reporting.html.case_states import cases_fold
from upskill.reporting.html.cost import Spent, cost_fold
from upskill.reporting.html.facts import RunFacts
from upskill.reporting.html.folds import Fold
from upskill.reporting.html.method import method_fold
from upskill.reporting.html.settled import settled_fold
from upskill.reporting.html.templating import render
from upskill.reporting.html.words import words_fold
from upskill.reporting.result_notes import headline_names, merged_notes
from upskill.reporting.token_change import TokenRatio


def details_section(
    evaluation: Evaluation | None,
    facts: RunFacts,
    *,
    paths: Sequence[StudentPath],
    ratios: Sequence[TokenRatio],
    enough: float,
    spent: Sequence[Spent] = (),
    before: Sequence[str] = (),
) -> Markup:
    """Every fold that has something in it, and the words of the page: `before` is what comes before the folds.

    `spent` are the parts of what a generate cost.
    """
    measured, notes = [cost_fold(None, (), enough=enough, spent=spent)], []
    if evaluation is not None:
        names = headline_names(evaluation)
        notes = list(merged_notes(evaluation.notes, names))
        measured = _measured(
            replace(evaluation, students=tuple(_named(report, names) for report in evaluation.students)),
            facts,
            [replace(path, student=names.get(path.student, path.student)) for path in paths],
            [replace(ratio, student=names.get(ratio.student, ratio.student)) for ratio in ratios],
            enough,
            spent,
        )
    folds = [fold for fold in (*measured, _settings(facts), _notes(notes)) if fold is not None]
    words = words_fold(*before, *(f"{fold.finding} {fold.body}" for fold in folds))
    return render("details.html", folds=folds if words is None else [*folds, words])


def _named(report: StudentReport, names: dict[str, str]) -> StudentReport:
    return replace(report, student=replace(report.student, name=names[report.student.name]))


def _measured(
    evaluation: Evaluation,
    facts: RunFacts,
    paths: Sequence[StudentPath],
    ratios: Sequence[TokenRatio],
    enough: float,
    spent: Sequence[Spent],
) -> list[Fold | None]:
    return [
        cost_fold(evaluation, ratios, enough=enough, spent=spent),
        settled_fold(evaluation, paths),
        cases_fold(evaluation),
        method_fold(evaluation, facts),
    ]


def _settings(facts: RunFacts) -> Fold | None:
    if not facts.settings:
        return None
    body = render("settings.html", rows=facts.settings)
    finding = f"{len(facts.settings)} changed from the defaults"
    return Fold(name="settings", title="Settings", finding=finding, body=body)


def _notes(notes: Sequence[str]) -> Fold | None:
    if not notes:
        return None
    body = render("notes.html", notes=notes)
    return Fold(name="notes", title="Notes", finding=count(len(notes), "note"), body=body)
