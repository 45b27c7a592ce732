"""Lets a teacher write cases: for `upskill cases write`, for `generate`, and for evaluations of skills without.

Outside of a run, a writer is asked metered, without secrets, and with what an interrupted command had bought."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path

from upskill.core import checks
from upskill.core.cases.family import family_notes
from upskill.core.cases.files import write_case_file
from upskill.core.cases.split import CaseCounts, read_counts
from upskill.core.models import Ask, Endpoint, MeteredClient, NoAnswer, ServedModel, Teacher, probe
from upskill.core.models.endpoint import student_endpoint, untyped_lines
from upskill.core.models.handoff import Side
from upskill.core.models.teacher_answers import TeacherUnusable
from upskill.core.nouns import Cap, Case, Purchase, Qualification, Skill, estimate_tokens
from upskill.core.nouns.case import Json
from upskill.core.nouns.skill import META_FILE, SKILL_FILE
from upskill.core.nouns.text import count
from upskill.core.progress import SILENT, PricedPlan, Progress
from upskill.core.runs.journal import answer_cache
from upskill.core.runs.records import now
from upskill.core.settings import ResolvedSettings, Settings
from upskill.core.skills.skill_meta import write_cases_into_meta
from upskill.core.skills.skills import read_skill
from upskill.core.trials.judge import identity
from upskill.errors import EngineError, ProviderError, UsageError
from upskill.evaluation.cases import find_cases, qualify_within, slow_cases_note
from upskill.evaluation.estimate import ASK_ABOVE_DOLLARS, Estimate, client_for, purchase_of
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.prepare import students_named
from upskill.generation.case_writing import WrittenCases, write_cases
from upskill.generation.estimate import TeachingWorkload, estimate_teaching
from upskill.generation.fact_questions import new_plan, plan_calls
from upskill.generation.facts import FactPlan
from upskill.generation.gathering import gather
from upskill.generation.handoff import asking_in, handoff_folder, handoff_for
from upskill.generation.material import Material
from upskill.generation.student import CountTokens, StudentProfile
from upskill.generation.teachers import ask_function, case_writer_for
from upskill.redaction import redactor_from
from upskill.sandbox import Backend, SandboxUnavailable, require_sandbox


@dataclass(frozen=True, kw_only=True, slots=True)
class Writer:
    """The model that writes, and what it is served with."""

    endpoint: Endpoint
    served: ServedModel
    chosen: bool
    """Whether it was chosen because its key is set, not named."""


def find_writer(settings: Settings, *, title: str, announce: Callable[[str], None], needs_key: bool) -> Writer:
    """The model that writes. Raises, before anything is spent, where it cannot be asked.

    `title` is what it is called in the line that `announce` gets, before anything is sent, where its server or alias
    was not typed. Without `needs_key` a missing key is no error: the plan is shown and not run.
    """
    endpoint = case_writer_for(settings, needs_key=needs_key)
    if endpoint.is_handoff:
        handoff_folder(endpoint, run=None)  # raises where none was named
    for line in untyped_lines(f"{title} is", [endpoint]):
        announce(line)
    return Writer(
        endpoint=endpoint,
        served=probe(endpoint, needs_key=needs_key),
        chosen=settings.teacher is None and settings.test_gen_model is None,
    )


def require_models(skill: Path, settings: Settings, *, what: str, hint: str, progress: Progress) -> None:
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


def announce_writing(
    writer: Writer, estimate: Estimate, *, what: str, progress: Progress, confirm: Callable[[PricedPlan], bool]
) -> None:
    """Say who writes what and at which price, and raise where a person does not agree to a high one."""
    why = " (the strongest with a key)" if writer.chosen else ""
    progress.note(f"{writer.endpoint.name}{why} writes {what}; {estimate.words}")
    if (estimate.price_at_most or 0.0) > ASK_ABOVE_DOLLARS and not confirm(estimate):
        raise UsageError("nothing was run, nothing was spent")


@dataclass(frozen=True, kw_only=True, slots=True)
class WriterSession:
    """How the writer is asked, as long as the block lasts."""

    ask: Ask
    window: int | None
    """The writer's, in tokens."""


