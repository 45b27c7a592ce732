"""Plans the revision of a description: everything is read, checked and priced before anything is spent."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from upskill.core.cases.prompts import read_skill_triggers
from upskill.core.nouns.progress import SILENT, Progress
from upskill.core.nouns.skill import SKILL_FILE, Among
from upskill.core.nouns.text import count, on_one_line
from upskill.core.nouns.trigger import TriggerPrompt
from upskill.core.settings import ResolvedSettings, Settings
from upskill.core.statistics import FEWEST_CASES
from upskill.errors import UsageError
from upskill.evaluation.estimate import Estimate
from upskill.evaluation.triggering import PreparedTriggering, prepare_triggering
from upskill.generation.edits import with_description
from upskill.generation.estimate import TeachingEstimate, estimate_descriptions
from upskill.generation.gathering import gather
from upskill.generation.order import (
    GenerateOrder,
    Target,
    improved_skill,
    recorded_cap,
    roles_for,
    target_for,
    with_cap,
)
from upskill.generation.plan import GenerateInputs, GeneratePlan

EXPECTED_REVISIONS = 1


def practice_of(prompts: Sequence[TriggerPrompt]) -> tuple[TriggerPrompt, ...]:
    """The prompts that a teacher may see."""
    return tuple(prompt for prompt in prompts if prompt.use == "learn")


def held_out_of(prompts: Sequence[TriggerPrompt]) -> tuple[TriggerPrompt, ...]:
    """The prompts that a description is proven on; those that were never split are among them."""
    return tuple(prompt for prompt in prompts if prompt.use != "learn")


def plan_description(
    order: GenerateOrder, *, settings: ResolvedSettings, progress: Progress = SILENT, needs_keys: bool = True
) -> GeneratePlan:
    """Read and check everything, and price it. Spends nothing, writes nothing.

    Without `needs_keys` a missing key is a note: the plan is shown and not run.
    """
    settings = with_cap(settings)
    _refuse_what_does_not_apply(order)
    skill = _skill(order)
    target = _target(order, settings, skill)
    prompts = _read_prompts(skill)
    gathered = gather(None, sources=order.sources, folder=Path.cwd(), progress=progress)
    roles = roles_for(settings, announce=progress.announce, needs_keys=needs_keys)
    inputs = GenerateInputs(
        order=replace(
            order,
            target=target,
            sources=(str(skill.resolve()),),
            among=_absolute(order.among),
            agent_bin=_program(order),
        ),
        gathered=gathered,
        roles=roles,
        settings=recorded_cap(settings, roles),
        own_cases=(),
        prompts=prompts,
    )
    values = roles.student_settings.values
    learn, held_out = (
        prepare_description(order, skill, mine, values, needs_keys=needs_keys).estimate
        for mine in (practice_of(prompts), held_out_of(prompts))
    )
    estimate = TeachingEstimate(
        teacher=estimate_descriptions(gathered.material, revisions=order.revisions, teacher=roles.teacher),
        students=_students(learn, held_out, order.revisions),
        cap=values.max_cost,
    )
    return GeneratePlan(inputs=inputs, estimate=estimate)


def prepare_description(
    order: GenerateOrder,
    skill: Path,
    prompts: Sequence[TriggerPrompt],
    settings: Settings,
    *,
    progress: Progress = SILENT,
    needs_keys: bool = True,
) -> PreparedTriggering:
    """Plan one measurement of a description."""
    return prepare_triggering(
        skill,
        tuple(prompts),
        settings,
        source=skill,
        among=order.among,
        agent_bin=None if order.agent_bin is None else Path(order.agent_bin),
        sandbox=order.sandbox,
        progress=progress,
        needs_keys=needs_keys,
    )


def _refuse_what_does_not_apply(order: GenerateOrder) -> None:
    """Raises where something is asked for that has no meaning for a description."""
    asked = {
        "a task": order.task is not None,
        "--example": bool(order.examples),
        "--feedback": order.feedback is not None,
        "--retire": bool(order.retire),
        "--no-eval": not order.evaluate,
        "--tests": order.case_file is not None,
        "--plan": order.plan_file is not None,
        "--effort high": order.effort != "low",
        "`anyway`": order.anyway,
    }
    if refused := [what for what, typed in asked.items() if typed]:
        raise UsageError(
            f"--description-only cannot be combined with {', '.join(refused)}",
            hint="it revises the description of --from SKILL on the trigger prompts of the skill, and measures it",
        )


def _absolute(among: Among) -> Among:
    """The other skills with absolute folders: a run may be resumed from another folder."""
    return replace(among, folders=tuple(str(Path(one).expanduser().resolve()) for one in among.folders))


def _program(order: GenerateOrder) -> str | None:
    return None if order.agent_bin is None else str(Path(order.agent_bin).expanduser().absolute())


def _skill(order: GenerateOrder) -> Path:
    skill = improved_skill(order)
    if skill is None and len(order.sources) == 1 and not Path(order.sources[0]).expanduser().exists():
        raise UsageError(f"{on_one_line(order.sources[0])}: no such folder")
    if skill is None or len(order.sources) != 1:
        raise UsageError(
            "--description-only needs one skill, and nothing else to learn from",
            hint="name its folder: upskill generate --description-only --from SKILL",
        )
    if order.revisions < 1:
        raise UsageError(f"--revisions must be at least 1 with --description-only, not {order.revisions}")
    text = (skill / SKILL_FILE).read_bytes().decode("utf-8", "replace")
    try:
        with_description(text, "A description of another skill.")
    except ValueError as error:
        raise UsageError(f"{skill}: the description cannot be changed alone: {error}") from None
    return skill


def _target(order: GenerateOrder, settings: ResolvedSettings, skill: Path) -> Target:
    target, name = target_for(order, settings, skill=skill), skill.resolve().name
    if target.folder is None:
        target = replace(target, folder=target.parent / name)
    if target.folder is not None and target.folder.name != name:
        raise UsageError(
            f"{order.output}: only the description changes, so the folder of the new version must be called {name}",
            hint=f"name a folder to put it into with -o, or a folder called {name}",
        )
    if not target.in_place and target.folder is not None and target.folder.exists():
        raise UsageError(f"{target.folder}: already exists", hint="name another folder with -o")
    return target


def _read_prompts(skill: Path) -> tuple[TriggerPrompt, ...]:
    found = read_skill_triggers(skill)
    if found is None:
        raise UsageError(
            f"{skill}: there are no trigger prompts to revise the description on",
            hint=f"let a teacher write them: upskill trigger {skill} --write",
        )
    learn, held_out = practice_of(found.prompts), held_out_of(found.prompts)
    problems = [
        f"there is no practice prompt {words}" for kind, words in _KINDS.items() if not _of_kind(learn, kind)
    ] + [f"there is no held-out prompt {words}" for kind, words in _KINDS.items() if not _of_kind(held_out, kind)]
    if not problems and len({one.family or one.id for one in held_out}) < FEWEST_CASES:
        problems.append(
            f"fewer than {FEWEST_CASES} held-out prompts, or families of them, show nothing about new prompts"
        )
    if problems:
        raise UsageError(
            f"{found.path}: {count(len(learn), 'practice prompt')} and {len(held_out)} held-out cannot prove anything",
            problems=problems,
            hint='the teacher sees prompts with "use": "learn" only; the others prove the new description',
        )
    return found.prompts


_KINDS = {True: "that should load the skill", False: "that is a near miss"}


def _of_kind(prompts: Sequence[TriggerPrompt], kind: bool) -> bool:
    return any(prompt.should_load is kind for prompt in prompts)


def _students(learn: Estimate, held_out: Estimate, revisions: int) -> Estimate:
    """The old description and each revision on practice prompts; the old and the best on held-out ones."""
    return Estimate(
        calls_expected=(1 + EXPECTED_REVISIONS) * learn.calls_expected + 2 * held_out.calls_expected,
        calls_at_most=(1 + revisions) * learn.calls_at_most + 2 * held_out.calls_at_most,
        price_expected=_sum(1 + EXPECTED_REVISIONS, learn.price_expected, held_out.price_expected),
        price_at_most=_sum(1 + revisions, learn.price_at_most, held_out.price_at_most),
        minutes_expected=_sum(1 + EXPECTED_REVISIONS, learn.minutes_expected, held_out.minutes_expected),
        minutes_at_most=_sum(1 + revisions, learn.minutes_at_most, held_out.minutes_at_most),
        unknown=learn.unknown,
    )


def _sum(times: int, learn: float | None, held_out: float | None) -> float | None:
    return None if learn is None or held_out is None else times * learn + 2 * held_out
