"""Generate: from a task, recordings or a skill to a skill that is measured, refined and saved with what is known.

Every stage is kept when it ends, every answer of a teacher when it comes, every trial when it ends. Going on with a
run is running the same again: what was bought is found, and only what is missing is bought.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, Protocol

from upskill import checks, storage
from upskill.domain import Case, Trial
from upskill.domain.case import Json
from upskill.domain.generated import Generated
from upskill.errors import EngineError, ProviderError, UpskillError, UsageError
from upskill.models import NotAnswered
from upskill.settings import Resolved
from upskill.storage.draft_folder import read_draft
from upskill.storage.runs import Status, now
from upskill.storage.teaching_runs import TeachingFolder, TeachingRecord, create_teaching_run, read_teaching_run
from upskill.teaching.lessons import lesson_calls
from upskill.teaching.searching import PROPOSALS_PER_REVISION
from upskill.teaching.splitting import CaseCounts, split_cases
from upskill.workflows.course_of_teaching import CourseOfTeaching, cases_by_hand
from upskill.workflows.estimate_teaching import Teaching, TeachingEstimate, estimate_teaching
from upskill.workflows.evaluate import ASK_ABOVE_DOLLARS, ASK_ABOVE_MINUTES
from upskill.workflows.generate_order import (
    GenerateOrder,
    Roles,
    improved_skill,
    order_from,
    order_json,
    roles_for,
    taken_names,
    target_for,
    with_cap,
)
from upskill.workflows.judging import identity
from upskill.workflows.material import Gathered, gather, gathered_text, read_gathered, skill_in
from upskill.workflows.prepare import choose_harness, require_place, student_of
from upskill.workflows.recording import recorded_settings, settings_record, versions

__all__ = ["GenerateOrder", "GeneratePlan", "Listener", "generate", "plan_generate", "resume_generate"]


class Listener(Protocol):
    """Hears how far a `generate` has come."""

    def say(self, line: str) -> None:
        """A line for a person."""

    def planned(self, plan: "GeneratePlan") -> None:
        """Everything was read and checked, and nothing has been spent yet."""

    def begun(self, run: Path) -> None:
        """The run has a folder now, from which it can be gone on with."""

    def measuring(self, trials: int) -> None:
        """So many trials come next, at most."""

    def trial(self, trial: Trial) -> None:
        """A trial has ended."""


class Unheard:
    """A listener that says nothing."""

    def say(self, line: str) -> None:
        """Says nothing."""

    def planned(self, plan: "GeneratePlan") -> None:
        """Says nothing."""

    def begun(self, run: Path) -> None:
        """Says nothing."""

    def measuring(self, trials: int) -> None:
        """Says nothing."""

    def trial(self, trial: Trial) -> None:
        """Says nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GeneratePlan:
    """What will be done, by whom and for how much: for a person to agree to."""

    order: GenerateOrder
    gathered: Gathered
    roles: Roles
    estimate: TeachingEstimate
    own_cases: int
    """Cases that are there already, and need not be written."""

    @property
    def is_much(self) -> bool:
        """Whether a person is asked first."""
        estimate = self.estimate
        return estimate.price_at_most > ASK_ABOVE_DOLLARS or estimate.minutes_expected > ASK_ABOVE_MINUTES

    @property
    def shares(self) -> tuple[str, ...]:
        """Cost and minutes of the teacher and of the students, a line each."""
        estimate = self.estimate
        lines = [f"  teacher: {estimate.teacher.words}"]
        if estimate.students is not None:
            lines.append(f"  students: {estimate.students.words}")
        if estimate.cap is not None:
            lines.append(f"  spending ends at ${estimate.cap:.2f} in all, where prices are known")
        return tuple(lines)

    @property
    def lines(self) -> tuple[str, ...]:
        """Who is asked, and what it can take."""
        roles = self.roles
        why = ", the strongest for which a key is set" if roles.chosen else ""
        teacher = f"Teacher: {roles.teacher.name} ({roles.teacher.how}){why}"
        lines = [teacher]
        if roles.writer != roles.teacher:
            lines.append(f"Cases by: {roles.writer.name} ({roles.writer.how})")
        if self.order.evaluate:
            lines.append("Students: " + ", ".join(f"{one.name} ({one.how})" for one in roles.students))
        lines += self.shares
        if self.gathered.redacted:
            lines.append(f"  {self.gathered.redacted:,} secrets were taken out of the material")
        lines += [f"  note: {note}" for note in (*self.gathered.notes, *roles.teacher_served.notes)]
        return tuple(lines)

    def as_json(self) -> dict[str, Json]:
        """The same for programs."""
        estimate = self.estimate
        return {
            "schema": "upskill.generate-plan/1",
            "task": self.gathered.material.task,
            "teacher": {"name": self.roles.teacher.name, "model": self.roles.teacher.model},
            "case_writer": {"name": self.roles.writer.name, "model": self.roles.writer.model},
            "students": [one.name for one in self.roles.students] if self.order.evaluate else [],
            "cases": str(self.order.counts),
            "teacher_share": estimate.teacher.as_json(),
            "student_share": None if estimate.students is None else estimate.students.as_json(),
            "cap": estimate.cap,
            "notes": list(self.gathered.notes),
        }


