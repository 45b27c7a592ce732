"""What the measured arm uses for what the other uses: a ratio per case, summed up for the typical case.

Only pairs with both trials scored count, so that both arms did the same work. An unknown count leaves the ratio
unknown: it is never taken for zero.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist

from upskill.domain import Arm, Interval, Scored, Trial
from upskill.measuring.distributions import t_quantile
from upskill.measuring.intervals import FIXED, Level


@dataclass(frozen=True, kw_only=True, slots=True)
class Ratio:
    """One arm's use divided by the other's."""

    typical: float
    """In the typical case: the geometric mean of the cases' ratios."""
    interval: Interval | None
    """Of the typical case; `None` with a single case."""
    total: float
    """Sum over sum. Without an interval: the usual ones promise more than they keep."""
    cases: int

    @property
    def below_one(self) -> bool:
        """Surely less is used."""
        return self.interval is not None and self.interval.high < 1


def measure_tokens(trials: Iterable[Trial], *, arm: Arm, against: Arm, level: Level = FIXED) -> Ratio | None:
    """The ratio of tokens; `None` where a count is unknown or zero, or nothing is paired."""
    found: dict[tuple[str, int], dict[Arm, Trial]] = defaultdict(dict)
    for trial in trials:
        if isinstance(trial.outcome, Scored):
            found[trial.case_id, trial.repeat][trial.arm] = trial
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for (case_id, _), arms in found.items():
        if arm not in arms or against not in arms:
            continue
        one, other = arms[arm].usage.tokens, arms[against].usage.tokens
        if one is None or other is None:
            return None
        sums[case_id][0] += one
        sums[case_id][1] += other
    if not sums or any(value <= 0 for both in sums.values() for value in both):
        return None
    return typical_ratio([(one, other) for one, other in sums.values()], level)


def typical_ratio(sums: Iterable[tuple[float, float]], level: Level = FIXED) -> Ratio:
    """From what each case used in the two arms, in all its pairs together, to the ratio with its interval."""
    pairs = list(sums)
    logs = [math.log(one / other) for one, other in pairs]
    count = len(logs)
    mean = math.fsum(logs) / count
    interval = None
    if count > 1:
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in logs) / (count - 1))
        half = t_quantile(NormalDist().cdf(level.z), count - 1) * deviation / math.sqrt(count)
        interval = Interval(low=math.exp(mean - half), high=math.exp(mean + half))
    total = math.fsum(one for one, _ in pairs) / math.fsum(other for _, other in pairs)
    return Ratio(typical=math.exp(mean), interval=interval, total=total, cases=count)
