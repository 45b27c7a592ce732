"""The only imports of internal modules in this folder: what no command prints in full.

A module that moves is named here once. What each function takes and gives is plain data, so that values may be renamed.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from upskill.core.nouns.lift import Interval, Lift
from upskill.core.nouns.trigger import PromptTally, TriggerPrompt, TriggerRate
from upskill.core.runs.own_runs import run_digest
from upskill.core.statistics import (
    CaseTally,
    Decision,
    DroppedPair,
    GuardedSequential,
    Judgement,
    Pair,
    Pairing,
    Sequential,
    confirm_worse,
    default_cap,
    detectable_lift,
    judge,
    level_after,
    screen_cases,
)
from upskill.core.statistics.intervals import Ratio, ratio_of_uses, unit_of
from upskill.core.statistics.triggering import score_triggering
from upskill.redaction import redactor_from, secrets_in

Row = Mapping[str, Any]
"""A pair: `case`, `repeat`, `passed`, `against` (`None` where that answer errored); also `family`, `tokens`, `lost`."""


def judged(rows: Sequence[Row], *, min_lift: float | None) -> dict[str, Any]:
    """The verdict of a design of fixed size."""
    pairing = Pairing(
        arm="with_skill",
        against="baseline",
        pairs=tuple(pair for pair in map(_pair, rows) if isinstance(pair, Pair)),
        drops=tuple(pair for pair in map(_pair, rows) if isinstance(pair, DroppedPair)),
    )
    tokens = _tokens(pairing)
    worse = confirm_worse(pairing.tallies)
    return {
        **_judgement(judge(pairing, tokens=tokens, min_lift=min_lift)),
        "tokens": tokens and [tokens.typical, _interval(tokens.interval), tokens.total],
        "suspects": [tally.case_id for tally in screen_cases(pairing.tallies)],
        "worse": [[one.case_id, one.probability] for one in worse],
    }


def sequential(
    rows: Sequence[Row], *, cases: int, units: int, min_lift: float | None, helped: Sequence[bool], prior: Sequence[Row]
) -> dict[str, Any]:
    """Where the design that may stop early stops on these rows, after earlier looks, and its verdict there.

    What errored is run again at the end, and fails.
    """
    tallies = [
        CaseTally(case_id=row["case"], pairs=row["pairs"], passed=row["passed"], passed_against=row["against"])
        for row in prior
    ]
    level = level_after(helped)
    design = GuardedSequential(
        lambda: Sequential(cases=cases, units=units, min_lift=min_lift, level=level, prior=tallies)
    )
    fed = 0
    promised = []
    planned = rows[: default_cap(cases)]
    again = [
        {**row, "passed": bool(row["passed"]), "against": bool(row["against"])} for row in planned if _errored(row)
    ]
    for row in (*planned, *again):
        if fed % max(1, cases // 2) == 0:
            promised.append(design.least_pairs_to_stop())
        fed += 1
        if design.add(_pair(row)).stop:
            break
    else:
        design.end("budget")
    tokens = _tokens(design.pairing)
    judgement = judge(design.pairing, decision=design.decision, tokens=tokens, min_lift=min_lift, level=design.level)
    return {
        "cap": default_cap(cases),
        "level": level,
        "fed": fed,
        "least pairs to stop": promised,
        "copies": design.copies,
        "decision": _decision(design.decision),
        **_judgement(judgement),
    }


def levels(helped: Sequence[bool]) -> float:
    """The level of the next look, from whether each earlier one helped."""
    return level_after(helped)


def detectable(*, cases: int, pairs: int, sequential: bool) -> list[float | None]:
    """The lift that a plan of this size can detect: on new cases of this kind, and on these cases."""
    wide = detectable_lift(cases=cases, pairs=pairs, sequential=sequential, claim="cases like these")
    return [wide, detectable_lift(cases=cases, pairs=pairs, sequential=sequential, claim="these cases")]


def triggering(prompts: Sequence[Row]) -> dict[str, Any]:
    """The score of prompts, each with `should`, `answers`, `loads`, `errored` and `family`."""
    tallies = [
        PromptTally(
            prompt=TriggerPrompt(id=f"p{n}", prompt=f"Prompt {n}", should_load=row["should"], family=row["family"]),
            answers=row["answers"],
            loads=row["loads"],
            errored=row["errored"],
        )
        for n, row in enumerate(prompts)
    ]
    score = score_triggering(tallies, student="any", harness="agent")
    rates = {"recall": score.recall, "near miss": score.near_miss, "precision": score.precision}
    return {
        **{name: _rate(rate) for name, rate in rates.items()},
        "j": score.j,
        "interval": _interval(score.interval),
        "verdict": score.verdict,
    }


def redacted(text: str) -> str:
    """The text without secrets, by patterns alone."""
    return redactor_from({}).clean(text)


def holds_secret(name: str, value: str) -> bool:
    """Whether a variable of the environment counts as one of the user's own keys."""
    return bool(secrets_in({name: value}))


def _errored(row: Row) -> bool:
    return row["passed"] is None or row["against"] is None


def _pair(row: Row) -> Pair | DroppedPair:
    lost, lost_against = row.get("lost", (False, False))
    if _errored(row):
        return DroppedPair(
            case_id=row["case"],
            repeat=row["repeat"],
            passed=row["passed"],
            passed_against=row["against"],
            lost=lost,
            lost_against=lost_against,
        )
    return Pair(
        case_id=row["case"],
        repeat=row["repeat"],
        passed=row["passed"],
        passed_against=row["against"],
        family=row.get("family"),
        answers=tuple(row["answers"]),
        tokens=tuple(row.get("tokens", (None, None))),
        lost=lost,
        lost_against=lost_against,
    )


def _tokens(pairing: Pairing) -> Ratio | None:
    return ratio_of_uses((unit_of(pair.case_id, pair.family), pair.tokens) for pair in pairing.pairs)


def _judgement(judgement: Judgement) -> dict[str, Any]:
    return {
        "verdict": judgement.verdict,
        "claim": judgement.claim,
        "reason": judgement.reason,
        "clears": judgement.clears,
        "sentence": judgement.sentence,
        "lift": None if judgement.lift is None else _lift(judgement.lift),
    }


def _lift(lift: Lift) -> dict[str, Any]:
    return {
        "mean": lift.mean,
        "rate": lift.rate,
        "rate against": lift.rate_against,
        "these cases": _interval(lift.these_cases),
        "cases like these": _interval(lift.cases_like_these),
        "corrected": lift.corrected,
        "confidence": lift.confidence,
        "pairs, dropped, cases": [lift.pairs, lift.dropped, lift.cases],
    }


def _decision(decision: Decision) -> list[Any]:
    return [decision.reason, decision.verdict, decision.claim, decision.clears]


def _rate(rate: TriggerRate | None) -> list[Any] | None:
    return None if rate is None else [rate.rate, _interval(rate.interval), rate.prompts, rate.answers]


def _interval(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def trusting(run: Path) -> dict[str, str]:
    """The variable of a person who trusts a run that was recorded elsewhere."""
    return {"UPSKILL_TRUST": run_digest(run)}
