"""Lets a teacher write cases or trigger prompts for a skill, outside of a run: metered, without secrets, and with what
an interrupted command had bought.

For `upskill cases write` and `upskill trigger --write`, and for skills that are to be measured and have none."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path

from upskill.core.cases.family import family_notes
from upskill.core.cases.files import write_case_file
from upskill.core.cases.prompts import triggers_path, write_trigger_file
from upskill.core.cases.skill_meta import write_cases_into_meta
from upskill.core.cases.split import CaseCounts, read_counts
from upskill.core.models import Ask, Endpoint, MeteredClient, NoAnswer, ServedModel, Teacher, probe
from upskill.core.models.endpoint import student_endpoint, untyped_lines
from upskill.core.models.handoff import Side
from upskill.core.models.spending import MOST_OUTPUT_TOKENS
from upskill.core.models.teacher_answers import REPAIRS, TeacherUnusable
from upskill.core.models.teachers import case_writer_for
from upskill.core.nouns import Cap, Purchase, Skill
from upskill.core.nouns.case import Json
from upskill.core.nouns.skill import META_FILE, SKILL_FILE
from upskill.core.nouns.text import count as counted
from upskill.core.progress import SILENT, PricedPlan, Progress
from upskill.core.runs.handing_off import asking_in, handoff_folder, handoff_for
from upskill.core.runs.journal import answer_cache
from upskill.core.runs.records import now
from upskill.core.settings import ResolvedSettings, Settings
from upskill.core.skills.skill_files import require_inside
from upskill.core.skills.skills import read_skill
from upskill.core.trials.judge import identity
from upskill.errors import EngineError, ProviderError, UsageError
from upskill.evaluation.cases import find_cases
from upskill.evaluation.estimate import ASK_ABOVE_DOLLARS, Estimate, client_for, purchase_of
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.prepare import students_named
from upskill.generation.case_writing import (
    WrittenCases,
    examining,
    possible_counts,
    write_cases,
    write_earlier_and_later,
)
from upskill.generation.estimate import TeachingWorkload, estimate_teaching
from upskill.generation.facts import new_plan, plan_calls
from upskill.generation.gathering import gather
from upskill.generation.material import Material
from upskill.generation.teaching import ask_function
from upskill.generation.trigger_prompts import (
    MOST_LABELLED,
    REWRITES,
    TriggerCounts,
    WrittenPrompts,
    write_trigger_prompts,
)
from upskill.redaction import redactor_from
from upskill.sandbox import Backend

PROMPT_TOKENS = 70
"""One trigger prompt with its reason."""
LABEL_TOKENS = 15
QUESTION_TOKENS = 700
"""Instructions around the skill."""
TOKENS_PER_SECOND = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class CasesOrder:
    """What a person asks `cases write` for."""

    skill: Path
    counts: CaseCounts = CaseCounts()  # noqa: RUF009 - frozen
    sources: tuple[str, ...] = ()
    """Recordings and documents to write from, besides the skill."""
    output: Path | None = None
    """A case file to write instead of the skill's own."""
    replace: bool = False
    """Whether existing cases may be replaced."""
    sandbox: Backend = "bubblewrap"

    @property
    def wanted(self) -> str:
        """How much, in words."""
        return f"{self.counts.total} cases"


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggersOrder:
    """What a person asks `upskill trigger --write` for."""

    skill: Path
    counts: TriggerCounts = TriggerCounts()  # noqa: RUF009 - frozen
    output: Path | None = None
    """A file to write instead of the skill's own."""

    @property
    def wanted(self) -> str:
        """How much, in words."""
        return f"{2 * self.counts.of_a_kind} trigger prompts"


WritingOrder = CasesOrder | TriggersOrder


@dataclass(frozen=True, kw_only=True, slots=True)
class WritingPlan:
    """What will be written, by which model and at what price; nothing was spent yet."""

    order: WritingOrder
    skill: Skill
    folder: Path
    target: Path
    writer: Endpoint
    served: ServedModel
    chosen: bool
    """Whether the writer was chosen because its key is set, not named."""
    estimate: Estimate
    material: Material
    notes: tuple[str, ...] = ()


