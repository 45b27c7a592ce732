"""Lets a teacher write trigger prompts: for `upskill trigger --write`, and for skills without any."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from upskill import storage
from upskill.domain import Purchase, Skill
from upskill.domain.case import Json
from upskill.domain.progress import SILENT, Progress
from upskill.domain.skill import SKILL_FILE
from upskill.domain.text import count
from upskill.domain.trigger import TriggerPrompt
from upskill.errors import ProviderError, UsageError
from upskill.models import Endpoint, MeteredClient, NoAnswer, ServedModel, probe
from upskill.models.endpoint import untyped_lines
from upskill.models.question import MOST_OUTPUT_TOKENS
from upskill.redaction import redactor_from
from upskill.settings import ResolvedSettings, Settings
from upskill.storage.runs import now
from upskill.storage.triggers import triggers_path
from upskill.teaching.answers import REPAIRS, TeacherUnusable
from upskill.teaching.trigger_prompts import MOST_LABELLED, REWRITES, TriggerCounts, write_trigger_prompts
from upskill.workflows.evaluating.estimate import ASK_ABOVE_DOLLARS, Estimate
from upskill.workflows.evaluating.judge import identity
from upskill.workflows.evaluating.prepare import student_endpoint, students_named
from upskill.workflows.evaluating.spending import PricedPlan, client_for, purchase_of
from upskill.workflows.generating.teachers import case_writer_for
from upskill.workflows.generating.write_cases import unanswered
from upskill.workflows.generating.writer_session import writer_session
from upskill.workflows.handoff import handoff_folder

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
    replace: bool = False
    """Whether existing prompts may be replaced."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggersPlan:
    """What will be written, by which model and at what price; nothing was spent yet."""

    order: TriggersOrder
    skill: Skill
    target: Path
    writer: Endpoint
    served: ServedModel
    chosen: bool
    """Whether the writer was chosen because its key is set, not named."""
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


def plan_triggers(
    order: TriggersOrder,
    settings: Settings,
    *,
    announce: Callable[[str], None] = lambda _: None,
    needs_key: bool = True,
) -> TriggersPlan:
    """Plan who writes, and at what price. Raises, before anything is spent, where it cannot be done."""
    folder = order.skill.parent if order.skill.name == SKILL_FILE else order.skill
    skill = storage.read_skill(folder)
    target = order.output or triggers_path(folder)
    _refuse_to_replace(order, target)
    if not os.access(folder if order.output is None else target.parent, os.W_OK):
        raise UsageError(f"{target}: cannot be written", hint="name a file in another folder with -t FILE")
    writer = case_writer_for(settings, needs_key=needs_key)
    if writer.is_handoff:
        handoff_folder(writer, run=None)  # raises where none was named
    for line in untyped_lines("the writer of trigger prompts is", [writer]):
        announce(line)
    served = probe(writer, needs_key=needs_key)
    return TriggersPlan(
        order=order,
        skill=skill,
        target=target,
        writer=writer,
        served=served,
        chosen=settings.teacher is None and settings.test_gen_model is None,
        estimate=_estimate(skill, order.counts, writer),
    )


def _refuse_to_replace(order: TriggersOrder, target: Path) -> None:
    if target.exists() and not order.replace:
        raise UsageError(f"{target}: already exists", hint="replace its prompts with --write --replace")


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
    plan = plan_triggers(order, settings.values, announce=progress.note)
    why = " (the strongest with a key)" if plan.chosen else ""
    wanted = 2 * order.counts.of_a_kind
    progress.note(f"{plan.writer.name}{why} writes {wanted} trigger prompts; {plan.estimate.words}")
    if (plan.estimate.price_at_most or 0.0) > ASK_ABOVE_DOLLARS and not confirm(plan.estimate):
        raise UsageError("nothing was run, nothing was spent")
    client = client or client_for(settings.values)
    session = writer_session(
        plan.writer, plan.served, purpose=_purpose(plan), client=client, settings=settings.values, progress=progress
    )
    with session as writing:
        try:
            written = write_trigger_prompts(
                plan.skill,
                writing.ask,
                counts=order.counts,
                progress=progress,
                clean=redactor_from(os.environ).clean,
            )
        except NoAnswer as error:
            raise unanswered(error, plan.writer, client.exhausted, what="trigger prompt") from None
        except TeacherUnusable:
            writing.cache.drop()  # else the same unusable answer would be found again
            raise
        _refuse_to_replace(order, plan.target)
        by: dict[str, Json] = {
            "model": plan.writer.model,
            "at": now(),
            "skill_digest": plan.skill.digest,
            "disputed": written.disputed,
            "unusable": written.unusable,
        }
        storage.write_trigger_file(plan.target, written.prompts, written_by=by)
        writing.cache.drop()
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
        "writer": identity(plan.writer) or "",
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
    students = [student_endpoint(name, settings.values) for name in students_named(settings.values)]
    try:
        case_writer_for(settings.values)
    except (ProviderError, UsageError) as error:
        name = storage.read_skill(skill).name
        raise UsageError(
            f"{name}: there are no trigger prompts, and no teacher to write them: {error.message}",
            hint="name a file with -t FILE, or a teacher that writes them with --test-gen-model MODEL",
        ) from None
    for student in students:
        probe(student)
    found = triggers_for_skill(
        TriggersOrder(skill=skill), settings=settings, progress=progress, confirm=confirm, client=client
    )
    for line in found.lines:
        progress.note(line)
    progress.note(f"saved to {found.plan.target}; later measurements use them")
