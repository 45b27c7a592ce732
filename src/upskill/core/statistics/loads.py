"""How often the offered skill was loaded, and the lift if it is loaded, where that can be told. Knows no engine.

Cases, or families of cases, are the units; repeats are nested in them. The lift if loaded is the lift of the offered
skill divided by the load rate: all of the lift is put down to the answers that loaded the skill. So it is withheld
unless the others are shown to add next to nothing, and unless the loads are shown not to go with easy or hard cases.
docs/explanation/requests-and-answers.md has the reasons, benchmarks/results/loads.md the simulations.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from types import MappingProxyType

from upskill.core.nouns import Arm, Interval, Scored, Trial
from upskill.core.nouns.lift import Estimate, Loads, Withheld
from upskill.core.statistics.distributions import t_quantile
from upskill.core.statistics.intervals import (
    FEWEST_CASES,
    FIXED,
    Level,
    cases_like_these,
    mean_half,
    share_like_these,
    share_of_these_cases,
)
from upskill.core.statistics.pairs import CaseTally, are_copies, pair_trials

MOST_MISMATCH = 0.20
"""The lift if loaded is shown only if each of the mismatches is surely smaller than this, and may be zero."""
LEAST_LOADS = 5
"""With fewer answers that loaded the skill, nothing is said of the lift if loaded."""

MOST_WIDTH = 1.0
"""An interval of the lift if loaded that is wider says nothing, so none is shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadTally:
    """The answers of one case, or one family, in which the skill was offered, with their partners in other arms."""

    pairs: int
    loaded: int
    passed: int
    passed_unloaded: int
    """Passed answers that did not load the skill."""
    passed_against: int
    forced: int = 0
    """Scored answers with the skill forced."""
    passed_forced: int = 0
    family: str | None = None

    @property
    def lift(self) -> float:
        """What the case passed more with the skill offered."""
        return (self.passed - self.passed_against) / self.pairs

    @property
    def rate(self) -> float:
        """The share of answers that loaded the skill."""
        return self.loaded / self.pairs

    @property
    def from_unloaded(self) -> float:
        """The part of the case's lift that the answers without a load make up."""
        unloaded = self.pairs - self.loaded
        return (self.passed_unloaded - unloaded * self.passed_against / self.pairs) / self.pairs


def measure_loads(
    trials: Iterable[Trial],
    *,
    arm: Arm,
    against: Arm | None,
    forced: Arm | None = None,
    families: Mapping[str, str] = MappingProxyType({}),
    level: Level = FIXED,
) -> Loads | None:
    """The loads of one model in `arm`; `None` where no scored answer says whether the skill was loaded.

    The rate is over all such answers; what is compared is over their pairs with `against`. Where repeats are copies of
    one answer, loads included, intervals rest on the first.
    """
    known = [trial for trial in trials if isinstance(trial.outcome, Scored)]
    asked = {key: trial for key, trial in _latest(known, arm).items() if trial.skill_use is not None}
    if not asked:
        return None
    copies = against is not None and are_copies(pair_trials(known, arm=arm, against=against).pairs)
    offered = _first_only(asked) if copies and _is_same_in_each_case(asked.values()) else asked
    hits = [(trial.case_id, _was_loaded(trial)) for trial in offered.values()]
    loads = replace(
        load_rate(_units(hits), _units(hits, families), level),
        answers=len(asked),
        loaded=sum(map(_was_loaded, asked.values())),
        turn=_median_turn(asked.values()),
        instead=_other_skills(trial for trial in asked.values() if not _was_loaded(trial)),
    )
    if not loads.loaded and all(trial.turns == 1 for trial in asked.values()):
        return replace(loads, withheld="no tool called")
    if against != "baseline":
        return replace(loads, withheld="not compared" if loads.loaded else "never loaded")
    tallies = tally_loads(
        offered, _latest(known, against), _latest(known, forced) if forced is not None else {}, families=families
    )
    return with_lift_if_loaded(loads, tallies, level)


def load_rate(cases: Sequence[tuple[int, int]], units: Sequence[tuple[int, int]], level: Level = FIXED) -> Loads:
    """The load rate with both intervals, from loads and answers of each case, and of each unit: a case or a family."""
    return Loads(
        answers=sum(answers for _, answers in cases),
        loaded=sum(loaded for loaded, _ in cases),
        cases=len(cases),
        rate=math.fsum(loaded / answers for loaded, answers in units) / len(units),
        these_cases=share_of_these_cases(cases, level),
        cases_like_these=share_like_these(units, level),
        confidence=level.confidence,
    )