def plan_writing(
    order: WritingOrder,
    settings: Settings,
    *,
    announce: Callable[[str], None] = lambda _: None,
    progress: Progress = SILENT,
    needs_key: bool = True,
) -> WritingPlan:
    """Plan who writes, from what, and at what price. Raises, before anything is spent, where it cannot be done.

    `announce` gets a line on a server or an alias that was not typed, before anything is sent. Without `needs_key` a
    missing key is a note: the plan is shown and not run.
    """
    cases = isinstance(order, CasesOrder)
    folder = order.skill.parent if order.skill.name == SKILL_FILE else order.skill
    skill = read_skill(folder)
    target = order.output or (folder / META_FILE if cases else triggers_path(folder))
    _refuse_existing(order, folder, skill, target)
    if not os.access(folder if order.output is None else target.parent, os.W_OK):
        hint = (
            "name a case file in another folder with -o FILE" if cases else "name a file in another folder with -t FILE"
        )
        raise UsageError(f"{target}: cannot be written", hint=hint)
    writer = case_writer_for(settings, needs_key=needs_key)
    if writer.is_handoff:
        handoff_folder(writer, run=None)  # raises where none was named
    for line in untyped_lines(f"the {'case writer' if cases else 'writer of trigger prompts'} is", [writer]):
        announce(line)
    served = probe(writer, needs_key=needs_key)
    material = Material(task="")
    notes: tuple[str, ...] = ()
    if isinstance(order, CasesOrder):
        material = gather(None, sources=(str(folder), *order.sources), folder=Path.cwd(), progress=progress)
        notes = (*material.notes, *served.notes)
        order = replace(order, counts=possible_counts(material, order.counts))
        if not order.counts.total:
            raise UsageError(
                f"{order.sources[0]}: too few later sessions, and only held-out cases were asked for",
                hint="ask for practice cases too, for example --cases 8+0+0, or run `upskill mine` again later",
            )
        estimate = _cases_estimate(order, material, writer, served, settings)
    else:
        estimate = _triggers_estimate(skill, order.counts, writer)
    return WritingPlan(
        order=order,
        skill=skill,
        folder=folder,
        target=target,
        writer=writer,
        served=served,
        chosen=settings.teacher is None and settings.test_gen_model is None,
        estimate=estimate,
        material=material,
        notes=notes,
    )


def _refuse_existing(order: WritingOrder, folder: Path, skill: Skill, target: Path) -> None:
    """Raise where something is there that may not be replaced. Results rest on prompts, which are never replaced."""
    if isinstance(order, TriggersOrder):
        if order.output is None:
            require_inside(folder, target)
        if target.exists():
            raise UsageError(f"{target}: already exists", hint="remove it first, or name another file with -t FILE")
    elif order.replace:
        return
    elif order.output is not None:
        if order.output.exists():
            raise UsageError(f"{order.output}: already exists", hint="name another file, or add --replace")
    elif (found := find_cases(folder, None, judge=True)) is not None:
        raise UsageError(
            f"{skill.name}: already has {len(found.cases)} cases, in {found.path}",
            hint="write new cases to a file with -o FILE, or replace these with --replace",
        )


def _cases_estimate(
    order: CasesOrder, material: Material, writer: Endpoint, served: ServedModel, settings: Settings
) -> Estimate:
    teaching = TeachingWorkload(
        material=material,
        counts=order.counts,
        cases_to_write=order.counts.total,
        drafts=False,
        lessons=0,
        revisions=0,
        plan=plan_calls(material, window=served.window) if material.later is None else 0,
        evaluates=False,
    )
    return estimate_teaching(teaching, teacher=writer, writer=writer, students=(), settings=settings).teacher


