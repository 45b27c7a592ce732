"""Pairs: the same case and repeat in two arms. A pair with an errored trial measures nothing and is dropped; too many
of those, or errors on one side, allow no verdict."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from upskill.domain import Arm, Errored, Trial
from upskill.measuring.distributions import fisher_greater

MOST_DROPPED = 0.20
"""A larger share of dropped pairs is no random loss any more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Both arms of one case and repeat, scored."""

    case_id: str
    repeat: int
    passed: bool
    """In the arm that is measured."""
    passed_against: bool
    """In the arm it is measured against."""
    family: str | None = None
    """Of the case, where it names one."""
    answers: tuple[str, str] = ("", "")
    """A digest of each arm's answer, the measured arm first; empty where it is not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DroppedPair:
    """Both arms of one case and repeat, at least one of them errored: it measures nothing."""

    case_id: str
    repeat: int
    passed: bool | None
    """In the arm that is measured; `None` where that trial errored."""
    passed_against: bool | None
    """In the arm it is measured against; `None` where that trial errored."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseTally:
    """The pairs of one case, counted."""

    case_id: str
    pairs: int
    passed: int
    passed_against: int
    family: str | None = None

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
    drops: tuple[DroppedPair, ...] = ()
    """Every time a pair was dropped, also where it was run again later and then scored."""
    prior: tuple[CaseTally, ...] = ()
    """Pairs of earlier looks, which are part of every estimate."""

    @property
    def errored(self) -> int:
        """Drops in which the trial of `arm` errored."""
        return sum(drop.passed is None for drop in self.drops)

    @property
    def errored_against(self) -> int:
        """Drops in which the trial of `against` errored."""
        return sum(drop.passed_against is None for drop in self.drops)

    @property
    def dropped(self) -> int:
        """Drops, for whichever reason."""
        return len(self.drops)

    @property
    def tallies(self) -> tuple[CaseTally, ...]:
        """Per case, in order of the case's id: the order of trials does not matter to any estimate."""
        return add_tallies(tally_pairs(self.pairs), self.prior)

    @property
    def count(self) -> int:
        """Scored pairs, those of earlier looks included."""
        return len(self.pairs) + sum(tally.pairs for tally in self.prior)


def add_tallies(tallies: Sequence[CaseTally], prior: Sequence[CaseTally]) -> tuple[CaseTally, ...]:
    """Both together, one tally per case, in order of the case's id."""
    if not prior:
        return tuple(tallies)
    found: dict[str, CaseTally] = {}
    for tally in (*tallies, *prior):
        before = found.get(tally.case_id)
        found[tally.case_id] = (
            tally
            if before is None
            else replace(
                before,
                pairs=before.pairs + tally.pairs,
                passed=before.passed + tally.passed,
                passed_against=before.passed_against + tally.passed_against,
            )
        )
    return tuple(found[case_id] for case_id in sorted(found))


def tally_pairs(pairs: Iterable[Pair]) -> tuple[CaseTally, ...]:
    """Count the pairs of each case, in order of the case's id."""
    counts: dict[str, list[int]] = {}
    families: dict[str, str | None] = {}
    for pair in pairs:
        count = counts.setdefault(pair.case_id, [0, 0, 0])
        families[pair.case_id] = pair.family
        count[0] += 1
        count[1] += pair.passed
        count[2] += pair.passed_against
    return tuple(
        CaseTally(case_id=case_id, pairs=pairs, passed=passed, passed_against=passed_against, family=families[case_id])
        for case_id, (pairs, passed, passed_against) in sorted(counts.items())
    )


def pair_up(one: Trial, other: Trial, *, family: str | None = None) -> Pair | DroppedPair:
    """The pair of two trials of the same case and repeat: `one` of the measured arm, `other` of the arm against it."""
    passed = None if isinstance(one.outcome, Errored) else one.outcome.passed
    passed_against = None if isinstance(other.outcome, Errored) else other.outcome.passed
    if passed is None or passed_against is None:
        return DroppedPair(case_id=one.case_id, repeat=one.repeat, passed=passed, passed_against=passed_against)
    return Pair(
        case_id=one.case_id,
        repeat=one.repeat,
        passed=passed,
        passed_against=passed_against,
        family=family,
        answers=(one.answer_digest, other.answer_digest),
    )


def pair_trials(
    trials: Iterable[Trial], *, arm: Arm, against: Arm, families: Mapping[str, str] = MappingProxyType({})
) -> Pairing:
    """Pair up one student's trials; `families` holds those of the cases that name one.

    A trial that was not run, or was called off, leaves its partner out: nothing went wrong there. A trial that was run
    again after an error takes the place of the errored one; the error is still counted as a drop.
    """
    found: dict[tuple[str, int], dict[Arm, list[Trial]]] = defaultdict(lambda: defaultdict(list))
    for trial in trials:
        if not isinstance(trial.outcome, Errored) or trial.outcome.was_run:
            found[trial.case_id, trial.repeat][trial.arm].append(trial)
    pairs: list[Pair] = []
    drops: list[DroppedPair] = []
    for arms in found.values():
        if arm not in arms or against not in arms:
            continue
        one = _latest(arms[arm])
        pair = pair_up(one, _latest(arms[against]), family=families.get(one.case_id))
        if isinstance(pair, Pair):
            pairs.append(pair)
        errors, errors_against = _errors(arms[arm]), _errors(arms[against])
        drops += [
            DroppedPair(
                case_id=pair.case_id,
                repeat=pair.repeat,
                passed=None if nth < errors else pair.passed,
                passed_against=None if nth < errors_against else pair.passed_against,
            )
            for nth in range(max(errors, errors_against))
        ]
    return Pairing(arm=arm, against=against, pairs=tuple(pairs), drops=tuple(drops))


def _latest(trials: Sequence[Trial]) -> Trial:
    """The last scored trial, or the last one where none was scored."""
    return next((trial for trial in reversed(trials) if not isinstance(trial.outcome, Errored)), trials[-1])


def _errors(trials: Iterable[Trial]) -> int:
    return sum(isinstance(trial.outcome, Errored) for trial in trials)


def reason_to_refuse(pairing: Pairing) -> str | None:
    """Why these pairs allow no verdict, in words; `None` if they do."""
    seen = len(pairing.pairs) + pairing.dropped
    if seen == 0:
        return "no pair was run"
    if not pairing.pairs:
        return f"all {seen} pairs were dropped because an answer errored"
    if pairing.dropped / seen > MOST_DROPPED:
        return f"{pairing.dropped} of {seen} pairs were dropped because an answer errored"
    more, fewer = sorted((pairing.errored, pairing.errored_against), reverse=True)
    if fisher_greater(more, seen, fewer, seen) < 0.05:
        against = pairing.against.replace("_", " ")
        return f"errors fell on one side: {pairing.errored_against} in {against}, {pairing.errored} with the skill"
    return None