def plan_generate(
    order: GenerateOrder,
    *,
    settings: Resolved,
    listener: Listener | None = None,
    piped: BinaryIO | None = None,
) -> GeneratePlan:
    """Read and check everything, and price it. Spends nothing, writes nothing."""
    listener = listener or Unheard()
    settings = with_cap(settings)
    if order.revisions < 0:
        raise UsageError(f"--revisions must be at least 0, not {order.revisions}")
    skill = improved_skill(order)
    target = target_for(order, settings.values, skill=skill)
    if target.in_place and not order.evaluate:
        raise UsageError(
            f"{skill}: a skill is not replaced by one that nobody measured",
            hint="leave out --no-eval, or name another folder for the new one with -o",
        )
    own = _own_cases(order, skill, judge=settings.values.judge is not None or not order.evaluate)
    gathered = gather(
        order.task,
        examples=order.examples,
        sources=order.sources,
        folder=Path.cwd(),
        unseen=None if order.case_file is None else Path(order.case_file),
        say=listener.say,
        piped=piped,
    )
    roles = roles_for(settings, evaluate=order.evaluate)
    writes = _writes_cases(order, gathered, own)
    values = roles.student_settings.values
    harness = choose_harness(values.harness, own)
    if own and order.evaluate:
        require_place(own, harness=harness, backend=order.sandbox, where=str(order.case_file or skill))
    teaching = Teaching(
        material=gathered.material,
        counts=_counts(order, own, writes=writes),
        cases_to_write=order.counts.total if writes else 0,
        drafts=_drafts(order, gathered),
        lessons=lesson_calls(gathered.material, window=roles.teacher_served.window),
        revisions=order.revisions,
        proposals_per_revision=1 if order.effort == "low" else PROPOSALS_PER_REVISION,
        evaluates=order.evaluate,
        with_tools=harness == "agent",
    )
    estimate = estimate_teaching(
        teaching,
        teacher=roles.teacher,
        writer=roles.writer,
        students=[student_of(endpoint, values) for endpoint in roles.students],
        settings=values,
    )
    # Whoever goes on with the run may stand in another folder.
    sources = tuple(str(found.resolve()) if (found := skill_in(one)) else one for one in order.sources)
    order = replace(order, avoid=taken_names(target), target=target, sources=sources)
    return GeneratePlan(
        order=order, gathered=gathered, roles=roles, estimate=estimate, own_cases=0 if writes else len(own)
    )


