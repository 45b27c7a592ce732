"""What stands behind the result, folded: cost, cases, method, settings and notes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from markupsafe import Markup

from upskill.core.nouns import LABELS, Evaluation, JudgeReport, Lift, StudentReport, harness_info
from upskill.core.nouns.case import LABEL_MEANINGS
from upskill.core.nouns.lift import with_scope
from upskill.core.nouns.skill import OtherSkills
from upskill.core.nouns.text import count
from upskill.core.nouns.trial import BESIDE
from upskill.report.facts import RunFacts, TokenRatio, end_words
from upskill.report.html.figures import Spent, cost_fold
from upskill.report.html.shell import Fold, render, words_fold
from upskill.report.result_notes import headline_names, merged_notes
from upskill.report.wording import (
    arm_titles,
    ceiling_words,
    confidence_interval,
    control_lines,
    faults_words,
    loading_lines,
    loss_lines,
    percent,
    points,
    turn_words,
)

MOST_CASES = 300
STATES = {
    "qualified": "shown to tell right answers from wrong ones",
    "unproven": "counts, but is not shown to tell right answers from wrong ones",
    "rejected": "a non-answer passes, so it was skipped",
}


def cases_fold(evaluation: Evaluation) -> Fold | None:
    """`None` where nothing is known of the cases."""
    states = Counter[str](one.state for one in evaluation.case_states)
    if not states:
        return None
    faulty = [one for one in evaluation.case_states if one.reasons]
    body = render(
        "case_states.html",
        kinds=[*_states(states), *_labels(evaluation)],
        faulty=[
            (
                one.case_id,
                one.state,
                ", ".join(one.labels) or "–",
                "; ".join(reason.saw for reason in one.reasons[:3]),
                "; ".join(dict.fromkeys(reason.change for reason in one.reasons[:3] if reason.change)) or "–",
            )
            for one in faulty[:MOST_CASES]
        ],
        left_out=len(faulty) - MOST_CASES,
    )
    finding = ", ".join(f"{states[state]} {state}" for state in STATES if states[state])
    return Fold(name="cases", title="Cases", finding=finding, body=body)


def _states(states: Counter[str]) -> Iterator[tuple[str, ...]]:
    for state, meaning in STATES.items():
        if states[state]:
            yield state, count(states[state], "case"), meaning, "–"


def _labels(evaluation: Evaluation) -> Iterator[tuple[str, ...]]:
    labels = Counter[str](label for one in evaluation.case_states for label in one.labels)
    for report in evaluation.students:
        # Labels that the answers gave stand with the model, since they depend on it.
        for one in report.label_lifts:
            if one.label is not None:
                labels[one.label] = max(labels[one.label], one.cases)
    for label in LABELS:
        if labels[label]:
            yield label, count(labels[label], "case"), LABEL_MEANINGS[label], _label_lifts(evaluation, label)


def _label_lifts(evaluation: Evaluation, label: str) -> str:
    found = [
        f"{report.student.name}: {points(one.lift.mean)} ({_with_reach(one.lift)})"
        for report in evaluation.students
        for one in report.label_lifts
        if one.label == label and one.lift is not None and report.verdict != "invalid"
    ]
    return "; ".join(found[:4]) or "–"


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
    most = "" if evaluation.design == "fixed" else "up to "
    return f"{count(evaluation.cases, 'case')}, {most}{count(evaluation.repeats, 'repeat')} on each side"


def _lifts(evaluation: Evaluation, report: StudentReport) -> Iterator[tuple[str, ...]]:
    """What was compared beside the two arms of the headline."""
    for lift in report.lifts[1:]:
        if lift.arm in BESIDE:
            continue  # these have words of their own
        yield (
            report.student.name,
            " against ".join(arm_titles(evaluation, (lift.arm, lift.against))),
            points(lift.mean),
            _with_reach(lift),
            f"{lift.pairs}" + (f", {lift.dropped} dropped" if lift.dropped else ""),
        )


def _with_reach(lift: Lift) -> str:
    return with_scope(confidence_interval(lift), lift.about)


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
    yield from map(_capital, control_lines(report))
    if report.lifts:
        yield _capital(end_words(report.end))
    yield from map(_capital, loading_lines(report))
    if report.loads is not None and (turn := turn_words(report.loads)) is not None:
        yield _capital(turn)
    yield from map(_capital, loss_lines(report))
    if report.answered_by:
        yield f"The server names the model {', '.join(report.answered_by[:3])}."


def _capital(sentence: str) -> str:
    """A sentence as it stands by itself."""
    return sentence[:1].upper() + sentence[1:] + ("" if sentence.endswith(".") else ".")


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
    if evaluation.design == "two looks":
        return f"every case once{where}, and up to {repeats} if the first look does not decide"
    if evaluation.design == "gate":
        return f"every case twice{where} (once at temperature 0), up to {repeats} where it looks broken"
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
    agrees = f"{judge.agreed} of {judge.compared} ({percent(judge.agreement)})"
    return f"{said}; agrees with the other checks in {agrees}; the interval does not include its errors"


def details_section(
    evaluation: Evaluation | None,
    facts: RunFacts,
    *,
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
    ratios: Sequence[TokenRatio],
    enough: float,
    spent: Sequence[Spent],
) -> list[Fold | None]:
    return [
        cost_fold(evaluation, ratios, enough=enough, spent=spent),
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
