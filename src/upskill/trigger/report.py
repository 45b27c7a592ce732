"""When a skill is loaded, for people and for programs."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.text import Text

from upskill.core.nouns import Purchase
from upskill.core.nouns.case import Json
from upskill.core.nouns.text import count, shortened
from upskill.core.nouns.trigger import WELL, PromptTally, TriggerPrompt, TriggerRate, TriggerScore
from upskill.report.console import show_table
from upskill.report.next_step import NO_TOOL, NextStep
from upskill.report.wording import dollars, names_by_model

TRIGGER_SCHEMA = "upskill.trigger/1"
_STYLES = {"triggers well": "bright_blue", "does not trigger well": "dark_orange"}
_MOST_WRONG = 5
"""Prompts of each kind that are listed for a model, unless all are asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerResult:
    """Everything that was concluded about when a skill is loaded."""

    skill: str
    skill_digest: str
    description: str
    prompts: tuple[TriggerPrompt, ...]
    """The prompts that were asked."""
    repeats: int
    scores: tuple[TriggerScore, ...]
    """One for each model and company, in the order of the models, alone first."""
    bought: Purchase
    interrupted: bool = False
    """Whether a person stopped it: the scores rest on the answers that were there."""
    run: str = ""
    """The run folder."""
    notes: tuple[str, ...] = ()

    @property
    def triggers_well(self) -> bool:
        """Whether every model does, in every company that was measured."""
        return bool(self.scores) and all(score.verdict == "triggers well" for score in self.scores)


def trigger_json(result: TriggerResult) -> dict[str, Json]:
    """The one object of `upskill trigger --json`. Keys are a promise: added, never changed."""
    should = sum(prompt.should_load for prompt in result.prompts)
    return {
        "schema": TRIGGER_SCHEMA,
        "skill": {"name": result.skill, "digest": result.skill_digest, "description": result.description},
        "prompts": {"should_load": should, "near_miss": len(result.prompts) - should},
        "repeats": result.repeats,
        "threshold": WELL,
        "scores": [_score_json(score) for score in result.scores],
        "triggers_well": result.triggers_well,
        "sentence": trigger_sentence(result),
        "bought": asdict(result.bought),
        "interrupted": result.interrupted,
        "run": result.run,
        "notes": list(result.notes),
    }


def _score_json(score: TriggerScore) -> Json:
    return {
        "model": score.student,
        "harness": score.harness,
        "company": score.company,
        "others": score.others,
        "recall": None if score.recall is None else score.recall.as_json(),
        "near_miss": None if score.near_miss is None else score.near_miss.as_json(),
        "precision": None if score.precision is None else score.precision.as_json(),
        "j": score.j,
        "interval": None if score.interval is None else [score.interval.low, score.interval.high],
        "confidence": round(score.confidence, 6),
        "verdict": score.verdict,
        "errored": score.errored,
        "prompts": [_tally_json(tally) for tally in score.tallies],
    }


def _tally_json(tally: PromptTally) -> Json:
    prompt = tally.prompt
    return {
        "id": prompt.id,
        "prompt": prompt.prompt,
        "should_load": prompt.should_load,
        "use": prompt.use,
        "family": prompt.family,
        "answers": tally.answers,
        "loads": tally.loads,
        "errored": tally.errored,
        "others": list(tally.others),
    }


def trigger_sentence(result: TriggerResult) -> str:
    """What came out, in one line: each model and company with its verdict."""
    said = "; ".join(f"{_who(score, result)}: {score.verdict}{_j_words(score)}" for score in result.scores)
    return f"{result.skill}: {said}" if said else f"{result.skill}: nothing was measured"


def _who(score: TriggerScore, result: TriggerResult) -> str:
    several = len({one.company for one in result.scores}) > 1
    name = _names(result)[score.student]
    return f"{name} {_company(score)}" if several else name


def _names(result: TriggerResult) -> dict[str, str]:
    return names_by_model(list(dict.fromkeys(score.student for score in result.scores)))


def _j_words(score: TriggerScore) -> str:
    if score.j is None or score.interval is None:
        return ""
    ends = f"{score.interval.low:.2f} to {score.interval.high:.2f}"
    return f" (J {score.j:.2f}, {_confidence(score)} {ends})"


def _confidence(score: TriggerScore) -> str:
    return f"{round(score.confidence * 100, 1):g}% CI"


def _company(score: TriggerScore) -> str:
    if score.company == "alone":
        return "alone"
    return "among others" if score.others is None else f"among {count(score.others, 'other')}"


