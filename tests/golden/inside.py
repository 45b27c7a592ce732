"""The only imports of internal modules in this folder: what no command prints in full.

A module that moves is named here once. What each function takes and gives is plain data, so that values may be renamed.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from upskill.core.nouns import (
    Arm,
    Case,
    CheckResult,
    Errored,
    Grade,
    Interval,
    Lift,
    Scored,
    Student,
    Trial,
    TrialPlan,
    Usage,
)
from upskill.core.nouns.look import LookTerms, RemovedCase
from upskill.core.nouns.plan import Design
from upskill.core.nouns.trigger import PromptTally, TriggerPrompt, TriggerRate
from upskill.core.runs.own_runs import run_digest
from upskill.core.statistics import GATE_REPEATS, detectable_lift, level_after, measure_tokens, most_repeats
from upskill.core.statistics.triggering import score_triggering
from upskill.core.trials.schedule import Schedule
from upskill.evaluation.conclude import conclude
from upskill.redaction import redactor_from, secrets_in

Row = Mapping[str, Any]
"""A pair: `case`, `repeat`, `passed`, `against` (`None` where that answer errored); also `family`, `tokens`, `lost`."""
_CHECKED = {passed: Grade(results=(CheckResult(kind="contains", passed=passed, saw=""),)) for passed in (True, False)}
_STUDENT = Student(name="any", model="any")


def evaluated(
    rows: Sequence[Row], *, design: Design, min_lift: float | None, helped: Sequence[bool], removed: Sequence[Row]
) -> dict[str, Any]:
    """What a design asks for of these rows, after earlier looks, and what is concluded; later repeats are the same."""
    answers = {(row["case"], row["repeat"] + 1): row for row in rows}
    rounds = max(repeat for _, repeat in answers)
    families = {row["case"]: row.get("family") for row in rows}
    plan = TrialPlan(
        cases=tuple(Case(id=case, prompt="", checks=(), family=family) for case, family in sorted(families.items())),
        students=(_STUDENT,),
        arms=("previous" if design == "gate" else "baseline", "with_skill"),
        repeats={"fixed": rounds, "two looks": most_repeats(len(families)), "gate": GATE_REPEATS}[design],
        design=design,
    )
    terms = LookTerms(
        level=level_after(helped),
        removed=tuple(
            RemovedCase(key=row["case"], pairs=row["pairs"], passed=row["passed"], passed_against=row["against"])
            for row in removed
        ),
    )
    schedule = Schedule(plan, terms=terms)
    trials: list[Trial] = []
    while (turn := schedule.take()) is not None:
        row = answers[turn.case.id, (turn.repeat - 1) % rounds + 1]
        pair = {arm: _trial(row, arm, turn.repeat) for arm in plan.arms}
        trials += pair.values()
        schedule.ended(turn, pair)
    report = conclude(_STUDENT, plan, schedule, trials, min_lift=min_lift, terms=terms)
    counted = [trial for trial in trials if schedule.counts(trial)]
    tokens = measure_tokens(counted, arm="with_skill", against=plan.arms[0], families=plan.families)
    return {
        "asked": len(trials),
        "end": report.end,
        "verdict": report.verdict,
        "claim": report.claim,
        "clears": report.clears,
        "sentence": report.sentence,
        "broken, suspected, unguarded": [len(report.broken), len(report.suspected), len(report.unguarded)],
        "lift": _lift(report.lifts[0]) if report.lifts else None,
        "tokens": tokens and [tokens.typical, _interval(tokens.interval), tokens.total],
    }


def levels(helped: Sequence[bool]) -> float:
    """The level of the next look, from whether each earlier one helped."""
    return level_after(helped)


def detectable(units: int) -> float | None:
    """The lift on new cases that so many cases, or families, can detect."""
    return detectable_lift(units)


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


def _trial(row: Row, arm: Arm, repeat: int) -> Trial:
    place = 0 if arm == "with_skill" else 1
    passed = (row["passed"], row["against"])[place]
    outcome = (
        Errored(fault="provider", message="") if passed is None else Scored(end="answered", grade=_CHECKED[passed])
    )
    tokens = row.get("tokens")
    return Trial(
        id=f"{row['case']}/{arm}/{repeat}",
        student="any",
        case_id=row["case"],
        arm=arm,
        repeat=repeat,
        outcome=outcome,
        kept_digest=row["answers"][place],
        lost=int(row["lost"][place]),
        calls=1,
        usage=Usage() if tokens is None else Usage(input_tokens=tokens[place], output_tokens=0),
    )


def _lift(lift: Lift) -> dict[str, Any]:
    return {
        "mean": lift.mean,
        "rate": lift.rate,
        "rate against": lift.rate_against,
        "interval": _interval(lift.interval),
        "about": lift.about,
        "confidence": lift.confidence,
        "pairs, dropped, cases, units, better, worse": [
            *(lift.pairs, lift.dropped, lift.cases, lift.units, lift.better, lift.worse)
        ],
    }


def _rate(rate: TriggerRate | None) -> list[Any] | None:
    return None if rate is None else [rate.rate, _interval(rate.interval), rate.prompts, rate.answers]


def _interval(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def trusting(run: Path) -> dict[str, str]:
    """The variable of a person who trusts a run that was recorded elsewhere."""
    return {"UPSKILL_TRUST": run_digest(run)}
