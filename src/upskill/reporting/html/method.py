"""How the result was measured: the plan, further comparisons, what was corrected, and where the whole is."""

from collections.abc import Iterator

from upskill.domain import Evaluation, JudgeReport, Lift, Loads, StudentReport, harness_info
from upskill.domain.other_skills import OtherSkills
from upskill.domain.text import count
from upskill.reporting.glance.arms import arm_titles
from upskill.reporting.html.facts import RunFacts
from upskill.reporting.html.folds import Fold
from upskill.reporting.html.templating import render
from upskill.reporting.loading import loading_lines, turn_words
from upskill.reporting.wording import (
    between,
    ceiling_words,
    confidence_interval,
    faults_words,
    judge_error_words,
    loss_lines,
    percent,
    points,
)


def method_fold(evaluation: Evaluation, facts: RunFacts) -> Fold:
    """Everything that a careful reader may ask about the numbers."""
    body = render(
        "method.html",
        lifts=[row for report in evaluation.students for row in _lifts(evaluation, report)],
        arms=[row for report in evaluation.students for row in _arms(evaluation, report)],
        remarks=[(report.student.name, list(_remarks(evaluation, report))) for report in evaluation.students],
        facts=list(_facts(evaluation, facts)),
        logs=facts.logs,
        logs_from=facts.logs_from,
    )
    return Fold(name="method", title="Method", finding=_finding(evaluation), body=body)


def _finding(evaluation: Evaluation) -> str:
    most = "up to " if evaluation.design == "sequential" else ""
    return f"{count(evaluation.cases, 'case')}, {most}{count(evaluation.repeats, 'repeat')} on each side"


def _lifts(evaluation: Evaluation, report: StudentReport) -> Iterator[tuple[str, ...]]:
    """What was compared beside the two arms of the headline."""
    for lift in report.lifts[1:]:
        if lift is report.ceiling:
            continue  # it has words of its own
        yield (
            report.student.name,
            " against ".join(arm_titles(evaluation, (lift.arm, lift.against))),
            points(lift.mean),
            confidence_interval(lift, lift.cases_like_these),
            confidence_interval(lift, lift.these_cases),
            f"{lift.pairs}" + (f", {lift.dropped} dropped" if lift.dropped else ""),
        )


def _arms(evaluation: Evaluation, report: StudentReport) -> Iterator[tuple[str, ...]]:
    titles = arm_titles(evaluation, [arm.arm for arm in report.arms])
    for arm, title in zip(report.arms, titles, strict=True):
        yield (
            report.student.name,
            title,
            f"{arm.passed} of {arm.trials}",
            "–" if arm.checks_passed is None or arm.checks is None else f"{arm.checks_passed:.1f} of {arm.checks:.1f}",
            "–" if arm.turns is None else f"{arm.turns:.1f}",
            f"{arm.errored}: {faults_words(arm.faults)}" if arm.errored else "0",
        )


def _remarks(evaluation: Evaluation, report: StudentReport) -> Iterator[str]:
    """What is said of one model beyond the headline and the tables."""
    if report.verdict in (None, "undecided") or evaluation.min_lift is not None:
        yield _capital(report.sentence)
    if report.lifts and report.lifts[0].dropped:
        yield f"{count(report.lifts[0].dropped, 'pair')} dropped: an answer errored."
    if (ceiling := ceiling_words(report, cases=evaluation.cases)) is not None:
        yield _capital(ceiling)
    if report.lifts and report.lifts[0].corrected is not None:
        yield f"Corrected for stopping at a verdict: {_without_selection(report.lifts[0])}."
    if (judged := judge_error_words(report)) is not None:
        yield f"Corrected for the judge's errors: {judged}."
    yield from map(_capital, loading_lines(report, cases=evaluation.cases))
    if report.loads is not None:
        yield from (_capital(said) for said in (turn_words(report.loads), _checked(report.loads)) if said is not None)
    yield from map(_capital, loss_lines(report))
    if report.answered_by:
        yield f"The server names the model {', '.join(report.answered_by[:3])}."


def _checked(loads: Loads) -> str | None:
    """What the lift if loaded was checked by; `None` where it was not."""
    if loads.unloaded is None or loads.easier is None:
        return None
    forced = "" if loads.easier_forced is None else f" ({points(loads.easier_forced.mean)} where it was forced)"
    return (
        f"checked for the lift if loaded: answers that did not load the skill add {points(loads.unloaded.mean)} points "
        f"to the lift ({between(loads.unloaded.interval)}); cases that loaded it pass {points(loads.easier.mean)} "
        f"points more without it than all cases ({between(loads.easier.interval)}){forced}"
    )


def _capital(sentence: str) -> str:
    """A sentence as it stands by itself."""
    return sentence[:1].upper() + sentence[1:] + ("" if sentence.endswith(".") else ".")


def _without_selection(lift: Lift) -> str:
    corrected = f"{points(lift.corrected or 0.0)} points instead of {points(lift.mean)}"
    return f"{corrected}. A lift measured when it has just become clear is too large on average"


def _facts(evaluation: Evaluation, facts: RunFacts) -> Iterator[tuple[str, str]]:
    yield "Run", facts.folder
    yield "Status", facts.status
    yield "Started", facts.started_at
    yield "Finished", facts.finished_at or "not yet"
    yield "Plan", _plan(evaluation)
    yield "Order of answers", f"shuffled, seed {facts.seed}"
    yield "Harness", _harness(facts.harness or "")
    yield "Sandbox", evaluation.sandbox or "not used"
    if evaluation.others is not None:
        yield "Other skills", _others(evaluation.others)
    yield "Judge", "none" if evaluation.judge is None else _judge(evaluation.judge)
    yield "Skill digest", (facts.skill_digest or "")[:19]
    for report in evaluation.students:
        if report.student.model != report.student.name:
            yield f"Full name of {report.student.name}", report.student.model
    for name, version in facts.versions.items():
        yield f"Version of {name}", version


def _plan(evaluation: Evaluation) -> str:
    ran = list(dict.fromkeys(arm.arm for report in evaluation.students for arm in report.arms))
    *others, last = arm_titles(evaluation, ran) or ("",)
    where = f", {', '.join(others)} and {last}" if others else f", {last}"
    repeats = count(evaluation.repeats, "repeat")
    if evaluation.design == "sequential":
        return f"up to {repeats} of every case{where}; stops as soon as the result is clear"
    often = "each case once" if evaluation.repeats == 1 else f"{repeats} of every case"
    return f"{often}{where}"


def _harness(name: str) -> str:
    """Its name has a version in it, for people who compare runs."""
    meaning = harness_info(name).description
    return f"{meaning} ({name})" if meaning else name


def _others(others: OtherSkills) -> str:
    """How many there were, and their names."""
    names = ", ".join(skill.name for skill in others.skills)
    return f"{others.words}{f': {names}' if names else ''}"


def _judge(judge: JudgeReport) -> str:
    said = f"{judge.model}, {count(judge.judged, 'answer')}"
    if judge.agreement is None:
        return f"{said}; no answer had other checks to compare it with"
    return f"{said}; agrees with the other checks in {judge.agreed} of {judge.compared} ({percent(judge.agreement)})"
