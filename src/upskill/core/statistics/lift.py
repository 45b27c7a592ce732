"""Lift: the mean over cases of what one arm passed more than the other; over all pairs, while pairs still come in, and
per label, with the labels that only trials can give. And trials summed up: one arm of one student, one judge.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from statistics import fmean
from typing import NamedTuple

from upskill.core.nouns import LABELS, Arm, ArmSummary, Errored, Label, LabelLift, Lift, Scored, Trial
from upskill.core.statistics.intervals import ONE_LOOK, Level, merge_families, new_cases, these_cases
from upskill.core.statistics.pairs import CaseTally, DroppedPair, Pair, Pairing

EQUAL_OUTCOMES = 5
"""So many baseline trials of one case, all passed or all failed, make it saturated or impossible."""


def measure_lift(pairing: Pairing, level: Level = ONE_LOOK) -> Lift | None:
    """The lift with its interval, for new cases where there are enough of them; `None` where no pair is left."""
    tallies = pairing.tallies
    if not tallies:
        return None
    # Each family counts once, as in the interval for new cases.
    units, wide = merge_families(tallies), new_cases(tallies, level)
    # The interval for these cases is about all their pairs together, so that is the figure to print beside it.
    rate, rate_against = _mean_rates(units) if wide is not None else _pooled_rates(tallies)
    return Lift(
        arm=pairing.arm,
        against=pairing.against,
        mean=rate - rate_against,
        interval=these_cases(tallies, level) if wide is None else wide,
        about="these cases" if wide is None else "new cases",
        rate=rate,
        rate_against=rate_against,
        pairs=len(pairing.pairs),
        dropped=pairing.dropped,
        cases=len(tallies),
        units=len(units),
        better=sum(unit.difference > 0 for unit in units),
        worse=sum(unit.difference < 0 for unit in units),
        confidence=(Level(error=level.error) if wide is None else level).confidence_of_lift,
    )


def _mean_rates(units: Sequence[CaseTally]) -> tuple[float, float]:
    return fmean(unit.passed / unit.pairs for unit in units), fmean(unit.passed_against / unit.pairs for unit in units)


def _pooled_rates(tallies: Sequence[CaseTally]) -> tuple[float, float]:
    pairs = sum(tally.pairs for tally in tallies)
    return sum(tally.passed for tally in tallies) / pairs, sum(tally.passed_against for tally in tallies) / pairs


class RunningLook(NamedTuple):
    """A lift while pairs still come in. It has no interval: whoever watches looks at any moment."""

    mean: float
    rate: float
    rate_against: float


class RunningLift:
    """Pairs counted per case as they come, so that a look costs as much as there are cases, not pairs."""

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}
        self.pairs = 0

    def add(self, pair: Pair | DroppedPair) -> None:
        """One more pair, in whatever order."""
        if isinstance(pair, DroppedPair):
            return
        count = self._counts.setdefault(pair.case_id, [0, 0, 0])
        count[0] += 1
        count[1] += pair.passed
        count[2] += pair.passed_against
        self.pairs += 1

    def look(self) -> "RunningLook | None":
        """The mean with its rates; `None` before the first pair.

        May be called while another thread adds: a pair that comes meanwhile is in the next look.
        """
        counts = [count for count in list(self._counts.values()) if count[0]]
        if not counts:
            return None
        rate = fmean([passed / pairs for pairs, passed, _ in counts])
        rate_against = fmean([passed_against / pairs for pairs, _, passed_against in counts])
        return RunningLook(mean=rate - rate_against, rate=rate, rate_against=rate_against)


@dataclass(frozen=True, kw_only=True, slots=True)
class BaselineTally:
    """What one student did with one case, without any skill."""

    student: str
    case_id: str
    trials: int
    passed: int


def tally_baselines(trials: Iterable[tuple[str, str, bool]]) -> tuple[BaselineTally, ...]:
    counts: dict[tuple[str, str], list[int]] = {}
    for student, case_id, passed in trials:
        count = counts.setdefault((student, case_id), [0, 0])
        count[0] += 1
        count[1] += passed
    return tuple(
        BaselineTally(student=student, case_id=case_id, trials=trials, passed=passed)
        for (student, case_id), (trials, passed) in counts.items()
    )


def label_of(tally: BaselineTally) -> Label | None:
    """Saturated, impossible, or neither shown."""
    if tally.trials < EQUAL_OUTCOMES or 0 < tally.passed < tally.trials:
        return None
    return "saturated" if tally.passed else "impossible"


def lift_by_label(
    pairing: Pairing, labels: Mapping[str, Sequence[Label]], level: Level = ONE_LOOK
) -> tuple[LabelLift, ...]:
    """The lift over the cases of each label, and over those without one; labels without a case are left out.

    Saturated and impossible cases of this very run are counted, and have no lift: they were chosen by how their
    baseline went, so the comparison with that baseline could only go one way.
    """
    groups: dict[Label | None, set[str]] = {}
    for tally in pairing.tallies:
        for label in labels.get(tally.case_id, ()) or (None,):
            groups.setdefault(label, set()).add(tally.case_id)
    chosen: dict[Label | None, set[str]] = {}
    if pairing.against == "baseline":
        for tally in pairing.tallies:
            mine = BaselineTally(student="", case_id=tally.case_id, trials=tally.pairs, passed=tally.passed_against)
            if (found := label_of(mine)) is not None:
                chosen.setdefault(found, set()).add(tally.case_id)
    lifts = []
    for group in (*LABELS, None):
        if group in chosen:
            lifts.append(LabelLift(label=group, cases=len(chosen[group]), lift=None))
        elif group in groups:
            own = tuple(pair for pair in pairing.pairs if pair.case_id in groups[group])
            drops = tuple(drop for drop in pairing.drops if drop.case_id in groups[group])
            lift = measure_lift(replace(pairing, pairs=own, drops=drops), level)
            lifts.append(LabelLift(label=group, cases=len(groups[group]), lift=lift))
    return tuple(lifts)


JUDGE = "judge"


def summarise_arm(trials: Iterable[Trial], *, arm: Arm, cases: int, priced: bool = True) -> ArmSummary:
    """Rates over scored trials; errored ones are counted apart and change no rate. `priced`: a price is known."""
    mine = [trial for trial in trials if trial.arm == arm]
    scored = [(trial, trial.outcome) for trial in mine if isinstance(trial.outcome, Scored)]
    faults = Counter(trial.outcome.fault for trial in mine if isinstance(trial.outcome, Errored))
    rounds: dict[int, list[bool]] = defaultdict(list)
    for trial, outcome in scored:
        rounds[trial.repeat].append(outcome.passed)
    seen = [trial.skill_use for trial, _ in scored if trial.skill_use is not None]
    uses = [use for use in seen if use.present]
    complete = [passed for passed in rounds.values() if len(passed) == cases]
    return ArmSummary(
        arm=arm,
        trials=len(scored),
        passed=sum(outcome.passed for _, outcome in scored),
        errored=sum(faults.values()),
        faults=tuple(faults.most_common()),
        checks_passed=_mean([outcome.grade.checks_passed for _, outcome in scored]),
        checks=_mean([len(outcome.grade.results) for _, outcome in scored]),
        tokens=_mean([trial.usage.tokens for trial, _ in scored]),
        cost=_mean([trial.usage.cost for trial, _ in scored]),
        spent=spent_on(mine, priced=priced),
        runs=len(complete),
        runs_all_passed=sum(all(passed) for passed in complete),
        turns=_mean([trial.turns or None for trial, _ in scored]),
        loaded=sum(use.loaded for use in uses) if uses else None,
        skill_files=tuple(Counter(path for use in uses for path in use.files).most_common()),
        asked_cases=cases,
        other_skills=tuple(Counter(name for use in seen for name in use.others).most_common()),
    )


def spent_on(trials: Iterable[Trial], *, priced: bool) -> float | None:
    """Dollars for what was bought; `None` where an answer has no price, or where the student has none (`priced`)."""
    bought = [trial for trial in trials if trial.calls]
    costs = [trial.usage.cost for trial in bought if isinstance(trial.outcome, Scored) or trial.usage.cost is not None]
    known = [cost for cost in costs if cost is not None]
    return fsum(known) if len(known) == len(costs) and (priced or not bought) else None


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean; `None` where there is nothing, or where any value is unknown."""
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


class Agreement(NamedTuple):
    """Scored trials that were judged; those of them that other checks looked at too; those where both said the same."""

    judged: int
    compared: int
    agreed: int


def judge_agreement(trials: Iterable[Trial]) -> Agreement:
    """Over trials: all judgements passed, or not, against all other checks passed, or not."""
    judged = compared = agreed = 0
    for trial in trials:
        if not isinstance(trial.outcome, Scored):
            continue
        results = trial.outcome.grade.results
        by_judge = [result.passed for result in results if result.kind == JUDGE]
        by_others = [result.passed for result in results if result.kind != JUDGE]
        judged += bool(by_judge)
        if by_judge and by_others:
            compared += 1
            agreed += all(by_judge) == all(by_others)
    return Agreement(judged, compared, agreed)
