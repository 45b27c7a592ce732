"""The one JSON object of `upskill eval --json`, documented in docs/reference/json.md, its schema, and the way back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from upskill import disk
from upskill.core.nouns import ArmSummary, Evaluation, Interval, RunEnd, Skill, Student, StudentReport
from upskill.core.nouns.case import Json
from upskill.core.nouns.skill import OtherSkills
from upskill.report.cases import case_state_json, label_lifts_json
from upskill.report.result_notes import requirements, requirements_json

EVALUATION_SCHEMA = "upskill.eval/1"
_END = TypeAdapter(RunEnd)
_INTERVALS = frozenset({"interval"})
"""Keys of intervals, each written as its two ends."""
_COUNTS = frozenset({"faults", "skill_files", "other_skills", "instead"})
"""Keys of numbers by name, each written as an object."""
_ARM_KEYS = (
    *("pass_rate", "passed", "trials", "errored", "faults", "lost", "refused", "assertions", "assertions_of"),
    *("tokens", "cost", "spent", "runs", "runs_all_passed", "turns", "loaded", "load_rate", "skill_files"),
    *("asked_cases", "other_skills"),
)


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
    schema: dict[str, Json] = json.loads(disk.packaged("upskill.report", "eval.schema.json"))
    return schema


def _student(report: StudentReport) -> Json:
    return {
        "model": report.student.name,
        "resolved": report.student.model,
        "harness": report.harness,
        "verdict": report.verdict,
        "sentence": report.sentence,
        "claim": report.claim,
        "end": report.end,
        "clears": report.clears,
        "holds_among": report.holds_among,
        "broken": _plain(report.broken),
        "suspected": list(report.suspected),
        "unguarded": list(report.unguarded),
        "looks": _plain(report.looks),
        "answered_by": list(report.answered_by),
        "loads": _plain(report.loads),
        "controls": _plain(report.controls),
        "arms": {arm.arm: _arm(arm) for arm in report.arms},
        "lifts": _plain(report.lifts),
        "labels": label_lifts_json(report.label_lifts),
        "spent": report.spent,
    }


def _arm(arm: ArmSummary) -> Json:
    """The names of the seed for checks, the rates, and the rest as it is, without the arm itself."""
    renamed: dict[str, Json] = {"assertions": arm.checks_passed, "assertions_of": arm.checks}
    found = {"pass_rate": arm.pass_rate, **_object(arm), **renamed, "load_rate": arm.load_rate}
    return {name: found[name] for name in _ARM_KEYS}


def _object(value: object) -> dict[str, Json]:
    """The fields of a value of ours."""
    found = ((one.name, getattr(value, one.name)) for one in fields(value))  # type: ignore[arg-type]
    return {name: dict(one) if name in _COUNTS else _plain(one) for name, one in found}


def _plain(value: Any) -> Json:
    """A value of ours as JSON: an interval is its two ends."""
    if isinstance(value, Interval):
        return [value.low, value.high]
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return _object(value) if is_dataclass(value) else value


class UnreadableResult(ValueError):
    """This is no result of ours. Says which key, and what is wrong with it."""


def read_evaluation(
    results: Mapping[str, Json], *, run: str, skill: Skill, students: Sequence[Student], min_lift: float | None
) -> Evaluation:
    """The evaluation that was written as `results`. Raises `UnreadableResult`."""
    by_name = {student.name: student for student in students}
    try:
        json.dumps(results, allow_nan=False)  # JSON as Python reads it may hold NaN, which no figure is
        found = _ours("", results)
        evaluation: Evaluation = _evaluations().validate_python(
            {
                **found,
                "students": [_read_student(one, by_name) for one in found["students"]],
                "case_states": [_read_state(one) for one in found["case_states"]],
                **{"run": run, "skill": skill, "min_lift": min_lift, "required": None},
            }
        )
        return evaluation
    except ValidationError as error:
        first = error.errors()[0]
        raise UnreadableResult(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except KeyError as error:
        raise UnreadableResult(f"{error.args[0]}: not there") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise UnreadableResult(f"{type(error).__name__}: {error}") from None


@cache
def _evaluations() -> TypeAdapter[Evaluation]:
    return TypeAdapter(Evaluation)


def _ours(key: str, value: Any) -> Any:
    """What was written under a key, in the shapes of our values."""
    if value is None:
        return None
    if key in _INTERVALS:
        return dict(zip(("low", "high"), value, strict=True))
    if key in _COUNTS:
        return tuple(value.items())
    if isinstance(value, Mapping):
        return {name: _ours(name, one) for name, one in value.items()}
    return [_ours("", one) for one in value] if isinstance(value, list | tuple) else value


def _read_student(one: Mapping[str, Any], by_name: Mapping[str, Student]) -> dict[str, Any]:
    name = one["model"]
    arms = (
        {**arm, "arm": title, "checks_passed": arm["assertions"], "checks": arm["assertions_of"]}
        for title, arm in one["arms"].items()
    )
    return {
        **one,
        "student": by_name.get(name) or Student(name=name, model=one["resolved"]),
        "arms": list(arms),
        "label_lifts": [_read_label(label, one["lifts"]) for label in one["labels"]],
    }


def _read_label(one: Mapping[str, Any], lifts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if one["mean"] is None or not lifts:
        return {**one, "lift": None}
    return {**one, "lift": {**lifts[0], **one, "cases": one["cases"], "dropped": 0}}


def _read_state(one: Mapping[str, Any]) -> dict[str, Any]:
    reasons = zip(one["reasons"], one["changes"], strict=True)
    return {**one, "case_id": one["id"], "reasons": [{"saw": saw, "change": change or ""} for saw, change in reasons]}