@contextmanager
def writer_session(
    writer: Writer,
    *,
    what: str,
    purpose: Mapping[str, str],
    client: MeteredClient,
    settings: Settings,
    progress: Progress,
) -> Iterator[WriterSession]:
    """Ask a writer. What an interrupted command with the same purpose had bought is not bought again.

    A writer that does not answer raises an error that says that no `what` was saved.
    """
    endpoint = writer.endpoint
    handoff = handoff_for(endpoint, run=None, report=progress.note)
    asked_in: list[tuple[Path, Side]] = [] if handoff is None else [(handoff.folder, "cases")]
    # Answers of a script cost nothing and are not cached.
    age = None if endpoint.is_scripted or not settings.store else timedelta(days=settings.store_days)
    with answer_cache(purpose, age_limit=age) as cache, asking_in(asked_in):
        if bought := len(cache.journal.all()):
            progress.note(f"{count(bought, 'answer')} of an interrupted run will be used again")
        teacher = Teacher(client, endpoint, window=writer.served.window, handoff=handoff)
        ask = ask_function(teacher, cache.journal, redactor_from(os.environ))
        try:
            yield WriterSession(ask=ask, window=teacher.window)
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


_NO_SKILL = Skill(name="", description="", body="", digest="")
"""Cases are written before there is a skill, so they are checked against an empty one."""


def write_cases_for(
    material: Material,
    ask: Ask,
    *,
    skill: Skill | None,
    counts: CaseCounts,
    backend: Backend | None,
    progress: Progress,
    window: int | None = None,
    plan: FactPlan | None = None,
    profile: StudentProfile | None = None,
    count: CountTokens = estimate_tokens,
    known: Sequence[Case] = (),
) -> WrittenCases:
    """Cases for the material, each qualified. Checks run programs only in a sandbox that confines.

    `window` is the case writer's; `known` are cases that are there already. Raises `TeacherUnusable`, and what `ask`
    raises.
    """
    confined = _confined(backend, progress)
    noted: set[str] = set()

    def examine(cases: Sequence[Case]) -> tuple[Qualification, ...]:
        note = slow_cases_note(cases)
        if confined is not None and note is not None and note not in noted:
            noted.add(note)
            progress.note(note)
        return qualify_within(cases, skill or _NO_SKILL, backend=confined)

    return write_cases(
        material,
        ask,
        counts=counts,
        examine=examine,
        check_problems=partial(checks.check_problems, judge=False),
        offers=checks.offers(),
        progress=progress,
        clean=redactor_from(os.environ).clean,
        window=window,
        programs=confined == "bubblewrap",
        plan=plan,
        profile=profile,
        count=count,
        known=known,
    )


def _confined(backend: Backend | None, progress: Progress) -> Backend | None:
    if backend != "bubblewrap":
        return None
    try:
        require_sandbox(backend)
    except SandboxUnavailable as error:
        progress.note(f"{error.message}; cases are written without checks that run programs")
        return None
    return backend


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


@dataclass(frozen=True, kw_only=True, slots=True)
class WritingPlan:
    """What will be written, by which model and at what price; nothing was spent yet."""

    order: CasesOrder
    skill: Skill
    folder: Path
    target: Path
    material: Material
    writer: Writer
    estimate: Estimate
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillCases:
    """The cases that were written for a skill."""

    plan: WritingPlan
    cases: tuple[Case, ...]
    dropped: tuple[str, ...]
    bought: Purchase

    @property
    def dropped_notes(self) -> tuple[str, ...]:
        """What was dropped, whether that left too few, and what is odd about their families, in a line each."""
        got, wanted = len(self.cases), self.plan.order.counts.total
        too_few = (f"got {got} of {wanted} cases",) if got < wanted else ()
        return (*(f"dropped: {line}" for line in self.dropped), *too_few, *family_notes(self.cases))


def plan_cases(
    order: CasesOrder,
    settings: Settings,
    *,
    announce: Callable[[str], None] = lambda _: None,
    needs_key: bool = True,
) -> WritingPlan:
    """Plan who writes, from what, and at what price. Raises, before anything is spent, where it cannot be done.

    `announce` gets a line on a server or an alias that was not typed, before anything is sent. Without `needs_key` a
    missing key is a note: the plan is shown and not run.
    """
    folder = order.skill.parent if order.skill.name == SKILL_FILE else order.skill
    skill = read_skill(folder)
    target = order.output or folder / META_FILE
    if not order.replace:
        _refuse_to_replace(order, folder, skill)
    if not os.access(target.parent, os.W_OK):
        raise UsageError(f"{target}: cannot be written", hint="name a case file in another folder with -o FILE")
    writer = find_writer(settings, title="the case writer", announce=announce, needs_key=needs_key)
    gathered = gather(None, sources=(str(folder), *order.sources), folder=Path.cwd())
    teaching = TeachingWorkload(
        material=gathered.material,
        counts=order.counts,
        cases_to_write=order.counts.total,
        drafts=False,
        lessons=0,
        revisions=0,
        plan=plan_calls(gathered.material, window=writer.served.window),
        evaluates=False,
    )
    asked = writer.endpoint
    estimate = estimate_teaching(teaching, teacher=asked, writer=asked, students=(), settings=settings)
    return WritingPlan(
        order=order,
        skill=skill,
        folder=folder,
        target=target,
        material=gathered.material,
        writer=writer,
        estimate=estimate.teacher,
        notes=(*gathered.notes, *writer.served.notes),
    )


