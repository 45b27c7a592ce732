"""Trials summed up: one arm of one student, and how far a judge agrees with the checks that need none."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import fsum
from statistics import fmean
from typing import NamedTuple

from upskill.domain import Arm, ArmSummary, Errored, Scored, Trial

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
