"""What a `generate` would do, by whom and for how much: read, checked and priced before anything is spent."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from upskill import checks, storage
from upskill.domain import Case
from upskill.domain.case import Json
from upskill.domain.progress import SILENT, Progress
from upskill.errors import UsageError
from upskill.settings import Resolved
from upskill.teaching.case_split import CaseCounts, split_cases
from upskill.teaching.lessons import lesson_calls
from upskill.teaching.search import PROPOSALS_PER_REVISION
from upskill.workflows.evaluating.prepare import choose_harness, require_place, student_of
from upskill.workflows.evaluating.spending import ASK_ABOVE_DOLLARS, ASK_ABOVE_MINUTES
from upskill.workflows.generating.estimate import Teaching, TeachingEstimate, estimate_teaching
from upskill.workflows.generating.material import GatheredMaterial, gather, skill_in
from upskill.workflows.generating.order import (
    GenerateOrder,
    Roles,
    improved_skill,
    roles_for,
    taken_names,
    target_for,
    with_cap,
)
from upskill.workflows.generating.stages import cases_by_hand

LEAST_OWN_CASES = 4
"""With fewer cases of its own a skill that is improved gets others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GeneratePlan:
    """What will be done, by whom and for how much: for a person to agree to."""

    order: GenerateOrder
    gathered: GatheredMaterial
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
    progress: Progress = SILENT,
    piped: BinaryIO | None = None,
) -> GeneratePlan:
    """Read and check everything, and price it. Spends nothing, writes nothing."""
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
    own = own_cases(order, skill, judge=settings.values.judge is not None or not order.evaluate)
    gathered = gather(
        order.task,
        examples=order.examples,
        sources=order.sources,
        folder=Path.cwd(),
        unseen=None if order.case_file is None else Path(order.case_file),
        progress=progress,
        piped=piped,
    )
    roles = roles_for(settings, evaluate=order.evaluate)
    writes = writes_cases(order, gathered, own)
    values = roles.student_settings.values
    harness = choose_harness(values.harness, own)
    if own and order.evaluate:
        require_place(own, harness=harness, backend=order.sandbox, where=str(order.case_file or skill))
    teaching = Teaching(
        material=gathered.material,
        counts=_counts(order, own, writes=writes),
        cases_to_write=order.counts.total if writes else 0,
        drafts=drafts(order, gathered),
        lessons=lesson_calls(gathered.material, window=roles.teacher_served.window),
        revisions=order.revisions,
        proposals_per_revision=1 if order.effort == "low" else PROPOSALS_PER_REVISION,
        evaluates=order.evaluate,
        harness=harness,
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


def drafts(order: GenerateOrder, gathered: GatheredMaterial) -> bool:
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


def own_cases(order: GenerateOrder, skill: Path | None, *, judge: bool) -> tuple[Case, ...]:
    """Cases that were named, or that a skill brings along. `judge` says whether there is one to ask."""
    problems = partial(checks.check_problems, judge=judge)
    if order.case_file is not None:
        return storage.read_case_file(Path(order.case_file), check_problems=problems).cases
    if skill is None:
        return ()
    found = storage.read_skill_cases(skill, check_problems=problems)
    return () if found is None else found.cases


def writes_cases(order: GenerateOrder, gathered: GatheredMaterial, own: Sequence[Case]) -> bool:
    """Whether a teacher writes cases: not where some were named, nor where a skill that is improved has enough.

    Where a person says what to improve, the old cases cannot show it: new ones are written.
    """
    if order.case_file is not None or not order.counts.total:
        return False
    return gathered.wish is not None or len(own) < LEAST_OWN_CASES
