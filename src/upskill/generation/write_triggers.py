"""Lets a teacher write trigger prompts: for `upskill trigger --write`, and for skills without any."""

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from upskill.core.cases.prompts import triggers_path, write_trigger_file
from upskill.core.models import Endpoint, MeteredClient
from upskill.core.models.spending import MOST_OUTPUT_TOKENS
from upskill.core.models.teacher_answers import REPAIRS
from upskill.core.nouns import Purchase, Skill
from upskill.core.nouns.case import Json
from upskill.core.nouns.skill import SKILL_FILE
from upskill.core.nouns.text import count
from upskill.core.nouns.trigger import TriggerPrompt
from upskill.core.progress import SILENT, PricedPlan, Progress
from upskill.core.runs.records import now
from upskill.core.settings import ResolvedSettings, Settings
from upskill.core.skills.skills import read_skill
from upskill.core.trials.judge import identity
from upskill.errors import UsageError
from upskill.evaluation.estimate import Estimate, client_for, purchase_of
from upskill.generation.trigger_prompts import MOST_LABELLED, REWRITES, TriggerCounts, write_trigger_prompts
from upskill.generation.write_cases import (
    Writer,
    announce_writing,
    find_writer,
    require_models,
    writer_session,
)
from upskill.redaction import redactor_from

