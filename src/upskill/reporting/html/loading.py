"""Whether the model loaded the offered skill, beside the headline: load rate, forced lift, lift if loaded."""

from collections.abc import Iterator

from markupsafe import Markup

from upskill.domain import Evaluation, Lift, StudentReport
from upskill.reporting.html.templating import render
from upskill.reporting.loading import instead_words, rate_words, shown_lift_interval, turn_words, withheld_words
from upskill.reporting.result_notes import headline_names
from upskill.reporting.wording import arm_name, between, confidence, points


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
            "Lift if loaded",
        ),
        rows=[_row(report, names[report.student.name]) for report in reports],
        remarks=[said for report in reports for said in _remarks(report, names, alone=len(reports) == 1)],
        among="" if others is None else others.words,
    )


def _row(report: StudentReport, name: str) -> tuple[str, ...]:
    loads = report.loads
    if loads is None:
        return (name, "–", "–", "–", "–")
    shown = loads.lift_if_loaded
    return (
        name,
        f"{loads.loaded} of {loads.answers}: {rate_words(loads)}",
        _lift(report.lifts[0] if report.lifts else None),
        _lift(report.forced),
        "not shown" if shown is None else f"{points(shown.mean)} ({between(shown.interval)})",
    )


def _lift(lift: Lift | None) -> str:
    return "–" if lift is None else f"{points(lift.mean)} ({confidence(lift)} {between(shown_lift_interval(lift))})"


def _remarks(report: StudentReport, names: dict[str, str], *, alone: bool) -> Iterator[str]:
    loads = report.loads
    if loads is None:
        return
    who = "" if alone else f"{names[report.student.name]}: "
    if not loads.loaded:
        yield f"{who}Lift if loaded: not shown, because no answer loaded the skill."
    elif (reason := withheld_words(loads)) is not None:
        yield f"{who}Lift if loaded: not shown, because {reason}."
    for said in (turn_words(loads), instead_words(loads)):
        if said is not None:
            yield f"{who}{said[:1].upper()}{said[1:]}."
