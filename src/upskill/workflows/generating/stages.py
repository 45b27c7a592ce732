"""The stages of a `generate`: cases, lessons, draft, refining, the held-out test, and what is saved."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pydantic import TypeAdapter

from upskill import checks, storage
from upskill.domain import Case, Lesson
from upskill.domain.draft import Draft
from upskill.domain.family import by_family, family_notes, with_merged_families
from upskill.domain.generated import AttemptSummary, GenerateResult, worst_of
from upskill.errors import EngineError, ProviderError, SkillInvalid
from upskill.measuring import more_cases_hint
from upskill.models import Ask, Endpoint, NoAnswer, Question, Reply, ServedModel, Teacher
from upskill.redaction import redactor_from
from upskill.reporting import evaluation_json
from upskill.reporting.generated import attempt_lines, generated_json
from upskill.sandbox import SandboxUnavailable, open_sandbox, require_sandbox
from upskill.storage.records import record_text
from upskill.storage.runs import now
from upskill.storage.skill_meta import HeldOutUse, note_use, read_meta
from upskill.storage.teaching_runs import TeachingFolder, TeachingRecord
from upskill.teaching.answers import TeacherUnusable
from upskill.teaching.case_split import split_cases, without_doubles
from upskill.teaching.draft_rules import draft_problems
from upskill.teaching.drafting import draft_skill
from upskill.teaching.lessons import find_lessons
from upskill.teaching.programs import RunProgram, sandboxed
from upskill.workflows.evaluating.notes import cap_notes
from upskill.workflows.evaluating.select_cases import without_copies
from upskill.workflows.evaluating.spending import client_for
from upskill.workflows.generating.measure import StageMeasurer
from upskill.workflows.generating.plan import GenerateInputs, cases_by_hand, uses_of
from upskill.workflows.generating.prove import Proof, old_version_stays, prove
from upskill.workflows.generating.provenance import claims_of, provenance_of
from upskill.workflows.generating.refine import Attempt, RefineResult, content_of, refine
from upskill.workflows.generating.save import save_draft, shown_path
from upskill.workflows.generating.spending import PriorSpending
from upskill.workflows.generating.teachers import ask_function
from upskill.workflows.generating.write_cases import write_cases_for
from upskill.workflows.handoff import handoff_for
from upskill.workflows.progress import RunProgress

_LESSONS = TypeAdapter(tuple[Lesson, ...])


class GenerateStages:
    """Runs every stage in order. The result of each is saved when it ends, and found again by a run that is resumed."""

    def __init__(
        self, folder: TeachingFolder, record: TeachingRecord, inputs: GenerateInputs, *, progress: RunProgress
    ) -> None:
        self.record = record
        self._folder, self._inputs, self._progress = folder, inputs, progress
        self._client = client_for(inputs.settings.values)
        self._spending = PriorSpending(folder, self._client)
        self._redactor = redactor_from(os.environ)
        self._journal = folder.journal
        self._notes: list[str] = list(inputs.gathered.notes)

    def run(self) -> GenerateResult:
        """Run all stages, from the material to what is saved."""
        roles = self._inputs.roles
        ask = self._ask(roles.teacher, roles.teacher_served)
        self._progress.stage_begun(f"Generating skill with {roles.teacher.name}...")
        cases = self._cases(ask if roles.writer == roles.teacher else self._ask(roles.writer, roles.writer_served))
        lessons, draft = self._draft(ask)
        if not self._inputs.order.evaluate:
            return self._save(draft, cases, None, None)
        measure = StageMeasurer(
            self._folder,
            settings=roles.student_settings,
            client=self._client,
            all_cases=cases,
            sandbox=self._inputs.order.sandbox,
            progress=self._progress,
            on_stage=self._report_stage,
        )
        refined = self._refine(draft, lessons, cases, measure, ask)
        best = draft if refined is None else refined.best.draft
        proof = self._prove(best, cases, measure)
        if measure.down is not None and (proof is None or not _is_settled(proof)):
            raise ProviderError(f"nothing was saved: {measure.down}")
        return self._save(best, cases, refined, proof)

    def _ask(self, endpoint: Endpoint, served: ServedModel) -> Ask:
        handoff = handoff_for(endpoint, run=self._folder.path, wait=self._inputs.order.wait, report=self._progress.note)
        teacher = Teacher(self._client, endpoint, window=served.window, handoff=handoff)
        return ask_function(teacher, self._journal, self._redactor)

    def _ended(self, stage: str) -> None:
        self.record = replace(self.record, stage=stage)
        self._folder.write_record(self.record)

    def _cases(self, ask: Ask) -> tuple[Case, ...]:
        """All cases, each with its use. They are final before the draft is written."""
        problems = partial(checks.check_problems, judge=True)
        saved = self._folder.read_cases(check_problems=problems)
        if saved is not None:
            return saved
        own = without_copies(self._inputs.own_cases)
        self._notes += own.notes
        cases = own.cases
        if self._inputs.writes_cases:
            self._progress.stage_begun("Generating test cases...")
            written = write_cases_for(
                self._inputs.gathered.material,
                ask,
                skill=None,
                counts=self._inputs.order.counts,
                backend=self._inputs.order.sandbox,
                progress=self._progress,
                window=self._inputs.roles.writer_served.window,
            )
            for dropped in written.dropped:
                self._notes.append(f"dropped: {dropped}")
            cases = self._joined(cases_by_hand(cases), written.cases)
        cases = split_cases(cases, self._inputs.order.counts)
        self._notes += (*family_notes(cases), *_few_families(cases))
        self._folder.write_cases(cases)
        self._ended("cases")
        return cases

    def _joined(self, by_hand: Sequence[Case], written: Sequence[Case]) -> tuple[Case, ...]:
        """Both, without written cases that repeat a person's: one could be learned from and the other held out.

        Written ones lose their side where there are others: families that now span both are split as one.
        """
        if not by_hand:
            return tuple(written)
        known = {case.id for case in by_hand}
        new: list[Case] = []
        for case, double in without_doubles(written, known=by_hand):
            if double is not None:
                self._notes.append(f"dropped: {case.id} asks the same as {double.id}")
            else:
                new.append(case if case.id not in known else replace(case, id=f"{case.id}-{case.digest[:6]}"))
        sideless = (case if case.use == "negative" else replace(case, use=None) for case in new)
        return with_merged_families((*by_hand, *sideless), by_hand=by_hand)

    def _draft(self, ask: Ask) -> tuple[tuple[Lesson, ...], Draft]:
        """The lessons of the material, and a first draft; an old skill that needs none is its own first draft."""
        material, window = self._inputs.gathered.material, self._inputs.roles.teacher_served.window
        lessons = find_lessons(material, ask, window=window, clean=self._redactor.clean)
        self._folder.save("lessons.json", record_text(_LESSONS, lessons))
        if (old := self._inputs.old) is not None and not self._inputs.drafts:
            return lessons, old
        draft = draft_skill(
            material,
            lessons,
            ask,
            avoid=self._inputs.order.avoid,
            window=window,
            clean=self._redactor.clean,
            run=self._try_programs(),
        )
        draft = self._inputs.named(draft)
        self._folder.keep_draft(draft)
        self._ended("draft")
        return lessons, draft

    def _try_programs(self) -> RunProgram | None:
        """Runs programs of a draft in a sandbox; `None` where there is none, and they are not tried."""
        if self._inputs.order.sandbox != "bubblewrap":
            return None
        try:
            require_sandbox()
        except SandboxUnavailable:
            return None
        return sandboxed(open_sandbox)

    def _report_stage(self, stage: str) -> None:
        names = ", ".join(student.name for student in self._inputs.roles.students)
        what, _, number = stage.rpartition("-")
        if what == "learn":
            self._progress.stage_begun(f"Evaluating on {names}... (attempt {number})")
        elif stage == "held-out":
            self._progress.stage_begun(f"Evaluating on {names}... (held-out cases, once)")
        elif stage.startswith("search"):
            self._progress.note(f"search: proposal {number}")
        else:
            words = {"negative": "tasks it must not change", "suspects": "cases that looked worse, again"}
            self._progress.stage_begun(
                f"Evaluating on {names}... ({words.get(stage, 'held-out cases, for the guard')})"
            )

    def _refine(
        self, draft: Draft, lessons: Sequence[Lesson], cases: Sequence[Case], measure: StageMeasurer, ask: Ask
    ) -> RefineResult | None:
        learn = [case for case in cases if case.use == "learn"]
        if not learn:
            return None

        def on_attempt(attempt: Attempt) -> None:
            self._folder.keep_draft(attempt.draft)
            if attempt.evaluation is not None:
                for line in attempt_lines(attempt.evaluation, cases=len(learn)):
                    self._progress.note(line)
            self._ended(f"attempt {attempt.number}")

        old = self._inputs.old
        refined = refine(
            draft if old is None else old,
            cases=learn,
            measure=measure,
            ask=_ending_at_a_cap(ask),
            lessons=lessons,
            revisions=self._inputs.order.revisions,
            effort=self._inputs.order.effort,
            wish=self._inputs.gathered.wish,
            proposed=draft if old is not None and self._inputs.drafts else None,
            window=self._inputs.roles.teacher_served.window,
            clean=self._redactor.clean,
            on_attempt=on_attempt,
        )
        best = refined.best
        if len(refined.attempts) > 1:
            self._progress.note(f"attempt {best.number} is the best on learn cases ({best.share}): {refined.stopped}")
        self._ended("refined")
        return refined

    def _prove(self, best: Draft, cases: Sequence[Case], measure: StageMeasurer) -> Proof | None:
        """The one test that claims rest on."""
        old = self._inputs.old
        if old is not None and content_of(best) == content_of(old):
            return old_version_stays()
        if self._client.exhausted is not None or measure.down is not None:
            return None
        held_out = [case for case in cases if case.use == "held-out"]
        digests = tuple(sorted(case.digest for case in held_out))
        helped = self._earlier_uses(digests)
        proof = prove(
            best,
            held_out=held_out,
            negative=[case for case in cases if case.use == "negative"],
            measure=measure,
            against=old,
            earlier=helped,
            students=len(self._inputs.roles.students),
        )
        if proof.evaluation is not None:
            # `upskill report` and `upskill runs` read the record: it says what is claimed here.
            stage = self._folder.stage("held-out")
            stage.write_record(replace(storage.read_run(stage.path), results=evaluation_json(proof.evaluation)))
        self._ended("proved")
        return proof

    def _earlier_uses(self, held_out: tuple[str, ...]) -> tuple[bool, ...]:
        """For each earlier use of one of these cases, whether it proved something. This one is recorded before a trial
        is bought, since each look spends error. Exchanging a case does not begin again at the first level."""
        skill = self._inputs.gathered.skill_folder
        if skill is None or not skill.is_dir() or not held_out:
            return ()
        run = self._folder.path.name
        earlier = [use for use in read_meta(skill).held_out_uses if use.run != run]
        try:
            note_use(skill, HeldOutUse(cases=held_out, run=run, at=now()))
        except EngineError as error:
            if self._inputs.target.in_place:
                raise
            self._notes.append(f"the use of its held-out cases could not be noted: {error.message}")
        return tuple(use.helped for use in earlier if not set(held_out).isdisjoint(use.cases))

    def _save(
        self, best: Draft, cases: tuple[Case, ...], refined: RefineResult | None, proof: Proof | None
    ) -> GenerateResult:
        inputs, best = self._inputs, self._inputs.named(best)
        copy = self._folder.keep_draft(best)
        if problems := self._problems_of(best):
            raise SkillInvalid(f"{best.name}: this draft cannot be saved as a skill", problems=problems)
        claims = claims_of(inputs, proof, exhausted=self._client.exhausted)
        status = worst_of(tuple(claim.status for claim in claims))
        meta = provenance_of(
            inputs,
            self.record,
            folder=self._folder,
            proof=proof,
            claims=claims,
            status=status,
            spent=self._spending.whole,
        )
        unchanged = inputs.old is not None and content_of(best) == content_of(inputs.old)
        old_stays = inputs.target.in_place and inputs.order.evaluate and not (proof is not None and proof.proven)
        place, skill = None, None
        if not (unchanged or old_stays):
            place, skill = save_draft(inputs, best, meta, cases, copy=copy, previous=self._folder.previous)
        result = GenerateResult(
            skill=skill or storage.read_skill(copy),
            saved=None if place is None else shown_path(place),
            kept=None if unchanged else shown_path(copy),
            revision=inputs.old is not None,
            status=status,
            sentence=proof.sentence if proof is not None else claims[0].sentence,
            reason=proof.reason if proof is not None else claims[0].sentence,
            claims=claims,
            proven=proof is not None and proof.proven,
            evaluation=None if proof is None else proof.evaluation,
            attempts=_summaries(refined),
            refined=None if refined is None else refined.stopped,
            teacher=inputs.roles.teacher.name,
            students=tuple(student.name for student in inputs.roles.students) if inputs.order.evaluate else (),
            cases=_counted(cases),
            by_teacher=self._spending.by_teacher,
            by_students=self._spending.by_students,
            run=shown_path(self._folder.path),
            notes=tuple(dict.fromkeys((*self._notes, *_measured_notes(proof), *self._cap_note()))),
        )
        self.record = replace(
            self.record, status="finished", stage="saved", finished_at=now(), results=generated_json(result)
        )
        self._folder.write_record(self.record)
        return result

    def _problems_of(self, best: Draft) -> list[str]:
        old, clean = self._inputs.old, self._redactor.clean
        return draft_problems(best, before=old, clean=clean)

    def _cap_note(self) -> tuple[str, ...]:
        if self._client.exhausted is None:
            return ()
        run = shown_path(self._folder.path)
        return (f"stopped at {self._client.exhausted}; go on with: upskill generate --resume {run} --max-cost DOLLARS",)


def _few_families(cases: Sequence[Case]) -> tuple[str, ...]:
    """A note where held-out cases share so few families that little can be said of others."""
    held_out = [case for case in cases if case.use == "held-out"]
    families = len(by_family(held_out))
    hint = more_cases_hint(cases=len(held_out), families=families)
    return () if hint is None or families == len(held_out) else (hint,)


def _ending_at_a_cap(ask: Ask) -> Ask:
    """Make a cap that is reached during refining end it, so that the best draft so far is saved."""

    def asked(questions: Sequence[Question], /) -> tuple[Reply, ...]:
        try:
            return ask(questions)
        except NoAnswer as error:
            if error.fault != "budget":
                raise
            raise TeacherUnusable(str(error)) from None

    return asked


def _is_settled(proof: Proof) -> bool:
    """Whether an outage came too late to change anything."""
    return not proof.students or all(one.verdict not in ("invalid", "undecided") for one in proof.students)


def _measured_notes(proof: Proof | None) -> tuple[str, ...]:
    """Notes of the held-out evaluation, without the cap it reached: `_cap_note` has that, with how to resume."""
    evaluation = None if proof is None else proof.evaluation
    if evaluation is None:
        return ()
    noted_elsewhere = cap_notes(evaluation.end)
    return tuple(note for note in evaluation.notes if note not in noted_elsewhere)


def _summaries(refined: RefineResult | None) -> tuple[AttemptSummary, ...]:
    return tuple(
        AttemptSummary(number=attempt.number, passed=attempt.passes, of=len(attempt.passed))
        for attempt in (refined.attempts if refined is not None else ())
    )


def _counted(cases: Sequence[Case]) -> tuple[int, int, int]:
    uses = uses_of(cases)
    return uses["learn"], uses["held_out"], uses["negative"]
