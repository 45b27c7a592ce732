"""The one JSON object of `upskill eval --json`, documented in docs/reference/json.md, its schema, and the way back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import TypeAdapter, ValidationError

from upskill.core.nouns import (
    ArmSummary,
    Estimate,
    Evaluation,
    Interval,
    Lift,
    Loads,
    RunEnd,
    Skill,
    Student,
    StudentEnd,
    StudentReport,
)
from upskill.core.nouns.case import Json
from upskill.core.nouns.lift import JudgeError
from upskill.core.nouns.look import end_by_design, reason_to_stop
from upskill.core.nouns.skill import OtherSkills
from upskill.report.cases import case_state_json, label_lifts_json
from upskill.report.result_notes import requirements, requirements_json

EVALUATION_SCHEMA = "upskill.eval/1"
_END = TypeAdapter(RunEnd)


def evaluation_json(evaluation: Evaluation) -> dict[str, Json]:
    """The object of `upskill eval --json`. Unknown values are null."""
    return {
        "schema": EVALUATION_SCHEMA,
        "run": evaluation.run,
        "skill": {"name": evaluation.skill.name, "digest": evaluation.skill.digest},
        "cases": evaluation.cases,
        "repeats": evaluation.repeats,
        "planned": evaluation.planned,
        "design": evaluation.design,
        "interrupted": evaluation.interrupted,
        "end": _END.dump_python(evaluation.end, mode="json"),
        "bought": asdict(evaluation.bought),
        "required": requirements_json(requirements(evaluation)),
        "sandbox": evaluation.sandbox,
        "judge": evaluation.judge and {**asdict(evaluation.judge), "agreement": evaluation.judge.agreement},
        "others": others_json(evaluation.others),
        "notes": list(evaluation.notes),
        "case_states": [case_state_json(one) for one in evaluation.case_states],
        "students": [_student(report) for report in evaluation.students],
    }


def others_json(others: OtherSkills | None) -> Json:
    """The skills beside the measured one; null where none was asked for."""
    return None if others is None else {"count": len(others.skills), **asdict(others)}


def evaluation_schema() -> dict[str, Json]:
    """The JSON Schema (2020-12) of that object. Unknown keys are allowed, because a later version may add some."""
    text = files("upskill.report").joinpath("eval.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Json] = json.loads(text)
    return schema


def _student(report: StudentReport) -> Json:
    return {
        "model": report.student.name,
        "resolved": report.student.model,
        "harness": report.harness,
        "verdict": report.verdict,
        "sentence": report.sentence,
        "claim": report.claim,
        "stopped": report.stopped,
        "end": report.end,
        "clears": report.clears,
        "holds_among": report.holds_among,
        "late": report.late,
        "earlier_pairs": report.earlier_pairs,
        "judge_error": None if report.judge_error is None else _judge_error(report.judge_error),
        "answered_by": list(report.answered_by),
        "loads": None if report.loads is None else _loads(report.loads),
        "arms": {arm.arm: _arm(arm) for arm in report.arms},
        "lifts": [_lift(lift) for lift in report.lifts],
        "labels": label_lifts_json(report.label_lifts),
        "spent": report.spent,
    }


def _judge_error(error: JudgeError) -> Json:
    return {
        "compared": error.compared,
        "arms": {
            one.arm: {"compared": one.compared, "sensitivity": one.sensitivity, "specificity": one.specificity}
            for one in error.arms
        },
        "lift": error.lift,
        "interval": None if error.interval is None else _interval(error.interval),
    }


def _loads(loads: Loads) -> Json:
    return {
        "answers": loads.answers,
        "loaded": loads.loaded,
        "cases": loads.cases,
        "rate": loads.rate,
        "these_cases": _interval(loads.these_cases),
        "cases_like_these": None if loads.cases_like_these is None else _interval(loads.cases_like_these),
        "confidence": loads.confidence,
        "turn": loads.turn,
        "instead": dict(loads.instead),
        "lift_if_loaded": _estimate(loads.lift_if_loaded),
        "withheld": loads.withheld,
        "unloaded": _estimate(loads.unloaded),
        "easier": _estimate(loads.easier),
        "easier_forced": _estimate(loads.easier_forced),
    }


def _estimate(one: Estimate | None) -> Json:
    return None if one is None else {"mean": one.mean, "interval": _interval(one.interval)}


def _arm(arm: ArmSummary) -> Json:
    return {
        "pass_rate": arm.pass_rate,
        "passed": arm.passed,
        "trials": arm.trials,
        "errored": arm.errored,
        "faults": dict(arm.faults),
        "lost": arm.lost,
        "refused": arm.refused,
        "assertions": arm.checks_passed,
        "assertions_of": arm.checks,
        "tokens": arm.tokens,
        "cost": arm.cost,
        "spent": arm.spent,
        "runs": arm.runs,
        "runs_all_passed": arm.runs_all_passed,
        "turns": arm.turns,
        "loaded": arm.loaded,
        "load_rate": arm.load_rate,
        "skill_files": dict(arm.skill_files),
        "asked_cases": arm.asked_cases,
        "other_skills": dict(arm.other_skills),
    }


def _lift(lift: Lift) -> Json:
    return {
        "arm": lift.arm,
        "against": lift.against,
        "mean": lift.mean,
        "these_cases": _interval(lift.these_cases),
        "cases_like_these": None if lift.cases_like_these is None else _interval(lift.cases_like_these),
        "pairs": lift.pairs,
        "dropped": lift.dropped,
        "rate": lift.rate,
        "rate_against": lift.rate_against,
        "cases": lift.cases,
        "confidence": lift.confidence,
        "corrected": lift.corrected,
    }


def _interval(interval: Interval) -> Json:
    return [interval.low, interval.high]


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
        "students": [_read_student(one, by_name, end) for one in given["students"]],
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


def _read_student(one: Mapping[str, Any], by_name: Mapping[str, Student], end: RunEnd) -> dict[str, Any]:
    given = _given(one)
    name, lifts = given["model"], [_read_lift(lift) for lift in given["lifts"]]
    student = by_name.get(name) or Student(name=name, model=given["resolved"])
    return {
        **given,
        "student": student,
        "stopped": _stopped(given),
        "end": _end_before(given, student, end) if given.get("end") in (None, "decided") else given["end"],
        "arms": [_read_arm(arm, summary) for arm, summary in given["arms"].items()],
        "lifts": lifts,
        "label_lifts": [_label(label, lifts) for label in given.get("labels", ())],
        "judge_error": _read_judge_error(given.get("judge_error")),
        "loads": _read_loads(given.get("loads")),
    }


def _read_judge_error(one: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if one is None:
        return None
    arms = [{"arm": name, **rates} for name, rates in one["arms"].items()]
    return {**one, "arms": arms, "interval": _read_interval(one["interval"])}


def _read_loads(one: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if one is None:
        return None
    estimates = {
        name: one.get(name) and {**one[name], "interval": _read_interval(one[name]["interval"])}
        for name in ("lift_if_loaded", "unloaded", "easier", "easier_forced")
    }
    return {**_read_lift(one), **estimates, "instead": tuple((one.get("instead") or {}).items())}


def _read_arm(name: str, one: Mapping[str, Any]) -> dict[str, Any]:
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


def _read_lift(one: Mapping[str, Any]) -> dict[str, Any]:
    narrow, wide = _read_interval(one["these_cases"]), _read_interval(one["cases_like_these"])
    return {**one, "these_cases": narrow, "cases_like_these": wide}


def _label(one: Mapping[str, Any], lifts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if one["mean"] is None or not lifts:
        return {**one, "lift": None}
    interval = _read_interval(one["these_cases"])
    measured = {"mean": one["mean"], "these_cases": interval, "cases_like_these": None, "pairs": one["pairs"]}
    return {**one, "lift": {**lifts[0], **measured, "dropped": 0}}


def _state(one: Mapping[str, Any]) -> dict[str, Any]:
    reasons = zip(one["reasons"], one["changes"], strict=True)
    return {**one, "case_id": one["id"], "reasons": [{"saw": saw, "change": change or ""} for saw, change in reasons]}


def _read_interval(ends: Sequence[float] | None) -> dict[str, float] | None:
    return None if ends is None else dict(zip(("low", "high"), ends, strict=True))
