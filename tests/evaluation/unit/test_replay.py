"""The schedule of a run, gone through again with its answers."""

from dataclasses import replace

from made_runs import record
from report.unit.evaluations import errored, scored
from upskill.core.nouns import Case, Student, Trial, TrialPlan
from upskill.core.nouns.look import LookTerms
from upskill.core.nouns.plan import Design
from upskill.core.runs.records import CaseReference
from upskill.evaluation.replay import changed_families, recorded_plan, replay_trials


def plan(cases: int, repeats: int, *, design: Design = "two looks") -> TrialPlan:
    return TrialPlan(
        cases=tuple(Case(id=f"c{number}", prompt="", checks=()) for number in range(cases)),
        students=(Student(name="haiku", model="m"),),
        arms=("baseline", "with_skill"),
        repeats=repeats,
        design=design,
    )


def both(case: str, repeat: int, *, before: bool, after: bool) -> list[Trial]:
    return [
        replace(scored(before, case=case, arm="baseline", repeat=repeat), answer=f"{case} {repeat}"),
        replace(scored(after, case=case, arm="with_skill", repeat=repeat), answer=f"{case} {repeat}"),
    ]


def test_a_schedule_ends_where_its_design_decided() -> None:
    planned = plan(12, 3)
    trials = [one for case in planned.cases for r in (1, 2, 3) for one in both(case.id, r, before=False, after=True)]
    schedule = replay_trials(planned, trials)
    assert (schedule.end, len(schedule.pairing.pairs)) == ("decided", 12)


def test_a_later_look_is_as_strict_as_its_terms() -> None:
    planned = plan(12, 3)
    trials = [one for case in planned.cases for one in both(case.id, 1, before=False, after=case.id < "c4")]
    assert replay_trials(planned, trials).end == "decided"
    assert replay_trials(planned, trials, terms=LookTerms(level=0.0025)).end is None, "the rest was never asked for"


def test_an_errored_pair_is_dropped_and_its_second_try_counts() -> None:
    planned = plan(6, 2, design="fixed")
    trials: list[Trial] = [errored(case="c0", arm="with_skill"), scored(False, case="c0", arm="baseline")]
    trials += [one for case in planned.cases for r in (1, 2) for one in both(case.id, r, before=True, after=True)]
    schedule = replay_trials(planned, trials)
    assert (schedule.end, len(schedule.pairs), len(schedule.pairing.drops)) == ("plan finished", 12, 1)


def test_a_pair_that_is_missing_ends_no_stage_and_the_others_count() -> None:
    planned = plan(6, 2)
    trials = [one for case in planned.cases if case.id != "c3" for one in both(case.id, 1, before=False, after=True)]
    schedule = replay_trials(planned, trials)
    assert (schedule.end, len(schedule.pairs)) == (None, 5)
    assert replay_trials(planned, []).pairs == ()


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