def _triggers_estimate(skill: Skill, counts: TriggerCounts, writer: Endpoint) -> Estimate:
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


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenForSkill:
    """The cases or the trigger prompts that were written for a skill."""

    plan: WritingPlan
    written: WrittenCases | WrittenPrompts
    bought: Purchase

    @property
    def lines(self) -> tuple[str, ...]:
        """What prompts there are, and how many were dropped, for a person."""
        if isinstance(self.written, WrittenCases):
            return ()
        prompts, written = self.written.prompts, self.written
        should = sum(prompt.should_load for prompt in prompts)
        held_out = sum(prompt.use == "held-out" for prompt in prompts)
        got = f"{counted(should, 'prompt')} that should load the skill, {len(prompts) - should} near misses"
        dropped = f"dropped: {written.disputed} on whose label teacher and review disagree, {written.unusable} unusable"
        return f"{got}; {held_out} of them held out", *((dropped,) if written.dropped else ())

    @property
    def notes(self) -> tuple[str, ...]:
        """What was dropped, whether that left too few cases, and what else is odd, in a line each."""
        dropped = tuple(f"dropped: {line}" for line in self.written.dropped)
        if isinstance(self.written, WrittenPrompts) or isinstance(self.plan.order, TriggersOrder):
            return dropped
        got, wanted = len(self.written.cases), self.plan.order.counts.total
        too_few = (f"got {got} of {wanted} cases",) if got < wanted else ()
        return (*dropped, *too_few, *family_notes(self.written.cases), *self.plan.notes)

    def as_json(self) -> dict[str, Json]:
        """The one object of `--json`. The cases themselves are in the file that it names."""
        plan, bought = self.plan, self.bought
        of: dict[str, Json] = {
            "skill": {"name": plan.skill.name, "digest": plan.skill.digest},
            "path": str(plan.target),
            "writer": plan.writer.name,
        }
        if isinstance(self.written, WrittenPrompts):
            return {
                "schema": "upskill.written_triggers/1",
                **of,
                "prompts": [
                    {"id": one.id, "prompt": one.prompt, "should_load": one.should_load, "use": one.use, "why": one.why}
                    for one in self.written.prompts
                ],
                "disputed": self.written.disputed,
                "dropped": list(self.written.dropped),
                "bought": asdict(bought),
            }
        return {
            "schema": "upskill.written_cases/1",
            **of,
            "cases": [
                {
                    "id": case.id,
                    "use": case.use,
                    "wording": case.extra.get("wording"),
                    "topic": case.extra.get("topic"),
                    "family": case.family,
                    "checks": [check.kind for check in case.checks],
                }
                for case in self.written.cases
            ],
            "dropped": list(self.written.dropped),
            "spent": {"calls": bought.calls, "tokens": bought.tokens, "cost": bought.cost},
            "notes": list(plan.notes),
        }


def write_for_skill(
    order: WritingOrder,
    *,
    settings: ResolvedSettings,
    progress: Progress = SILENT,
    confirm: Callable[[PricedPlan], bool] = lambda _: True,
    client: MeteredClient | None = None,
) -> WrittenForSkill:
    """Let the teacher write for a skill, and save it with the skill. Nothing is saved unless all is done.

    `client` is that of the measurement it is written for: one cap holds for both.
    """
    plan = plan_writing(order, settings.values, announce=progress.announce, progress=progress)
    why = " (the strongest with a key)" if plan.chosen else ""
    progress.note(f"{plan.writer.name}{why} writes {plan.order.wanted}; {plan.estimate.words}")
    if (plan.estimate.price_at_most or 0.0) > ASK_ABOVE_DOLLARS and not confirm(plan.estimate):
        raise UsageError("nothing was run, nothing was spent")
    client = client or client_for(settings.values)
    with _asking(plan, client=client, settings=settings.values, progress=progress) as ask:
        written: WrittenCases | WrittenPrompts
        if isinstance(plan.order, CasesOrder):
            written = _write_cases(plan.order, plan, ask, progress)
        else:
            clean = redactor_from(os.environ).clean
            written = write_trigger_prompts(plan.skill, ask, counts=plan.order.counts, progress=progress, clean=clean)
        _save(plan, written)
    return WrittenForSkill(plan=plan, written=written, bought=purchase_of(client.spent))


def _write_cases(order: CasesOrder, plan: WritingPlan, ask: Ask, progress: Progress) -> WrittenCases:
    window = plan.served.window
    examine, programs = examining(plan.skill, backend=order.sandbox, progress=progress)
    write = partial(
        write_cases,
        ask=ask,
        examine=examine,
        progress=progress,
        clean=redactor_from(os.environ).clean,
        window=window,
        programs=programs,
    )
    if plan.material.later is not None:
        return write_earlier_and_later(write, plan.material, plan.material.later, order.counts, ())
    facts = new_plan(plan.material, ask, counts=order.counts, window=window, progress=progress)
    if facts is not None:
        progress.note(str(facts))
    return write(plan.material, counts=order.counts, plan=facts)


def _save(plan: WritingPlan, written: WrittenCases | WrittenPrompts) -> None:
    """Raises where another process wrote some meanwhile that may not be replaced."""
    order = plan.order
    _refuse_existing(order, plan.folder, plan.skill, plan.target)
    by: dict[str, Json] = {"model": plan.writer.model, "at": now()}
    if isinstance(written, WrittenPrompts):
        by |= {"skill_digest": plan.skill.digest, "disputed": written.disputed, "unusable": written.unusable}
        write_trigger_file(plan.target, written.prompts, written_by=by)
    elif order.output is not None:
        write_case_file(order.output, written.cases)
    else:
        by |= {"wanted": str(order.counts), "skill_digest": plan.skill.digest}
        write_cases_into_meta(plan.folder, written.cases, written_by=by)


