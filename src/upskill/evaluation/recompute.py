"""Computes the result of a recorded run again, from the grades of its answers. Nothing is graded and no model asked."""

import math
from dataclasses import dataclass
from pathlib import Path

from upskill.core.nouns import Case, Evaluation, Purchase, RunEnd, Skill, StudentReport
from upskill.core.nouns.text import count, on_one_line, points, points_range
from upskill.core.runs.records import RunRecord
from upskill.core.runs.run_folders import RunFolder
from upskill.core.runs.trial_log import collector_paused, emptied
from upskill.evaluation.conclude import summarise
from upskill.evaluation.recorded_end import CUT_SHORT, recorded_ends, replayed_schedules
from upskill.evaluation.replay import planned_only, recorded_plan
from upskill.evaluation.report import recorded_evaluation
from upskill.report.json_report import UnreadableResult

_CLOSE = 1e-6


class Contradiction(ValueError):
    """A run has no result that its answers could confirm. Says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recomputed:
    """A result that was computed again."""

    evaluation: Evaluation
    """What the answers give."""
    differs: str | None
    """Of which model the record says something else, and what; `None` where both are the same."""


def recompute(run: Path, record: RunRecord) -> Recomputed:
    """The evaluation that the answers of a run give, and how its record differs from that.

    Raises `Contradiction` where there is nothing to compare, and what reading the answers raises.
    """
    skill = Skill(name=record.skill_name, description="", body="", digest=record.skill_digest)
    try:
        recorded = recorded_evaluation(run, record, name=run.as_posix(), skill=skill)
    except UnreadableResult as error:
        raise Contradiction(f"its result cannot be read ({error})") from None
    if recorded is None:
        raise Contradiction("it has no result")
    computed = _computed(run, record, skill)
    said = {report.student.name: report for report in recorded.students}
    if said.keys() != {report.student.name for report in computed.students}:
        raise Contradiction("its result is about other models than its plan")
    different = (report for report in computed.students if not _agree(report, said[report.student.name]))
    differs = None
    if (report := next(different, None)) is not None:
        was, now = _figures(said[report.student.name]), _figures(report)
        differs = on_one_line(f"{report.student.name}: it records {was}; its answers give {now}")
    return Recomputed(evaluation=computed, differs=differs)


def _computed(run: Path, record: RunRecord, skill: Skill) -> Evaluation:
    stubs = tuple(Case(id=reference.id, prompt="", checks=()) for reference in record.cases)
    plan = recorded_plan(record, stubs)
    with collector_paused():
        trials = [emptied(trial) for trial in planned_only(RunFolder(path=run).trials.read(), record)]
        ends = recorded_ends(run, record)
        schedules = replayed_schedules(plan, trials, min_lift=record.min_lift, looks=record.looks, ends=ends)
    return summarise(
        plan,
        trials,
        skill=skill,
        run=run.as_posix(),
        schedules=schedules,
        cut_short=lambda student: CUT_SHORT.get(ends[student.name]),
        min_lift=record.min_lift,
        looks=record.looks,
        case_states=record.case_states,
        bought=Purchase(calls=0, failed_calls=0, tokens=0, cost=None),
        notes=(),
        end=record.end or RunEnd(),
        others=record.others,
    )


def _agree(one: StudentReport, other: StudentReport) -> bool:
    if (one.verdict, one.claim, len(one.lifts)) != (other.verdict, other.claim, len(other.lifts)):
        return False
    return not one.lifts or all(
        math.isclose(mine, theirs, abs_tol=_CLOSE) for mine, theirs in zip(_numbers(one), _numbers(other), strict=True)
    )


def _numbers(report: StudentReport) -> tuple[float, ...]:
    lift = report.lifts[0]
    wide = lift.cases_like_these or lift.these_cases
    ends = (lift.these_cases.low, lift.these_cases.high, wide.low, wide.high)
    rates = (lift.rate or 0.0, lift.rate_against or 0.0)
    return (lift.mean, lift.pairs, lift.dropped, *ends, *rates)


def _figures(report: StudentReport) -> str:
    verdict = report.verdict or "no verdict"
    if not report.lifts or (interval := report.interval) is None:
        return verdict
    lift = report.lifts[0]
    ends = points_range(interval.low, interval.high)
    return f"{verdict}, {points(lift.mean)} ({ends}, {count(lift.pairs, 'pair')})"