def generate(
    order: GenerateOrder,
    *,
    settings: Resolved,
    listener: Listener | None = None,
    confirm: Callable[[GeneratePlan], bool] = lambda _: True,
    piped: BinaryIO | None = None,
) -> Generated:
    """Make a skill, or a better one. Raises before any call if it could not succeed."""
    listener = listener or Unheard()
    settings = with_cap(settings)
    plan = plan_generate(order, settings=settings, listener=listener, piped=piped)
    order, gathered, roles = plan.order, plan.gathered, plan.roles
    listener.planned(plan)
    if plan.is_much and not confirm(plan):
        raise UsageError("nothing was run, nothing was spent")
    folder = create_teaching_run(Path(settings.values.runs_dir), about=_about(gathered))
    own = _own_cases(order, gathered.skill_folder, judge=True)
    if gathered.skill_folder is not None and gathered.material.skill is not None:
        previous = folder.keep_previous(gathered.skill_folder, name=gathered.material.skill.name)
        # It may have been edited while a person thought about the price: what is improved is what was set aside.
        gathered = replace(gathered, material=replace(gathered.material, skill=read_draft(previous)))
    if own:
        storage.write_case_file(folder.path / OWN_CASES, own)
    folder.save(MATERIAL, gathered_text(gathered))
    record = _first_record(order, roles, settings, gathered)
    folder.write_record(record)
    return _carry_out(folder, record, order, gathered, roles, settings, listener)


MATERIAL = "material.json"
OWN_CASES = "own-cases.json"
LEAST_OWN_CASES = 4


def resume_generate(run: Path, *, max_cost: float | None = None, listener: Listener | None = None) -> Generated:
    """Go on with a run that was killed, interrupted or stopped, under its own settings. Nothing is bought twice.

    `max_cost` raises the cap; what was spent before counts.
    """
    record = read_teaching_run(run)
    folder = TeachingFolder(path=run)
    order = order_from(record.order)
    settings = recorded_settings(record.settings)
    if max_cost is not None:
        values = replace(settings.values, max_cost=max_cost)
        settings = Resolved(values=values, origins={**settings.origins, "max_cost": "--max-cost"})
        record = replace(record, settings=settings_record(settings))
    text = folder.saved(MATERIAL)
    if text is None:
        raise UsageError(f"{run}: ended before anything was read or spent", hint="start it anew")
    gathered = read_gathered(text, previous=folder.previous, skill_folder=improved_skill(order))
    roles = roles_for(settings, evaluate=order.evaluate)
    if (identity(roles.teacher), identity(roles.writer)) != (record.teacher, record.case_writer):
        raise UsageError(
            f"{run}: cannot be gone on with: its teacher was {record.teacher}, and is {identity(roles.teacher)} now",
            hint="start a new run instead",
        )
    return _carry_out(folder, record, order, gathered, roles, settings, listener or Unheard())


def _carry_out(
    folder: TeachingFolder,
    record: TeachingRecord,
    order: GenerateOrder,
    gathered: Gathered,
    roles: Roles,
    settings: Resolved,
    listener: Listener,
) -> Generated:
    record = replace(record, status="running", finished_at=None)
    folder.write_record(record)
    listener.begun(folder.path)
    own_cases = _kept_own_cases(folder)
    course = CourseOfTeaching(
        folder,
        record,
        order=order,
        gathered=gathered,
        roles=roles,
        settings=settings,
        own_cases=own_cases,
        writes_cases=_writes_cases(order, gathered, own_cases),
        drafts=_drafts(order, gathered),
        listener=listener,
    )

    def ended(status: Status) -> None:
        folder.write_record(replace(course.record, status=status, finished_at=now()))

    try:
        return course.run()
    except KeyboardInterrupt:
        _note_end(folder, course.record, "interrupted")
        raise
    except NotAnswered as error:
        _note_end(folder, course.record, "failed")
        raise _unanswered(error, folder) from None
    except UpskillError as error:
        _note_end(folder, course.record, "failed")
        if error.hint is None:
            error.hint = f"what was bought is kept; go on with {resume_command(folder.path)}"
        raise
    except BaseException:
        _note_end(folder, course.record, "failed")
        raise