def tally_loads(
    offered: Mapping[tuple[str, int], Trial],
    against: Mapping[tuple[str, int], Trial],
    forced: Mapping[tuple[str, int], Trial],
    *,
    families: Mapping[str, str] = MappingProxyType({}),
) -> tuple[LoadTally, ...]:
    """One tally per case or family, over the cases and repeats that were scored in both arms."""
    found: dict[tuple[bool, str], LoadTally] = {}
    for key in sorted(offered.keys() & against.keys()):
        trial, family = offered[key], families.get(key[0])
        unit = (family is not None, family or key[0])
        tally = found.get(unit) or LoadTally(
            pairs=0, loaded=0, passed=0, passed_unloaded=0, passed_against=0, family=family
        )
        loaded, passed, other = _was_loaded(trial), trial.passed, forced.get(key)
        found[unit] = replace(
            tally,
            pairs=tally.pairs + 1,
            loaded=tally.loaded + loaded,
            passed=tally.passed + passed,
            passed_unloaded=tally.passed_unloaded + (passed and not loaded),
            passed_against=tally.passed_against + against[key].passed,
            forced=tally.forced + (other is not None),
            passed_forced=tally.passed_forced + (other is not None and other.passed),
        )
    return tuple(found.values())


def with_lift_if_loaded(loads: Loads, tallies: Sequence[LoadTally], level: Level = FIXED) -> Loads:
    """The loads with the lift if loaded, or with why it is withheld."""
    if not loads.loaded:
        return replace(loads, withheld="never loaded")
    if not tallies:
        return replace(loads, withheld="not compared")
    if len(tallies) < FEWEST_CASES:
        return replace(loads, withheld="too few cases")
    loaded = sum(tally.loaded for tally in tallies)
    interval = ratio_interval(tallies, level)
    if loaded < LEAST_LOADS or interval is None:
        return replace(loads, withheld="too few loads")
    unloaded = _unloaded_part(tallies, level)
    easier = _easier(tallies, [tally.passed_against / tally.pairs for tally in tallies], level)
    with_forced = all(tally.forced for tally in tallies)
    easier_forced = (
        _easier(tallies, [tally.passed_forced / tally.forced for tally in tallies], level) if with_forced else None
    )
    checked = replace(loads, unloaded=unloaded, easier=easier, easier_forced=easier_forced)
    is_wide = interval.high - interval.low > MOST_WIDTH
    if (reason := _reason_to_withhold(unloaded, easier, easier_forced, is_wide=is_wide)) is not None:
        return replace(checked, withheld=reason)
    mean = math.fsum(tally.lift for tally in tallies) / math.fsum(tally.rate for tally in tallies)
    return replace(checked, lift_if_loaded=Estimate(mean=max(-1.0, min(1.0, mean)), interval=interval))


def ratio_interval(tallies: Sequence[LoadTally], level: Level = FIXED) -> Interval | None:
    """Where the lift divided by the load rate lies for all cases of this kind; `None` where that is unbounded.

    The hull of Fieller's interval over units and of the interval of the lift divided by the load rate: the second
    includes losses and gains that no case showed.
    """
    count, answers = len(tallies), sum(tally.pairs for tally in tallies)
    lifts, rates = [tally.lift for tally in tallies], [tally.rate for tally in tallies]
    mean_lift, mean_rate = math.fsum(lifts) / count, math.fsum(rates) / count
    floor = (0.5 * count / answers) ** 2
    lift_spread = max(_covariance(lifts, lifts), floor)
    rate_spread = max(_covariance(rates, rates), floor) if mean_rate < 1 else 0.0
    scale = t_quantile(1 - level.of_a_look, count - 1) ** 2 / count
    bend = mean_rate**2 - scale * rate_spread
    if bend <= 0:
        return None
    middle = mean_lift * mean_rate - scale * _covariance(lifts, rates)
    root = math.sqrt(max(0.0, middle**2 - bend * (mean_lift**2 - scale * lift_spread)))
    whole = cases_like_these(
        [
            CaseTally(case_id=str(nth), pairs=tally.pairs, passed=tally.passed, passed_against=tally.passed_against)
            for nth, tally in enumerate(tallies)
        ],
        level,
    )
    if whole is None:
        return None
    low = max(-1.0, min((middle - root) / bend, whole.low / mean_rate))
    high = min(1.0, max((middle + root) / bend, whole.high / mean_rate))
    return Interval(low=low, high=high)


