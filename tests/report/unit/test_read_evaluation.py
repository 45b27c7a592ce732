"""A result that was written is read as it was."""

from dataclasses import replace

import pytest

from report.unit.evaluations import EVALUATIONS, evaluation
from upskill.core.nouns import StudentReport
from upskill.report.json_report import UnreadableResult, evaluation_json, read_evaluation


@pytest.mark.parametrize("name", EVALUATIONS)
def test_what_was_written_is_read_again(name: str) -> None:
    result = EVALUATIONS[name]
    read = read_evaluation(
        evaluation_json(result),
        run=result.run,
        skill=result.skill,
        students=[report.student for report in result.students],
        min_lift=result.min_lift,
    )
    expected = replace(result, students=tuple(_as_written(report) for report in result.students))
    assert evaluation_json(read) == evaluation_json(result)
    assert read == expected


def _as_written(report: StudentReport) -> StudentReport:
    """What counts once is not written per label: the counts of the whole lift stand in their place."""
    labels = tuple(
        replace(one, lift=None if one.lift is None else replace(one.lift, units=report.lifts[0].units, dropped=0))
        for one in report.label_lifts
    )
    return replace(report, label_lifts=labels)


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ({}, "students"),
        ({"students": 3}, "int"),
        ({"students": [{}]}, "model|lifts"),
        ({"bought": None}, "bought: "),
        ({"bought": {}}, r"bought\.calls"),
        ({"cases": "many"}, "cases: .*integer"),
        ({"design": "guessed"}, "design: "),
        ({"cases": float("nan")}, "not JSON compliant"),
    ],
)
def test_another_object_is_refused_with_a_reason(damage: dict[str, object], named: str) -> None:
    written = {**evaluation_json(evaluation()), **damage} if damage else {}
    with pytest.raises(UnreadableResult, match=named):
        read_evaluation(written, run="r", skill=evaluation().skill, students=[], min_lift=None)  # type: ignore[arg-type]
