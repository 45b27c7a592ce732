"""A revised description, as people read it and as programs do."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from upskill.domain.case import Json
from upskill.domain.description import DescriptionComparison, DescriptionRevision
from upskill.domain.evaluation import Required
from upskill.domain.generated import GenerateResult
from upskill.domain.text import count, points, shortened
from upskill.domain.trigger import TriggerRate, TriggerScore
from upskill.reporting.decision import decision
from upskill.reporting.glance.names import names_by_model
from upskill.reporting.lines import print_lines
from upskill.reporting.requirements import generate_requirements
from upskill.reporting.result_notes import ResultNote, merged_notes, unmet_notes
from upskill.reporting.terminal import TerminalResult, most_rows
from upskill.reporting.trigger_report import interval_json, rate_json
from upskill.reporting.wording import confidence_interval, spent_on

MOST_REASON = 200
_ROWS = 6
"""Rows that a revised description may take more than an evaluation: both descriptions are shown."""
_WORSE = {"recall": "loads the skill less often where it should", "near misses": "loads the skill on more near misses"}


def score_words(score: TriggerScore) -> str:
    """How one model loads the skill, in a line."""
    errored = f", {count(score.errored, 'errored answer')}" if score.errored else ""
    rates = f"recall {_rate(score.recall)}, loaded on near misses {_rate(score.near_miss)}"
    return f"{score.student}{_company(score.company)}: {rates}{errored}"


def _company(company: str) -> str:
    return " among other skills" if company == "among" else ""


def _rate(rate: TriggerRate | None) -> str:
    return "unknown" if rate is None else f"{round(rate.rate * 100)}%"


def comparison_words(one: DescriptionComparison) -> str:
    """What held-out prompts showed for one model in one company; the subject is the new description."""
    on = f"on {count(len(one.after.tallies), 'held-out prompt')}"
    if one.lift is None or one.verdict == "invalid":
        return f"there is no verdict on the new one, because too many answers errored {on}"
    interval = one.lift.cases_like_these or one.lift.these_cases
    figures = f"{points(one.lift.mean)} points of right decisions ({confidence_interval(one.lift, interval)}) {on}"
    rates = (
        f"recall {_rate(one.before.recall)} → {_rate(one.after.recall)}, "
        f"loaded on near misses {_rate(one.before.near_miss)} → {_rate(one.after.near_miss)}"
    )
    if one.better:
        head = "the new one is better"
    elif one.worse:
        head = f"the new one {' and '.join(_WORSE[kind] for kind in one.worse)}"
    elif one.verdict == "hurts":
        head = "the new one is worse"
    else:
        head = "the new one was not shown to be better"
    return f"{head}: {figures}; {rates}"


def show_described(
    generated: GenerateResult,
    revision: DescriptionRevision,
    console: Console,
    *,
    required: Required | None = None,
    taken: int = 0,
    every_note: bool = False,
) -> None:
    """The decision, both descriptions with their rates, what it took, and where everything is."""
    names = names_by_model(generated.students)
    notes = [*unmet_notes(generate_requirements(generated, required), names)]
    notes += [ResultNote(text=f"note: {line}") for line in merged_notes(generated.notes, names)]
    where: tuple[str, ...] = ()
    if generated.saved is not None:
        where = (f"Saved to {generated.saved}",)
    elif generated.kept is not None:
        where = (f"Revision saved in {generated.kept}",)
    result = TerminalResult(
        head=(Text(decision(generated), style="bold"),),
        facts=tuple(_facts(generated, revision, names)),
        notes=tuple(notes),
        where=where,
        run=generated.run.removeprefix("./"),
    )
    most = None if every_note else _ROWS + most_rows(len(generated.students)) - taken
    print_lines(result.lines(console, most=most), console)


def _facts(generated: GenerateResult, revision: DescriptionRevision, names: dict[str, str]) -> Iterator[str]:
    yield f"old: {revision.before}"
    if revision.after != revision.before:
        yield f"new: {revision.after}"
    for one in revision.held_out:
        who = f"{names.get(one.student, one.student)}{_company(one.company)}"
        lift = "no verdict"
        if one.lift is not None:
            interval = confidence_interval(one.lift, one.lift.cases_like_these or one.lift.these_cases)
            lift = f"{points(one.lift.mean)} points ({interval})"
        yield (
            f"{who}: {lift}; recall {_with_interval(one.before.recall)} → {_with_interval(one.after.recall)}; "
            f"near misses {_with_interval(one.before.near_miss)} → {_with_interval(one.after.near_miss)}"
        )
    learn, held_out = revision.prompts
    attempts = ", ".join(f"{one.right}/{one.answers}" for one in revision.attempts)
    stopped = shortened(generated.refined or "not revised", MOST_REASON)
    yield f"prompts: {learn} practice, {held_out} held-out; right on practice prompts: {attempts}; {stopped}"
    yield f"spent: teacher {spent_on(generated.by_teacher)}, models {spent_on(generated.by_students)}"


def _with_interval(rate: TriggerRate | None) -> str:
    if rate is None:
        return "unknown"
    ends = rate.interval
    return f"{_rate(rate)} ({round(ends.low * 100)} to {round(ends.high * 100)})"


def revision_json(revision: DescriptionRevision | None) -> Json:
    """Plain JSON values; what is unknown is null."""
    if revision is None:
        return None
    learn, held_out = revision.prompts
    return {
        "before": revision.before,
        "after": revision.after,
        "prompts": {"learn": learn, "held_out": held_out},
        "attempts": [
            {
                "number": one.number,
                "description": one.description,
                "right": one.right,
                "answers": one.answers,
                "j": one.j,
                "chosen": one.chosen,
                "draft": one.draft,
                "scores": [_score_json(score) for score in one.scores],
            }
            for one in revision.attempts
        ],
        "held_out": [
            {
                "model": one.student,
                "harness": one.harness,
                "company": one.company,
                "verdict": one.verdict,
                "claim": one.claim,
                "better": one.better,
                "worse": list(one.worse),
                "gain": one.gain,
                "mean": None if one.lift is None else one.lift.mean,
                "interval": None if one.lift is None else interval_json(one.lift.cases_like_these),
                "confidence": None if one.lift is None else one.lift.confidence,
                "sentence": one.sentence,
                "before": _score_json(one.before),
                "after": _score_json(one.after),
            }
            for one in revision.held_out
        ],
    }


def _score_json(score: TriggerScore) -> Json:
    return {
        "model": score.student,
        "company": score.company,
        "verdict": score.verdict,
        "recall": rate_json(score.recall),
        "near_miss": rate_json(score.near_miss),
        "j": score.j,
        "interval": interval_json(score.interval),
        "errored": score.errored,
    }
