"""Loads: the rate and its intervals, the lift if loaded, and why it is withheld."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tools.simulation.loads import POPULATIONS, Coverage, simulate

from upskill.core.nouns import Arm, CheckResult, Errored, Grade, Interval, Scored, SkillUse, Trial
from upskill.core.statistics import FIXED, SEQUENTIAL, measure_loads
from upskill.core.statistics.distributions import exact_share
from upskill.core.statistics.intervals import share_like_these, share_of_these_cases
from upskill.core.statistics.loads import LoadTally, load_rate, with_lift_if_loaded


def trial(case: str, repeat: int, arm: Arm, passed: bool, use: SkillUse | None = None, answer: str = "") -> Trial:
    grade = Grade(results=(CheckResult(kind="contains", passed=passed, saw=""),))
    outcome = Scored(end="answered", grade=grade)
    return Trial(
        id="", student="m", case_id=case, arm=arm, repeat=repeat, outcome=outcome, skill_use=use, answer=answer
    )


def offered(case: str, repeat: int, passed: bool, loaded: bool, **use: object) -> Trial:
    return trial(case, repeat, "offered", passed, SkillUse(listed=True, loaded=loaded, **use))  # type: ignore[arg-type]


def tallies(*counts: tuple[int, int, int, int], cases: int = 1) -> list[LoadTally]:
    """From loaded, passed when loaded, passed when not, and passed without the skill, of four pairs each."""
    return [
        LoadTally(
            pairs=4, loaded=loaded, passed=when_loaded + when_not, passed_unloaded=when_not, passed_against=without
        )
        for loaded, when_loaded, when_not, without in counts * cases
    ]


def withheld(*counts: tuple[int, int, int, int], cases: int = 1) -> str | None:
    found = tallies(*counts, cases=cases)
    rates = [(one.loaded, one.pairs) for one in found]
    return with_lift_if_loaded(load_rate(rates, rates), found).withheld


def test_the_rate_is_a_mean_over_cases_and_errors_are_not_in_it() -> None:
    errored = Trial(
        id="",
        student="m",
        case_id="b",
        arm="offered",
        repeat=2,
        outcome=Errored(fault="agent", message="x"),
        skill_use=SkillUse(listed=False, loaded=False),
    )
    answers = [offered("a", 1, True, True), offered("a", 2, True, True), offered("a", 3, False, False)]
    loads = measure_loads([*answers, offered("b", 1, False, False), errored], arm="offered", against=None)
    assert loads is not None
    assert (loads.answers, loads.loaded, loads.cases) == (4, 2, 2)
    assert loads.rate == pytest.approx(1 / 3)
    assert loads.cases_like_these is None, "two cases say nothing about others"
    assert loads.interval == loads.these_cases
    assert (loads.withheld, loads.lift_if_loaded) == ("not compared", None)


def test_a_family_is_one_unit() -> None:
    answers = [offered(case, 1, True, case == "z") for case in "abcdefz"]
    alone = measure_loads(answers, arm="offered", against=None)
    together = measure_loads(answers, arm="offered", against=None, families=dict.fromkeys("abcdef", "one"))
    assert alone is not None
    assert together is not None
    assert [alone.rate, together.rate] == pytest.approx([1 / 7, 1 / 2])
    assert together.cases_like_these is None


def test_nothing_is_said_where_no_answer_says_whether_the_skill_was_loaded() -> None:
    assert measure_loads([trial("a", 1, "offered", True)], arm="offered", against="baseline") is None
    assert measure_loads([], arm="offered", against="baseline") is None


def test_copies_of_one_answer_count_once_in_the_interval_and_are_all_counted() -> None:
    use = SkillUse(listed=True, loaded=True)
    answers = [
        trial(f"c{case}", repeat, arm, arm == "offered", use if arm == "offered" else None, answer="same")
        for case in range(8)
        for repeat in (1, 2, 3)
        for arm in ("baseline", "offered")
    ]
    loads = measure_loads(answers, arm="offered", against="baseline")
    assert loads is not None
    assert (loads.loaded, loads.answers) == (24, 24)
    assert loads.these_cases == share_of_these_cases([(1, 1)] * 8)


def test_the_turn_and_what_was_loaded_instead_are_told() -> None:
    answers = [
        offered("a", 1, True, True, turn=1),
        offered("a", 2, True, True, turn=4, others=("rival",)),
        offered("b", 1, False, False, others=("rival", "other")),
        offered("b", 2, False, False, others=("rival",)),
    ]
    loads = measure_loads(answers, arm="offered", against=None)
    assert loads is not None
    assert loads.turn == 2.5
    assert loads.instead == (("rival", 2), ("other", 1))
    unknown = measure_loads([*answers, offered("c", 1, True, True)], arm="offered", against=None)
    assert unknown is not None
    assert unknown.turn is None, "an answer of an earlier version does not tell"


def test_the_interval_of_a_share_is_exact() -> None:
    # Clopper and Pearson, as tabulated for 4 of 20.
    assert exact_share(4, 20, 0.025) == pytest.approx((0.0573, 0.4366), abs=5e-5)
    assert exact_share(0, 5, 0.025) == pytest.approx((0.0, 1 - 0.025 ** (1 / 5)))
    assert exact_share(5, 5, 0.025) == pytest.approx((0.025 ** (1 / 5), 1.0))


@pytest.mark.parametrize("hits", [0, 3])
def test_a_share_that_no_case_contradicts_still_has_a_width(hits: int) -> None:
    interval = share_like_these([(hits, 3)] * 10)
    assert interval is not None
    assert 0.25 < interval.high - interval.low < 0.5
    wider = share_like_these([(hits, 3)] * 10, SEQUENTIAL)
    assert wider is not None
    assert wider.high - wider.low >= interval.high - interval.low
    assert share_like_these([(1, 3)] * 5) is None


def test_where_every_answer_loads_the_skill_the_lift_if_loaded_is_the_lift() -> None:
    found = tallies((4, 4, 0, 1), (4, 3, 0, 0), (4, 4, 0, 2), cases=4)
    loads = with_lift_if_loaded(load_rate([(4, 4)] * 12, [(4, 4)] * 12), found, FIXED)
    assert loads.lift_if_loaded is not None
    assert loads.lift_if_loaded.mean == pytest.approx(sum(one.lift for one in found) / 12)
    assert loads.unloaded is not None
    assert loads.unloaded.interval == Interval(low=0.0, high=0.0)


@pytest.mark.parametrize(
    ("counts", "cases", "reason"),
    [
        ([(0, 0, 1, 1)], 20, "never loaded"),
        ([(2, 2, 0, 0)], 5, "too few cases"),
        ([(1, 1, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)], 3, "too few loads"),
        ([(2, 2, 2, 0), (2, 1, 2, 1)], 10, "unloaded answers differ"),
        ([(3, 3, 1, 3), (0, 0, 1, 1)], 10, "loads with easy cases"),
        ([(0, 0, 3, 3), (3, 3, 0, 0)], 10, "loads with hard cases"),
        ([(2, 2, 0, 0), (2, 1, 1, 2)], 20, None),
    ],
)
def test_the_lift_if_loaded_is_withheld_for_a_reason(
    counts: Sequence[tuple[int, int, int, int]], cases: int, reason: str | None
) -> None:
    assert withheld(*counts, cases=cases) == reason


def covers(found: Coverage) -> None:
    """At least 94%, but for four standard errors of so few evaluations."""
    for figure, number in found.had.items():
        share = found.share(figure)
        assert share is not None
        assert share >= 0.94 - 4 * (0.94 * 0.06 / number) ** 0.5, (figure, share)


def test_known_loads_and_lifts_lie_inside_their_intervals() -> None:
    found = simulate(POPULATIONS["as asked"], cases=20, repeats=3, evaluations=200, seed="unit")
    covers(found)
    assert found.had["load rate"] == found.had["offered lift"] == found.had["forced lift"] == 200
    assert found.shown > 0.35, "it is shown where nothing speaks against it"
    assert found.here["load rate"] >= 0.94 * 200


@pytest.mark.parametrize("population", ["easy loads", "hard loads", "loads where it helps"])
def test_lift_if_loaded_is_withheld_in_nearly_all_evaluations_where_loads_go_with_difficulty(population: str) -> None:
    found = simulate(POPULATIONS[population], cases=20, repeats=3, evaluations=100, seed="unit")
    covers(found)
    assert found.shown <= 0.08


@pytest.mark.full
@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize(("cases", "repeats"), [(5, 3), (20, 3), (100, 3)])
def test_every_population_is_covered(population: str, cases: int, repeats: int) -> None:
    found = simulate(POPULATIONS[population], cases=cases, repeats=repeats, evaluations=1_000, seed="full")
    covers(found)
    assert found.here["load rate"] >= 930
    if cases == 5:
        assert found.shown == 0.0


def test_a_model_that_never_takes_a_second_turn_calls_no_tool() -> None:
    answers = [replace(offered(case, 1, False, False), turns=1) for case in "abcdef"]
    loads = measure_loads(answers, arm="offered", against=None)
    assert loads is not None
    assert loads.withheld == "no tool called"
    one_used_a_tool = [replace(answers[0], turns=2), *answers[1:]]
    loads = measure_loads(one_used_a_tool, arm="offered", against=None)
    assert loads is not None
    assert loads.withheld == "never loaded"