PROMPT_TOKENS = 70
"""One prompt with its reason."""
LABEL_TOKENS = 15
QUESTION_TOKENS = 700
"""Instructions around the skill."""
TOKENS_PER_SECOND = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggersOrder:
    """What a person asks `upskill trigger --write` for."""

    skill: Path
    counts: TriggerCounts = TriggerCounts()  # noqa: RUF009 - frozen
    output: Path | None = None
    """A file to write instead of the skill's own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggersPlan:
    """What will be written, by which model and at what price; nothing was spent yet."""

    order: TriggersOrder
    skill: Skill
    target: Path
    writer: Writer
    estimate: Estimate


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillTriggers:
    """The trigger prompts that were written for a skill."""

    plan: TriggersPlan
    prompts: tuple[TriggerPrompt, ...]
    disputed: int
    """Prompts that were labelled otherwise than they were meant, and dropped."""
    unusable: int
    dropped: tuple[str, ...]
    bought: Purchase

    @property
    def lines(self) -> tuple[str, ...]:
        """What there is, and what was dropped, for a person."""
        should = sum(prompt.should_load for prompt in self.prompts)
        held_out = sum(prompt.use == "held-out" for prompt in self.prompts)
        got = f"{count(should, 'prompt')} that should load the skill, {len(self.prompts) - should} near misses"
        dropped = f"dropped: {self.disputed} on whose label teacher and review disagree, {self.unusable} unusable"
        return f"{got}; {held_out} of them held out", *((dropped,) if self.dropped else ())

    def as_json(self) -> dict[str, Json]:
        """The one object of `upskill trigger --write --json`."""
        skill = self.plan.skill
        return {
            "schema": "upskill.written_triggers/1",
            "skill": {"name": skill.name, "digest": skill.digest},
            "path": str(self.plan.target),
            "writer": self.plan.writer.endpoint.name,
            "prompts": [
                {"id": one.id, "prompt": one.prompt, "should_load": one.should_load, "use": one.use, "why": one.why}
                for one in self.prompts
            ],
            "disputed": self.disputed,
            "dropped": list(self.dropped),
            "bought": asdict(self.bought),
        }


def plan_triggers(
    order: TriggersOrder,
    settings: Settings,
    *,
    announce: Callable[[str], None] = lambda _: None,
    needs_key: bool = True,
) -> TriggersPlan:
    """Plan who writes, and at what price. Raises, before anything is spent, where it cannot be done."""
    folder = order.skill.parent if order.skill.name == SKILL_FILE else order.skill
    skill = read_skill(folder)
    target = order.output or triggers_path(folder)
    _refuse_existing(target)
    if not os.access(folder if order.output is None else target.parent, os.W_OK):
        raise UsageError(f"{target}: cannot be written", hint="name a file in another folder with -t FILE")
    title = "the writer of trigger prompts"
    writer = find_writer(settings, title=title, announce=announce, needs_key=needs_key)
    return TriggersPlan(
        order=order,
        skill=skill,
        target=target,
        writer=writer,
        estimate=_estimate(skill, order.counts, writer.endpoint),
    )


def _refuse_existing(target: Path) -> None:
    """Prompts are never replaced: earlier results rest on them."""
    if target.exists():
        raise UsageError(f"{target}: already exists", hint="remove it first, or name another file with -t FILE")


def _estimate(skill: Skill, counts: TriggerCounts, writer: Endpoint) -> Estimate:
    """Both kinds are asked for, and all prompts labelled; at most that is done again twice, each with repairs."""
    reviews = -(-2 * counts.of_a_kind // MOST_LABELLED)
    calls, most = 2 + reviews, (2 + reviews) * (1 + REWRITES) * (1 + REPAIRS)
    seen = QUESTION_TOKENS + skill.tokens
    written = 2 * counts.of_a_kind * PROMPT_TOKENS
    received = written + 2 * counts.of_a_kind * LABEL_TOKENS
    expected = at_most = None
    if writer.price is not None:
        expected = writer.price.of(input_tokens=calls * seen + written, output_tokens=received)
        longest = writer.price.of(input_tokens=seen + written + MOST_OUTPUT_TOKENS, output_tokens=MOST_OUTPUT_TOKENS)
        at_most = most * longest
    free = writer.is_scripted
    return Estimate(
        calls_expected=calls,
        calls_at_most=most,
        price_expected=expected,
        price_at_most=at_most,
        minutes_expected=0.0 if free else received / TOKENS_PER_SECOND / 60,
        minutes_at_most=0.0 if free else received * (1 + REWRITES) * (1 + REPAIRS) / TOKENS_PER_SECOND / 60,
        unknown=() if writer.price is not None else (writer.name,),
    )


def triggers_for_skill(
    order: TriggersOrder,
    *,
    settings: ResolvedSettings,
    progress: Progress = SILENT,
    confirm: Callable[[PricedPlan], bool] = lambda _: True,
    client: MeteredClient | None = None,
) -> SkillTriggers:
    """Let the teacher write trigger prompts for a skill, and save them with it. Nothing is saved unless all are done.

    `client` is that of the measurement they are written for: one cap holds for both.
    """
    plan = plan_triggers(order, settings.values, announce=progress.announce)
    wanted = f"{2 * order.counts.of_a_kind} trigger prompts"
    announce_writing(plan.writer, plan.estimate, what=wanted, progress=progress, confirm=confirm)
    client = client or client_for(settings.values)
    session = writer_session(
        plan.writer,
        what="trigger prompt",
        purpose=_purpose(plan),
        client=client,
        settings=settings.values,
        progress=progress,
    )
    with session as writing:
        written = write_trigger_prompts(
            plan.skill,
            writing.ask,
            counts=order.counts,
            progress=progress,
            clean=redactor_from(os.environ).clean,
        )
        _refuse_existing(plan.target)
        by: dict[str, Json] = {
            "model": plan.writer.endpoint.model,
            "at": now(),
            "skill_digest": plan.skill.digest,
            "disputed": written.disputed,
            "unusable": written.unusable,
        }
        write_trigger_file(plan.target, written.prompts, written_by=by)
    return SkillTriggers(
        plan=plan,
        prompts=written.prompts,
        disputed=written.disputed,
        unusable=written.unusable,
        dropped=written.dropped,
        bought=purchase_of(client.spent),
    )


def _purpose(plan: TriggersPlan) -> dict[str, str]:
    return {
        "writer": identity(plan.writer.endpoint) or "",
        "skill": plan.skill.digest,
        "folder": str(plan.target.resolve()),
        "triggers": str(plan.order.counts),
    }


def write_missing_triggers(
    skill: Path,
    *,
    settings: ResolvedSettings,
    progress: Progress,
    confirm: Callable[[PricedPlan], bool],
    client: MeteredClient,
) -> None:
    """Let the teacher write the prompts of a skill that is to be measured and has none, and save them with the skill.

    Students are probed first: no prompts are bought for a model that cannot be reached.
    """
    require_models(
        skill,
        settings.values,
        what="trigger prompts",
        hint="name a file with -t FILE, or a teacher that writes them with --test-gen-model MODEL",
        progress=progress,
    )
    found = triggers_for_skill(
        TriggersOrder(skill=skill), settings=settings, progress=progress, confirm=confirm, client=client
    )
    for line in found.lines:
        progress.note(line)
    progress.note(f"saved to {found.plan.target}; later measurements use them")
