"""The stages of a `generate`: cases, lessons, draft, refining, the held-out test, and what is saved."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pydantic import TypeAdapter

from upskill import storage
from upskill.domain import Case, Lesson, estimate_tokens
from upskill.domain.draft import Draft
from upskill.domain.generated import GenerateResult, worst_of
from upskill.domain.student_profile import Aptitude, CountTokens, StudentProfile
from upskill.domain.text import shortened
from upskill.errors import ProviderError, SkillInvalid
from upskill.models import Ask
from upskill.reporting import evaluation_json
from upskill.reporting.aptitude import aptitude_lines
from upskill.reporting.generated import MOST_REASON, attempt_lines
from upskill.reporting.glance.names import unique_names
from upskill.sandbox import SandboxUnavailable, open_sandbox, require_sandbox
from upskill.storage.records import record_text
from upskill.storage.teaching_runs import APTITUDE_FILE, RefiningRecord, TeachingFolder, TeachingRecord
from upskill.teaching.draft_rules import draft_problems
from upskill.teaching.drafting import draft_skill
from upskill.teaching.lessons import find_lessons
from upskill.teaching.presentations import PROSE
from upskill.teaching.programs import RunProgram, sandboxed
from upskill.workflows.generating.aptitude import require_prospect, with_aptitude
from upskill.workflows.generating.attempts import Attempt, content_of
from upskill.workflows.generating.case_stage import CaseStage
from upskill.workflows.generating.findings import NOBODY, Accept, material_notes
from upskill.workflows.generating.measure import StageMeasurer, report_stage
from upskill.workflows.generating.nothing_to_fix import nothing_to_fix
from upskill.workflows.generating.order import Roles
from upskill.workflows.generating.plan import GenerateInputs, topics_of
from upskill.workflows.generating.prove import Proof, old_version_stays, prove
from upskill.workflows.generating.provenance import claims_of, provenance_of
from upskill.workflows.generating.refine import RefineResult, refine
from upskill.workflows.generating.result import attempt_summary, counted_cases, is_settled, measured_notes
from upskill.workflows.generating.save import save_draft
from upskill.workflows.generating.shown_path import shown_path, shown_skill
from upskill.workflows.generating.spending import ending_at_a_cap
from upskill.workflows.generating.staged_run import StagedRun
from upskill.workflows.generating.student_profile import counter_for, require_room_for_old
from upskill.workflows.progress import RunProgress

_LESSONS = TypeAdapter(tuple[Lesson, ...])
_APTITUDES = TypeAdapter(tuple[Aptitude, ...])
PROFILE_RECORD = TypeAdapter(StudentProfile)
PROFILE = "student.json"


class GenerateStages(StagedRun):
    """Runs every stage in order. The result of each is saved when it ends, and found again by a run that is resumed."""

    def __init__(
        self,
        folder: TeachingFolder,
        record: TeachingRecord,
        inputs: GenerateInputs,
        *,
        progress: RunProgress,
        accept: Accept = NOBODY,
    ) -> None:
        super().__init__(folder, record, inputs, progress=progress, accept=accept)
        self._profile = inputs.profile
        """What writers are told of the students; each stage that learns more of them replaces it."""
        self._count: CountTokens = counter_for(inputs.roles.served) if inputs.profile is not None else estimate_tokens

    def run(self) -> GenerateResult:
        """Run all stages, from the material to what is saved."""
        roles = self._inputs.roles
        ask = self._ask(roles.teacher, roles.teacher_served)
        self._progress.stage_begun(f"Generating skill with {unique_names([roles.teacher.name])[0]}...")
        for line in material_notes(self._inputs.gathered.material):
            self._note(line)
        cases = self._cases(ask if roles.writer == roles.teacher else self._ask(roles.writer, roles.writer_served))
        ask = self._search.watching(ask)
        if not self._inputs.order.evaluate:
            return self._save(self._draft(ask, cases)[1], cases, None, None)
        measure = StageMeasurer(
            self._folder,
            settings=roles.student_settings,
            client=self._client,
            all_cases=cases,
            sandbox=self._inputs.order.sandbox,
            progress=self._progress,
            on_stage=partial(report_stage, names=_names(roles), progress=self._progress),
        )
        if self._profile is not None:
            require_room_for_old(self._inputs.old, replace(self._profile, harness=measure.harness), self._count)
        if (nothing := nothing_to_fix(self._inputs, cases, measure, self._folder)) is not None:
            self._notes.insert(0, nothing.advice)
            return self._save(nothing.old, cases, None, old_version_stays(nothing.reason))
        self._aptitude(cases, measure)
        lessons, draft = self._draft(ask, cases)
        refined = self._refine(draft, lessons, cases, measure, ask)
        best = draft if refined is None else refined.best.draft
        proof = self._prove(best, cases, measure, refined)
        if measure.down is not None and (proof is None or not is_settled(proof)):
            raise ProviderError(f"nothing was saved: {measure.down}")
        return self._save(best, cases, refined, proof)

    def _cases(self, ask: Ask) -> tuple[Case, ...]:
        """All cases, each with its use. They are final before the draft is written."""
        stage = CaseStage(self._folder, self._inputs, profile=self._profile, count=self._count, progress=self._progress)
        cases = stage.run(ask)
        self._notes += stage.notes
        if stage.dropped:
            self.record = replace(self.record, dropped=tuple(stage.dropped))
        self._ended("cases")
        return cases

    def _aptitude(self, cases: Sequence[Case], measure: StageMeasurer) -> None:
        """What the students can do on learn cases without any skill. Raises where no skill can help them."""
        profile = self._profile
        if profile is None:
            return
        if not any(case.use == "learn" for case in cases):
            return
        values = self._inputs.roles.student_settings.values
        told = with_aptitude(profile, cases, measure, values=values, count=self._count, note=self._note)
        if profile.aptitudes:
            # A server that counts otherwise now must not change what is asked: the answers would be bought again.
            told = replace(told, case_tokens=profile.case_tokens, skill_tokens=profile.skill_tokens)
        self._profile, found = told, told.aptitudes
        self._folder.save(PROFILE, record_text(PROFILE_RECORD, told))
        self._folder.save(APTITUDE_FILE, record_text(_APTITUDES, found))
        for line in aptitude_lines(found):
            self._progress.note(line)
        self._ended("aptitude")
        if not self._inputs.order.anyway:
            require_prospect(found, self._folder.path)

    def _draft(self, ask: Ask, cases: Sequence[Case]) -> tuple[tuple[Lesson, ...], Draft]:
        """The lessons of the material, and a first draft; an old skill that needs none is its own first draft."""
        material, window = self._inputs.gathered.material, self._inputs.roles.teacher_served.window
        lessons = find_lessons(
            material,
            ask,
            window=window,
            clean=self._redactor.clean,
            profile=self._profile,
            progress=self._progress,
        )
        self._folder.save("lessons.json", record_text(_LESSONS, lessons))
        if (old := self._inputs.old) is not None and not self._inputs.drafts:
            return lessons, old
        draft = draft_skill(
            material,
            lessons,
            ask,
            avoid=self._inputs.order.avoid,
            topics=topics_of(cases),
            window=window,
            profile=self._profile,
            count=self._count,
            clean=self._redactor.clean,
            run=self._try_programs(),
            on_draft=self._note_best,
        )
        draft = self._inputs.named(draft)
        self._note_best(draft)
        self._ended("draft")
        return lessons, draft

    def _note_best(self, draft: Draft, learn: str = "not measured") -> None:
        """Keep a draft, and how it did on the learn cases, for a run that ends early."""
        draft, old = self._inputs.named(draft), self._inputs.old
        path = shown_path(self._folder.keep_draft(draft))
        if old is None or content_of(draft) != content_of(old):
            self.best_draft = f"the best draft so far is {path} (practice cases: {learn})"

    def _try_programs(self) -> RunProgram | None:
        """Runs programs of a draft in a sandbox; `None` where there is none, and they are not tried."""
        if self._inputs.order.sandbox != "bubblewrap":
            return None
        try:
            require_sandbox()
        except SandboxUnavailable:
            return None
        return sandboxed(open_sandbox)

    def _refine(
        self, draft: Draft, lessons: Sequence[Lesson], cases: Sequence[Case], measure: StageMeasurer, ask: Ask
    ) -> RefineResult | None:
        learn = [case for case in cases if case.use == "learn"]
        if not learn:
            return None

        def on_attempt(attempt: Attempt, best: Attempt) -> None:
            kept = self._folder.keep_draft(attempt.draft).relative_to(self._folder.path).as_posix()
            self._keep_attempt(attempt_summary(attempt, best=best, draft=kept), best=best.number)
            self._note_best(best.draft, f"{best.share} passed")
            if attempt.presentation != PROSE and not attempt.edits:
                self._progress.note(f"the same content as {attempt.presentation}:")
            if attempt.evaluation is not None:
                for line in attempt_lines(attempt.evaluation, cases=len(learn)):
                    self._progress.note(line)
            self._ended(f"attempt {attempt.number}")

        old = self._inputs.old
        refined = refine(
            draft if old is None else old,
            cases=learn,
            measure=measure,
            ask=ending_at_a_cap(ask),
            lessons=lessons,
            material=self._inputs.gathered.material,
            profile=self._profile,
            count=self._count,
            exists=old is not None,
            revisions=self._inputs.order.revisions,
            effort=self._inputs.order.effort,
            wish=self._inputs.gathered.wish,
            proposed=draft if old is not None and self._inputs.drafts else None,
            window=self._inputs.roles.teacher_served.window,
            clean=self._redactor.clean,
            on_attempt=on_attempt,
        )
        best = refined.best
        self._folder.write_attempts(RefiningRecord(attempts=self._attempts, stopped=refined.stopped))
        if refined.note is not None:
            self._notes.append(refined.note)
        if len(refined.attempts) > 1:
            self._progress.note(
                f"attempt {best.number} is the best on practice cases ({best.share}): {refined.stopped}"
            )
        self._ended("refined")
        return refined

    def _prove(
        self, best: Draft, cases: Sequence[Case], measure: StageMeasurer, refined: RefineResult | None
    ) -> Proof | None:
        """The one test that claims rest on."""
        old = self._inputs.old
        if old is not None and content_of(best) == content_of(old):
            if refined is not None and len(refined.attempts) == 1:
                why = shortened(refined.stopped, MOST_REASON).rstrip(".")
                return old_version_stays(f"no revision was measured, so no held-out case was used ({why})")
            return old_version_stays()
        if self._client.exhausted is not None or measure.down is not None:
            return None
        held_out = [case for case in cases if case.use == "held-out"]
        digests = tuple(sorted(case.digest for case in held_out))
        helped = self._earlier_uses(digests, noun="cases")
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
            aptitude=() if self._profile is None else self._profile.aptitudes,
        )
        unchanged = inputs.old is not None and content_of(best) == content_of(inputs.old)
        old_stays = inputs.target.in_place and inputs.order.evaluate and not (proof is not None and proof.proven)
        place, skill = None, None
        found = () if unchanged else self._search.search(copy)
        if not (unchanged or old_stays):
            found = self._agreed(found, copy)
            meta = replace(meta, findings=found, digest=storage.read_skill(copy).digest)
            place, skill = save_draft(inputs, best, meta, cases, copy=copy, previous=self._folder.previous)
        result = GenerateResult(
            skill=skill or storage.read_skill(copy),
            saved=None if place is None else shown_path(place),
            kept=None if unchanged else shown_path(copy),
            improved=shown_skill(self.record, self._folder.previous),
            revision=inputs.old is not None,
            status=status,
            sentence=proof.sentence if proof is not None else claims[0].sentence,
            reason=proof.reason if proof is not None else claims[0].sentence,
            claims=claims,
            proven=proof is not None and proof.proven,
            evaluation=None if proof is None else proof.evaluation,
            attempts=self._attempts,
            refined=None if refined is None else refined.stopped,
            teacher=inputs.roles.teacher.name,
            students=_names(inputs.roles) if inputs.order.evaluate else (),
            cases=counted_cases(cases),
            by_teacher=self._spending.by_teacher,
            by_students=self._spending.by_students,
            run=shown_path(self._folder.path),
            notes=self._all_notes(measured_notes(proof)),
            aptitude=() if self._profile is None else self._profile.aptitudes,
            findings=found,
        )
        return self._finished(result)

    def _problems_of(self, best: Draft) -> list[str]:
        old, clean = self._inputs.old, self._redactor.clean
        return draft_problems(best, before=old, clean=clean)


def _names(roles: Roles) -> tuple[str, ...]:
    return tuple(student.name for student in roles.students)
