"""Pairs: the same case and repeat in two arms. A pair with an errored trial measures nothing and is dropped."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from upskill.domain import Arm, Errored, Trial


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Both arms of one case and repeat, scored."""

    case_id: str
    repeat: int
    passed: bool
    """In the arm that is measured."""
    passed_against: bool
    """In the arm it is measured against."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseTally:
    """The pairs of one case, counted."""

    case_id: str
    pairs: int
    passed: int
    passed_against: int

    @property
    def difference(self) -> float:
        """The case's own lift."""
        return (self.passed - self.passed_against) / self.pairs


@dataclass(frozen=True, kw_only=True, slots=True)
class Pairing:
    """All pairs of one student between two arms."""

    arm: Arm
    against: Arm
    pairs: tuple[Pair, ...]
    errored: int
    """Pairs dropped because the trial of `arm` errored."""
    errored_against: int
    """Pairs dropped because the trial of `against` errored."""
    dropped: int
    """Pairs dropped, for whichever reason."""

    @property
    def tallies(self) -> tuple[CaseTally, ...]:
        """Per case, in order of the case's id: the order of trials does not matter to any estimate."""
        by_case: dict[str, list[Pair]] = defaultdict(list)
        for pair in self.pairs:
            by_case[pair.case_id].append(pair)
        return tuple(
            CaseTally(
                case_id=case_id,
                pairs=len(pairs),
                passed=sum(pair.passed for pair in pairs),
                passed_against=sum(pair.passed_against for pair in pairs),
            )
            for case_id, pairs in sorted(by_case.items())
        )


def pair_trials(trials: Iterable[Trial], *, arm: Arm, against: Arm) -> Pairing:
    """Pair up one student's trials.

    A trial that was not run, or that the person cancelled, leaves its partner out: nothing went wrong there.
    """
    found: dict[tuple[str, int], dict[Arm, Trial]] = defaultdict(dict)
    for trial in trials:
        if isinstance(trial.outcome, Errored) and trial.outcome.fault == "cancelled":
            continue
        found[trial.case_id, trial.repeat][trial.arm] = trial
    pairs: list[Pair] = []
    errored = errored_against = dropped = 0
    for (case_id, repeat), arms in found.items():
        if arm not in arms or against not in arms:
            continue
        one, other = arms[arm].outcome, arms[against].outcome
        errored += isinstance(one, Errored)
        errored_against += isinstance(other, Errored)
        if isinstance(one, Errored) or isinstance(other, Errored):
            dropped += 1
            continue
        pairs.append(Pair(case_id=case_id, repeat=repeat, passed=one.passed, passed_against=other.passed))
    return Pairing(
        arm=arm,
        against=against,
        pairs=tuple(pairs),
        errored=errored,
        errored_against=errored_against,
        dropped=dropped,
    )
