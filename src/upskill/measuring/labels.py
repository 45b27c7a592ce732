"""Lift per label, and the labels that only trials can give. Plain counting."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from upskill.domain import LABELS, Label, LabelLift
from upskill.measuring.intervals import Z_FIXED
from upskill.measuring.lift import measure_lift
from upskill.measuring.pairs import Pairing

EQUAL_OUTCOMES = 5
"""So many baseline trials of one case, all passed or all failed, make it saturated or impossible."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BaselineTally:
    """What one student did with one case, without any skill."""

    student: str
    case_id: str
    trials: int
    passed: int


def tally_baselines(trials: Iterable[tuple[str, str, bool]]) -> tuple[BaselineTally, ...]:
    """Count student, case and passed."""
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
    pairing: Pairing, labels: Mapping[str, Sequence[Label]], *, z: float = Z_FIXED
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
            lift = measure_lift(replace(pairing, pairs=own, drops=drops), z=z)
            lifts.append(LabelLift(label=group, cases=len(groups[group]), lift=lift))
    return tuple(lifts)