def show_triggering(result: TriggerResult, console: Console, *, verbose: bool = False) -> None:
    """A row for each model and company, then the prompts that went wrong, then what it rests on."""
    intervals = ", ".join(dict.fromkeys(map(_confidence, result.scores))) or "95% CI"
    heads = ("model", "offered", "recall", "near misses", "precision", f"J ({intervals})", "verdict")
    names, rows = _names(result), []
    for score in result.scores:
        j = "-"
        if score.j is not None and score.interval is not None:
            j = f"{score.j:.2f} ({score.interval.low:.2f} to {score.interval.high:.2f})"
        rates = map(rate_words, (score.recall, score.near_miss, score.precision))
        cells = map(Text, (names[score.student], _company(score), *rates, j))
        rows.append([*cells, Text(score.verdict, style=_STYLES.get(score.verdict, "dim"))])
    show_table(heads, rows, console)
    for line in (*wrong_lines(result, most=None if verbose else _MOST_WRONG), *_method_lines(result)):
        console.print(Text(line), soft_wrap=True)


def rate_words(rate: TriggerRate | None) -> str:
    """`92% (74-98)`; a dash where nothing was measured."""
    if rate is None:
        return "-"
    return f"{rate.rate:.0%} ({100 * rate.interval.low:.0f}-{100 * rate.interval.high:.0f})"


def wrong_lines(result: TriggerResult, *, most: int | None) -> Iterator[str]:
    """For each model and company, the prompts that did not load the skill and those that loaded it wrongly."""
    for score in result.scores:
        for kind, title in ((True, "should have loaded it and did not"), (False, "loaded it and should not have")):
            wrong = [tally for tally in score.wrong if tally.prompt.should_load is kind]
            if not wrong:
                continue
            yield ""
            yield f"{_who(score, result)}: {count(len(wrong), 'prompt')} {title}"
            for tally in wrong[:most]:
                yield f"  {_wrong_words(tally, result.repeats)}"
            if most is not None and len(wrong) > most:
                yield f"  … {len(wrong) - most} more; -v shows all"


def _wrong_words(tally: PromptTally, repeats: int) -> str:
    often = f" ({tally.wrong} of {tally.answers})" if repeats > 1 else ""
    instead = f"; loaded {', '.join(tally.others[:3])}" if tally.others else ""
    return f"{tally.prompt.id}: {shortened(tally.prompt.prompt, 100)}{often}{instead}"


def _method_lines(result: TriggerResult) -> Iterator[str]:
    should = sum(prompt.should_load for prompt in result.prompts)
    yield ""
    yield (
        f"{count(should, 'prompt')} that should load the skill, "
        f"{count(len(result.prompts) - should, 'near miss', 'near misses')}; "
        f"J is recall minus the load rate on near misses, and its CI must lie above {WELL:g}"
    )


def _has_too_few_prompts(result: TriggerResult) -> bool:
    """Whether there is no verdict although every answer was measured: asking again would not change that."""
    invalid = [score for score in result.scores if score.verdict == "invalid"]
    return bool(invalid) and all(tally.answers and not tally.errored for one in invalid for tally in one.tallies)


def spent_line(result: TriggerResult) -> str:
    """What was spent, and what came from the cache."""
    bought = result.bought
    cached = f", {count(bought.reused, 'answer')} from the cache" if bought.reused else ""
    return f"spent: {dollars(bought.cost)}, {count(bought.calls, 'call')}, {count(bought.tokens, 'token')}{cached}"


def step_after_trigger(result: TriggerResult, *, repeat: str, revise: str, write: str, prompted: str) -> NextStep:
    """The one command for what was found.

    `repeat` measures again, `revise` lets a teacher work on the description, `write` lets one write prompts, and
    `prompted` measures the skill in the prompt.
    """
    if not result.interrupted and _has_too_few_prompts(result):
        return NextStep("let a teacher write more prompts", write)
    if result.interrupted or any(score.verdict == "invalid" for score in result.scores):
        return NextStep("ask again what is missing", repeat)
    if result.triggers_well:
        return NextStep("check it in every build", f"{repeat} --require")
    if any(score.no_tool_called for score in result.scores):
        return NextStep(NO_TOOL, prompted)
    if all(score.verdict != "does not trigger well" and (score.j or 0) > WELL for score in result.scores):
        return NextStep("let a teacher write more prompts, since these cannot decide it", write)
    return NextStep("let the teacher revise the description", revise)
