"""Replays the stored trials of a run through its schedule, and follows the estimate after each pair."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from upskill.core.nouns import Arm, Case, Scored, Trial, TrialPlan
from upskill.core.nouns.look import LookTerms
from upskill.core.runs.records import TRIALS_FILE, RunRecord
from upskill.core.runs.run_summaries import RUN_FILE
from upskill.core.statistics import (
    FIRST_LOOK,
    CaseTally,
    Decision,
    DroppedPair,
    Level,
    Pair,
    Pairing,
    measure_lift,
    tallies_of,
)
from upskill.core.statistics.pairs import collapse_copies
from upskill.core.trials.schedule import AfterPair, Schedule, SequentialSchedule, ignore_pair, schedule_for
from upskill.errors import EngineError
from upskill.report.facts import PathPoint, StudentPath


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
        turn_cap=record.turn_cap,
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


def replay_trials(
    plan: TrialPlan,
    trials: Iterable[Trial],
    *,
    min_lift: float | None,
    after_pair: AfterPair = ignore_pair,
    terms: LookTerms = FIRST_LOOK,
) -> Schedule:
    """The schedule of one student as it goes with these trials, try after try, as far as they are there.

    Where one is missing a sequential schedule ends, since its later pairs were never asked for in that order. A fixed
    one passes over it: there every pair counts, whichever others are there.
    """
    tries: dict[tuple[str, int, Arm], list[Trial]] = defaultdict(list)
    for trial in trials:
        if isinstance(trial.outcome, Scored) or trial.outcome.was_run:
            tries[trial.case_id, trial.repeat, trial.arm].append(trial)
    schedule = schedule_for(
        plan, min_lift=min_lift, after_pair=after_pair, level=terms.level, prior=tallies_of(terms.prior)
    )
    taken: Counter[tuple[str, int]] = Counter()
    while (turn := schedule.take()) is not None:
        # A pair that errored was run again at the end: the first time its first try counts, then the next.
        mine = {arm: tries[turn.case.id, turn.repeat, arm][: taken[turn.key] + 1] for arm in turn.arms}
        if all(mine[arm] for arm in plan.arms[:2]):  # what is run beside them decides nothing
            taken[turn.key] += 1
            schedule.ended(turn, {arm: so_far[-1] for arm, so_far in mine.items() if so_far})
        elif plan.design == "sequential":
            break
    return schedule


MOST_POINTS = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Replay:
    """One student's schedule, replayed, and how its estimate moved."""

    schedule: Schedule
    path: StudentPath


def replay(
    plan: TrialPlan,
    student: str,
    trials: Iterable[Trial],
    *,
    min_lift: float | None,
    terms: LookTerms = FIRST_LOOK,
) -> Replay:
    """The schedule as it went, and the estimate after every pair of it."""
    pairs: list[Pair] = []
    round_ends: list[int] = []
    begun: set[tuple[str, int]] = set()

    def after_pair(pair: Pair | DroppedPair, _decision: Decision | None) -> None:
        begun.add((pair.case_id, pair.repeat))
        if isinstance(pair, Pair):
            pairs.append(pair)
        if len(begun) % len(plan.cases) == 0 and pairs and (not round_ends or round_ends[-1] != len(pairs)):
            round_ends.append(len(pairs))

    schedule = replay_trials(plan, trials, min_lift=min_lift, after_pair=after_pair, terms=terms)
    level = schedule.level if isinstance(schedule, SequentialSchedule) else Level(terms.level)
    return Replay(schedule=schedule, path=_path(plan, student, pairs, round_ends, level, tallies_of(terms.prior)))


def _path(
    plan: TrialPlan,
    student: str,
    pairs: list[Pair],
    round_ends: list[int],
    level: Level,
    prior: tuple[CaseTally, ...],
) -> StudentPath:
    """The estimates as the verdict makes them: at its level, with earlier pairs, and with copies counted once."""
    points = []
    for count in _looked_at(len(pairs), round_ends):
        against = plan.against or "baseline"
        pairing = Pairing(arm=plan.measured, against=against, pairs=tuple(pairs[:count]), prior=prior)
        lift = measure_lift(collapse_copies(pairing), level)
        if lift is not None:
            points.append(
                PathPoint(
                    pairs=count,
                    mean=lift.mean,
                    these_cases=lift.these_cases,
                    cases_like_these=lift.cases_like_these,
                    round_end=count in round_ends,
                )
            )
    return StudentPath(student=student, points=tuple(points), cap=plan.most_turns)


def _looked_at(pairs: int, round_ends: list[int]) -> list[int]:
    """The numbers of pairs that are plotted, at most about 60; ends of rounds and the last are always among them."""
    step = max(1, -(-pairs // MOST_POINTS))
    ends = round_ends if len(round_ends) <= MOST_POINTS else [pairs]
    return sorted({*range(1, pairs + 1, step), *ends, *([pairs] if pairs else [])})