def _note_end(folder: TeachingFolder, record: TeachingRecord, status: Status) -> None:
    """Where a disk is full, what happened matters more than that it could not be noted; it can be gone on with."""
    with suppress(EngineError):
        folder.write_record(replace(record, status=status, finished_at=now()))


def resume_command(run: Path) -> str:
    """What to type to go on."""
    return f"`upskill generate --resume {run.as_posix()}`"


def _unanswered(error: NotAnswered, folder: TeachingFolder) -> UpskillError:
    command = resume_command(folder.path).strip("`")
    if error.fault == "budget":
        return ProviderError(
            f"nothing was saved: {error}", hint=f"go on, with a higher cap: {command} --max-cost DOLLARS"
        )
    if error.fault == "crash":
        return EngineError(f"nothing was saved: {error}", hint=f"go on with {command}")
    return ProviderError(f"nothing was saved: the teacher did not answer: {error}", hint=f"go on with {command}")


def _drafts(order: GenerateOrder, gathered: Gathered) -> bool:
    """A new skill is drafted. So is a change of an old one if there is more to learn from than how students fail."""
    material = gathered.material
    more = bool(material.digest or material.documents or material.examples)
    return material.skill is None or more or not order.evaluate or not order.counts.learn


def _counts(order: GenerateOrder, own: Sequence[Case], *, writes: bool) -> CaseCounts:
    """The cases that students will be put to: those that are there, or those to be written and what joins them."""
    there = split_cases(cases_by_hand(own) if writes else own, order.counts)
    learn, held_out, negative = (sum(case.use == use for case in there) for use in ("learn", "held-out", "negative"))
    if not writes:
        return CaseCounts(learn=learn, held_out=held_out, negative=negative)
    wanted = order.counts
    return CaseCounts(learn=wanted.learn + learn, held_out=wanted.held_out + held_out, negative=wanted.negative)


def _own_cases(order: GenerateOrder, skill: Path | None, *, judge: bool) -> tuple[Case, ...]:
    """Cases that were named, or that a skill brings along. `judge` says whether there is one to ask."""
    problems = partial(checks.check_problems, judge=judge)
    if order.case_file is not None:
        return storage.read_case_file(Path(order.case_file), check_problems=problems).cases
    if skill is None:
        return ()
    found = storage.read_skill_cases(skill, check_problems=problems)
    return () if found is None else found.cases


def _kept_own_cases(folder: TeachingFolder) -> tuple[Case, ...]:
    path = folder.path / OWN_CASES
    if not path.exists():
        return ()
    return storage.read_case_file(path, check_problems=partial(checks.check_problems, judge=True)).cases


def _writes_cases(order: GenerateOrder, gathered: Gathered, own: Sequence[Case]) -> bool:
    """Whether a teacher writes cases: not where some were named, nor where a skill that is improved has enough.

    Where a person says what to improve, the old cases cannot show it: new ones are written.
    """
    if order.case_file is not None or not order.counts.total:
        return False
    return gathered.wish is not None or len(own) < LEAST_OWN_CASES


def _about(gathered: Gathered) -> str:
    skill = gathered.material.skill
    return skill.name if skill is not None else " ".join(gathered.material.task.split())[:30]


def _first_record(order: GenerateOrder, roles: Roles, settings: Resolved, gathered: Gathered) -> TeachingRecord:
    return TeachingRecord(
        started_at=now(),
        versions=versions(),
        # The task as it is sent: a person may have typed a secret into it.
        order=order_json(replace(order, task=gathered.material.task if order.task else None, examples=())),
        teacher=identity(roles.teacher) or "",
        case_writer=identity(roles.writer) or "",
        students=tuple(identity(student) or "" for student in roles.students),
        settings=settings_record(settings),
        notes=gathered.notes,
    )