@contextmanager
def _asking(plan: WritingPlan, *, client: MeteredClient, settings: Settings, progress: Progress) -> Iterator[Ask]:
    """How the writer is asked, as long as the block lasts. What an interrupted command had bought is not bought again.

    A writer that does not answer raises an error that says that nothing was saved.
    """
    endpoint = plan.writer
    what = "case" if isinstance(plan.order, CasesOrder) else "trigger prompt"
    purpose = {
        "writer": identity(endpoint) or "",
        "skill": plan.skill.digest,
        "folder": str(plan.folder.resolve()),
        what: str(plan.order.counts),
    }
    handoff = handoff_for(endpoint, run=None, report=progress.note)
    asked_in: list[tuple[Path, Side]] = [] if handoff is None else [(handoff.folder, "cases")]
    # Answers of a script cost nothing and are not cached.
    age = None if endpoint.is_scripted or not settings.store else timedelta(days=settings.store_days)
    with answer_cache(purpose, age_limit=age) as cache, asking_in(asked_in):
        if bought := len(cache.journal.all()):
            progress.note(f"{counted(bought, 'answer')} of an interrupted run will be used again")
        teacher = Teacher(client, endpoint, window=plan.served.window, handoff=handoff)
        try:
            yield ask_function(teacher, cache.journal, redactor_from(os.environ))
        except NoAnswer as error:
            raise _unanswered(error, endpoint, client.exhausted, what=what) from None
        except TeacherUnusable:
            cache.drop()  # else the same unusable answer would be found again
            raise
        cache.drop()  # what was written is saved


def _unanswered(error: NoAnswer, writer: Endpoint, cap: Cap | None, *, what: str) -> ProviderError | EngineError:
    if error.fault == "budget":
        dollars = cap is not None and cap.kind == "dollars"
        how = ", for example --max-cost 10" if dollars else "; `upskill settings` shows where it is set"
        return ProviderError(f"no {what} was saved: {error}", hint=f"raise the cap{how}")
    if error.fault == "crash":
        return EngineError(f"no {what} was saved: {error}")
    return ProviderError(f"no {what} was saved: {writer.name} did not answer: {error}")


def write_missing_cases(
    order: EvaluationOrder,
    *,
    settings: ResolvedSettings,
    progress: Progress,
    confirm: Callable[[PricedPlan], bool],
    client: MeteredClient,
) -> None:
    """Let the teacher write the cases of a skill that is to be evaluated and has none, and save them with it."""
    hint = "name a case file with -t FILE, or let a teacher write cases with `upskill cases write SKILL -m MODEL`"
    _require_models(order.skill, settings.values, what="cases", hint=hint, progress=progress)
    # Negative cases do not count in an evaluation, so none are bought for one.
    counts = replace(read_counts(settings.values.cases), negative=0)
    wanted = CasesOrder(skill=order.skill, counts=counts, sandbox=order.sandbox)
    found = write_for_skill(wanted, settings=settings, progress=progress, confirm=confirm, client=client)
    assert isinstance(found.written, WrittenCases)
    for note in found.notes:
        progress.note(f"note: {note}")
    progress.note(f"{len(found.written.cases)} cases saved to {found.plan.target}; later evaluations use them")


def write_missing_triggers(
    skill: Path,
    *,
    settings: ResolvedSettings,
    progress: Progress,
    confirm: Callable[[PricedPlan], bool],
    client: MeteredClient,
) -> None:
    """Let the teacher write the prompts of a skill that is to be measured and has none, and save them with it."""
    hint = "name a file with -t FILE, or a teacher that writes them: UPSKILL_TEST_GEN_MODEL=MODEL"
    _require_models(skill, settings.values, what="trigger prompts", hint=hint, progress=progress)
    wanted = TriggersOrder(skill=skill)
    found = write_for_skill(wanted, settings=settings, progress=progress, confirm=confirm, client=client)
    for line in found.lines:
        progress.note(line)
    progress.note(f"saved to {found.plan.target}; later measurements use them")


def _require_models(skill: Path, settings: Settings, *, what: str, hint: str, progress: Progress) -> None:
    """Raise unless there is a writer and every model to be measured answers: nothing is bought for one that does not.

    `what` is what the skill lacks, such as "cases"; `hint` is for who has no writer.
    """
    students = [student_endpoint(name, settings) for name in students_named(settings)]
    try:
        case_writer_for(settings)
    except (ProviderError, UsageError) as error:
        name = read_skill(skill).name
        raise UsageError(
            f"{name}: there are no {what}, and no teacher to write them: {error.message}", hint=hint
        ) from None
    for line in untyped_lines("models are", students):
        progress.announce(line)
    for student in students:
        probe(student)
