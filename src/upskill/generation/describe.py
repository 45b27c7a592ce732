"""Revises only the description of a skill: on practice prompts, and kept only if held-out prompts show it to be better.

Everything is read, checked and priced before anything is spent. The body and all other files stay byte for byte. Every
answer of a teacher, and what every description did, is saved when it is there; a resumed run finds it again."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from upskill import disk
from upskill.core.cases.prompts import read_skill_triggers, read_trigger_file, triggers_text
from upskill.core.nouns.look import case_key
from upskill.core.nouns.skill import SKILL_FILE, read_among
from upskill.core.nouns.text import count, on_one_line, shortened
from upskill.core.nouns.trigger import TriggerPrompt, TriggerScore
from upskill.core.progress import SILENT, Progress
from upskill.core.runs.records import record_text
from upskill.core.runs.run_folders import run_folder_at
from upskill.core.settings import ResolvedSettings, Settings
from upskill.core.skills.skill_files import first_problem
from upskill.core.skills.skills import read_skill
from upskill.core.statistics import FEWEST_CASES
from upskill.errors import EngineError, ProviderError, UsageError
from upskill.evaluation.estimate import Estimate
from upskill.evaluation.triggering import PreparedTriggering, measure_triggering, prepare_triggering
from upskill.generation.description import (
    DescriptionProof,
    RefinedDescription,
    TriggerMeasurement,
    prove_description,
    refine_description,
    score_words,
)
from upskill.generation.draft import Draft
from upskill.generation.edits import copy_with_description, with_description
from upskill.generation.estimate import TeachingEstimate, estimate_descriptions
from upskill.generation.files import RefiningRecord, TeachingFolder, shown_path
from upskill.generation.gathering import gather
from upskill.generation.generated import (
    AttemptSummary,
    DescriptionAttempt,
    DescriptionRevision,
    FailedAnswer,
    GenerateResult,
    StudentClaim,
    StudentScore,
)
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
from upskill.generation.save import described_meta, save_description
from upskill.generation.teaching import Saved, Teaching, agreed, asks, earlier_uses, ending_at_a_cap, finished
from upskill.report.wording import unique_names
from upskill.terminal.options import agent_program

EXPECTED_REVISIONS = 1
PROMPTS_FILE = "triggers.json"
"""The prompts of the run, practice and held-out."""
SCORES_FILE = "scores-{stage}.json"
"""What a description did in one stage."""
HELD_OUT = "held-out"
"""How the stages begin that claims rest on."""
MOST_SHOWN = 400
"""Characters of a prompt in the record of an attempt."""
MOST_WRONG = 12
"""Wrong answers that the record of an attempt names."""
_SCORES = TypeAdapter(tuple[TriggerScore, ...])
_STAGES = {"held-out-old": "held-out prompts, the old description", "held-out-new": "held-out prompts, the new one"}
_KINDS = {True: "that should load the skill", False: "that is a near miss"}


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
    _refuse_what_does_not_apply(order, anyway=settings.values.anyway)
    skill = _skill(order)
    target = _target(order, settings, skill)
    prompts = _read_prompts(skill)
    material = gather(None, sources=order.sources, folder=Path.cwd(), progress=progress)
    roles = roles_for(settings, announce=progress.announce, needs_keys=needs_keys)
    inputs = GenerateInputs(
        order=replace(order, target=target, sources=(str(skill.resolve()),)),
        material=material,
        roles=roles,
        settings=recorded_cap(settings, roles),
        own_cases=(),
        prompts=prompts,
    )
    values = roles.student_settings.values
    learn, held_out = (
        _prepare(order, skill, mine, values, needs_keys=needs_keys).estimate
        for mine in (practice_of(prompts), held_out_of(prompts))
    )
    estimate = TeachingEstimate(
        teacher=estimate_descriptions(material, revisions=order.revisions, teacher=roles.teacher),
        students=_students(learn, held_out, order.revisions),
        cap=values.max_cost,
    )
    return GeneratePlan(inputs=inputs, estimate=estimate)


def _prepare(
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
        among=read_among(settings.among),
        agent_bin=agent_program(settings),
        sandbox=order.sandbox,
        progress=progress,
        needs_keys=needs_keys,
    )


def _refuse_what_does_not_apply(order: GenerateOrder, *, anyway: bool) -> None:
    """Raises where something is asked for that has no meaning for a description."""
    asked = {
        "a task": order.task is not None,
        "--example": bool(order.examples),
        "--feedback": order.feedback is not None,
        "--no-eval": not order.evaluate,
        "--tests": order.case_file is not None,
        "--plan": order.plan_file is not None,
        "--effort high": order.effort != "low",
        "`anyway`": anyway,
    }
    if refused := [what for what, typed in asked.items() if typed]:
        raise UsageError(
            f"--description-only cannot be combined with {', '.join(refused)}",
            hint="it revises the description of --from SKILL on the trigger prompts of the skill, and measures it",
        )


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
    read_skill(skill)  # refuses links that lead out
    text = disk.read_text((skill / SKILL_FILE).resolve())
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
        f"there is no {side} prompt {words}"
        for side, prompts in (("practice", learn), ("held-out", held_out))
        for kind, words in _KINDS.items()
        if not any(prompt.should_load is kind for prompt in prompts)
    ]
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


def _students(learn: Estimate, held_out: Estimate, revisions: int) -> Estimate:
    """The old description and each revision on practice prompts; the old and the best on held-out ones."""
    expected = Estimate.total([learn] * (1 + EXPECTED_REVISIONS) + [held_out] * 2)
    most = Estimate.total([learn] * (1 + revisions) + [held_out] * 2)
    return replace(
        expected,
        calls_at_most=most.calls_at_most,
        price_at_most=most.price_at_most,
        minutes_at_most=most.minutes_at_most,
    )


def keep_prompts(folder: TeachingFolder, prompts: Sequence[TriggerPrompt]) -> None:
    """Keep the prompts as they are when a run begins."""
    folder.save(PROMPTS_FILE, triggers_text(prompts))


def run_description(state: Teaching) -> GenerateResult:
    """Run all stages: practice prompts, revisions, held-out prompts, what is saved."""
    roles, old = state.inputs.roles, _old(state)
    state.progress.stage_begun(f"Revising the description with {unique_names([roles.teacher.name])[0]}...")
    # As they were when the run began.
    prompts = read_trigger_file(state.folder.path / PROMPTS_FILE).prompts
    ask = state.search.watching(asks(state, roles.teacher, roles.teacher_served))
    refined = refine_description(
        old,
        prompts=practice_of(prompts),
        measure=partial(_measure, state),
        ask=ending_at_a_cap(ask),
        revisions=state.inputs.order.revisions,
        window=roles.teacher_served.window,
        clean=state.redactor.clean,
        on_attempt=partial(_on_attempt, state),
    )
    state.folder.write_attempts(RefiningRecord(attempts=state.attempts, stopped=refined.stopped))
    state.ended("refined")
    proof = _prove(state, refined, held_out_of(prompts))
    if state.down is not None and not proof.proven:
        raise ProviderError(f"nothing was saved: {state.down}")
    claims = proof.claims or tuple(
        StudentClaim(student=name, status="not proven", sentence=f"not proven: {proof.reason}")
        for name in state.students
    )
    return finished(
        state,
        _saved(state, refined.best, proof),
        claims=claims,
        sentence=f"the old description {'is replaced' if proof.proven else 'stays'}: {proof.reason}",
        reason=proof.reason,
        proven=proof.proven,
        refined=refined.stopped,
        description=DescriptionRevision(
            before=refined.attempts[0].description,
            after=refined.best.description,
            attempts=refined.attempts,
            held_out=proof.comparisons,
            prompts=(len(practice_of(prompts)), len(held_out_of(prompts))),
        ),
    )


def _old(state: Teaching) -> Draft:
    """The skill as it was when the run began, with the description as agents read it."""
    if state.previous is None:
        raise EngineError(f"{state.folder.path}: has no copy of the skill", hint="start a new run")
    skill = read_skill(state.previous)
    return Draft(name=skill.name, description=skill.description, body=skill.body)


def _draft_of(state: Teaching, description: str) -> Path:
    """The skill with this description, in the run folder; the copy of the old version where it is the old one."""
    previous = state.previous
    assert previous is not None
    if description == _old(state).description:
        return previous
    for folder in state.folder.drafts:
        if folder.name == previous.name and read_skill(folder).description == description:
            return folder
    folder = state.folder.new_draft(previous.name)
    copy_with_description(previous, folder, description)
    return folder


def _measure(state: Teaching, stage: str, description: str, prompts: Sequence[TriggerPrompt]) -> TriggerMeasurement:
    """As `MeasureDescription` says."""
    draft, run = _draft_of(state, description), state.folder.path
    shown = draft.relative_to(run).as_posix()
    name = SCORES_FILE.format(stage=stage)
    if (known := state.folder.saved(name)) is not None:
        try:
            return TriggerMeasurement(scores=_SCORES.validate_json(known), draft=shown)
        except ValidationError as error:
            raise EngineError(f"{run / name}: cannot be read: {first_problem(error)}") from None
    words = _STAGES.get(stage) or f"practice prompts, description {stage.rpartition('-')[2]}"
    state.progress.stage_begun(f"Asking {len(prompts)} prompts... ({words})")
    state.client.down.clear()  # what was down a stage ago may be up again
    settings = state.inputs.roles.student_settings
    if stage.startswith(HELD_OUT):
        # Who revises a description because its last answers were poor must not compare it by these very answers.
        settings = replace(settings, values=replace(settings.values, store=False))
    measured = measure_triggering(
        _prepare(state.inputs.order, draft, prompts, settings.values, progress=state.progress),
        settings=settings,
        client=state.client,
        folder_of=lambda company: run_folder_at(run / "trials" / f"{stage}-{company}"),
        progress=state.progress,
    )
    if measured.end.interrupted:
        raise KeyboardInterrupt
    cut_short = None
    if state.client.exhausted is not None:
        cut_short = f"stopped at {state.client.exhausted}"
    elif measured.end.outages:
        outage = measured.end.outages[0]
        cut_short = state.down = f"{outage.model} went down: {outage.said}"
    else:
        state.folder.save(name, record_text(_SCORES, measured.scores))
    for line in map(score_words, measured.scores):
        state.progress.note(line)
    state.notes += (note for note in measured.notes if note not in state.notes)
    return TriggerMeasurement(scores=measured.scores, draft=shown, cut_short=cut_short)


def _on_attempt(state: Teaching, attempt: DescriptionAttempt, best: DescriptionAttempt) -> None:
    """Keep a description and how it did, for the report of the run and for a run that ends early."""
    revises = next((one.number for one in state.attempts if one.chosen), None)
    state.keep_attempt(_summary(attempt, chosen=attempt.number == best.number, revises=revises), best=best.number)
    if best.number > 1 and best.draft is not None:
        path = shown_path(state.folder.path / best.draft)
        right = f"{best.right} of {best.answers} right on practice prompts"
        state.best_draft = f"the best description so far is in {path} ({right})"
    state.ended(f"attempt {attempt.number}")


def _prove(state: Teaching, refined: RefinedDescription, held_out: Sequence[TriggerPrompt]) -> DescriptionProof:
    """The one test that claims rest on."""
    why = None
    if len(refined.attempts) == 1:
        why = f"none other was measured, so no held-out prompt was used ({refined.stopped})"
    elif refined.best.number == 1:
        why = "none was better on practice prompts, so no held-out prompt was used"
    elif refined.cut_short:
        why = f"the best new one was not measured on held-out prompts ({refined.stopped})"
    if why is not None:
        return DescriptionProof(proven=False, reason=why)
    proof = prove_description(
        refined.attempts[0].description,
        refined.best.description,
        held_out=held_out,
        measure=partial(_measure, state),
        earlier=earlier_uses(state, tuple(sorted(case_key(prompt.as_case) for prompt in held_out)), noun="prompts"),
    )
    state.ended("proved")
    return proof


def _saved(state: Teaching, best: DescriptionAttempt, proof: DescriptionProof) -> Saved:
    copy = _draft_of(state, best.description)
    if best.number == 1:
        return Saved(copy=copy, unchanged=True)
    found = state.search.search(copy)
    if not proof.proven and state.inputs.target.in_place:
        return Saved(copy=copy, unchanged=False, findings=found)
    found = agreed(state, found, copy)
    meta = replace(described_meta(state, proof.held_out, proven=proof.proven), findings=found)
    place, skill = save_description(state, best.description, meta, copy=copy)
    return Saved(copy=copy, unchanged=False, place=place, skill=skill, findings=found)


def _summary(attempt: DescriptionAttempt, *, chosen: bool, revises: int | None) -> AttemptSummary:
    """A description on the practice prompts, as the report of a run shows attempts."""
    wrong = [(score.student, tally) for score in attempt.scores for tally in score.wrong]
    return AttemptSummary(
        number=attempt.number,
        passed=attempt.right,
        of=attempt.answers,
        revises=revises,
        chosen=chosen,
        draft=attempt.draft,
        by_student=tuple(
            StudentScore(
                student=score.student,
                passed=sum(tally.answers - tally.wrong for tally in score.tallies),
                of=sum(tally.answers for tally in score.tallies),
            )
            for score in attempt.scores
        ),
        failures=tuple(
            FailedAnswer(
                case_id=tally.prompt.id,
                student=student,
                prompt=shortened(tally.prompt.prompt, MOST_SHOWN),
                answer="did not load the skill" if tally.prompt.should_load else "loaded the skill",
                saw=(
                    "The prompt should load the skill." if tally.prompt.should_load else "The prompt is a near miss.",
                ),
            )
            for student, tally in wrong[:MOST_WRONG]
        ),
    )
