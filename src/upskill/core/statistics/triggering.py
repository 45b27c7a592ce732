"""When a skill is loaded: recall, load rate on near misses, precision and the verdict, each from prompts as units.

A rate has a Wilson interval with continuity correction, and J, their difference, is combined from two of them by
Newcombe's method: of all pairs of true rates on a grid of 0.025, the worst is covered in 95.4% at 24 prompts of each
kind and in 93.6% at 20. Repeats of a prompt are averaged first, because they say nothing about other prompts.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist

from upskill.core.nouns import Interval, Scored, Trial
from upskill.core.nouns.trial import TrialKey
from upskill.core.nouns.trigger import (
    WELL,
    Company,
    PromptTally,
    TriggerPrompt,
    TriggerRate,
    TriggerScore,
    TriggerVerdict,
)
from upskill.core.statistics.intervals import FIRST_LEVEL

FEWEST_PROMPTS = 6
"""With fewer prompts of a kind, or families of them, there is no verdict."""
MOST_ERRORED = 0.2
"""With a larger share of answers that errored, or were never asked for, there is no verdict."""
_Z = NormalDist().inv_cdf(0.975)


def tally_prompts(prompts: Iterable[TriggerPrompt], trials: Iterable[Trial]) -> tuple[PromptTally, ...]:
    """What one model did on each prompt. Of several tries of one answer the last that was measured counts."""
    found: dict[str, list[Trial]] = {}
    for trial in last_tries(trials):
        found.setdefault(trial.case_id, []).append(trial)
    return tuple(_tally(prompt, found.get(prompt.id, [])) for prompt in prompts)


def last_tries(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """One trial of each answer: the last that was measured, else the last."""
    last: dict[TrialKey, Trial] = {}
    for trial in trials:
        if trial.supersedes(last.get(trial.key)):
            last[trial.key] = trial
    return tuple(last.values())


def _tally(prompt: TriggerPrompt, trials: Sequence[Trial]) -> PromptTally:
    uses = [(trial, trial.skill_use if isinstance(trial.outcome, Scored) else None) for trial in trials]
    # What was not listed could not be chosen: that is a fault of ours and no answer.
    measured = [(trial, use) for trial, use in uses if use is not None and use.listed]
    others = [name for _, use in measured for name in use.others]
    return PromptTally(
        prompt=prompt,
        answers=len(measured),
        loads=sum(use.loaded for _, use in measured),
        errored=len(uses) - len(measured),
        others=tuple(sorted(set(others), key=lambda name: (-others.count(name), name))),
        silent=sum(trial.turns == 1 and not use.loaded for trial, use in measured),
    )


def score_triggering(
    tallies: Sequence[PromptTally],
    *,
    student: str,
    harness: str,
    company: Company = "alone",
    others: int | None = 0,
    level: float = FIRST_LEVEL,
) -> TriggerScore:
    """What the tallies of one model say, with the verdict. A later look at its prompts has a lower `level`: it makes
    the lower end of J stricter. That a skill does not trigger well is said as easily as in the first look."""
    should = _rate([tally for tally in tallies if tally.prompt.should_load])
    near = _rate([tally for tally in tallies if not tally.prompt.should_load])
    units = [
        _units([one for one in tallies if one.answers and one.prompt.should_load is kind]) for kind in (True, False)
    ]
    j, interval = (None, None) if should is None or near is None else _difference(should, near, units, level)
    errored = sum(tally.errored for tally in tallies)
    # What a cap or a person left out counts like what errored: nobody knows how it would have gone.
    repeats = max((tally.answers + tally.errored for tally in tallies), default=0)
    planned = repeats * len(tallies)
    missing = planned - sum(tally.answers for tally in tallies)
    invalid = min(units) < FEWEST_PROMPTS or missing > MOST_ERRORED * planned
    return TriggerScore(
        student=student,
        harness=harness,
        company=company,
        others=others,
        recall=should,
        near_miss=near,
        precision=_precision(tallies),
        j=j,
        interval=interval,
        confidence=1 - FIRST_LEVEL - level,
        verdict="invalid" if invalid or interval is None else _verdict(interval),
        tallies=tuple(tallies),
        errored=errored,
    )


def _verdict(interval: Interval) -> TriggerVerdict:
    if interval.low > WELL:
        return "triggers well"
    return "does not trigger well" if interval.high < WELL else "undecided"


def _rate(tallies: Sequence[PromptTally]) -> TriggerRate | None:
    rates = [tally.rate for tally in tallies if tally.rate is not None]
    if not rates:
        return None
    mean = math.fsum(rates) / len(rates)
    return TriggerRate(
        rate=mean,
        interval=share_interval(mean, _units([tally for tally in tallies if tally.answers])),
        prompts=len(rates),
        answers=sum(tally.answers for tally in tallies),
    )


def _precision(tallies: Sequence[PromptTally]) -> TriggerRate | None:
    """The share of what loaded the skill that should have. Given how much was loaded, that is one share of it."""
    loaded = [tally for tally in tallies if tally.loads]
    right = math.fsum(tally.rate or 0.0 for tally in loaded if tally.prompt.should_load)
    total = math.fsum(tally.rate or 0.0 for tally in loaded)
    if not loaded:
        return None
    # A prompt that loads in some repeats only is less than one of those that loaded.
    size = min(total, _units(loaded))
    return TriggerRate(
        rate=right / total,
        interval=share_interval(right / total, size),
        prompts=len(loaded),
        answers=sum(tally.loads for tally in loaded),
    )


def _difference(should: TriggerRate, near: TriggerRate, units: Sequence[float], level: float) -> tuple[float, Interval]:
    j, z = should.rate - near.rate, -NormalDist().inv_cdf(level)
    least, most = share_interval(should.rate, units[0], z), share_interval(near.rate, units[1], z)
    low = j - math.hypot(should.rate - least.low, most.high - near.rate)
    high = j + math.hypot(should.interval.high - should.rate, near.rate - near.interval.low)
    return j, Interval(low=max(-1.0, low), high=min(1.0, high))


def _units(tallies: Sequence[PromptTally]) -> float:
    """How many independent prompts these are worth at least, if prompts of one family always behave alike."""
    sizes: dict[tuple[str, str], int] = {}
    for tally in tallies:
        prompt = tally.prompt
        key = ("prompt", prompt.id) if prompt.family is None else ("family", prompt.family)
        sizes[key] = sizes.get(key, 0) + 1
    total = sum(sizes.values())
    return total * total / sum(size * size for size in sizes.values()) if total else 0.0


def share_interval(rate: float, size: float, z: float = _Z) -> Interval:
    """The Wilson interval with continuity correction of a share that was seen in `size` units, by default of 95%."""
    z2 = z * z
    low, high = 0.0, 1.0
    if rate > 0:
        root = math.sqrt(max(0.0, z2 - 2 - 1 / size + 4 * rate * (size * (1 - rate) + 1)))
        low = max(0.0, (2 * size * rate + z2 - 1 - z * root) / (2 * (size + z2)))
    if rate < 1:
        root = math.sqrt(max(0.0, z2 + 2 - 1 / size + 4 * rate * (size * (1 - rate) - 1)))
        high = min(1.0, (2 * size * rate + z2 + 1 + z * root) / (2 * (size + z2)))
    return Interval(low=min(low, rate), high=max(high, rate))
