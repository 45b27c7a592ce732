"""What a person asks `generate` for, which models teach and learn, and where the skill is saved. Spends nothing."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic import JsonValue, TypeAdapter

from upskill import disk
from upskill.core.cases.split import CaseCounts
from upskill.core.hub import pinned
from upskill.core.models import Endpoint, ServedModel, probe
from upskill.core.models.endpoint import HANDOFF, student_endpoint, untyped_lines
from upskill.core.models.preflight import THE_SERVER, fitted, missing_keys
from upskill.core.models.teachers import case_writer_for, teacher_for
from upskill.core.nouns.skill import NAME_RULE, SKILL_FILE, is_skill_name, read_among
from upskill.core.settings import Origin, ResolvedSettings, Settings
from upskill.errors import UsageError
from upskill.generation.gathering import skill_in
from upskill.generation.student import Served
from upskill.sandbox import Backend

MAX_COST = 10.0
"""Dollars for teacher and students together, where nothing else was set."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """Where a skill will be saved."""

    folder: Path | None = None
    """The skill's own folder; `None` where it is named after the draft, in `parent`."""
    parent: Path
    """The folder that holds it."""
    in_place: bool = False
    """Whether it takes the place of the skill that is improved."""

    def for_name(self, name: str) -> Path:
        """The skill's folder, once its name is known."""
        return self.folder if self.folder is not None else self.parent / name


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateOrder:
    """What a person asks `generate` for."""

    task: str | None = None
    examples: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    output: str | None = None
    """Where the skill is to be saved, if somewhere else than in the skills folder, or in the place of the old one."""
    counts: CaseCounts = field(default_factory=CaseCounts)
    case_file: str | None = None
    evaluate: bool = True
    revisions: int = 3
    effort: Literal["low", "high"] = "low"
    plan_file: str | None = None
    """A plan of facts: used where it exists, else written there for a person to edit, before any case is bought."""
    feedback: str | None = None
    """A file of comments on a run, which is one of the sources."""
    retire: tuple[str, ...] = ()
    """Held-out cases that are learned from from now on, because a person commented on them."""
    description_only: bool = False
    """Revise only the description of the skill, on its trigger prompts."""
    sandbox: Backend = "bubblewrap"
    avoid: tuple[str, ...] = ()
    """Names that were taken when the run began."""
    target: Target | None = None
    """Where the skill is saved, as it was decided when the run began."""


_ORDER = TypeAdapter(GenerateOrder)


def order_json(order: GenerateOrder) -> dict[str, JsonValue]:
    """The order as a run records it."""
    value: dict[str, JsonValue] = _ORDER.dump_python(order, mode="json")
    return value


def order_from(value: dict[str, JsonValue]) -> GenerateOrder:
    """The order that a run recorded."""
    return _ORDER.validate_python(value)


@dataclass(frozen=True, kw_only=True, slots=True)
class Roles:
    """The teacher, the case writer, and the settings under which students are measured."""

    teacher: Endpoint
    writer: Endpoint
    teacher_served: ServedModel
    writer_served: ServedModel
    students: tuple[Endpoint, ...]
    students_served: tuple[ServedModel, ...]
    """What the server of each student says; empty where nothing is measured."""
    student_settings: ResolvedSettings
    chosen: bool
    """Whether the teacher was chosen because its key is set, not named."""
    untyped: tuple[str, ...] = ()
    """Lines on servers and aliases that were not typed, and who names them."""

    @property
    def missing_keys(self) -> tuple[str, ...]:
        """Variables that must hold a key before anybody can be asked."""
        return missing_keys(self._all_served)

    @property
    def missing_notes(self) -> tuple[str, ...]:
        """The same, a line for each model that needs one."""
        return tuple(dict.fromkeys(note for one in self._all_served if one.missing_key for note in one.notes))

    @property
    def _all_served(self) -> tuple[ServedModel, ...]:
        return self.teacher_served, self.writer_served, *self.students_served

    @property
    def served(self) -> Served:
        """The students that are measured, each with what its server says."""
        return tuple(zip(self.students, self.students_served, strict=False))


def roles_for(
    settings: ResolvedSettings,
    *,
    evaluate: bool = True,
    announce: Callable[[str], None] = lambda _: None,
    needs_keys: bool = True,
) -> Roles:
    """Resolve and probe all models. Raises, with what to do, if one cannot be reached.

    `announce` gets a line for every server and alias that was not typed, before anything is sent. A plan that asks
    nobody does without keys.
    """
    values = settings.values
    teacher = teacher_for(values, needs_key=needs_keys)
    writer = case_writer_for(values, needs_key=needs_keys)
    student_settings = replace(settings, values=_for_students(values, teacher))
    students = tuple(student_endpoint(name, student_settings.values) for name in student_settings.values.models)
    untyped = _untyped(teacher, writer, students if evaluate else ())
    for line in untyped:
        announce(line)
    served = probe(teacher, needs_key=needs_keys)
    writer_served = served if writer == teacher else probe(writer, needs_key=needs_keys)
    if evaluate and not students:
        raise UsageError(
            "there is no model to measure: a hand-off only teaches",
            hint="name a model with --eval-model, or skip the evaluation with --no-eval",
        )
    is_teacher = [(one.model, one.base_url) == (teacher.model, teacher.base_url) for one in students]
    students_served = tuple(
        served if same else probe(student, needs_key=needs_keys)
        for student, same in zip(students, is_teacher, strict=True)
        if evaluate
    )
    if evaluate:
        fit, _ = fitted(student_settings.values, students_served, unchosen=student_settings.unchosen)
        student_settings = student_settings.following(fit, THE_SERVER)
    return Roles(
        teacher=teacher,
        writer=writer,
        teacher_served=served,
        writer_served=writer_served,
        students=students,
        students_served=students_served,
        student_settings=student_settings,
        chosen=values.teacher is None,
        untyped=untyped,
    )