def _unloaded_part(tallies: Sequence[LoadTally], level: Level) -> Estimate:
    if all(tally.loaded == tally.pairs for tally in tallies):
        return Estimate(mean=0.0, interval=Interval(low=0.0, high=0.0))
    answers = sum(tally.pairs for tally in tallies)
    mean, half = mean_half([tally.from_unloaded for tally in tallies], answers=answers, level=level)
    return Estimate(mean=mean, interval=Interval(low=mean - half, high=mean + half))


def _easier(tallies: Sequence[LoadTally], passed: Sequence[float], level: Level) -> Estimate:
    """The pass rate weighted by loads minus the plain one: the covariance with the load rate, over the mean of that."""
    count, rates = len(tallies), [tally.rate for tally in tallies]
    rate, mean_passed = math.fsum(rates) / count, math.fsum(passed) / count
    spread = math.sqrt(_covariance(rates, rates))
    if spread == 0:
        return Estimate(mean=0.0, interval=Interval(low=0.0, high=0.0))
    products = [(one - rate) * (other - mean_passed) for one, other in zip(rates, passed, strict=True)]
    flip = 0.5 * count / sum(tally.pairs for tally in tallies)
    deviation = max(math.sqrt(_covariance(products, products)), spread * flip)
    half = t_quantile(1 - level.of_a_look, count - 1) * deviation / math.sqrt(count) / rate
    mean = math.fsum(products) / (count - 1) / rate
    return Estimate(mean=mean, interval=Interval(low=mean - half, high=mean + half))


def _reason_to_withhold(
    unloaded: Estimate, easier: Estimate, easier_forced: Estimate | None, *, is_wide: bool
) -> Withheld | None:
    """The first mismatch that was found; if there is none, what cannot be told from so few answers."""
    eases = [easier] if easier_forced is None else [easier, easier_forced]
    for one in eases:
        if one.interval.above_zero or one.interval.below_zero:
            return "loads with easy cases" if one.mean > 0 else "loads with hard cases"
    if unloaded.interval.above_zero or unloaded.interval.below_zero:
        return "unloaded answers differ"
    if is_wide:
        return "too few loads"
    if any(_is_wide(one) for one in eases):
        return "loads unclear"
    return "unloaded answers unclear" if _is_wide(unloaded) else None


def _is_wide(one: Estimate) -> bool:
    return max(-one.interval.low, one.interval.high) > MOST_MISMATCH


def _covariance(one: Sequence[float], other: Sequence[float]) -> float:
    count = len(one)
    mean, mean_other = math.fsum(one) / count, math.fsum(other) / count
    return math.fsum((a - mean) * (b - mean_other) for a, b in zip(one, other, strict=True)) / (count - 1)


def _units(
    hits: Iterable[tuple[str, bool]], families: Mapping[str, str] = MappingProxyType({})
) -> list[tuple[int, int]]:
    """Hits and answers of each case, or of each family."""
    found: dict[tuple[bool, str], list[int]] = {}
    for case_id, hit in hits:
        family = families.get(case_id)
        count = found.setdefault((family is not None, family or case_id), [0, 0])
        count[0] += hit
        count[1] += 1
    return [(hit, answers) for hit, answers in found.values()]


def _latest(trials: Iterable[Trial], arm: Arm) -> dict[tuple[str, int], Trial]:
    return {(trial.case_id, trial.repeat): trial for trial in trials if trial.arm == arm}


def _first_only(trials: Mapping[tuple[str, int], Trial]) -> dict[tuple[str, int], Trial]:
    """The first repeat of each case."""
    first: dict[str, Trial] = {}
    for key in sorted(trials):
        first.setdefault(key[0], trials[key])
    return {(trial.case_id, trial.repeat): trial for trial in first.values()}


def _is_same_in_each_case(trials: Iterable[Trial]) -> bool:
    """Whether the repeats of each case all loaded the skill, or none did."""
    found: dict[str, set[bool]] = {}
    for trial in trials:
        found.setdefault(trial.case_id, set()).add(_was_loaded(trial))
    return all(len(loads) == 1 for loads in found.values())


def _was_loaded(trial: Trial) -> bool:
    return trial.skill_use is not None and trial.skill_use.loaded


def _median_turn(trials: Iterable[Trial]) -> float | None:
    uses = [trial.skill_use for trial in trials if trial.skill_use is not None and trial.skill_use.loaded]
    turns = [use.turn for use in uses if use.turn is not None]
    return float(median(turns)) if turns and len(turns) == len(uses) else None


def _other_skills(trials: Iterable[Trial]) -> tuple[tuple[str, int], ...]:
    uses = [trial.skill_use for trial in trials if trial.skill_use is not None]
    return tuple(Counter(name for use in uses for name in dict.fromkeys(use.others)).most_common())
