"""Revises only the description of a skill: on practice prompts, and kept only if held-out prompts show it to be better.

The body and all other files stay byte for byte. Every answer of a teacher, and what every description did, is saved
when it is there; a resumed run finds it again. The gate is that of other revisions: better on new prompts for at least
one model, worse for none."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from pydantic import TypeAdapter, ValidationError

from upskill.core.cases.prompts import read_trigger_file, triggers_text
from upskill.core.models import Ask
from upskill.core.models.teacher_answers import TeacherUnusable
from upskill.core.nouns.text import count, shortened
from upskill.core.nouns.trigger import PromptTally, TriggerPrompt, TriggerScore
from upskill.core.runs.records import first_problem, record_text
from upskill.core.runs.run_folders import run_folder_at
from upskill.core.skills.skills import read_skill
from upskill.core.statistics import level_after
from upskill.core.statistics.looks import ordinal
from upskill.errors import EngineError, ProviderError
from upskill.evaluation.triggering import measure_triggering
from upskill.generation.describe_plan import held_out_of, practice_of, prepare_description
from upskill.generation.description import (
    TriedDescription,
    compare_descriptions,
    comparison_words,
    describe_better,
    score_words,
)
from upskill.generation.draft import Clean, Draft, clean_by_patterns
from upskill.generation.edits import copy_with_description
from upskill.generation.estimate import ending_at_a_cap
from upskill.generation.files import RefiningRecord, TeachingFolder, shown_path
from upskill.generation.generated import (
    AttemptSummary,
    DescriptionAttempt,
    DescriptionComparison,
    DescriptionRevision,
    FailedAnswer,
    GenerateResult,
    StudentClaim,
    StudentScore,
    worst_of,
)
from upskill.generation.save import described_meta, save_description
from upskill.generation.teaching import Saved, Teaching, agreed, asks, earlier_uses, finished
from upskill.report.wording import unique_names


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerMeasurement:
    """What the models did with one description."""

    scores: tuple[TriggerScore, ...]
    """One for each model and company, always in the same order."""
    draft: str | None = None
    """The skill with this description, in the run folder."""
    cut_short: str | None = None
    """Why it ended before all prompts were asked, in words; nothing more can be bought then."""


class MeasureDescription(Protocol):
    """Measures a description with every model."""

    def __call__(self, stage: str, description: str, prompts: Sequence[TriggerPrompt]) -> TriggerMeasurement:
        """Measure on these prompts. `stage` names the measurement within the run: `learn-1`, `held-out-old`.

        The same stage is asked for once only; a resumed command asks for it again and is given what it had. Raises
        where nothing can be run, and `KeyboardInterrupt` where a person stopped it. A cap that was reached is in what
        is returned.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class RefinedDescription:
    """All descriptions that were measured, the best of them, and why revising ended."""

    best: DescriptionAttempt
    attempts: tuple[DescriptionAttempt, ...]
    stopped: str
    """In words for a person."""
    cut_short: bool = False
    """Whether a cap or an outage ended it."""


def refine_description(
    skill: Draft,
    *,
    prompts: Sequence[TriggerPrompt],
    measure: MeasureDescription,
    ask: Ask,
    revisions: int,
    window: int | None = None,
    clean: Clean = clean_by_patterns,
    on_attempt: Callable[[DescriptionAttempt, DescriptionAttempt], None] = lambda _attempt, _best: None,
) -> RefinedDescription:
    """Revise until nothing is wrong on the practice prompts, or so many revisions were measured.

    A description takes the place of the best only if its J is higher: one that loads the skill for every prompt has a J
    of 0. Raises what `measure` and `ask` raise, other than `TeacherUnusable`.
    """

    def attempt(number: int, description: str) -> DescriptionAttempt:
        measured = measure(f"learn-{number}", description, prompts)
        cut_short.append(measured.cut_short)
        return DescriptionAttempt(
            number=number, description=description, scores=measured.scores, draft=measured.draft, chosen=True
        )

    def ended(stopped: str) -> RefinedDescription:
        chosen = tuple(replace(one, chosen=one.number == best.number) for one in attempts)
        return RefinedDescription(
            best=best, attempts=chosen, stopped=stopped, cut_short=any(one is not None for one in cut_short)
        )

    cut_short: list[str | None] = []
    attempts = [best := attempt(1, skill.description)]
    on_attempt(best, best)
    for number in range(2, revisions + 2):
        if cut_short[-1] is not None:
            return ended(cut_short[-1])
        if not any(tally.wrong for score in best.scores for tally in score.tallies):
            return ended("every practice prompt was decided rightly")
        try:
            description = describe_better(
                replace(skill, description=best.description),
                all_together(best.scores),
                ask,
                figures="\n".join(f"- {score_words(score)}" for score in best.scores),
                tried=[_tried(one) for one in attempts if one.number != best.number],
                window=window,
                clean=clean,
            )
        except TeacherUnusable as unusable:
            return ended(unusable.message)
        attempts.append(new := attempt(number, description))
        if cut_short[-1] is None and new.j is not None and best.j is not None and new.j > best.j + 1e-9:
            best = new
        on_attempt(new, best)
    if cut_short[-1] is not None:
        return ended(cut_short[-1])
    return ended(f"{count(revisions, 'revision')} measured")


