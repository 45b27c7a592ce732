"""Lets a teacher write cases: for `upskill cases write`, for `generate`, and for evaluations of skills without."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from upskill import checks, storage
from upskill.domain import Case, Purchase, Qualification, Skill, estimate_tokens
from upskill.domain.case import Json
from upskill.domain.family import family_notes
from upskill.domain.progress import SILENT, Progress
from upskill.domain.skill import META_FILE, SKILL_FILE
from upskill.domain.student_profile import CountTokens, StudentProfile
from upskill.errors import UsageError
from upskill.models import Ask, MeteredClient
from upskill.redaction import redactor_from
from upskill.sandbox import Backend, SandboxUnavailable, require_sandbox
from upskill.settings import ResolvedSettings, Settings
from upskill.storage.runs import now
from upskill.storage.skill_meta import write_cases_into_meta
from upskill.teaching.case_split import CaseCounts, read_counts
from upskill.teaching.case_writing import WrittenCases, write_cases
from upskill.teaching.fact_plan import FactPlan
from upskill.teaching.fact_questions import plan_calls
from upskill.teaching.material import Material
from upskill.workflows.evaluating.check_cases import find_cases, qualify_within, slow_cases_note
from upskill.workflows.evaluating.estimate import Estimate
from upskill.workflows.evaluating.judge import identity
from upskill.workflows.evaluating.prepare import EvaluationOrder
from upskill.workflows.evaluating.spending import PricedPlan, client_for, purchase_of
from upskill.workflows.generating.estimate import TeachingWorkload, estimate_teaching
from upskill.workflows.generating.fact_plan import new_plan
from upskill.workflows.generating.material import gather
from upskill.workflows.generating.writer_session import (
    Writer,
    announce_writing,
    find_writer,
    require_models,
    writer_session,
)

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
    skill = storage.read_skill(folder)
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
        storage.write_case_file(order.output, written.cases)
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
