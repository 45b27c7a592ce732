"""Plans a `generate`: everything is read, checked and priced before anything is spent."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from upskill.core.cases.split import CaseCounts, split_cases
from upskill.core.models.preflight import is_installed
from upskill.core.nouns import Case
from upskill.core.nouns.case import Json
from upskill.core.nouns.text import count
from upskill.core.nouns.trigger import TriggerPrompt
from upskill.core.progress import SILENT, Progress
from upskill.core.settings import ResolvedSettings, Settings
from upskill.core.statistics import FEWEST_CASES
from upskill.core.trials.judge import judge_for
from upskill.errors import UsageError
from upskill.evaluation.cases import find_cases
from upskill.evaluation.estimate import ASK_ABOVE_DOLLARS, ASK_ABOVE_MINUTES
from upskill.evaluation.prepare import choose_harness, require_sandbox_for, student_of
from upskill.generation.case_writing import possible_counts
from upskill.generation.draft import Draft
from upskill.generation.estimate import TeachingEstimate, TeachingWorkload, estimate_teaching
from upskill.generation.facts import plan_calls, read_plan_file
from upskill.generation.feedback import AppliedFeedback, apply_feedback, with_comments
from upskill.generation.gathering import gather, skill_in
from upskill.generation.lessons import lesson_calls
from upskill.generation.material import Material
from upskill.generation.order import (
    GenerateOrder,
    Roles,
    Target,
    improved_skill,
    recorded_cap,
    roles_for,
    taken_names,
    target_for,
    with_cap,
)
from upskill.generation.revising import OTHERS
from upskill.generation.search import PROPOSALS_PER_REVISION
from upskill.generation.student import StudentProfile, build_profile, counter_for, profile_lines, require_room_for_old
from upskill.terminal.options import agent_program

LEAST_OWN_CASES = 4
"""A skill that is improved and has fewer cases gets new ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateInputs:
    """What the stages of a `generate` work from."""

    order: GenerateOrder
    material: Material
    roles: Roles
    settings: ResolvedSettings
    own_cases: tuple[Case, ...]
    """Cases that were named, or that the skill has."""
    profile: StudentProfile | None = None
    """What writers are told of the students, before there are cases; `None` where nothing is measured."""
    feedback: AppliedFeedback | None = None
    """What comments of a person change; `None` without any, and in a run that is resumed, which has saved it."""
    prompts: tuple[TriggerPrompt, ...] = ()
    """Trigger prompts, where only the description is revised; a run that is resumed has saved them."""

    @property
    def writes_cases(self) -> bool:
        """Whether a teacher writes cases: not where some were named, nor where a skill that is improved has enough.

        Where a person says what to improve, the old cases cannot show it: new ones are written.
        """
        if self.order.case_file is not None or not self.order.counts.total or self.order.description_only:
            return False
        return self.material.wish is not None or len(self.own_cases) < LEAST_OWN_CASES

    @property
    def about(self) -> str:
        """What all held-out cases are about, where that is known: those of a mined habit come from later sessions."""
        later = self.writes_cases and not self.own_cases and self.material.later is not None
        return "the same habit in later sessions" if later else ""

    def staying(self, cases: Sequence[Case]) -> tuple[Case, ...]:
        """The cases beside which a teacher writes others: what a person wrote, or commented on."""
        return tuple(case for case in cases if case.use is None or case.id in self._commented)

    def split(self, cases: Sequence[Case]) -> tuple[Case, ...]:
        """The cases, each with its use: those that a person commented on are learned from."""
        return split_cases(cases, self.order.counts, learn_from=self._commented)

    @property
    def _commented(self) -> frozenset[str]:
        """Ids of cases with a comment that is used; held-out ones are none of them, unless they were retired."""
        return frozenset(one.case_id for one in self.material.comments)

    @property
    def drafts(self) -> bool:
        """Whether a draft is written: of a new skill, or of an old one if there is more to learn from than failures."""
        material = self.material
        more = bool(material.digest or material.documents or material.examples)
        return material.skill is None or more or not self.order.evaluate or not self.order.counts.learn

    @property
    def target(self) -> Target:
        return self.order.target or Target(parent=Path(self.settings.values.skills_dir))

    @property
    def old(self) -> Draft | None:
        """The skill that is improved; `None` for a new one."""
        skill = self.material.skill
        return None if skill is None else self.named(skill)

    def named(self, draft: Draft) -> Draft:
        """The draft, named like the folder of the skill where that is known."""
        folder = self.target.folder
        return draft if folder is None else replace(draft, name=folder.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class GeneratePlan:
    """What a `generate` works from and what it will cost, for a person to agree to."""

    inputs: GenerateInputs
    estimate: TeachingEstimate

    @property
    def own_cases(self) -> int:
        """How many cases are there already, so that none are written."""
        return 0 if self.inputs.writes_cases else len(self.inputs.own_cases)

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
            lines.append(f"  models: {estimate.students.words}")
        if estimate.cap is not None:
            lines.append(f"  spending stops at ${estimate.cap:.2f} in total, where prices are known")
        return tuple(lines)

    @property
    def lines(self) -> tuple[str, ...]:
        """Models, price, time and notes, for a person."""
        roles = self.inputs.roles
        why = ", the strongest with a key" if roles.chosen else ""
        if roles.chosen and roles.teacher_served.missing_key is not None:
            why = ", the strongest; no key is set, so a real run would have no teacher"
        teacher = f"Teacher: {roles.teacher.name} ({roles.teacher.how}){why}"
        lines = [teacher]
        if roles.writer != roles.teacher:
            lines.append(f"Case writer: {roles.writer.name} ({roles.writer.how})")
        if self.inputs.order.evaluate:
            lines.append("Models: " + ", ".join(f"{one.name} ({one.how})" for one in roles.students))
        if self.inputs.feedback is not None:
            lines.append(self.inputs.feedback.line)
        if self.inputs.profile is not None:
            lines += profile_lines(self.inputs.profile, self.inputs.roles.student_settings)
        lines += self.shares
        if self.inputs.material.redacted:
            lines.append(f"  {count(self.inputs.material.redacted, 'secret')} removed from the material")
        notes = (*self.inputs.material.notes, *roles.teacher_served.notes, *roles.missing_notes)
        return (*lines, *(f"  note: {note}" for note in dict.fromkeys(notes)))

    def as_json(self) -> dict[str, Json]:
        """The plan for programs."""
        estimate = self.estimate
        return {
            "schema": "upskill.generate-plan/1",
            "task": self.inputs.material.task,
            "teacher": {"name": self.inputs.roles.teacher.name, "model": self.inputs.roles.teacher.model},
            "case_writer": {"name": self.inputs.roles.writer.name, "model": self.inputs.roles.writer.model},
            "students": [one.name for one in self.inputs.roles.students] if self.inputs.order.evaluate else [],
            "cases": None if self.inputs.order.description_only else str(self.inputs.order.counts),
            "prompts": len(self.inputs.prompts) if self.inputs.order.description_only else None,
            "teacher_share": estimate.teacher.as_json(),
            "student_share": None if estimate.students is None else estimate.students.as_json(),
            "cap": estimate.cap,
            "notes": [*self.inputs.roles.untyped, *self.inputs.material.notes],
            "missing_keys": list(self.inputs.roles.missing_keys),
        }


def plan_generate(
    order: GenerateOrder,
    *,
    settings: ResolvedSettings,
    progress: Progress = SILENT,
    piped: BinaryIO | None = None,
    needs_keys: bool = True,
) -> GeneratePlan:
    """Read and check everything, and price it. Spends nothing, writes nothing.

    Without `needs_keys` a missing key is a note: the plan is shown and not run.
    """
    settings = with_cap(settings)
    if settings.values.among:
        raise UsageError("`among` needs --description-only", hint="measure among others with `upskill eval`")
    if agent_program(settings.values) is not None:
        raise UsageError("`agent_bin` needs --description-only", hint="put the coding agent on the search path")
    if order.effort == "high" and not is_installed("gepa"):
        raise UsageError("--effort high needs the package gepa", hint="install it: pip install 'skill-lift[search]'")
    if order.revisions < 0:
        raise UsageError(f"--revisions must be at least 0, not {order.revisions}")
    feedback = apply_feedback(order)
    if feedback is not None:
        order = feedback.order
    skill = improved_skill(order)
    target = target_for(order, settings, skill=skill)
    if target.in_place and not order.evaluate:
        raise UsageError(
            f"{skill}: a skill is not replaced by a version that was not measured",
            hint="remove --no-eval, or name another folder for the new version with -o",
        )
    own = read_own_cases(order, skill, judge=settings.values.judge is not None or not order.evaluate, feedback=feedback)
    material = gather(
        order.task,
        examples=order.examples,
        sources=order.sources,
        folder=Path.cwd(),
        unseen=[Path(file).expanduser() for file in (order.case_file, order.plan_file) if file is not None],
        progress=progress,
        piped=piped,
    )
    if feedback is not None:
        material = with_comments(material, feedback)
    order = replace(order, counts=possible_counts(material, order.counts))
    # Absolute: a run may be resumed from another folder.
    plan_file = None if order.plan_file is None else str(Path(order.plan_file).expanduser().absolute())
    roles = roles_for(settings, evaluate=order.evaluate, announce=progress.announce, needs_keys=needs_keys)
    inputs = GenerateInputs(
        order=replace(
            order, avoid=taken_names(target), target=target, sources=_absolute(order.sources), plan_file=plan_file
        ),
        material=material,
        roles=roles,
        settings=recorded_cap(settings, roles),
        own_cases=own,
        feedback=feedback,
    )
    _check_plan_file(inputs)
    if feedback is not None:
        inputs = _with_enough_held_out(inputs)
    values = roles.student_settings.values
    harness = choose_harness(values.harness, own)
    if own and order.evaluate:
        require_sandbox_for(own, harness=harness, backend=order.sandbox, where=str(order.case_file or skill))
        judge_for(values, {student.name: student for student in roles.students}, own, needs_key=needs_keys)
    if order.evaluate:
        inputs = replace(inputs, profile=first_profile(inputs))
    return GeneratePlan(inputs=inputs, estimate=_estimate(inputs, values, harness))


def first_profile(inputs: GenerateInputs) -> StudentProfile:
    """What is known of the students before cases are written. Raises where no skill would fit their window, or not the
    one that is improved."""
    served, values = inputs.roles.served, inputs.roles.student_settings.values
    final = () if inputs.writes_cases else inputs.own_cases
    harness = choose_harness(values.harness, final) if final else values.harness
    count = counter_for(served)
    profile = build_profile(served, values, harness=harness, count=count, cases=final)
    require_room_for_old(inputs.material.skill, profile, count)
    return profile


def _check_plan_file(inputs: GenerateInputs) -> None:
    """Raises where a plan was named that cannot be used, before anything is spent."""
    file = inputs.order.plan_file
    if file is None:
        return
    if inputs.material.later is not None:
        raise UsageError(
            f"--plan {file}: held-out cases are written from later sessions, not from a plan", hint="remove --plan"
        )
    if not inputs.writes_cases:
        raise UsageError(f"--plan {file}: no cases are written, so there is nothing to plan", hint="remove --plan")
    read_plan_file(file, inputs.material, inputs.order.counts)


def _with_enough_held_out(inputs: GenerateInputs) -> GenerateInputs:
    """Raises where comments leave no case to test a new version on; says so where they leave few."""
    left = uses_of(inputs.split(inputs.own_cases))["held_out"]
    if inputs.writes_cases or not inputs.order.evaluate or left >= FEWEST_CASES:
        return inputs
    more = 'add cases with `"use": "held-out"` without comments'
    if not left:
        raise UsageError("every case is a practice case: no held-out case is left to test a new version", hint=more)
    note = f"only {count(left, 'held-out case')} left to test a new version: {more}"
    return replace(inputs, material=replace(inputs.material, notes=(*inputs.material.notes, note)))


def _absolute(sources: Sequence[str]) -> tuple[str, ...]:
    """The sources with absolute paths of skills: a run may be resumed from another folder."""
    return tuple(str(found.resolve()) if (found := skill_in(one)) else one for one in sources)


def _estimate(inputs: GenerateInputs, values: Settings, harness: str) -> TeachingEstimate:
    order, material, roles = inputs.order, inputs.material, inputs.roles
    teaching = TeachingWorkload(
        material=material,
        counts=_counts(inputs),
        cases_to_write=order.counts.total if inputs.writes_cases else 0,
        drafts=inputs.drafts,
        lessons=lesson_calls(material, window=roles.teacher_served.window),
        revisions=order.revisions,
        proposals_per_revision=1 if order.effort == "low" else PROPOSALS_PER_REVISION,
        plan=_plan_questions(inputs),
        passages=inputs.writes_cases or any(case.passage is not None for case in inputs.own_cases),
        presentations=len(OTHERS) if inputs.profile is not None and inputs.profile.is_small else 0,
        evaluates=order.evaluate,
        harness=harness,
    )
    return estimate_teaching(
        teaching,
        teacher=roles.teacher,
        writer=roles.writer,
        students=[student_of(endpoint, values) for endpoint in roles.students],
        settings=values,
    )


def _plan_questions(inputs: GenerateInputs) -> int:
    """Questions for the plan of facts: none where no case is written, or where a person has a plan."""
    file = inputs.order.plan_file
    if not inputs.writes_cases or inputs.material.later is not None or (file is not None and Path(file).exists()):
        return 0
    return plan_calls(inputs.material, window=inputs.roles.writer_served.window)


def _counts(inputs: GenerateInputs) -> CaseCounts:
    """The cases that students get: the own ones, or those to be written and the own ones that join them."""
    wanted, own = inputs.order.counts, inputs.own_cases
    if not inputs.writes_cases:
        return CaseCounts(**uses_of(inputs.split(own)))
    there = uses_of(inputs.split(inputs.staying(own)))
    return replace(wanted, learn=wanted.learn + there["learn"], held_out=wanted.held_out + there["held_out"])


def uses_of(cases: Sequence[Case]) -> dict[str, int]:
    """How many cases there are of each use: learn, held_out and negative."""
    found = Counter(case.use for case in cases)
    return {"learn": found["learn"], "held_out": found["held-out"], "negative": found["negative"]}


def topics_of(cases: Sequence[Case]) -> tuple[str, ...]:
    """What the learn cases are about; the others are nobody's business."""
    named = (str(case.extra["topic"]) for case in cases if case.use == "learn" and case.extra.get("topic"))
    return tuple(dict.fromkeys(named))


def read_own_cases(
    order: GenerateOrder, skill: Path | None, *, judge: bool, feedback: AppliedFeedback | None = None
) -> tuple[Case, ...]:
    """Cases that were named, or that the skill has. `judge` says whether there is one to ask."""
    if skill is None and order.case_file is None:
        return ()
    found = find_cases(skill or Path(), None if order.case_file is None else Path(order.case_file), judge=judge)
    cases = () if found is None else found.cases
    return cases if feedback is None else feedback.applied(cases)
