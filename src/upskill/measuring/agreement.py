"""How often a judge and the checks that need none come to the same result."""

from collections.abc import Iterable
from typing import NamedTuple

from upskill.domain import Scored, Trial

JUDGE = "judge"


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