def all_together(scores: Sequence[TriggerScore]) -> tuple[PromptTally, ...]:
    """One tally for each prompt, of all models and companies together."""
    found: dict[str, PromptTally] = {}
    for tally in (one for score in scores for one in score.tallies):
        before = found.get(tally.prompt.id)
        if before is None:
            found[tally.prompt.id] = tally
            continue
        found[tally.prompt.id] = replace(
            before,
            answers=before.answers + tally.answers,
            loads=before.loads + tally.loads,
            errored=before.errored + tally.errored,
            others=tuple(dict.fromkeys((*before.others, *tally.others))),
        )
    return tuple(found.values())


def _tried(one: DescriptionAttempt) -> TriedDescription:
    return TriedDescription(description=one.description, outcome="; ".join(map(score_words, one.scores)))


@dataclass(frozen=True, kw_only=True, slots=True)
class DescriptionProof:
    """What held-out prompts showed, and whether the new description is accepted."""

    proven: bool
    reason: str
    """For a person."""
    comparisons: tuple[DescriptionComparison, ...] = ()
    """One for each model and company; empty where no held-out prompt was used."""
    held_out: tuple[str, ...] = ()
    """The digests of the prompts that were used: another use of one of them spends more of its error."""

    @property
    def claims(self) -> tuple[StudentClaim, ...]:
        """What is claimed for each model: the worst of its companies."""
        found: dict[str, list[DescriptionComparison]] = {}
        for one in self.comparisons:
            found.setdefault(one.student, []).append(one)
        return tuple(_claim(student, mine) for student, mine in found.items())


def stays(reason: str) -> DescriptionProof:
    """The old description stays, and no held-out prompt was used."""
    return DescriptionProof(proven=False, reason=reason)


def prove_description(
    old: str,
    new: str,
    *,
    held_out: Sequence[TriggerPrompt],
    measure: MeasureDescription,
    earlier: Sequence[bool] = (),
) -> DescriptionProof:
    """Measure both descriptions on held-out prompts and judge the new one.

    `earlier` says of each earlier use of these prompts whether it proved something. One model that decides better is
    enough, so each of several is tested at its share of the level. Raises what `measure` raises.
    """
    before, after = measure("held-out-old", old, held_out), measure("held-out-new", new, held_out)
    cut_short = before.cut_short or after.cut_short
    level = level_after(earlier) / max(1, len(after.scores))
    old_scores = {(score.student, score.company): score for score in before.scores}
    comparisons = tuple(
        _in_words(compare_descriptions(old_scores[key], score, level=level))
        for score in after.scores
        if (key := (score.student, score.company)) in old_scores  # a cap may have ended one of them early
    )
    hurt = [one for one in comparisons if one.verdict == "hurts" or one.worse]
    proven = cut_short is None and any(one.better for one in comparisons) and not hurt
    reason = comparisons[0].sentence if len(comparisons) == 1 else _of_several(comparisons)
    if not comparisons:
        reason = "nothing was measured"
    if earlier:
        reason += f" (stricter threshold: {ordinal(len(earlier) + 1)} look at these prompts)"
    if cut_short is not None:
        reason = f"{cut_short} before all held-out prompts were asked; so far, {reason}"
    return DescriptionProof(
        proven=proven,
        reason=reason,
        comparisons=comparisons,
        held_out=tuple(sorted(prompt.digest for prompt in held_out)),
    )


