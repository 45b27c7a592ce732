"""The way of an estimate, gone through again."""

from dataclasses import replace

from made_runs import record
from report.unit.evaluations import errored, scored
from upskill.core.nouns import Case, Student, Trial, TrialPlan
from upskill.core.nouns.look import LookTerms, PooledCase
from upskill.core.runs.records import CaseReference
from upskill.evaluation.replay import MOST_POINTS, changed_families, recorded_plan, replay


def plan(cases: int, repeats: int, *, design: str = "sequential") -> TrialPlan:
    return TrialPlan(
        cases=tuple(Case(id=f"c{number}", prompt="", checks=()) for number in range(cases)),
        students=(Student(name="haiku", model="m"),),
        arms=("baseline", "with_skill"),
        repeats=repeats,
        design=design,  # type: ignore[arg-type]
    )


def both(case: str, repeat: int, *, before: bool, after: bool) -> list[Trial]:
    return [
        replace(scored(before, case=case, arm="baseline", repeat=repeat), answer=f"{case} {repeat}"),
        replace(scored(after, case=case, arm="with_skill", repeat=repeat), answer=f"{case} {repeat}"),
    ]


def test_a_path_ends_where_the_design_decides() -> None:
    planned = plan(12, 5)
    trials = [one for case in planned.cases for r in range(1, 6) for one in both(case.id, r, before=False, after=True)]
    again = replay(planned, "haiku", trials, min_lift=None)
    assert again.path.points[-1].pairs < 12
    assert again.path.points[-1].mean == 1.0
    assert again.path.cap == 60
    counted = {(trial.case_id, trial.repeat) for trial in trials if again.schedule.counts(trial)}
    assert len(counted) == again.path.points[-1].pairs


def test_an_errored_pair_is_passed_over_and_its_second_try_counts() -> None:
    planned = plan(6, 2)
    trials: list[Trial] = [errored(case="c0", arm="with_skill"), scored(False, case="c0", arm="baseline")]
    trials += [one for case in planned.cases for r in (1, 2) for one in both(case.id, r, before=True, after=True)]
    again = replay(planned, "haiku", trials, min_lift=0.1)
    assert again.path.points[-1].pairs == 12


def test_a_pair_that_never_came_to_an_end_does_not_end_the_path() -> None:
    planned = plan(6, 2)
    trials: list[Trial] = []
    for turn in planned.turns():
        trials += both(turn.case.id, turn.repeat, before=True, after=True)
    trials = [trial for trial in trials if trial.case_id != "c3"]
    trials += [
        one
        for repeat in (1, 2)
        for one in (errored(case="c3", repeat=repeat), scored(case="c3", arm="baseline", repeat=repeat))
    ]
    again = replay(planned, "haiku", trials, min_lift=0.1)
    assert again.path.points[-1].pairs == 10


def test_a_killed_run_has_the_path_it_came() -> None:
    planned = plan(6, 2)
    first = next(planned.turns())
    again = replay(planned, "haiku", both(first.case.id, 1, before=False, after=True), min_lift=None)
    assert [point.pairs for point in again.path.points] == [1]
    assert replay(planned, "haiku", [], min_lift=None).path.points == ()


def test_a_long_path_is_thinned_and_keeps_its_rounds_and_its_end() -> None:
    planned = plan(100, 5, design="fixed")
    trials = [
        one
        for case in planned.cases
        for r in range(1, 6)
        for one in both(case.id, r, before=r % 2 == 0, after=r % 3 == 0)
    ]
    path = replay(planned, "haiku", trials, min_lift=None).path
    assert len(path.points) <= MOST_POINTS + 10
    assert [point.pairs for point in path.points if point.round_end] == [100, 200, 300, 400, 500]
    assert path.points[-1].pairs == 500


def test_a_recorded_plan_has_the_families_of_when_the_run_began() -> None:
    known = record(
        cases=(
            CaseReference(id="a", digest="1", prompt_digest="1", family="ports"),
            CaseReference(id="b", digest="2", prompt_digest="2"),
        )
    )
    now = tuple(Case(id=name, prompt="", checks=(), family="other") for name in ("a", "b"))
    assert [case.family for case in recorded_plan(known, now).cases] == ["ports", None]
    assert len(changed_families(now, known)) == 1
    assert changed_families(recorded_plan(known, now).cases, known) == ()


def test_the_path_of_a_later_look_is_as_strict_as_its_verdict_and_has_the_earlier_pairs() -> None:
    planned = plan(8, 1)
    trials = [trial for case in planned.cases for trial in both(case.id, 1, before=False, after=True)]
    prior = tuple(PooledCase(case_id=case.id, pairs=1, passed=0, passed_against=1) for case in planned.cases)
    last = replay(planned, "haiku", trials, min_lift=-0.9, terms=LookTerms(level=0.0025, prior=prior)).path.points[-1]
    first = replay(planned, "haiku", trials, min_lift=0.9).path.points[-1]
    assert (last.mean, first.mean) == (0, 1)
    assert last.cases_like_these is not None
    assert last.cases_like_these.low < -last.cases_like_these.high < 0
