"""Reads a recorded run again: its skill, its plan and its trials, which are replayed through its schedule.

From the grades of its answers its result can be computed again. Nothing is graded here and no model is asked.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from upskill.core.nouns import (
    Arm,
    Case,
    Evaluation,
    Purchase,
    Qualification,
    RunEnd,
    Scored,
    Skill,
    StudentEnd,
    StudentReport,
    Trial,
    TrialPlan,
)
from upskill.core.nouns.look import LookTerms
from upskill.core.nouns.skill import RUN_FILE, SKILL_FILE, SkillFile
from upskill.core.nouns.text import count, on_one_line, points, points_range
from upskill.core.runs.own_runs import is_inside
from upskill.core.runs.records import TRIALS_FILE, RunRecord
from upskill.core.runs.run_folders import RunFolder
from upskill.core.runs.skill_copy import SkillText, read_skill_text, skill_text
from upskill.core.runs.trial_log import collector_paused, emptied
from upskill.core.skills.markdown import parse_skill_text
from upskill.core.skills.skills import read_skill
from upskill.core.statistics import (
    FIRST_LOOK,
)
from upskill.core.statistics.verdict import CutShort
from upskill.core.trials.schedule import Schedule
from upskill.errors import EngineError, UpskillError
from upskill.evaluation.conclude import by_student, summarise
from upskill.report.json_report import UnreadableResult, read_evaluation


def recorded_plan(record: RunRecord, cases: tuple[Case, ...]) -> TrialPlan:
    """The plan of a run; its cases stay in their file, so they are given, in recorded order."""
    return TrialPlan(
        cases=in_recorded_families(cases, record),
        students=record.students,
        arms=record.arms,
        repeats=record.repeats,
        seed=record.seed,
        harness=record.harness.partition("/")[0],
        design=record.design,
    )


def planned_only(trials: Iterable[Trial], record: RunRecord) -> Iterator[Trial]:
    """The stored trials of a run. Raises `EngineError` at one that its record does not plan."""
    students, cases = {student.name for student in record.students}, {case.id for case in record.cases}
    for trial in trials:
        if trial.student not in students or trial.case_id not in cases or trial.arm not in record.arms:
            raise EngineError(
                f"an answer ({trial.student}, {trial.case_id}, {trial.arm}) does not belong to this run: "
                f"{RUN_FILE} and {TRIALS_FILE} do not match",
                hint="start a new run",
            )
        yield trial


def in_recorded_families(cases: Sequence[Case], record: RunRecord) -> tuple[Case, ...]:
    """The cases, in recorded order, in the families of when the run began: they decide what its verdict counts once."""
    return tuple(replace(case, family=known.family) for case, known in zip(cases, record.cases, strict=True))


def changed_families(cases: Sequence[Case], record: RunRecord) -> tuple[str, ...]:
    """A note where the file of a run puts its cases, in recorded order, into other families now."""
    if in_recorded_families(cases, record) == tuple(cases):
        return ()
    return (
        "the families of cases have changed since this run started; it keeps its own, and a new run uses the new ones",
    )


def replay_trials(plan: TrialPlan, trials: Iterable[Trial], *, terms: LookTerms = FIRST_LOOK) -> Schedule:
    """The schedule of one student as it goes with these trials, try after try, as far as they are there.

    One that is missing is passed over: its stage does not end then, and nothing comes after it.
    """
    tries: dict[tuple[str, int, Arm], list[Trial]] = defaultdict(list)
    for trial in trials:
        if isinstance(trial.outcome, Scored) or trial.outcome.was_run:
            tries[trial.case_id, trial.repeat, trial.arm].append(trial)
    schedule = Schedule(plan, terms=terms)
    taken: Counter[tuple[str, int]] = Counter()
    while (turn := schedule.take()) is not None:
        # A pair that errored was run again at the end: the first time its first try counts, then the next.
        mine = {arm: tries[turn.case.id, turn.repeat, arm][: taken[turn.key] + 1] for arm in turn.arms}
        if all(mine[arm] for arm in plan.arms[:2]):  # what is run beside them decides nothing
            taken[turn.key] += 1
            schedule.ended(turn, {arm: so_far[-1] for arm, so_far in mine.items() if so_far})
    return schedule


CHANGED = "The skill has changed since this run. This is the version that was measured."
CHANGED_AND_LOST = "The skill has changed since this run, which has no copy of its text."
LOST = "This run has no copy of the skill's text, and the skill is missing or outside the working folder."


def measured_skill(run: Path, record: RunRecord, problems: list[str]) -> SkillText:
    """The text of what was measured, or a note on why it is missing."""
    now = _skill_now(run, record)
    changed = now is not None and now.digest != record.skill_digest
    kept = _kept(run, record, problems)
    if kept is not None:
        return replace(kept, note=CHANGED if changed else None)
    if now is not None and not changed:
        with suppress(UpskillError, OSError):
            return skill_text(run / record.skill_source, now)
    return SkillText(
        name=record.skill_name,
        description="",
        digest=record.skill_digest,
        text=None,
        note=CHANGED_AND_LOST if changed else LOST,
    )


def _kept(run: Path, record: RunRecord, problems: list[str]) -> SkillText | None:
    try:
        kept = read_skill_text(run)
    except UpskillError as error:
        problems.append(error.message)
        return None
    return kept if kept is not None and kept.digest == record.skill_digest else None


def _skill_now(run: Path, record: RunRecord) -> Skill | None:
    """The skill where the record says it is; only from the run folder and the working folder is it read."""
    with suppress(UpskillError):
        if is_inside(run, run / record.skill_source):
            return read_skill(run / record.skill_source)
    return None


def skill_of(text: SkillText) -> Skill:
    """The skill that a text is of, as far as it is known."""
    body = ""
    with suppress(ValueError):
        body = "" if text.text is None else parse_skill_text(text.text).body
    # Only how long it is counts here; the digest is that of the whole skill.
    files = (SkillFile(path=SKILL_FILE, size=text.size, sha256=""),) if text.size else ()
    return Skill(name=text.name, description=text.description, body=body, digest=text.digest, files=files)


def recorded_evaluation(run: Path, record: RunRecord, *, name: str, skill: Skill | None = None) -> Evaluation | None:
    """The results of a run as they were recorded; `None` where it has none. Raises `UnreadableResult`.

    `skill` is read from the run where it is not given.
    """
    if record.results is None:
        return None
    return read_evaluation(
        record.results,
        run=name,
        skill=skill or skill_of(measured_skill(run, record, [])),
        students=record.students,
        min_lift=record.min_lift,
    )


CUT_SHORT: Mapping[StudentEnd, CutShort] = {
    "interrupted": "interrupted",
    "endpoint down": "down",
    "cap reached": "budget",
}
"""What cut a student short, by how its trials ended."""


def conclude_again(
    run: Path,
    record: RunRecord,
    plan: TrialPlan,
    trials: Sequence[Trial],
    *,
    skill: Skill,
    looks: Mapping[str, LookTerms],
    case_states: tuple[Qualification, ...],
) -> Evaluation:
    """The evaluation that these trials of a run give; a run without a result was killed. What was bought is not known
    here."""
    killed: StudentEnd = "plan finished" if record.status == "finished" else "interrupted"
    ends = dict.fromkeys((one.name for one in record.students), killed)
    with suppress(UnreadableResult):
        recorded = recorded_evaluation(run, record, name=run.as_posix(), skill=skill)
        ends |= {one.student.name: one.end for one in (() if recorded is None else recorded.students)}
    mine = by_student(trials)
    if "corrupted" in plan.arms:  # what was exchanged is known from the text that was measured
        skill = replace(skill, body=skill_of(measured_skill(run, record, [])).body)
    schedules = {
        student.name: replay_trials(plan, mine[student.name], terms=looks.get(student.name, FIRST_LOOK))
        for student in plan.students
    }
    return summarise(
        plan,
        trials,
        skill=skill,
        run=run.as_posix(),
        schedules=schedules,
        cut_short=lambda student: CUT_SHORT.get(ends[student.name]),
        min_lift=record.min_lift,
        looks=looks,
        case_states=case_states,
        bought=Purchase(calls=0, failed_calls=0, tokens=0, cost=None),
        notes=(),
        end=record.end or RunEnd(),
        others=record.others,
    )


_CLOSE = 1e-6


class Contradiction(ValueError):
    """A run has no result that its answers could confirm. Says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recomputed:
    """A result that was computed again."""

    evaluation: Evaluation
    """What the answers give."""
    differs: str | None
    """What the record says otherwise, and of which model; `None` where both are the same."""


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
    plan = recorded_plan(record, tuple(Case(id=known.id, prompt="", checks=()) for known in record.cases))
    with collector_paused():
        trials = [emptied(trial) for trial in planned_only(RunFolder(path=run).trials.read(), record)]
    states = record.case_states
    computed = conclude_again(run, record, plan, trials, skill=skill, looks=record.looks, case_states=states)
    said = {report.student.name: report for report in recorded.students}
    if said.keys() != {report.student.name for report in computed.students}:
        raise Contradiction("its result is about other models than its plan")
    different = (report for report in computed.students if not _agree(report, said[report.student.name]))
    differs = None
    if (report := next(different, None)) is not None:
        was, now = _figures(said[report.student.name]), _figures(report)
        differs = on_one_line(f"{report.student.name}: it records {was}; its answers give {now}")
    return Recomputed(evaluation=computed, differs=differs)


def _agree(one: StudentReport, other: StudentReport) -> bool:
    if (one.verdict, one.claim, len(one.lifts)) != (other.verdict, other.claim, len(other.lifts)):
        return False
    return not one.lifts or all(
        math.isclose(mine, theirs, abs_tol=_CLOSE) for mine, theirs in zip(_numbers(one), _numbers(other), strict=True)
    )


def _numbers(report: StudentReport) -> tuple[float, ...]:
    lift = report.lifts[0]
    return (lift.mean, lift.pairs, lift.dropped, lift.interval.low, lift.interval.high, lift.rate, lift.rate_against)


def _figures(report: StudentReport) -> str:
    verdict = report.verdict or "no verdict"
    if not report.lifts or (interval := report.interval) is None:
        return verdict
    lift = report.lifts[0]
    ends = points_range(interval.low, interval.high)
    return f"{verdict}, {points(lift.mean)} ({ends}, {count(lift.pairs, 'pair')})"
