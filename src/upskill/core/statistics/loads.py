"""How often the offered skill was loaded. Cases, or families of cases, are the units; repeats are nested in them.

Knows no engine, and nothing of what a load did: the lift of the offered skill is the whole answer.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from types import MappingProxyType

from upskill.core.nouns import Arm, Scored, Trial
from upskill.core.nouns.lift import Loads
from upskill.core.statistics.intervals import ONE_LOOK, Level, share_of_new_cases, share_of_these_cases
from upskill.core.statistics.pairs import are_copies, pair_trials


def measure_loads(
    trials: Iterable[Trial],
    *,
    arm: Arm,
    against: Arm | None,
    families: Mapping[str, str] = MappingProxyType({}),
    level: Level = ONE_LOOK,
) -> Loads | None:
    """The loads of one model in `arm`; `None` where no scored answer says whether the skill was loaded.

    Where repeats are copies of one answer, loads included, the interval rests on the first.
    """
    known = [trial for trial in trials if isinstance(trial.outcome, Scored)]
    asked = {key: trial for key, trial in _latest(known, arm).items() if trial.skill_use is not None}
    if not asked:
        return None
    copies = against is not None and are_copies(pair_trials(known, arm=arm, against=against).pairs)
    offered = _first_only(asked) if copies and _is_same_in_each_case(asked.values()) else asked
    hits = [(trial.case_id, _was_loaded(trial)) for trial in offered.values()]
    loaded = sum(map(_was_loaded, asked.values()))
    return replace(
        load_rate(_units(hits), _units(hits, families), level),
        answers=len(asked),
        loaded=loaded,
        turn=_median_turn(asked.values()),
        instead=_other_skills(trial for trial in asked.values() if not _was_loaded(trial)),
        no_tool_called=not loaded and all(trial.turns == 1 for trial in asked.values()),
    )


def load_rate(cases: Sequence[tuple[int, int]], units: Sequence[tuple[int, int]], level: Level = ONE_LOOK) -> Loads:
    """The load rate with its interval, from loads and answers of each case, and of each unit: a case or a family."""
    wide = share_of_new_cases(units, level)
    return Loads(
        answers=sum(answers for _, answers in cases),
        loaded=sum(loaded for loaded, _ in cases),
        cases=len(cases),
        rate=math.fsum(loaded / answers for loaded, answers in units) / len(units),
        interval=share_of_these_cases(cases, level) if wide is None else wide,
        about="these cases" if wide is None else "new cases",
        confidence=level.confidence,
    )


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
