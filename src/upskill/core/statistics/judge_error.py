"""The errors of a judge, measured per arm, and the lift corrected for them (Rogan and Gladen, 1978).

Checks can decide where a case has a judge and other checks: what the others found is taken as the truth that the judge
should have found. There the corrected lift takes their result. Where a judge alone decides, an observed rate q becomes
(q + specificity - 1) / (sensitivity + specificity - 1), and the interval includes what is unknown of both.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean

from upskill.core.nouns import Arm, Interval, Scored, Trial
from upskill.core.nouns.lift import JudgeError, JudgeRates
from upskill.core.nouns.text import points
from upskill.core.nouns.trial import ENDS_THAT_CAN_PASS
from upskill.core.statistics.intervals import FIXED, Level
from upskill.core.statistics.lift import JUDGE, measure_lift
from upskill.core.statistics.pairs import Claim, Pair, Pairing
from upskill.core.statistics.verdict import Judgement, figures, say_asked

FEWEST_COMPARED = 10
"""Answers in each arm that the judge and other checks both looked at: with fewer, no error rate is measured."""
FEWEST_CASES_COMPARED = 3
"""Cases that they must come from: a judge that errs on one case errs on all its repeats."""
_LEAST_YOUDEN = 0.05
"""A judge that tells right from wrong no better than this leaves everything open."""

Key = tuple[Arm, str, int]


def measure_judge_error(
    pairing: Pairing, trials: Iterable[Trial], level: Level = FIXED, *, claim: Claim | None
) -> JudgeError | None:
    """The judge's error in the arms of a lift, and the lift corrected for it; `None` where nothing was judged.

    `trials` may hold more than the pairs: answers that came after a decision say as much of the judge.
    """
    graded = {
        (trial.arm, trial.case_id, trial.repeat): _Graded.of(trial.outcome)
        for trial in trials
        if trial.arm in (pairing.arm, pairing.against) and isinstance(trial.outcome, Scored)
    }
    if not any(one.by_judge is not None for one in graded.values()):
        return None
    tables = {arm: _table(graded, arm) for arm in (pairing.arm, pairing.against)}
    compared = sum(table.answers for table in tables.values())
    if not all(table.is_enough for table in tables.values()):
        return JudgeError(compared=compared)
    decided = replace(pairing, pairs=tuple(_decided(pair, pairing, graded) for pair in pairing.pairs))
    if (corrected := _corrected(decided, graded, tables, level, claim=claim)) is None:
        return JudgeError(compared=compared)
    rates = tuple(table.rates(arm) for arm, table in tables.items())
    return JudgeError(compared=compared, arms=rates, lift=corrected[0], interval=corrected[1])


def heed_judge_error(judgement: Judgement, error: JudgeError | None, *, min_lift: float | None) -> Judgement:
    """The judgement, undecided where its side does not hold for the corrected lift; the lift itself stays."""
    lift = judgement.lift
    if error is None or error.interval is None or error.lift is None or lift is None:
        return judgement
    asked = "" if min_lift is None else say_asked("", min_lift=min_lift, clears=judgement.clears)
    sentence, verdict, claim = judgement.sentence.removesuffix(asked), judgement.verdict, judgement.claim
    clears = judgement.clears
    if clears and min_lift is not None and error.interval.low < min_lift:
        clears = None
    if not error.allows(verdict):
        wide = lift.cases_like_these if claim == "cases like these" else None
        sentence = f"undecided: {figures(lift, wide or lift.these_cases)} as graded; {say_corrected(error)}"
        verdict, claim = "undecided", None
    if min_lift is not None:
        sentence = say_asked(sentence, min_lift=min_lift, clears=clears)
    return replace(judgement, verdict=verdict, sentence=sentence, claim=claim, clears=clears)


def say_corrected(error: JudgeError) -> str:
    """The corrected lift, for the sentence of a verdict that does not hold for it; empty where there is none."""
    if error.lift is None or error.interval is None:
        return ""
    interval = f"{points(error.interval.low)} to {points(error.interval.high)}"
    return f"corrected for the judge's errors, {points(error.lift)} points ({interval})"


@dataclass(frozen=True, slots=True)
class _Graded:
    """What the judge and the other checks found; `None` where there was no such check."""

    passed: bool
    by_judge: bool | None
    by_others: bool | None

    @classmethod
    def of(cls, outcome: Scored) -> "_Graded":
        judged = [result.passed for result in outcome.grade.results if result.kind == JUDGE]
        others = [result.passed for result in outcome.grade.results if result.kind != JUDGE]
        ended = outcome.end in ENDS_THAT_CAN_PASS
        return cls(outcome.passed, all(judged) if judged else None, ended and all(others) if others else None)

    @property
    def rests_on_judge(self) -> bool:
        return self.by_judge is not None and self.by_others is None

    @property
    def decided(self) -> bool:
        """Whether it passed, by the checks that can decide."""
        both = self.by_judge is not None and self.by_others is not None
        return bool(self.by_others) if both else self.passed


@dataclass(slots=True)
class _Answers:
    """Answers that are right, or wrong, and on how many of each case the judge was right about that."""

    by_case: dict[str, list[int]] = field(default_factory=dict)

    def add(self, case_id: str, agreed: bool) -> None:
        counts = self.by_case.setdefault(case_id, [0, 0])
        counts[0] += 1
        counts[1] += agreed

    @property
    def answers(self) -> int:
        return sum(answers for answers, _ in self.by_case.values())

    @property
    def rate(self) -> float:
        """Half an answer is added on either side: no errors in ten is no certainty, and no answers say nothing."""
        return (sum(agreed for _, agreed in self.by_case.values()) + 0.5) / (self.answers + 1)

    @property
    def variance(self) -> float:
        """The variance of the rate; larger than the binomial one where the judge's errors come case by case."""
        rate, cases = self.rate, len(self.by_case)
        spread = math.fsum((agreed - rate * answers) ** 2 for answers, agreed in self.by_case.values())
        by_case = spread / self.answers**2 * cases / (cases - 1) if cases > 1 else 0.0
        return max(rate * (1 - rate) / (self.answers + 2), by_case)


