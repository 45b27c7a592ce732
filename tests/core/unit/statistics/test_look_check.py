"""A look that upskill took is believed; one whose figures or verdict cannot come of its pairs is not."""

import random
from dataclasses import asdict, replace
from typing import Any

import pytest

from made_looks import LOOK
from upskill.core import statistics
from upskill.core.nouns import Interval
from upskill.core.nouns.look import Look, SeenCase, SeenPair
from upskill.core.statistics import GuardedSequential, Judgement, Level, Pair, Pairing, Sequential, contradiction, judge


def _ends(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def _look(pairs: list[Pair], judged: Judgement, *, level: float, min_lift: float | None = None) -> Look:
    """The look as it is kept, with what is said of it."""
    lift = judged.lift
    assert lift is not None
    cases: dict[str, SeenCase] = {}
    for pair in pairs:
        seen = SeenPair("one", "other", pair.passed, pair.passed_against, pair.answers)
        before = cases.get(pair.case_id, SeenCase(key=pair.case_id, checks="c", family=pair.family, pairs=()))
        cases[pair.case_id] = replace(before, pairs=(*before.pairs, seen))
    said = {**asdict(lift), "these_cases": _ends(lift.these_cases), "cases_like_these": _ends(lift.cases_like_these)}
    arm = {"passed": sum(pair.passed for pair in pairs), "trials": len(pairs), "pass_rate": 0.5, "errored": 0}
    verdict: dict[str, Any] = {"verdict": judged.verdict, "claim": judged.claim, "clears": judged.clears}
    return replace(
        LOOK,
        min_lift=min_lift,
        cases=tuple(cases.values()),
        level=level,
        verdict=judged.verdict,
        claim=judged.claim,
        sentence=judged.sentence,
        report={**verdict, "earlier_pairs": 0, "arms": {"with_skill": arm}, "lifts": [said]},
    )


def _pairs(chance: random.Random, cases: int, repeats: int, *, families: bool, copies: bool) -> list[Pair]:
    gain, base = chance.choice([-0.6, 0.0, 0.0, 0.3, 0.9]), chance.choice([0.0, 0.1, 0.5, 1.0])
    found: dict[str, tuple[bool, bool]] = {}
    pairs = []
    for repeat in range(repeats):
        for number in range(cases):
            case = f"case {number}"
            grades = chance.random() < base + gain, chance.random() < base
            grades = found.setdefault(case, grades) if copies else grades
            answers = ("a", "b") if copies else (str(chance.random()), str(chance.random()))
            family = f"family {number // 2}" if families else None
            pairs.append(
                Pair(
                    case_id=case,
                    repeat=repeat,
                    passed=grades[0],
                    passed_against=grades[1],
                    family=family,
                    answers=answers,
                )
            )
    return pairs


@pytest.mark.parametrize("seed", range(60))
def test_what_a_fixed_design_found_is_believed(seed: int) -> None:
    chance = random.Random(seed)
    cases, repeats = chance.choice([1, 3, 6, 12, 40]), chance.choice([1, 3])
    pairs = _pairs(chance, cases, repeats, families=cases > 12, copies=seed % 3 == 0)
    level, least = chance.choice([0.025, 0.0025, 1e-6]), chance.choice([None, 0.1])
    pairing = Pairing(arm="with_skill", against="baseline", pairs=tuple(pairs))
    for looks in (1, 8):
        judged = judge(pairing, level=Level(level, looks=looks), min_lift=least)
        assert contradiction(_look(pairs, judged, level=level, min_lift=least)) is None


@pytest.mark.parametrize("seed", range(60))
def test_what_a_design_that_stops_early_found_is_believed(seed: int) -> None:
    chance = random.Random(seed)
    cases, level = chance.choice([1, 3, 6, 12, 30]), chance.choice([0.025, 0.0025])
    design = GuardedSequential(lambda: Sequential(cases=cases, level=level))
    fed: list[Pair] = []
    for pair in _pairs(chance, cases, 25 if cases < 6 else 2, families=False, copies=seed % 5 == 0):
        if design.decision.stop:
            break
        fed.append(pair)
        design.add(pair)
    decision = design.end("budget")
    judged = judge(design.pairing, decision=decision, level=design.level)
    assert contradiction(_look(fed, judged, level=level)) is None


@pytest.fixture
def honest() -> Look:
    """Ten cases of twelve are won."""
    pairs = [Pair(case_id=str(n), repeat=0, passed=n < 10, passed_against=False) for n in range(12)]
    judged = judge(Pairing(arm="with_skill", against="baseline", pairs=tuple(pairs)))
    assert (judged.verdict, judged.claim) == ("helps", "cases like these")
    return _look(pairs, judged, level=statistics.FIRST_LEVEL)


def _with_lift(look: Look, **changed: object) -> Look:
    return replace(look, report={**look.report, "lifts": [{**look.report["lifts"][0], **changed}]})


def _with_arm(look: Look, **changed: object) -> Look:
    return replace(
        look, report={**look.report, "arms": {"with_skill": {**look.report["arms"]["with_skill"], **changed}}}
    )


def test_a_verdict_that_its_pairs_do_not_show_is_not_believed(honest: Look) -> None:
    lost = tuple(replace(case, pairs=(SeenPair("a", "b", False, False),)) for case in honest.cases)
    assert contradiction(honest) is None
    assert contradiction(replace(honest, cases=lost)) == "lift +83, which does not match its pairs"
    assert contradiction(replace(honest, cases=honest.cases[:2])) == "lift +83, which does not match its pairs"
    assert contradiction(_with_lift(honest, cases_like_these=[0.7, 1.0])) is not None
    assert contradiction(_with_lift(honest, mean=-0.5)) == "lift −50, which is outside its interval"
    assert contradiction(replace(honest, verdict="hurts")) == "verdict hurts, but its report says helps"
    assert contradiction(replace(honest, claim=None, report={**honest.report, "claim": None})) is not None
    hurts = replace(honest, verdict="hurts", report={**honest.report, "verdict": "hurts"})
    assert contradiction(hurts) == "verdict hurts, but its interval includes 0"
    clears = replace(honest, min_lift=0.9, report={**honest.report, "clears": True})
    assert contradiction(clears) == "verdict helps, which its pairs do not show"


def test_one_win_is_not_helps_even_where_all_figures_are_right(honest: Look) -> None:
    pairs = [Pair(case_id=str(n), repeat=0, passed=n == 0, passed_against=False) for n in range(12)]
    undecided = judge(Pairing(arm="with_skill", against="baseline", pairs=tuple(pairs)))
    helps = replace(undecided, verdict="helps", claim="cases like these")
    wide = undecided.lift
    assert wide is not None
    assert wide.cases_like_these is not None
    cut = replace(helps, lift=replace(wide, cases_like_these=replace(wide.cases_like_these, low=1e-9)))
    assert contradiction(_look(pairs, cut, level=0.025)) == "verdict helps, which its pairs do not show"


@pytest.mark.parametrize(
    "changed",
    [{"mean": float("nan")}, {"mean": float("inf")}, {"rate": 1.5}, {"pairs": -1}, {"rate": "much"}, {"mean": None}],
)
def test_a_lift_that_is_no_figure_is_not_believed(honest: Look, changed: dict[str, object]) -> None:
    assert contradiction(_with_lift(honest, **changed)) is not None


@pytest.mark.parametrize("changed", [{"passed": 13}, {"errored": -2}, {"pass_rate": 1.2}, {"trials": None}])
def test_an_arm_that_cannot_be_counted_is_not_believed(honest: Look, changed: dict[str, object]) -> None:
    assert contradiction(_with_arm(honest, **changed)) is not None


@pytest.mark.parametrize("changed", [{"level": float("nan")}, {"level": 0.9}, {"lost": -1}, {"report": {}}])
def test_a_look_with_damaged_figures_is_not_believed(honest: Look, changed: dict[str, Any]) -> None:
    assert contradiction(replace(honest, **changed)) is not None
