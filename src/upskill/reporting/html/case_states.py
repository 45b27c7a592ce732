"""What is known of the cases: whether each can tell right from wrong, of what kind it is, and what to change."""

from collections import Counter
from collections.abc import Iterator

from upskill.domain import LABELS, Evaluation
from upskill.domain.case import LABEL_MEANINGS
from upskill.domain.text import count
from upskill.reporting.html.folds import Fold
from upskill.reporting.html.templating import render
from upskill.reporting.wording import confidence_interval, points

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
            yield label, count(labels[label], "case"), LABEL_MEANINGS[label], _lifts(evaluation, label)


def _lifts(evaluation: Evaluation, label: str) -> str:
    found = [
        f"{report.student.name}: {points(one.lift.mean)} ({confidence_interval(one.lift, one.lift.these_cases)})"
        for report in evaluation.students
        for one in report.label_lifts
        if one.label == label and one.lift is not None and report.verdict != "invalid"
    ]
    return "; ".join(found[:4]) or "–"