def _refuse_to_replace(order: CasesOrder, folder: Path, skill: Skill) -> None:
    if order.output is not None:
        if order.output.exists():
            raise UsageError(f"{order.output}: already exists", hint="name another file, or add --replace")
        return
    found = find_cases(folder, None, judge=True)
    if found is not None:
        raise UsageError(
            f"{skill.name}: already has {len(found.cases)} cases, in {found.path}",
            hint="write new cases to a file with -o FILE, or replace these with --replace",
        )


def cases_for_skill(
    order: CasesOrder,
    *,
    settings: ResolvedSettings,
    progress: Progress = SILENT,
    confirm: Callable[[PricedPlan], bool] = lambda _: True,
    client: MeteredClient | None = None,
) -> SkillCases:
    """Let the teacher write cases for a skill, and save them with it. Nothing is saved unless all are done.

    `client` is that of the evaluation they are written for: one cap holds for both.
    """
    plan = plan_cases(order, settings.values, announce=progress.announce)
    wanted = f"{order.counts.total} cases"
    announce_writing(plan.writer, plan.estimate, what=wanted, progress=progress, confirm=confirm)
    client = client or client_for(settings.values)
    session = writer_session(
        plan.writer, what="case", purpose=_purpose(plan), client=client, settings=settings.values, progress=progress
    )
    with session as writing:
        ask, window = writing.ask, writing.window
        facts = new_plan(plan.material, ask, counts=order.counts, window=window, progress=progress)
        if facts is not None:
            progress.note(str(facts))
        written = write_cases_for(
            plan.material,
            ask,
            skill=plan.skill,
            counts=order.counts,
            backend=order.sandbox,
            progress=progress,
            window=window,
            plan=facts,
        )
        _save(plan, written)
    return SkillCases(plan=plan, cases=written.cases, dropped=written.dropped, bought=purchase_of(client.spent))


def _purpose(plan: WritingPlan) -> dict[str, str]:
    return {
        "writer": identity(plan.writer.endpoint) or "",
        "skill": plan.skill.digest,
        "folder": str(plan.folder.resolve()),
        "counts": str(plan.order.counts),
    }


def _save(plan: WritingPlan, written: WrittenCases) -> None:
    """Raises where cases were written by another process meanwhile and may not be replaced."""
    order = plan.order
    if not order.replace:
        _refuse_to_replace(order, plan.folder, plan.skill)
    if order.output is not None:
        write_case_file(order.output, written.cases)
        return
    by: dict[str, Json] = {
        "model": plan.writer.endpoint.model,
        "at": now(),
        "wanted": str(order.counts),
        "skill_digest": plan.skill.digest,
    }
    write_cases_into_meta(plan.folder, written.cases, written_by=by)


def write_missing_cases(
    order: EvaluationOrder,
    *,
    settings: ResolvedSettings,
    progress: Progress,
    confirm: Callable[[PricedPlan], bool],
    client: MeteredClient,
) -> None:
    """Let the teacher write the cases of a skill that is to be evaluated and has none, and save them with the skill.

    Students are probed first: no cases are bought for a model that cannot be reached.
    """
    require_models(
        order.skill,
        settings.values,
        what="cases",
        hint="name a case file with -t FILE, or a teacher that writes cases with --test-gen-model MODEL",
        progress=progress,
    )
    # Negative cases do not count in an evaluation, so none are bought for one.
    counts = replace(read_counts(settings.values.cases), negative=0)
    found = cases_for_skill(
        CasesOrder(skill=order.skill, counts=counts, sandbox=order.sandbox),
        settings=settings,
        progress=progress,
        confirm=confirm,
        client=client,
    )
    for note in (*found.dropped_notes, *found.plan.notes):
        progress.note(f"note: {note}")
    progress.note(f"{len(found.cases)} cases saved to {found.plan.target}; later evaluations use them")
