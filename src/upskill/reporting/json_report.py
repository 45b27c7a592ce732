"""The one JSON object of `upskill eval --json`, documented in docs/reference/json.md, and its schema."""

import json
from dataclasses import asdict
from importlib.resources import files

from pydantic import TypeAdapter

from upskill.domain import ArmSummary, Estimate, Evaluation, Interval, Lift, Loads, RunEnd, StudentReport
from upskill.domain.case import Json
from upskill.domain.judge_error import JudgeError
from upskill.domain.other_skills import OtherSkills
from upskill.reporting.cases import case_state_json, label_lifts_json
from upskill.reporting.requirements import requirements, requirements_json

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
    text = files("upskill.reporting").joinpath("eval.schema.json").read_text(encoding="utf-8")
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
