"""The JSON object of a result, back to the result. What a later version added is left out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from upskill.domain import Evaluation, RunEnd, Skill, Student, StudentEnd
from upskill.domain.case import Json
from upskill.domain.run_end import end_by_design, reason_to_stop

_NEVER_NULL = frozenset(
    {
        "answered_by",
        "case_states",
        "earlier_pairs",
        "faults",
        "labels",
        "late",
        "lost",
        "notes",
        "other_skills",
        "refused",
        "reused",
        "skill_files",
    }
)
"""Keys that came with a later version: one without a value has its default."""


class UnreadableResult(ValueError):
    """This is no result of ours, or of a version that wrote it otherwise. Says which key, and what is wrong with it."""


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
    by_name = {student.name: student for student in students}
    try:
        json.dumps(results, allow_nan=False)  # JSON as Python reads it may hold NaN, which no figure is
        if "end" in results:
            end = _adapter(RunEnd).validate_python(results["end"])
        else:
            end = replace(end or RunEnd(), interrupted=bool(results.get("interrupted")))
        given = {"run": run, "skill": skill, "min_lift": min_lift, "required": None, "end": end}
        fields = {**_fields(results, by_name, end), **given}
        evaluation: Evaluation = _adapter(Evaluation).validate_python(fields)
        return evaluation
    except ValidationError as error:
        first = error.errors()[0]
        raise UnreadableResult(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except KeyError as error:
        raise UnreadableResult(f"{error.args[0]}: not there") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise UnreadableResult(f"{type(error).__name__}: {error}") from None


@cache
def _adapter(kind: type[object]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _fields(results: Mapping[str, Any], by_name: Mapping[str, Student], end: RunEnd) -> dict[str, Any]:
    """The object with the names and shapes of our values. Only what is written otherwise is touched."""
    given = _given(results)
    return {
        **given,
        "students": [_student(one, by_name, end) for one in given["students"]],
        "case_states": [_state(one) for one in given.get("case_states", ())],
        "bought": _given(given["bought"]),
    }


def _given(one: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in one.items() if value is not None or key not in _NEVER_NULL}


def _end_before(one: Mapping[str, Any], student: Student, end: RunEnd) -> StudentEnd:
    """Why a student of a result without the key ended: what earlier versions wrote of it."""
    if (by_design := end_by_design(_stopped(one))) is not None:
        return by_design
    if end.interrupted:
        return "interrupted"
    if end.has_outage(student.model) and one["verdict"] == "invalid":
        return "endpoint down"
    return "plan finished" if end.cap is None else "cap reached"


def _stopped(one: Mapping[str, Any]) -> str | None:
    """Why the design stopped; earlier versions called that decided without a verdict."""
    return reason_to_stop(one.get("stopped"), verdict=one["verdict"], clears=one.get("clears"))


def _student(one: Mapping[str, Any], by_name: Mapping[str, Student], end: RunEnd) -> dict[str, Any]:
    given = _given(one)
    name, lifts = given["model"], [_lift(lift) for lift in given["lifts"]]
    student = by_name.get(name) or Student(name=name, model=given["resolved"])
    return {
        **given,
        "student": student,
        "stopped": _stopped(given),
        "end": _end_before(given, student, end) if given.get("end") in (None, "decided") else given["end"],
        "arms": [_arm(arm, summary) for arm, summary in given["arms"].items()],
        "lifts": lifts,
        "label_lifts": [_label(label, lifts) for label in given.get("labels", ())],
        "judge_error": _judge_error(given.get("judge_error")),
        "loads": _loads(given.get("loads")),
    }


def _judge_error(one: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if one is None:
        return None
    arms = [{"arm": name, **rates} for name, rates in one["arms"].items()]
    return {**one, "arms": arms, "interval": _interval(one["interval"])}


def _loads(one: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if one is None:
        return None
    estimates = {
        name: one.get(name) and {**one[name], "interval": _interval(one[name]["interval"])}
        for name in ("lift_if_loaded", "unloaded", "easier", "easier_forced")
    }
    return {**_lift(one), **estimates, "instead": tuple((one.get("instead") or {}).items())}


def _arm(name: str, one: Mapping[str, Any]) -> dict[str, Any]:
    given = _given(one)
    return {
        **given,
        "arm": name,
        "checks_passed": given["assertions"],
        "checks": given["assertions_of"],
        "faults": tuple(given.get("faults", {}).items()),
        "skill_files": tuple(given.get("skill_files", {}).items()),
        "other_skills": tuple(given.get("other_skills", {}).items()),
    }


def _lift(one: Mapping[str, Any]) -> dict[str, Any]:
    narrow, wide = _interval(one["these_cases"]), _interval(one["cases_like_these"])
    return {**one, "these_cases": narrow, "cases_like_these": wide}


def _label(one: Mapping[str, Any], lifts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if one["mean"] is None or not lifts:
        return {**one, "lift": None}
    interval = _interval(one["these_cases"])
    measured = {"mean": one["mean"], "these_cases": interval, "cases_like_these": None, "pairs": one["pairs"]}
    return {**one, "lift": {**lifts[0], **measured, "dropped": 0}}


def _state(one: Mapping[str, Any]) -> dict[str, Any]:
    reasons = zip(one["reasons"], one["changes"], strict=True)
    return {**one, "case_id": one["id"], "reasons": [{"saw": saw, "change": change or ""} for saw, change in reasons]}


def _interval(ends: Sequence[float] | None) -> dict[str, float] | None:
    return None if ends is None else dict(zip(("low", "high"), ends, strict=True))