def _in_words(one: DescriptionComparison) -> DescriptionComparison:
    return replace(one, sentence=comparison_words(one))


def _of_several(comparisons: Sequence[DescriptionComparison]) -> str:
    better = sum(one.better for one in comparisons)
    hurt = sum(one.verdict == "hurts" or bool(one.worse) for one in comparisons)
    models = len({one.student for one in comparisons})
    where = "alone and among other skills, " if len(comparisons) > models else ""
    prompts = count(max(len(one.after.tallies) for one in comparisons), "held-out prompt")
    return (
        f"the new one is better in {better} of {len(comparisons)} comparisons and worse in {hurt or 'none'} "
        f"({count(models, 'model')}, {where}{prompts})"
    )


def _claim(student: str, mine: Sequence[DescriptionComparison]) -> StudentClaim:
    statuses = tuple("undecided" if one.verdict == "helps" and not one.better else one.verdict for one in mine)
    status = "hurts" if any(one.worse for one in mine) else worst_of(statuses)
    shown = next((one for one in mine if one.verdict == status), mine[0])
    return StudentClaim(student=student, status=status, sentence=shown.sentence, claim=shown.claim)


PROMPTS_FILE = "triggers.json"
"""The prompts of the run, practice and held-out."""
SCORES_FILE = "scores-{stage}.json"
"""What a description did in one stage."""
MOST_SHOWN = 400
"""Characters of a prompt in the record of an attempt."""
MOST_WRONG = 12
"""Wrong answers that the record of an attempt names."""
_SCORES = TypeAdapter(tuple[TriggerScore, ...])
HELD_OUT = "held-out"
"""How the stages begin that claims rest on."""
_STAGES = {"held-out-old": "held-out prompts, the old description", "held-out-new": "held-out prompts, the new one"}


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
    drafts = state.folder.path / "drafts"
    numbers = sorted(int(path.name) for path in drafts.glob("[0-9]*") if path.name.isdecimal())
    for number in numbers:
        folder = drafts / str(number) / previous.name
        if folder.is_dir() and read_skill(folder).description == description:
            return folder
    folder = drafts / str(numbers[-1] + 1 if numbers else 1) / previous.name
    folder.parent.mkdir(parents=True)
    copy_with_description(previous, folder, description)
    return folder


def _measure(state: Teaching, stage: str, description: str, prompts: Sequence[TriggerPrompt]) -> TriggerMeasurement:
    """As `MeasureDescription` says."""
    draft, run = _draft_of(state, description), state.folder.path
    shown = draft.relative_to(run).as_posix()
    name = SCORES_FILE.format(stage=stage)
    if (known := state.folder.saved(name)) is not None:
        return TriggerMeasurement(scores=_scores(known, run / name), draft=shown)
    words = _STAGES.get(stage) or f"practice prompts, description {stage.rpartition('-')[2]}"
    state.progress.stage_begun(f"Asking {len(prompts)} prompts... ({words})")
    state.client.down.clear()  # what was down a stage ago may be up again
    settings = state.inputs.roles.student_settings
    if stage.startswith(HELD_OUT):
        # Who revises a description because its last answers were poor must not compare it by these very answers.
        settings = replace(settings, values=replace(settings.values, store=False))
    measured = measure_triggering(
        prepare_description(state.inputs.order, draft, prompts, settings.values, progress=state.progress),
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
    if refined.best.number == 1:
        if len(refined.attempts) == 1:
            return stays(f"none other was measured, so no held-out prompt was used ({refined.stopped})")
        return stays("none was better on practice prompts, so no held-out prompt was used")
    if refined.cut_short:
        return stays(f"the best new one was not measured on held-out prompts ({refined.stopped})")
    proof = prove_description(
        refined.attempts[0].description,
        refined.best.description,
        held_out=held_out,
        measure=partial(_measure, state),
        earlier=earlier_uses(state, tuple(sorted(prompt.digest for prompt in held_out)), noun="prompts"),
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


def _scores(text: bytes, path: Path) -> tuple[TriggerScore, ...]:
    try:
        return _SCORES.validate_json(text)
    except ValidationError as error:
        raise EngineError(f"{path}: cannot be read: {first_problem(error)}") from None


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
