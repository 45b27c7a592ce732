"""The errors of a judge: measured against the checks that can decide, taken out of the lift, and never certain."""

import math
import random
from collections import Counter
from collections.abc import Iterable

import pytest

from upskill.core.nouns import Arm, CheckResult, Grade, Interval, Lift, Scored, Trial
from upskill.core.nouns.lift import JudgeError
from upskill.core.statistics import Judgement, heed_judge_error, judge, measure_judge_error, pair_trials

ARMS: tuple[Arm, Arm] = ("with_skill", "baseline")
Rates = tuple[float, float]
"""Of right answers those that the judge passes; of wrong ones those that it fails."""


def trial(arm: Arm, case: str, repeat: int, *, judged: bool, right: bool | None = None) -> Trial:
    """An answer that was judged; where `right` is given, another check looked at it too."""
    results = [CheckResult(kind="judge", passed=judged, saw="")]
    if right is not None:
        results.append(CheckResult(kind="contains", passed=right, saw=""))
    outcome = Scored(end="answered", grade=Grade(results=tuple(results)))
    return Trial(id="i", student="s", case_id=case, arm=arm, repeat=repeat, outcome=outcome)


def compared(arm: Arm, *, right: tuple[int, int], wrong: tuple[int, int]) -> list[Trial]:
    """Of `right[1]` right answers the judge passes `right[0]`, of `wrong[1]` wrong ones it fails `wrong[0]`."""
    kinds = [(True, n < right[0]) for n in range(right[1])] + [(False, n >= wrong[0]) for n in range(wrong[1])]
    return [trial(arm, f"both{n % 10}", n // 10, judged=judged, right=truth) for n, (truth, judged) in enumerate(kinds)]


def alone(arm: Arm, *, passed: int, of: int) -> list[Trial]:
    return [trial(arm, f"alone{n % 10}", n // 10, judged=n < passed) for n in range(of)]


def error_of(trials: Iterable[Trial]) -> JudgeError | None:
    known = list(trials)
    pairing = pair_trials(known, arm="with_skill", against="baseline")
    return measure_judge_error(pairing, known, claim="cases like these")


def test_a_worked_example_of_rogan_and_gladen() -> None:
    # With half an answer added: sensitivity 18.5/20, specificity 11.5/20 with the skill and 19.5/20 without it.
    trials = [
        *compared("with_skill", right=(18, 19), wrong=(11, 19)),
        *compared("baseline", right=(18, 19), wrong=(19, 19)),
        *alone("with_skill", passed=80, of=100),
        *alone("baseline", passed=25, of=100),
    ]
    error = error_of(trials)
    assert error is not None
    assert error.lift is not None
    assert error.interval is not None
    assert [(one.arm, one.compared, one.sensitivity, one.specificity) for one in error.arms] == [
        ("with_skill", 38, 0.925, pytest.approx(0.575)),
        ("baseline", 38, 0.925, 0.975),
    ]
    right, right_against = (0.80 + 0.575 - 1) / 0.5, (0.25 + 0.975 - 1) / 0.9
    assert right == pytest.approx(0.75)
    assert right_against == pytest.approx(0.25)
    # Half of the cases rest on the judge; in the others the same answers are right in both arms.
    assert error.lift == pytest.approx(0.5 * (right - right_against))
    # What is unknown of the judge, by the delta method, is more than these five repeats leave unknown of the cases.
    least = 1.96 * 0.5 * math.sqrt(0.75**2 / 0.5**2 * 0.925 * 0.075 / 21 + 0.25**2 / 0.5**2 * 0.575 * 0.425 / 21)
    assert error.lift - error.interval.low > least


def test_no_error_in_ten_answers_is_no_certainty_and_in_a_thousand_nearly_one() -> None:
    widths = []
    for answers in (10, 1000):
        trials = [
            one
            for arm in ARMS
            for one in (
                *compared(arm, right=(answers, answers), wrong=(answers, answers)),
                *alone(arm, passed=50, of=100),
            )
        ]
        error = error_of(trials)
        assert error is not None
        assert error.interval is not None
        assert error.lift == pytest.approx(0, abs=1e-9)
        widths.append(error.interval.high - error.interval.low)
    assert widths[0] > 1.05 * widths[1]


def test_what_other_checks_decided_is_taken_as_they_decided_it() -> None:
    terse, verbose = ((0, 20), (20, 20)), ((20, 20), (0, 20))  # the judge passes all that is verbose, and nothing else
    trials = [
        *compared("with_skill", right=verbose[0], wrong=verbose[1]),
        *compared("baseline", right=terse[0], wrong=terse[1]),
    ]
    found = judge(pair_trials(trials, arm="with_skill", against="baseline"))
    assert found.verdict == "helps"
    error = error_of(trials)
    assert error is not None
    assert error.lift == 0
    heeded = heed_judge_error(found, error, min_lift=None)
    assert (heeded.verdict, heeded.claim) == ("undecided", None)
    assert "corrected for the judge's errors, 0 points (" in heeded.sentence
    assert heeded.lift == found.lift


@pytest.mark.parametrize("few", ["answers", "cases"])
def test_with_too_little_to_compare_nothing_is_measured_and_nothing_changes(few: str) -> None:
    right, wrong = ((5, 5), (4, 4)) if few == "answers" else ((20, 20), (20, 20))
    trials = [one for arm in ARMS for one in compared(arm, right=right, wrong=wrong)]
    if few == "cases":
        trials = [trial(one.arm, f"both{n % 2}", n, judged=True, right=n % 3 == 0) for n, one in enumerate(trials)]
    trials += [*alone("with_skill", passed=90, of=100), *alone("baseline", passed=10, of=100)]
    error = error_of(trials)
    assert error == JudgeError(compared=len(trials) - 200)
    found = judge(pair_trials(trials, arm="with_skill", against="baseline"))
    assert heed_judge_error(found, error, min_lift=None) == found


def test_a_judge_that_was_never_seen_to_fail_a_wrong_answer_may_pass_them_all() -> None:
    widths = []
    for wrong in (0, 20):
        trials = [one for arm in ARMS for one in compared(arm, right=(20, 20), wrong=(wrong, wrong))]
        trials += [*alone("with_skill", passed=60, of=100), *alone("baseline", passed=30, of=100)]
        error = error_of(trials)
        assert error is not None
        assert error.interval is not None
        widths.append(error.interval.high - error.interval.low)
    assert widths[0] > 2 * widths[1]


def test_where_nothing_was_judged_there_is_no_error() -> None:
    grade = Grade(results=(CheckResult(kind="contains", passed=True, saw=""),))
    trials = [
        Trial(id="i", student="s", case_id="c", arm=arm, repeat=1, outcome=Scored(end="answered", grade=grade))
        for arm in ARMS
    ]
    assert error_of(trials) is None


@pytest.mark.parametrize(
    ("low", "verdict", "clears", "ending"),
    [
        (0.2, "helps", True, "; a lift of at least +10 points is shown"),
        (0.05, "helps", None, "; a lift of at least +10 points is not shown"),
        (-0.05, "undecided", None, "; a lift of at least +10 points is not shown"),
    ],
)
def test_a_lift_that_was_asked_for_must_be_shown_by_the_corrected_one_too(
    low: float, verdict: str, clears: bool | None, ending: str
) -> None:
    interval = Interval(low=0.15, high=0.6)
    lift = Lift(
        arm="with_skill",
        against="baseline",
        mean=0.4,
        these_cases=interval,
        cases_like_these=interval,
        pairs=60,
        dropped=0,
    )
    found = Judgement(
        verdict="helps",
        sentence="helps: +40 points (95% CI +15 to +60, 60 pairs); a lift of at least +10 points is shown",
        lift=lift,
        claim="cases like these",
        clears=True,
    )
    error = JudgeError(compared=80, lift=0.3, interval=Interval(low=low, high=0.6))
    heeded = heed_judge_error(found, error, min_lift=0.1)
    assert (heeded.verdict, heeded.clears) == (verdict, clears)
    assert heeded.sentence.startswith(f"{verdict}: +40 points (95% CI +15 to +60, 60 pairs)")
    assert heeded.sentence.endswith(ending)
    assert heeded.sentence.count("at least") == 1


def simulated(rng: random.Random, judges: dict[Arm, Rates], *, gain: float) -> list[Trial]:
    """Twenty cases, five repeats; ten of the cases rest on the judge alone."""
    trials = []
    for number in range(20):
        base = rng.random() * (1 - gain)
        for repeat in range(5):
            for arm in ARMS:
                right = rng.random() < (base + gain if arm == "with_skill" else base)
                passes, fails = judges[arm]
                judged = rng.random() < (passes if right else 1 - fails)
                shown = right if number < 10 else None
                trials.append(trial(arm, f"c{number:02}", repeat, judged=judged, right=shown))
    return trials


def verdicts(judges: dict[Arm, Rates], *, gain: float, runs: int) -> tuple[Counter[str], Counter[str]]:
    """What is said without the correction, and with it."""
    rng = random.Random(13)
    before: Counter[str] = Counter()
    after: Counter[str] = Counter()
    for _ in range(runs):
        trials = simulated(rng, judges, gain=gain)
        found = judge(pair_trials(trials, arm="with_skill", against="baseline"))
        before[found.verdict] += 1
        after[heed_judge_error(found, error_of(trials), min_lift=None).verdict] += 1
    return before, after


def test_a_judge_that_favours_the_answers_with_the_skill_does_not_make_a_lift() -> None:
    before, after = verdicts({"with_skill": (0.98, 0.5), "baseline": (0.9, 0.9)}, gain=0.0, runs=120)
    assert before["helps"] > 0.4 * 120
    assert after["helps"] <= 120 * (0.05 + 2 * 0.02)


def test_a_good_judge_costs_next_to_nothing() -> None:
    before, after = verdicts({"with_skill": (0.95, 0.95), "baseline": (0.95, 0.95)}, gain=0.35, runs=60)
    assert after["helps"] >= before["helps"] - 3
    assert after["helps"] > 0.9 * 60
