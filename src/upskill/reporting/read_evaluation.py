"""The JSON object of a result, back to the result. What a later version added is left out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from upskill.domain import (
    ArmSummary,
    Bought,
    Evaluation,
    Interval,
    JudgeReport,
    LabelLift,
    Lift,
    Qualification,
    Reason,
    RunEnd,
    Skill,
    Student,
    StudentEnd,
    StudentReport,
)
from upskill.domain.case import Json

_END = TypeAdapter(RunEnd)


class UnreadableResult(ValueError):
    """This is no result of ours, or of a version that wrote it otherwise."""


def read_evaluation(
    results: Mapping[str, Json],
    *,
    run: str,
    skill: Skill,
    students: Sequence[Student],
    min_lift: float | None,
    end: RunEnd | None = None,
) -> Evaluation:
    """The evaluation that was written as `results`. Raises `UnreadableResult`.

    `end` is how the run ended, for results of earlier versions, which do not say so.
    """
    try:
        if "end" in results:
            end = _END.validate_python(results["end"])
        else:
            end = replace(end or RunEnd(), interrupted=bool(results.get("interrupted")))
        return _evaluation(results, run=run, skill=skill, students=students, min_lift=min_lift, end=end)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableResult(f"{type(error).__name__}: {error}") from None


def _evaluation(
    results: Mapping[str, Any],
    *,
    run: str,
    skill: Skill,
    students: Sequence[Student],
    min_lift: float | None,
    end: RunEnd,
) -> Evaluation:
    by_name = {student.name: student for student in students}
    bought, judge = results["bought"], results.get("judge")
    return Evaluation(
        skill=skill,
        run=run,
        cases=results["cases"],
        repeats=results["repeats"],
        planned=results["planned"],
        design=results["design"],
        min_lift=min_lift,
        students=tuple(
            _student(one, by_name.get(one["model"]) or Student(name=one["model"], model=one["resolved"]), end)
            for one in results["students"]
        ),
        case_states=tuple(_state(one) for one in results.get("case_states") or ()),
        bought=Bought(
            calls=bought["calls"],
            failed_calls=bought["failed_calls"],
            tokens=bought["tokens"],
            cost=bought["cost"],
            lost=bought.get("lost") or 0.0,
            reused=bought.get("reused") or 0,
            oldest_reused_days=bought.get("oldest_reused_days"),
        ),
        notes=tuple(results.get("notes") or ()),
        end=end,
        sandbox=results.get("sandbox"),
        judge=None
        if judge is None
        else JudgeReport(
            model=judge["model"],
            judged=judge["judged"],
            compared=judge["compared"],
            agreed=judge["agreed"],
            calls=judge["calls"],
            cost=judge["cost"],
        ),
    )


def _student(one: Mapping[str, Any], student: Student, end: RunEnd) -> StudentReport:
    return StudentReport(
        student=student,
        harness=one["harness"],
        verdict=one["verdict"],
        sentence=one["sentence"],
        arms=tuple(_arm(name, arm) for name, arm in one["arms"].items()),
        lifts=tuple(_lift(lift) for lift in one["lifts"]),
        spent=one["spent"],
        claim=one.get("claim"),
        stopped=one.get("stopped"),
        end=one.get("end") or _end_before(one, student, end),
        clears=one.get("clears"),
        label_lifts=tuple(_label(label, one["lifts"]) for label in one.get("labels") or ()),
        late=one.get("late") or 0,
        answered_by=tuple(one.get("answered_by") or ()),
    )


def _end_before(one: Mapping[str, Any], student: Student, end: RunEnd) -> StudentEnd:
    """Why a student of a result without the key ended: what earlier versions wrote of it."""
    stopped = one.get("stopped")
    if stopped in ("decided", "no difference", "futile"):
        return stopped  # type: ignore[no-any-return]
    if end.interrupted:
        return "interrupted"
    if end.has_outage(student.model) and one["verdict"] == "invalid":
        return "endpoint down"
    return "plan finished" if end.cap is None else "cap reached"


def _arm(name: Any, one: Mapping[str, Any]) -> ArmSummary:
    return ArmSummary(
        arm=name,
        trials=one["trials"],
        passed=one["passed"],
        errored=one["errored"],
        faults=tuple((one.get("faults") or {}).items()),
        checks_passed=one["assertions"],
        checks=one["assertions_of"],
        tokens=one["tokens"],
        cost=one["cost"],
        spent=one["spent"],
        runs=one["runs"],
        runs_all_passed=one["runs_all_passed"],
        turns=one.get("turns"),
        loaded=one.get("loaded"),
        skill_files=tuple((one.get("skill_files") or {}).items()),
    )


def _lift(one: Mapping[str, Any]) -> Lift:
    return Lift(
        arm=one["arm"],
        against=one["against"],
        mean=one["mean"],
        these_cases=_interval(one["these_cases"]),
        cases_like_these=None if one["cases_like_these"] is None else _interval(one["cases_like_these"]),
        pairs=one["pairs"],
        dropped=one["dropped"],
    )


def _label(one: Mapping[str, Any], lifts: Sequence[Mapping[str, Any]]) -> LabelLift:
    lift = None
    if one["mean"] is not None and lifts:
        lift = Lift(
            arm=lifts[0]["arm"],
            against=lifts[0]["against"],
            mean=one["mean"],
            these_cases=_interval(one["these_cases"]),
            cases_like_these=None,
            pairs=one["pairs"],
            dropped=0,
        )
    return LabelLift(label=one["label"], cases=one["cases"], lift=lift)


def _state(one: Mapping[str, Any]) -> Qualification:
    return Qualification(
        case_id=one["id"],
        state=one["state"],
        labels=tuple(one["labels"]),
        reasons=tuple(
            Reason(saw=saw, change=change or "") for saw, change in zip(one["reasons"], one["changes"], strict=True)
        ),
        mutants=one["mutants"],
        slipped=tuple(one["slipped"]),
    )


def _interval(ends: Sequence[float]) -> Interval:
    low, high = ends
    return Interval(low=float(low), high=float(high))
