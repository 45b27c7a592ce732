"""Pairs: the same case and repeat in two arms. A pair with an errored trial measures nothing and is dropped.

An answer that is lost on the way and asked for again is no random loss where failing answers are slower: too many
lost answers, or more of them on one side, allow no verdict, and a claim must hold if they had gone against it. A pair
that lost an answer in both arms and was asked again is no such loss: both arms were treated alike.

Repeats that are copies of one answer are one pair.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from upskill.core.nouns import Arm, Errored, Interval, Scored, Trial
from upskill.core.nouns.text import count
from upskill.core.statistics.distributions import fisher_greater

Side = Literal["helps", "hurts"]
"""The two directions a difference can have."""


def side_of(interval: Interval) -> Side | None:
    """The side that an interval shows by excluding zero; `None` where it includes zero."""
    if interval.above_zero:
        return "helps"
    return "hurts" if interval.below_zero else None


MOST_DROPPED = 0.20
"""A larger share of pairs that were dropped or lost an answer is no random loss any more."""
ONE_SIDED = 0.05
"""Losses that differ between the arms by less chance than this are no random losses either."""

Key = tuple[str, int]
"""A case and a repeat: what the two trials of a pair have in common."""


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
    """The family of the case, where it names one."""
    answers: tuple[str, str] = ("", "")
    """A digest of each arm's answer, the measured arm first; empty where it is not known."""
    lost: bool = False
    """Whether an answer of the measured arm was lost before this one came."""
    lost_against: bool = False
    """The same of the arm it is measured against."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DroppedPair:
    """Both arms of one case and repeat, at least one of them errored: it measures nothing."""

    case_id: str
    repeat: int
    passed: bool | None
    """In the arm that is measured; `None` where that trial errored."""
    passed_against: bool | None
    """In the arm it is measured against; `None` where that trial errored."""
    lost: bool = False
    lost_against: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Losses:
    """What became of the requests of one arm, retries and earlier runs included."""

    lost: int = 0
    """Lost answers, one for each request (`Trial.lost_answers`); of a pairing, those in `lost_in`."""
    refused: int = 0
    """Requests that were turned away before an answer began."""
    asked_in: frozenset[Key] = frozenset()
    """The pairs that were asked for."""
    lost_in: frozenset[Key] = frozenset()
    """Those of them in which an answer was lost; of a pairing, in this arm only or for good."""
    refused_in: frozenset[Key] = frozenset()
    """Those in which a request was refused. One that has to wait is refused many times, for one reason."""


def count_losses(trials: Iterable[Trial], *, arm: Arm) -> Losses:
    """Count over all trials of an arm, also those that were run again or that no verdict rests on."""
    mine = [trial for trial in trials if trial.arm == arm]
    return Losses(
        lost=sum(trial.lost_answers for trial in mine),
        refused=sum(trial.refused_requests for trial in mine),
        asked_in=_keys(trial for trial in mine if isinstance(trial.outcome, Scored) or trial.outcome.was_run),
        lost_in=_keys(trial for trial in mine if trial.lost_answers),
        refused_in=_keys(trial for trial in mine if trial.refused_requests),
    )


def _keys(trials: Iterable[Trial]) -> frozenset[Key]:
    return frozenset((trial.case_id, trial.repeat) for trial in trials)


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
    losses: Losses = Losses()
    """The losses of `arm`, in all trials of the run."""
    losses_against: Losses = Losses()
    """The losses of `against`."""

    @property
    def dropped(self) -> int:
        """Drops, for whichever reason."""
        return len(self.drops)

    @property
    def has_lost(self) -> bool:
        """Whether an answer was lost, in either arm."""
        return self.losses.lost + self.losses_against.lost > 0

    @property
    def tallies(self) -> tuple[CaseTally, ...]:
        """Per case, in order of the case's id: the order of trials does not matter to any estimate."""
        return tally_pairs(self.pairs)


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
    case_id, repeat, lost, lost_against = one.case_id, one.repeat, one.lost_answers > 0, other.lost_answers > 0
    if passed is None or passed_against is None:
        return DroppedPair(
            case_id=case_id,
            repeat=repeat,
            passed=passed,
            passed_against=passed_against,
            lost=lost,
            lost_against=lost_against,
        )
    return Pair(
        case_id=case_id,
        repeat=repeat,
        passed=passed,
        passed_against=passed_against,
        lost=lost,
        lost_against=lost_against,
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
    found: dict[Key, dict[Arm, list[Trial]]] = defaultdict(lambda: defaultdict(list))
    known = list(trials)
    for trial in known:
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
    return with_losses(Pairing(arm=arm, against=against, pairs=tuple(pairs), drops=tuple(drops)), known)


def _latest(trials: Sequence[Trial]) -> Trial:
    """The last scored trial, or the last one where none was scored."""
    return next((trial for trial in reversed(trials) if not isinstance(trial.outcome, Errored)), trials[-1])


def _errors(trials: Iterable[Trial]) -> int:
    return sum(isinstance(trial.outcome, Errored) for trial in trials)


def with_losses(pairing: Pairing, trials: Sequence[Trial]) -> Pairing:
    """The pairs with what all trials of the student lost, also those that are in no pair.

    What both arms lost and answered when they were asked again is left out.
    """
    arms = pairing.arm, pairing.against
    again = frozenset[Key].intersection(
        *(count_losses(trials, arm=arm).lost_in for arm in arms),
        *(_keys(one for one in trials if one.arm == arm and isinstance(one.outcome, Scored)) for arm in arms),
    )
    kept = [trial for trial in trials if (trial.case_id, trial.repeat) not in again]
    losses, losses_against = (
        replace(whole, lost=rest.lost, lost_in=rest.lost_in)
        for whole, rest in ((count_losses(trials, arm=arm), count_losses(kept, arm=arm)) for arm in arms)
    )
    return replace(pairing, losses=losses, losses_against=losses_against)


def worst_case(pairing: Pairing, side: Side) -> Pairing:
    """The pairs as they would be if every lost answer had gone against this side.

    Against `helps`, each pair that lost an answer in the measured arm failed there, and each that lost one in the
    other arm passed there. A dropped pair that was never scored counts where it lost an answer.
    """
    lost, lost_against = pairing.losses.lost_in, pairing.losses_against.lost_in
    found: dict[Key, Pair | DroppedPair] = {
        key: drop for drop in pairing.drops if (key := (drop.case_id, drop.repeat)) in lost | lost_against
    }
    found |= {(pair.case_id, pair.repeat): pair for pair in pairing.pairs}
    helps, families = side == "helps", {pair.case_id: pair.family for pair in pairing.pairs}
    feared = (
        Pair(
            case_id=one.case_id,
            repeat=one.repeat,
            passed=not helps if key in lost or one.passed is None else one.passed,
            passed_against=helps if key in lost_against or one.passed_against is None else one.passed_against,
            family=families.get(one.case_id),
        )
        for key, one in found.items()
    )
    return replace(pairing, pairs=tuple(feared))


def reason_to_refuse(pairing: Pairing) -> str | None:
    """Why these pairs allow no verdict, in words; `None` if they do.

    Lost answers and refused requests count by the pairs they fell in: a request that is sent again and again is lost
    again and again for one reason. Refused ones count only where they differ between the arms.
    """
    scored = {(pair.case_id, pair.repeat) for pair in pairing.pairs}
    lost = pairing.losses.lost_in | pairing.losses_against.lost_in
    dropped = {(drop.case_id, drop.repeat) for drop in pairing.drops}
    asked = pairing.losses.asked_in & pairing.losses_against.asked_in
    seen, spoilt = len(scored | dropped | lost | asked), len((dropped - scored) | lost)
    if seen == 0:
        return "no pair was run"
    if not scored:
        return f"all {seen} pairs were dropped because an answer errored"
    if spoilt / seen > MOST_DROPPED:
        why = f"or lost an answer: {_lost_in_arms(pairing)}" if pairing.has_lost else "because an answer errored"
        return f"{spoilt} of {seen} pairs were dropped {why}"
    one, other = pairing.losses, pairing.losses_against
    if _differ(one.lost_in, one.asked_in, other.lost_in, other.asked_in):
        return _lost_in_arms(pairing)
    if _differ(one.refused_in, one.asked_in, other.refused_in, other.asked_in):
        return _in_arms("requests were refused", one.refused, other.refused, pairing)
    return None


def _differ(one: frozenset[Key], of_one: frozenset[Key], other: frozenset[Key], of_other: frozenset[Key]) -> bool:
    """Whether so many on one side are too many for chance, whichever side it is."""
    first, second = ((len(hit), len(hit | asked)) for hit, asked in ((one, of_one), (other, of_other)))
    return any(fisher_greater(*side) < ONE_SIDED for side in ((*first, *second), (*second, *first)) if all(side[1::2]))


def describe_worst_case(pairing: Pairing, side: Side) -> str:
    """What `worst_case` supposes, in words."""
    ends = ("failed", "passed") if side == "helps" else ("passed", "failed")
    arms = zip(_arms(pairing), (pairing.losses.lost, pairing.losses_against.lost), ends, strict=True)
    said = [(count(lost, "lost answer"), arm, end) for arm, lost, end in arms if lost]
    return " and ".join(f"the {answers} {arm} had {end}" for answers, arm, end in said)


def _lost_in_arms(pairing: Pairing) -> str:
    return _in_arms("answers were lost", pairing.losses.lost, pairing.losses_against.lost, pairing)


def _in_arms(what: str, one: int, other: int, pairing: Pairing) -> str:
    arm, against = _arms(pairing)
    return f"{one} {what} {arm}, {other} {against}"


def _arms(pairing: Pairing) -> tuple[str, str]:
    return "with the skill", "without the skill" if pairing.against == "baseline" else "with the older version"


SHARE_OF_COPIES = 0.9
"""Where at least so many cases give byte-identical answers on every repeat, in each arm, repeats are copies."""


def are_copies(pairs: Sequence[Pair]) -> bool:
    """Whether nine in ten repeated cells, a case in one arm, hold a single answer; no where nothing was repeated."""
    cells: dict[tuple[str, int], list[str]] = defaultdict(list)
    for pair in pairs:
        for arm, answer in enumerate(pair.answers):
            if answer:
                cells[pair.case_id, arm].append(answer)
    repeated = [answers for answers in cells.values() if len(answers) > 1]
    same = sum(len(set(answers)) == 1 for answers in repeated)
    return bool(repeated) and same >= SHARE_OF_COPIES * len(repeated)


def collapse_copies(pairing: Pairing) -> Pairing:
    """One pair per case where repeats are copies; otherwise the pairing as it is."""
    return replace(pairing, pairs=without_copies(pairing.pairs)) if are_copies(pairing.pairs) else pairing


def without_copies(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """The first pair of each case."""
    first: dict[str, Pair] = {}
    for pair in pairs:
        first.setdefault(pair.case_id, pair)
    return tuple(first.values())
