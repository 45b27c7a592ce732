"""Revises only the description of a skill: on practice prompts, and kept only if held-out prompts show it to be better.

The body and all other files stay byte for byte. Every answer of a teacher, and what every description did, is saved
when it is there; a resumed run finds it again.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from upskill import storage
from upskill.domain import Draft
from upskill.domain.description import DescriptionAttempt, DescriptionRevision
from upskill.domain.generated import AttemptSummary, FailedAnswer, GenerateResult, StudentClaim, StudentScore, worst_of
from upskill.domain.text import shortened
from upskill.domain.trigger import TriggerPrompt, TriggerScore
from upskill.errors import EngineError, ProviderError
from upskill.reporting.described import score_words
from upskill.reporting.glance.names import unique_names
from upskill.storage.description import copy_with_description
from upskill.storage.records import first_problem, record_text
from upskill.storage.runs import run_folder_at
from upskill.storage.teaching_runs import RefiningRecord, TeachingFolder
from upskill.storage.triggers import read_trigger_file, triggers_text
from upskill.workflows.generating.describe_plan import held_out_of, practice_of, trigger_order
from upskill.workflows.generating.describe_prove import DescriptionProof, prove_description, stays
from upskill.workflows.generating.describe_refine import RefinedDescription, TriggerMeasurement, refine_description
from upskill.workflows.generating.describe_save import described_meta, save_description
from upskill.workflows.generating.shown_path import shown_path, shown_skill
from upskill.workflows.generating.spending import ending_at_a_cap
from upskill.workflows.generating.staged_run import StagedRun
from upskill.workflows.triggering.measure import measure_triggering
from upskill.workflows.triggering.prepare import prepare_triggering

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


class DescribeStages(StagedRun):
    """Runs every stage in order: practice prompts, revisions, held-out prompts, what is saved."""

    _down: str | None = None
    """Why a model could not be asked any more; `None` while all can be."""

    def run(self) -> GenerateResult:
        """Run all stages, from the prompts to what is saved."""
        roles, old = self._inputs.roles, self._old
        self._progress.stage_begun(f"Revising the description with {unique_names([roles.teacher.name])[0]}...")
        prompts = self._prompts()
        ask = self._search.watching(self._ask(roles.teacher, roles.teacher_served))
        refined = refine_description(
            old,
            prompts=practice_of(prompts),
            measure=self._measure,
            ask=ending_at_a_cap(ask),
            revisions=self._inputs.order.revisions,
            window=roles.teacher_served.window,
            clean=self._redactor.clean,
            on_attempt=self._on_attempt,
        )
        self._folder.write_attempts(RefiningRecord(attempts=self._attempts, stopped=refined.stopped))
        self._ended("refined")
        proof = self._prove(refined, held_out_of(prompts))
        if self._down is not None and not proof.proven:
            raise ProviderError(f"nothing was saved: {self._down}")
        return self._save(refined, proof, prompts)

    @property
    def _old(self) -> Draft:
        """The skill as it was when the run began, with the description as agents read it."""
        previous = self._folder.previous
        if previous is None:
            raise EngineError(f"{self._folder.path}: has no copy of the skill", hint="start a new run")
        skill = storage.read_skill(previous)
        return Draft(name=skill.name, description=skill.description, body=skill.body)

    def _prompts(self) -> tuple[TriggerPrompt, ...]:
        """All prompts, as they were when the run began."""
        return read_trigger_file(self._folder.path / PROMPTS_FILE).prompts

    def _draft_of(self, description: str) -> Path:
        """The skill with this description, in the run folder; the copy of the old version where it is the old one."""
        previous = self._folder.previous
        assert previous is not None
        if description == self._old.description:
            return previous
        drafts = self._folder.path / "drafts"
        numbers = sorted(int(path.name) for path in drafts.glob("[0-9]*") if path.name.isdecimal())
        for number in numbers:
            folder = drafts / str(number) / previous.name
            if folder.is_dir() and storage.read_skill(folder).description == description:
                return folder
        folder = drafts / str(numbers[-1] + 1 if numbers else 1) / previous.name
        folder.parent.mkdir(parents=True)
        copy_with_description(previous, folder, description)
        return folder

    def _measure(self, stage: str, description: str, prompts: Sequence[TriggerPrompt]) -> TriggerMeasurement:
        """As `MeasureDescription` says."""
        draft = self._draft_of(description)
        shown = draft.relative_to(self._folder.path).as_posix()
        name = SCORES_FILE.format(stage=stage)
        if (known := self._folder.saved(name)) is not None:
            return TriggerMeasurement(scores=_scores(known, self._folder.path / name), draft=shown)
        self._progress.stage_begun(f"Asking {len(prompts)} prompts... ({self._stage_words(stage)})")
        self._client.down.clear()  # what was down a stage ago may be up again
        settings = self._inputs.roles.student_settings
        if stage.startswith(HELD_OUT):
            # Who revises a description because its last answers were poor must not compare it by these very answers.
            settings = replace(settings, values=replace(settings.values, store=False))
        prepared = prepare_triggering(
            trigger_order(self._inputs.order, draft, prompts), settings.values, progress=self._progress
        )
        measured = measure_triggering(
            prepared,
            settings=settings,
            client=self._client,
            folder_of=lambda company: run_folder_at(self._folder.path / "trials" / f"{stage}-{company}"),
            progress=self._progress,
        )
        if measured.end.interrupted:
            raise KeyboardInterrupt
        cut_short = None
        if self._client.exhausted is not None:
            cut_short = f"stopped at {self._client.exhausted}"
        elif measured.end.outages:
            outage = measured.end.outages[0]
            cut_short = self._down = f"{outage.model} went down: {outage.said}"
        else:
            self._folder.save(name, record_text(_SCORES, measured.scores))
        for line in map(score_words, measured.scores):
            self._progress.note(line)
        self._notes += (note for note in measured.notes if note not in self._notes)
        return TriggerMeasurement(scores=measured.scores, draft=shown, cut_short=cut_short)

    def _stage_words(self, stage: str) -> str:
        return _STAGES.get(stage) or f"practice prompts, description {stage.rpartition('-')[2]}"

    def _on_attempt(self, attempt: DescriptionAttempt, best: DescriptionAttempt) -> None:
        """Keep a description and how it did, for the report of the run and for a run that ends early."""
        revises = next((one.number for one in self._attempts if one.chosen), None)
        summary = _summary(attempt, chosen=attempt.number == best.number, revises=revises)
        self._keep_attempt(summary, best=best.number)
        if best.number > 1 and best.draft is not None:
            path = shown_path(self._folder.path / best.draft)
            right = f"{best.right} of {best.answers} right on practice prompts"
            self.best_draft = f"the best description so far is in {path} ({right})"
        self._ended(f"attempt {attempt.number}")

    def _prove(self, refined: RefinedDescription, held_out: Sequence[TriggerPrompt]) -> DescriptionProof:
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
            measure=self._measure,
            earlier=self._earlier_uses(tuple(sorted(prompt.digest for prompt in held_out)), noun="prompts"),
        )
        self._ended("proved")
        return proof

    def _save(
        self, refined: RefinedDescription, proof: DescriptionProof, prompts: Sequence[TriggerPrompt]
    ) -> GenerateResult:
        inputs, best = self._inputs, refined.best
        copy = self._draft_of(best.description)
        unchanged = best.number == 1
        names = tuple(student.name for student in inputs.roles.students)
        claims = proof.claims or tuple(
            StudentClaim(student=name, status="not proven", sentence=f"not proven: {proof.reason}") for name in names
        )
        found = () if unchanged else self._search.search(copy)
        place, skill = None, None
        if not unchanged and (proof.proven or not inputs.target.in_place):
            found = self._agreed(found, copy)
            meta = described_meta(inputs, self.record, proof, folder=self._folder, spent=self._spending.whole)
            meta = replace(meta, findings=found)
            place, skill = save_description(inputs, best.description, meta, copy=copy, previous=self._folder.previous)
        result = GenerateResult(
            skill=skill or storage.read_skill(copy),
            saved=None if place is None else shown_path(place),
            kept=None if unchanged else shown_path(copy),
            improved=shown_skill(self.record, self._folder.previous),
            revision=True,
            status=worst_of(tuple(claim.status for claim in claims)),
            sentence=f"the old description {'is replaced' if proof.proven else 'stays'}: {proof.reason}",
            reason=proof.reason,
            claims=claims,
            proven=proof.proven,
            evaluation=None,
            attempts=self._attempts,
            refined=refined.stopped,
            teacher=inputs.roles.teacher.name,
            students=names,
            cases=(0, 0, 0),
            by_teacher=self._spending.by_teacher,
            by_students=self._spending.by_students,
            run=shown_path(self._folder.path),
            notes=self._all_notes(),
            findings=found,
            description=DescriptionRevision(
                before=refined.attempts[0].description,
                after=best.description,
                attempts=refined.attempts,
                held_out=proof.comparisons,
                prompts=(len(practice_of(prompts)), len(held_out_of(prompts))),
            ),
        )
        return self._finished(result)


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