def _untyped(teacher: Endpoint, writer: Endpoint, students: tuple[Endpoint, ...]) -> tuple[str, ...]:
    lines = (
        *untyped_lines("the teacher is", [teacher]),
        *untyped_lines("the case writer is", [] if writer == teacher else [writer]),
        *untyped_lines("models are", students),
    )
    return tuple(dict.fromkeys(lines))


def _for_students(values: Settings, teacher: Endpoint) -> Settings:
    """The settings with the students that were named; else the teacher is its own student."""
    names = tuple(dict.fromkeys(values.models))
    if names:
        # A student named like the teacher, without a base URL, is at the teacher's.
        alone = values.base_url is None and teacher.is_custom and set(names) == {teacher.name}
        values = replace(values, models=names)
        return replace(values, base_url=teacher.base_url, untyped=_with_url_of(teacher, values)) if alone else values
    return replace(
        values,
        models=() if teacher.is_handoff else (teacher.name,),
        base_url=teacher.base_url if teacher.is_custom else None,
        teacher_base_url=teacher.base_url if teacher.is_custom else None,
        untyped=_with_url_of(teacher, values),
    )


def _with_url_of(teacher: Endpoint, values: Settings) -> dict[str, Origin]:
    """Where the students' URL comes from when it is the teacher's."""
    others = {name: origin for name, origin in values.untyped.items() if name != "base_url"}
    return others if teacher.url_origin is None else {**others, "base_url": teacher.url_origin}


def with_cap(settings: ResolvedSettings) -> ResolvedSettings:
    """The cap of `generate`, unless another was set."""
    if settings.origins["max_cost"] != "default":
        return settings
    return replace(settings, values=replace(settings.values, max_cost=MAX_COST))


def with_absolute_paths(settings: ResolvedSettings) -> ResolvedSettings:
    """The settings with absolute paths: a run may be resumed from another folder."""
    values = settings.values
    program, others = values.agent_bin, read_among(values.among)
    folders = {one: str(Path(one).expanduser().resolve()) for one in others.folders}
    values = replace(
        values,
        teacher=absolute_handoff(values.teacher),
        test_gen_model=absolute_handoff(values.test_gen_model),
        agent_bin=None if program is None else str(Path(program).expanduser().absolute()),
        among=tuple(folders.get(word, word) for word in values.among),
    )
    return replace(settings, values=values)


def absolute_handoff(name: str | None) -> str | None:
    """The name of a teacher; that of a hand-off with its folder made absolute."""
    kind, _, folder = (name or "").partition("/")
    return f"{HANDOFF}/{Path(folder).expanduser().absolute()}" if kind == HANDOFF and folder else name


def recorded_cap(settings: ResolvedSettings, roles: Roles) -> ResolvedSettings:
    """The settings with the students' longest answer, which a resumed run finds again."""
    chosen = roles.student_settings
    values = replace(settings.values, max_output_tokens=chosen.values.max_output_tokens)
    name = "max_output_tokens"
    return replace(settings, values=values, origins={**settings.origins, name: chosen.origins[name]})


def target_for(order: GenerateOrder, settings: ResolvedSettings, *, skill: Path | None) -> Target:
    """Where the skill will be saved. Raises, before anything is spent, where a skill would be overwritten."""
    if order.output is None and skill is not None and pinned(skill) is None:
        return in_place(skill)
    if order.output is None:
        return Target(parent=settings.place("skills_dir").resolve())
    output = Path(order.output).expanduser()
    if skill is not None and output.resolve() == skill.resolve():
        return in_place(skill)
    if (output / SKILL_FILE).exists():
        raise UsageError(
            f"{order.output}: already has a skill, which would be overwritten",
            hint=f"name another folder with -o, or improve that one: --from {order.output}",
        )
    if output.is_dir():
        return Target(parent=output.resolve())
    if output.exists() or output.is_symlink():
        raise UsageError(f"{order.output}: exists and is not a folder", hint="name another folder with -o")
    if not is_skill_name(output.name):
        raise UsageError(
            f"{order.output}: a skill has the name of its folder, and {output.name!r} is not a valid name",
            hint=NAME_RULE,
        )
    return Target(folder=output.resolve(), parent=output.resolve().parent)


def in_place(skill: Path) -> Target:
    """The place of a skill that is improved. Raises where no better one can take it."""
    if (remote := pinned(skill)) is not None:
        raise UsageError(f"{remote}: is on the Hub and is not replaced", hint="name a folder for the new one with -o")
    if skill.is_symlink():
        raise UsageError(f"{skill}: is a link; its target is not replaced", hint="name the real folder")
    folder = skill.resolve()
    if not is_skill_name(folder.name):
        raise UsageError(
            f"{skill}: {folder.name!r} is not a valid name for a skill, so a better version cannot be saved here",
            hint="name another folder for the new version with -o",
        )
    return Target(folder=folder, parent=folder.parent, in_place=True)


def taken_names(target: Target) -> tuple[str, ...]:
    """Names of folders that a new skill must not have."""
    return () if target.folder is not None else tuple(path.name for path in disk.listed(target.parent))


def improved_skill(order: GenerateOrder) -> Path | None:
    """The skill that is to be improved, `None` for a new one."""
    return next((found for source in order.sources if (found := skill_in(source)) is not None), None)