@dataclass(slots=True)
class _Table:
    """The judge against the other checks, in one arm."""

    right: _Answers = field(default_factory=_Answers)
    wrong: _Answers = field(default_factory=_Answers)

    @property
    def answers(self) -> int:
        return self.right.answers + self.wrong.answers

    @property
    def is_enough(self) -> bool:
        cases = self.right.by_case.keys() | self.wrong.by_case.keys()
        return self.answers >= FEWEST_COMPARED and len(cases) >= FEWEST_CASES_COMPARED

    @property
    def youden(self) -> float:
        return max(self.right.rate + self.wrong.rate - 1, _LEAST_YOUDEN)

    def correct(self, rate: float) -> float:
        return min(1.0, max(0.0, (rate + self.wrong.rate - 1) / self.youden))

    def variance_at(self, corrected: float) -> float:
        """By the delta method: what is unknown of the judge, in a corrected rate."""
        right, wrong = corrected / self.youden, (1 - corrected) / self.youden
        return right**2 * self.right.variance + wrong**2 * self.wrong.variance

    def rates(self, arm: Arm) -> JudgeRates:
        sensitivity, specificity = self.right.rate, self.wrong.rate
        return JudgeRates(arm=arm, compared=self.answers, sensitivity=sensitivity, specificity=specificity)


def _table(graded: Mapping[Key, _Graded], arm: Arm) -> _Table:
    table = _Table()
    for (its_arm, case_id, _), one in graded.items():
        if its_arm == arm and one.by_judge is not None and one.by_others is not None:
            answers = table.right if one.by_others else table.wrong
            answers.add(case_id, one.by_judge == one.by_others)
    return table


def _decided(pair: Pair, pairing: Pairing, graded: Mapping[Key, _Graded]) -> Pair:
    mine = graded.get((pairing.arm, pair.case_id, pair.repeat))
    theirs = graded.get((pairing.against, pair.case_id, pair.repeat))
    return replace(
        pair,
        passed=pair.passed if mine is None else mine.decided,
        passed_against=pair.passed_against if theirs is None else theirs.decided,
    )


def _corrected(
    decided: Pairing,
    graded: Mapping[Key, _Graded],
    tables: Mapping[Arm, _Table],
    level: Level,
    *,
    claim: Claim | None,
) -> tuple[float, Interval] | None:
    """The corrected lift and its interval, from pairs in which other checks decided where they looked."""
    lift, tallies = measure_lift(decided, level), decided.tallies
    if lift is None:
        return None
    interval, mean = lift.cases_like_these, lift.mean
    if interval is None or claim == "these cases":
        interval = lift.these_cases
        mean = sum(tally.passed - tally.passed_against for tally in tallies) / decided.count
    alone = {case_id for (_, case_id, _), one in graded.items() if one.rests_on_judge}
    judged = [tally for tally in tallies if tally.case_id in alone]
    share, shift, variance, stretch = len(judged) / len(tallies), 0.0, 0.0, 1.0
    if judged:
        mine, theirs = tables[decided.arm], tables[decided.against]
        rate = fmean(tally.passed / tally.pairs for tally in judged)
        rate_against = fmean(tally.passed_against / tally.pairs for tally in judged)
        right, right_against = mine.correct(rate), theirs.correct(rate_against)
        shift = share * ((right - rate) - (right_against - rate_against))
        variance = share**2 * (mine.variance_at(right) + theirs.variance_at(right_against))
        # The sampling error of the cases that rest on the judge grows as the correction stretches their rates.
        stretch = math.sqrt(1 - share + share / min(mine.youden, theirs.youden) ** 2)
    unknown = level.z * math.sqrt(variance)
    below = math.hypot(stretch * (mean - interval.low), unknown)
    above = math.hypot(stretch * (interval.high - mean), unknown)
    mean = min(1.0, max(-1.0, mean + shift))
    return mean, Interval(low=max(-1.0, mean - below), high=min(1.0, mean + above))
