"""The course of one `generate`: cases, lessons, draft, refining, the held-out test, and what is saved of it."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter

from upskill import checks, storage
from upskill.domain import Cap, Case, Lesson
from upskill.domain.draft import Draft
from upskill.domain.generated import AttemptSummary, GenerateResult, StudentClaim, worst_of
from upskill.errors import EngineError, ProviderError, SkillInvalid
from upskill.measuring import number_of_use
from upskill.models import Ask, Endpoint, NoAnswer, Question, Reply, ServedModel, Teacher
from upskill.redaction import redactor_from
from upskill.reporting.generated import attempt_lines, generated_json
from upskill.sandbox import SandboxUnavailable, open_sandbox, require_sandbox
from upskill.settings import Resolved
from upskill.storage.records import record_text
from upskill.storage.runs import now
from upskill.storage.skill_meta import HeldOutUse, note_use, read_meta
from upskill.storage.teaching_runs import TeachingFolder, TeachingRecord
from upskill.teaching.answers import TeacherUnusable
from upskill.teaching.case_split import split_cases
from upskill.teaching.draft_rules import draft_problems, new_problems
from upskill.teaching.drafting import draft_skill
from upskill.teaching.duplicate_cases import without_doubles
from upskill.teaching.lessons import find_lessons
from upskill.teaching.programs import RunProgram, sandboxed
from upskill.workflows.evaluating.conclude import cap_notes
from upskill.workflows.evaluating.select_cases import without_copies
from upskill.workflows.evaluating.spending import client_for
from upskill.workflows.generating.material import GatheredMaterial
from upskill.workflows.generating.measure import StageMeasurer
from upskill.workflows.generating.order import GenerateOrder, Roles, Target
from upskill.workflows.generating.prove import Proof, old_version_stays, prove
from upskill.workflows.generating.provenance import provenance_of
from upskill.workflows.generating.refine import Attempt, RefineResult, content_of, refine
from upskill.workflows.generating.save import save_new, save_revision, shown_path
from upskill.workflows.generating.spending import PriorSpending
from upskill.workflows.generating.teachers import asking
from upskill.workflows.generating.write_cases import write_cases_for
from upskill.workflows.progress import RunProgress

_LESSONS = TypeAdapter(tuple[Lesson, ...])


class GenerateStages:
    """Runs every stage in order. What a stage brought is kept when it ends, and found again by whoever goes on."""

    def __init__(
        self,
        folder: TeachingFolder,
        record: TeachingRecord,
        *,
        order: GenerateOrder,
        gathered: GatheredMaterial,
        roles: Roles,
        settings: Resolved,
        own_cases: Sequence[Case],
        writes_cases: bool,
        drafts: bool,
        progress: RunProgress,
    ) -> None:
        self.record = record
        self._folder, self._order, self._gathered, self._roles = folder, order, gathered, roles
        self._own_cases, self._writes_cases, self._drafts = own_cases, writes_cases, drafts
        self._progress = progress
        self._target = order.target or Target(parent=Path(settings.values.skills_dir))
        self._client = client_for(settings.values)
        self._spending = PriorSpending(folder, self._client)
        self._redactor = redactor_from(os.environ)
        self._journal = folder.journal
        self._notes: list[str] = list(gathered.notes)

    def run(self) -> GenerateResult:
        """From the material to what is saved."""
        roles = self._roles
        ask = self._ask(roles.teacher, roles.teacher_served)
        self._progress.stage_begun(f"Generating skill with {roles.teacher.name}...")
        cases = self._cases(ask if roles.writer == roles.teacher else self._ask(roles.writer, roles.writer_served))
        lessons, draft = self._draft(ask)
        refined, proof = None, None
        best = draft
        if self._order.evaluate:
            measure = StageMeasurer(
                self._folder,
                settings=roles.student_settings,
                client=self._client,
                all_cases=cases,
                sandbox=self._order.sandbox,
                progress=self._progress,
                begins=self._begins,
            )
            refined = self._refine(draft, lessons, cases, measure, ask)
            best = draft if refined is None else refined.best.draft
            proof = self._prove(best, cases, measure)
            if measure.down is not None and (proof is None or not _is_settled(proof)):
                raise ProviderError(f"nothing was saved: {measure.down}")
        return self._save(best, cases, refined, proof)

    def _ask(self, endpoint: Endpoint, served: ServedModel) -> Ask:
        return asking(Teacher(self._client, endpoint, window=served.window), self._journal, self._redactor)

    def _ended(self, stage: str) -> None:
        self.record = replace(self.record, stage=stage)
        self._folder.write_record(self.record)

    def _cases(self, ask: Ask) -> tuple[Case, ...]:
        """All cases, each with its use. They are settled before a word of the draft is written."""
        problems = partial(checks.check_problems, judge=True)
        kept = self._folder.read_cases(check_problems=problems)
        if kept is not None:
            return kept
        own = without_copies(self._own_cases)
        self._notes += own.notes
        cases = own.cases
        if self._writes_cases:
            self._progress.stage_begun("Generating test cases...")
            written = write_cases_for(
                self._gathered.material,
                ask,
                skill=None,
                counts=self._order.counts,
                backend=self._order.sandbox,
                progress=self._progress,
                window=self._roles.writer_served.window,
            )
            for dropped in written.dropped:
                self._notes.append(f"dropped: {dropped}")
            cases = self._joined(cases_by_hand(cases), written.cases)
        cases = split_cases(cases, self._order.counts)
        self._folder.write_cases(cases)
        self._ended("cases")
        return cases

    def _joined(self, by_hand: Sequence[Case], written: Sequence[Case]) -> tuple[Case, ...]:
        """Both, but nothing that a person asks already: of two alike, one could be learned from and one held out."""
        known = {case.id for case in by_hand}
        new: list[Case] = []
        for case, double in without_doubles(written, known=by_hand):
            if double is not None:
                self._notes.append(f"dropped: {case.id} asks the same as {double.id}")
            else:
                new.append(case if case.id not in known else replace(case, id=f"{case.id}-{case.digest[:6]}"))
        return (*by_hand, *new)

    def _draft(self, ask: Ask) -> tuple[tuple[Lesson, ...], Draft]:
        """The lessons of the material, and a first draft; an old skill that needs none is its own first draft."""
        material, window = self._gathered.material, self._roles.teacher_served.window
        lessons = find_lessons(material, ask, window=window, clean=self._redactor.clean)
        self._folder.save("lessons.json", record_text(_LESSONS, lessons))
        if material.skill is not None and not self._drafts:
            return lessons, self._named(material.skill)
        draft = draft_skill(
            material,
            lessons,
            ask,
            avoid=self._order.avoid,
            window=window,
            clean=self._redactor.clean,
            run=self._try_programs(),
        )
        draft = self._named(draft)
        self._folder.keep_draft(draft)
        self._ended("draft")
        return lessons, draft

    def _named(self, draft: Draft) -> Draft:
        """A skill is named like its folder, where that is known."""
        return draft if self._target.folder is None else replace(draft, name=self._target.folder.name)

    def _try_programs(self) -> RunProgram | None:
        """Where a sandbox can be had, programs of a draft are tried in it; else they stay text."""
        if self._order.sandbox != "bubblewrap":
            return None
        try:
            require_sandbox()
        except SandboxUnavailable:
            return None
        return sandboxed(open_sandbox)

    def _begins(self, stage: str) -> None:
        names = ", ".join(student.name for student in self._roles.students)
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

        def attempted(attempt: Attempt) -> None:
            self._folder.keep_draft(attempt.draft)
            if attempt.evaluation is not None:
                for line in attempt_lines(attempt.evaluation, cases=len(learn)):
                    self._progress.note(line)
            self._ended(f"attempt {attempt.number}")

        old = self._gathered.material.skill
        refined = refine(
            draft if old is None else self._named(old),
            cases=learn,
            measure=measure,
            ask=_ending_at_a_cap(ask),
            lessons=lessons,
            revisions=self._order.revisions,
            effort=self._order.effort,
            wish=self._gathered.wish,
            proposed=draft if old is not None and self._drafts else None,
            window=self._roles.teacher_served.window,
            clean=self._redactor.clean,
            attempted=attempted,
        )
        best = refined.best
        if len(refined.attempts) > 1:
            self._progress.note(f"attempt {best.number} is the best on learn cases ({best.share}): {refined.stopped}")
        self._ended("refined")
        return refined

    def _prove(self, best: Draft, cases: Sequence[Case], measure: StageMeasurer) -> Proof | None:
        """The one test that anything is claimed from."""
        old = self._gathered.material.skill
        if old is not None and content_of(best) == content_of(self._named(old)):
            return old_version_stays()
        if self._client.exhausted is not None or measure.down is not None:
            return None
        held_out = [case for case in cases if case.use == "held-out"]
        digests = tuple(sorted(case.digest for case in held_out))
        uses = self._use_of(digests)
        proof = prove(
            best,
            held_out=held_out,
            negative=[case for case in cases if case.use == "negative"],
            measure=measure,
            against=None if old is None else self._named(old),
            uses=uses,
            students=len(self._roles.students),
        )
        self._ended("proved")
        return proof

    def _use_of(self, held_out: tuple[str, ...]) -> int:
        """Which use of these held-out cases this is. It is noted before a trial is bought: looking spends it."""
        skill = self._gathered.skill_folder
        if skill is None or not skill.is_dir() or not held_out:
            return 1
        run = self._folder.path.name
        earlier = [use for use in read_meta(skill).held_out_uses if use.run != run]
        try:
            note_use(skill, HeldOutUse(cases=held_out, run=run, at=now()))
        except EngineError as error:
            if self._target.in_place:
                raise
            self._notes.append(f"the use of its held-out cases could not be noted: {error.message}")
        return number_of_use(held_out, [use.cases for use in earlier])

    def _save(
        self, best: Draft, cases: tuple[Case, ...], refined: RefineResult | None, proof: Proof | None
    ) -> GenerateResult:
        best = self._named(best)
        old = self._gathered.material.skill
        stays = self._target.in_place and self._order.evaluate and not (proof is not None and proof.proven)
        kept = self._folder.keep_draft(best)
        unchanged = old is not None and content_of(best) == content_of(self._named(old))
        if problems := self._problems_of(best, old):
            raise SkillInvalid(f"{best.name}: this draft cannot be saved as a skill", problems=problems)
        claims = _claims(self._order, self._client.exhausted, proof, self._roles)
        status = worst_of(tuple(claim.status for claim in claims))
        sentence = proof.sentence if proof is not None else claims[0].sentence
        meta = provenance_of(
            self.record,
            folder=self._folder,
            gathered=self._gathered,
            roles=self._roles,
            proof=proof,
            claims=claims,
            status=status,
            spending=self._spending,
            wrote_cases=self._writes_cases,
        )
        place: Path | None = None
        if unchanged or stays:
            skill = storage.read_skill(kept)
        elif self._target.in_place and self._gathered.skill_folder is not None and self._folder.previous is not None:
            place = self._gathered.skill_folder
            skill = save_revision(
                place,
                best,
                meta,
                cases,
                previous=self._folder.previous,
                kept=kept,
                own_cases=None if self._order.case_file is not None else self._own_cases,
            )
        else:
            place = self._target.for_name(best.name)
            skill = save_new(place, best, meta, cases, kept=kept)
        generated = GenerateResult(
            skill=skill,
            saved=None if place is None else shown_path(place),
            kept=None if unchanged else shown_path(kept),
            revision=old is not None,
            status=status,
            sentence=sentence,
            reason=sentence if proof is None else proof.reason,
            claims=claims,
            proven=proof is not None and proof.proven,
            evaluation=None if proof is None else proof.evaluation,
            attempts=_summaries(refined),
            refined=None if refined is None else refined.stopped,
            teacher=self._roles.teacher.name,
            students=tuple(student.name for student in self._roles.students) if self._order.evaluate else (),
            cases=_counted(cases),
            by_teacher=self._spending.by_teacher,
            by_students=self._spending.by_students,
            run=shown_path(self._folder.path),
            notes=tuple(dict.fromkeys((*self._notes, *_measured_notes(proof), *self._cap_note()))),
        )
        self.record = replace(
            self.record, status="finished", stage="saved", finished_at=now(), results=generated_json(generated)
        )
        self._folder.write_record(self.record)
        return generated

    def _problems_of(self, best: Draft, old: Draft | None) -> list[str]:
        clean = self._redactor.clean
        return draft_problems(best, clean=clean) if old is None else new_problems(best, self._named(old), clean=clean)

    def _cap_note(self) -> tuple[str, ...]:
        if self._client.exhausted is None:
            return ()
        run = shown_path(self._folder.path)
        return (f"stopped at {self._client.exhausted}; go on with: upskill generate --resume {run} --max-cost DOLLARS",)


def cases_by_hand(cases: Sequence[Case]) -> tuple[Case, ...]:
    """Those of a person, which stay, whoever writes the others."""
    return tuple(case for case in cases if case.use is None)


def _ending_at_a_cap(ask: Ask) -> Ask:
    """A cap that is reached while a revision is asked for ends refining, and what there is by then is saved."""

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


def _claims(order: GenerateOrder, exhausted: Cap | None, proof: Proof | None, roles: Roles) -> tuple[StudentClaim, ...]:
    if proof is not None and proof.students:
        return tuple(
            StudentClaim(student=one.student, status=one.verdict, sentence=one.sentence) for one in proof.students
        )
    status = "not proven"
    if not order.evaluate:
        status, sentence = "not measured", "not measured: it was generated with --no-eval"
    elif proof is not None:
        sentence = proof.sentence
    else:
        sentence = f"not proven: stopped at {exhausted} before the held-out cases"
    return tuple(StudentClaim(student=student.name, status=status, sentence=sentence) for student in roles.students)


def _measured_notes(proof: Proof | None) -> tuple[str, ...]:
    """What the held-out evaluation has to tell; where it stopped is told with the way to go on."""
    evaluation = None if proof is None else proof.evaluation
    if evaluation is None:
        return ()
    told_elsewhere = cap_notes(evaluation.end)
    return tuple(note for note in evaluation.notes if note not in told_elsewhere)


def _summaries(refined: RefineResult | None) -> tuple[AttemptSummary, ...]:
    return tuple(
        AttemptSummary(number=attempt.number, passed=attempt.passes, of=len(attempt.passed))
        for attempt in (refined.attempts if refined is not None else ())
    )


def _counted(cases: Sequence[Case]) -> tuple[int, int, int]:
    learn, held_out, negative = (sum(case.use == use for case in cases) for use in ("learn", "held-out", "negative"))
    return learn, held_out, negative
