"""The stages of a `generate`: cases, lessons, draft, refining, the held-out test, and what is saved.

Each is a function of the state of the run. Cases are final before the draft is written; held-out ones are used once.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote

from pydantic import TypeAdapter

from upskill.core import checks
from upskill.core.cases.family import by_family, family_notes, with_merged_families
from upskill.core.cases.skill_meta import Aptitude
from upskill.core.cases.split import without_doubles
from upskill.core.models import Ask
from upskill.core.nouns import Case
from upskill.core.nouns.look import case_key
from upskill.core.nouns.skill import RUN_FILE
from upskill.core.nouns.text import count as counted
from upskill.core.nouns.text import shortened
from upskill.core.runs.own_runs import resume_command
from upskill.core.runs.records import read_run, record_text
from upskill.core.skills.skills import read_skill
from upskill.errors import ProviderError, SkillInvalid
from upskill.evaluation.cases import without_copies
from upskill.evaluation.conclude import cap_notes
from upskill.generation.aptitude import aptitude_lines, require_prospect, with_aptitude
from upskill.generation.case_writing import examining, write_cases, write_earlier_and_later
from upskill.generation.draft import Draft, Lesson, draft_problems
from upskill.generation.drafting import draft_skill
from upskill.generation.facts import NO_PLAN, plan_of_run
from upskill.generation.failures import Failure, choose
from upskill.generation.files import APTITUDE_FILE, RefiningRecord, shown_path
from upskill.generation.generated import AttemptSummary, FailedAnswer, GenerateResult, StudentClaim, StudentScore
from upskill.generation.lessons import find_lessons
from upskill.generation.material import Assignment
from upskill.generation.measure import OLD_VERSION, StageMeasurer, report_stage
from upskill.generation.plan import topics_of, uses_of
from upskill.generation.programs import RunProgram, sandboxed
from upskill.generation.proof import Proof, old_version_stays, prove
from upskill.generation.refine import Attempt, RefineResult, content_of, refine
from upskill.generation.revising import PROSE
from upskill.generation.save import claims_of, provenance_of, save_draft
from upskill.generation.student import StudentProfile, require_room_for_old
from upskill.generation.teaching import (
    Saved,
    Teaching,
    agreed,
    asks,
    earlier_uses,
    ending_at_a_cap,
    finished,
    material_notes,
)
from upskill.generation.words import MOST_REASON, attempt_lines
from upskill.report.json_report import evaluation_json
from upskill.report.wording import unique_names
from upskill.sandbox import SandboxUnavailable, open_sandbox, require_sandbox

_LESSONS = TypeAdapter(tuple[Lesson, ...])
_APTITUDES = TypeAdapter(tuple[Aptitude, ...])
PROFILE_RECORD = TypeAdapter(StudentProfile)
PROFILE = "student.json"
MOST_SHOWN = 400
"""Characters of a prompt, an answer or what a check saw, in the record of an attempt."""
MOST_CHECKS = 4


def run_stages(state: Teaching) -> GenerateResult:
    """Run all stages, from the material to what is saved."""
    inputs, roles = state.inputs, state.inputs.roles
    ask = asks(state, roles.teacher, roles.teacher_served)
    state.progress.stage_begun(f"Generating skill with {unique_names([roles.teacher.name])[0]}...")
    for line in material_notes(inputs.material):
        state.note(line)
    cases = bring_cases(state, ask if roles.writer == roles.teacher else asks(state, roles.writer, roles.writer_served))
    ask = state.search.watching(ask)
    if not inputs.order.evaluate:
        return _saved_result(state, _draft(state, ask, cases)[1], cases)
    measure = StageMeasurer(
        state.folder,
        settings=roles.student_settings,
        client=state.client,
        all_cases=cases,
        sandbox=inputs.order.sandbox,
        progress=state.progress,
        on_stage=partial(report_stage, names=state.students, progress=state.progress),
    )
    if state.profile is not None:
        require_room_for_old(inputs.old, replace(state.profile, harness=measure.harness), state.count)
    if inputs.old is not None and (reason := _nothing_to_fix(state, inputs.old, cases, measure)) is not None:
        state.notes.insert(0, _advice(state))
        return _saved_result(state, inputs.old, cases, proof=old_version_stays(reason))
    _aptitude(state, cases, measure)
    assignment, draft = _draft(state, ask, cases)
    refined = _refine(state, draft, assignment, cases, measure)
    best = draft if refined is None else refined.best.draft
    proof = _prove(state, best, cases, measure, refined)
    if measure.down is not None and (proof is None or not _is_settled(proof)):
        raise ProviderError(f"nothing was saved: {measure.down}")
    return _saved_result(state, best, cases, refined=refined, proof=proof)


def bring_cases(state: Teaching, ask: Ask) -> tuple[Case, ...]:
    """All cases, each with its use: those of a person and those that a teacher writes. A resumed run has saved them."""
    inputs = state.inputs
    cases = state.folder.read_cases(check_problems=partial(checks.check_problems, judge=True))
    if cases is None:
        own = without_copies(inputs.own_cases)
        state.notes += own.notes
        cases = own.cases
        if inputs.writes_cases:
            state.progress.stage_begun("Generating cases...")
            cases = _written(state, ask, inputs.staying(cases))
        cases = inputs.split(cases)
        state.notes += (*family_notes(cases), *_few_families(cases))
        state.folder.write_cases(cases)
    state.ended("cases")
    qualified = counted(len(cases), "case")
    state.close("cases", f"{qualified} in use; nothing more is asked of who wrote them")
    return cases


def _written(state: Teaching, ask: Ask, by_hand: Sequence[Case]) -> tuple[Case, ...]:
    """Cases that a teacher writes from a plan of facts, and those of a person."""
    order, material = state.inputs.order, state.inputs.material
    window = state.inputs.roles.writer_served.window
    examine, programs = examining(None, backend=order.sandbox, progress=state.progress)
    write = partial(
        write_cases,
        ask=ask,
        examine=examine,
        progress=state.progress,
        clean=state.redactor.clean,
        window=window,
        programs=programs,
        profile=state.profile,
        count=state.count,
    )
    plan = None
    if material.later is not None:
        written = write_earlier_and_later(write, material, material.later, order.counts, by_hand)
    else:
        plan = plan_of_run(
            state.folder,
            order.plan_file,
            material,
            ask,
            counts=order.counts,
            window=window,
            profile=state.profile,
            progress=state.progress,
        )
        if plan is None:
            state.notes.append(NO_PLAN)
        written = write(material, counts=order.counts, plan=plan, known=by_hand)
    cases, doubles = _joined(by_hand, written.cases, sided=plan is not None or material.later is not None)
    if dropped := (*written.dropped, *doubles):
        state.record = replace(state.record, dropped=dropped)
        state.notes += (f"dropped: {line}" for line in dropped)
    return cases


def _joined(
    by_hand: Sequence[Case], written: Sequence[Case], *, sided: bool
) -> tuple[tuple[Case, ...], tuple[str, ...]]:
    """Both, without written cases that repeat a person's, and a line on each of those: one could be learned from and
    the other held out.

    Where the written ones have no side by a plan or by their sessions, they lose it where there are others: families
    that now span both are split as one. With a side none is like a person's.
    """
    if not by_hand:
        return tuple(written), ()
    known = {case.id for case in by_hand}
    new: list[Case] = []
    dropped: list[str] = []
    for case, double in without_doubles(written, known=by_hand):
        if double is not None:
            dropped.append(f"{case.id} asks the same as {double.id}")
        else:
            new.append(case if case.id not in known else replace(case, id=f"{case.id}-{case.digest[:6]}"))
    sideless = (case if sided or case.use == "negative" else replace(case, use=None) for case in new)
    return with_merged_families((*by_hand, *sideless), by_hand=by_hand), tuple(dropped)


_ENOUGH_FAMILIES = 12


def _few_families(cases: Sequence[Case]) -> tuple[str, ...]:
    """A note where held-out cases share so few families that little can be said of others."""
    held_out = [case for case in cases if case.use == "held-out"]
    families = len(by_family(held_out))
    if families == len(held_out) or families >= _ENOUGH_FAMILIES:
        return ()
    shared = f"{counted(len(held_out), 'held-out case')} share {counted(families, 'family', 'families')}"
    return (f"{shared}, each of which counts once: cases of other families help more than more of these",)


def _nothing_to_fix(state: Teaching, old: Draft, cases: Sequence[Case], measure: StageMeasurer) -> str | None:
    """Why a skill stays that passes every learn case already; `None` where something fails. Asked before anything is
    bought from a teacher: every student gets each learn case once, with the skill as it is.

    Nobody is asked where a person said what to change, commented on answers or set `anyway`, nor in a run that went
    further before it was resumed.
    """
    inputs, material = state.inputs, state.inputs.material
    learn = [case for case in cases if case.use == "learn"]
    asked_for = material.wish is not None or bool(material.comments)
    went_on = (state.folder.stage("learn-1").path / RUN_FILE).exists()
    if not learn or asked_for or went_on or inputs.settings.values.anyway:
        return None
    passed = sum(trial.passed for trial in measure.with_skill(OLD_VERSION, old, learn).trials)
    if passed < len(learn) * len(inputs.roles.students):
        return None
    every = "all " if len(learn) > 1 else ""
    return f"it passes {every}{counted(len(learn), 'practice case')}, so nothing is left to fix"


def _advice(state: Teaching) -> str:
    """What would give the teacher something to learn from, with the commands."""
    skill = quote(shown_path(state.inputs.material.skill_folder or Path()))
    ways = [
        f"harder cases (`upskill cases write {skill} -o harder.json`, then `-t harder.json`)",
        "a weaker model (`--eval-model`)",
        f'your own words (`upskill generate "what to change" --from {skill}`)',
        "comments on answers (`--feedback`)",
    ]
    if state.inputs.drafts:
        resume = resume_command(Path(shown_path(state.folder.path)), "UPSKILL_ANYWAY=true")
        ways.append(f"a draft from the new material anyway (`{resume}`)")
    return "to continue, try: " + ", ".join(ways)


def _aptitude(state: Teaching, cases: Sequence[Case], measure: StageMeasurer) -> None:
    """What the students can do on learn cases without any skill. Raises where no skill can help them."""
    profile = state.profile
    if profile is None or not any(case.use == "learn" for case in cases):
        return
    values = state.inputs.roles.student_settings.values
    told = with_aptitude(profile, cases, measure, values=values, count=state.count, note=state.note)
    if profile.aptitudes:
        # A server that counts otherwise now must not change what is asked: the answers would be bought again.
        told = replace(told, case_tokens=profile.case_tokens, skill_tokens=profile.skill_tokens)
    state.profile, found = told, told.aptitudes
    state.folder.save(PROFILE, record_text(PROFILE_RECORD, told))
    state.folder.save(APTITUDE_FILE, record_text(_APTITUDES, found))
    for line in aptitude_lines(found):
        state.progress.note(line)
    state.ended("aptitude")
    # A passage of a recorded session is raw output with lines cut: what a model makes of it is no ceiling for a skill.
    if not state.inputs.settings.values.anyway and state.inputs.material.digest is None:
        require_prospect(found, state.folder.path)


def _draft(state: Teaching, ask: Ask, cases: Sequence[Case]) -> tuple[Assignment, Draft]:
    """What the teacher works from, with the lessons of the material, and a first draft; an old skill that needs none
    is its own first draft."""
    inputs = state.inputs
    assignment = Assignment(
        ask=ask,
        material=inputs.material,
        window=inputs.roles.teacher_served.window,
        profile=state.profile,
        count=state.count,
        clean=state.redactor.clean,
    )
    lessons = find_lessons(assignment, progress=state.progress)
    state.folder.save("lessons.json", record_text(_LESSONS, lessons))
    assignment = replace(assignment, lessons=lessons)
    if inputs.old is not None and not inputs.drafts:
        return assignment, inputs.old
    draft = draft_skill(
        assignment,
        avoid=inputs.order.avoid,
        topics=topics_of(cases),
        run=_try_programs(state),
        on_draft=partial(_note_best, state),
    )
    draft = inputs.named(draft)
    _note_best(state, draft)
    state.ended("draft")
    return assignment, draft


def _note_best(state: Teaching, draft: Draft, learn: str = "not measured") -> None:
    """Keep a draft, and how it did on the learn cases, for a run that ends early."""
    draft, old = state.inputs.named(draft), state.inputs.old
    path = shown_path(state.folder.keep_draft(draft))
    if old is None or content_of(draft) != content_of(old):
        state.best_draft = f"the best draft so far is {path} (practice cases: {learn})"


def _try_programs(state: Teaching) -> RunProgram | None:
    """Runs programs of a draft in a sandbox; `None` where there is none, and they are not tried."""
    if state.inputs.order.sandbox != "bubblewrap":
        return None
    try:
        require_sandbox()
    except SandboxUnavailable:
        return None
    return sandboxed(open_sandbox)


def _refine(
    state: Teaching,
    draft: Draft,
    assignment: Assignment,
    cases: Sequence[Case],
    measure: StageMeasurer,
) -> RefineResult | None:
    learn = [case for case in cases if case.use == "learn"]
    if not learn:
        return None

    def on_attempt(attempt: Attempt, best: Attempt) -> None:
        kept = state.folder.keep_draft(attempt.draft).relative_to(state.folder.path).as_posix()
        state.keep_attempt(attempt_summary(attempt, best=best, draft=kept), best=best.number)
        _note_best(state, best.draft, f"{best.share} passed")
        if attempt.presentation != PROSE and not attempt.edits:
            state.progress.note(f"the same content as {attempt.presentation}:")
        if attempt.evaluation is not None:
            for line in attempt_lines(attempt.evaluation, cases=len(learn)):
                state.progress.note(line)
        state.ended(f"attempt {attempt.number}")

    inputs = state.inputs
    refined = refine(
        draft if inputs.old is None else inputs.old,
        cases=learn,
        measure=measure,
        assignment=replace(assignment, ask=ending_at_a_cap(assignment.ask)),
        exists=inputs.old is not None,
        revisions=inputs.order.revisions,
        effort=inputs.order.effort,
        proposed=draft if inputs.old is not None and inputs.drafts else None,
        on_attempt=on_attempt,
    )
    best = refined.best
    state.folder.write_attempts(RefiningRecord(attempts=state.attempts, stopped=refined.stopped))
    if refined.note is not None:
        state.notes.append(refined.note)
    if len(refined.attempts) > 1:
        state.progress.note(f"attempt {best.number} is the best on practice cases ({best.share}): {refined.stopped}")
    state.ended("refined")
    return refined


def attempt_summary(attempt: Attempt, *, best: Attempt, draft: str) -> AttemptSummary:
    """How an attempt did on the learn cases; `draft` is where it lies, seen from the run folder."""
    students = dict.fromkeys(student for student, _ in attempt.passed)
    return AttemptSummary(
        number=attempt.number,
        passed=attempt.passes,
        of=len(attempt.passed),
        presentation=attempt.presentation,
        revises=attempt.revises,
        chosen=attempt.number == best.number,
        draft=draft,
        by_student=tuple(
            StudentScore(student=name, passed=sum(mine), of=len(mine))
            for name in students
            if (mine := [passed for (student, _), passed in attempt.passed.items() if student == name])
        ),
        failures=tuple(map(_failed, choose(attempt.failures))),
        edits=tuple(map(str, attempt.edits)),
    )


def _failed(failure: Failure) -> FailedAnswer:
    return FailedAnswer(
        case_id=failure.case_id,
        student=failure.student,
        prompt=shortened(failure.prompt, MOST_SHOWN),
        answer=shortened(failure.answer, MOST_SHOWN),
        saw=tuple(shortened(one, MOST_SHOWN) for one in failure.saw[:MOST_CHECKS]),
    )


def _prove(
    state: Teaching, best: Draft, cases: Sequence[Case], measure: StageMeasurer, refined: RefineResult | None
) -> Proof | None:
    """The one test that claims rest on."""
    old = state.inputs.old
    if old is not None and content_of(best) == content_of(old):
        if refined is not None and len(refined.attempts) == 1:
            why = shortened(refined.stopped, MOST_REASON).rstrip(".")
            return old_version_stays(f"no revision was measured, so no held-out case was used ({why})")
        return old_version_stays()
    if state.client.exhausted is not None or measure.down is not None:
        return None
    held_out = [case for case in cases if case.use == "held-out"]
    proof = prove(
        best,
        held_out=held_out,
        negative=[case for case in cases if case.use == "negative"],
        measure=measure,
        against=old,
        earlier=earlier_uses(state, tuple(sorted(map(case_key, held_out))), noun="cases"),
        students=len(state.students),
        about=state.inputs.about,
    )
    if proof.evaluation is not None:
        # `upskill report` and `upskill runs` read the record: it says what is claimed here.
        stage = state.folder.stage("held-out")
        stage.write_record(replace(read_run(stage.path), results=evaluation_json(proof.evaluation)))
    state.ended("proved")
    return proof


def _is_settled(proof: Proof) -> bool:
    """Whether an outage came too late to change anything."""
    return not proof.students or all(one.verdict not in ("invalid", "undecided") for one in proof.students)


def _saved_result(
    state: Teaching,
    best: Draft,
    cases: tuple[Case, ...],
    *,
    refined: RefineResult | None = None,
    proof: Proof | None = None,
) -> GenerateResult:
    claims = claims_of(state.inputs, proof, exhausted=state.client.exhausted)
    saved = _saved(state, state.inputs.named(best), cases, proof, claims)
    evaluation = None if proof is None else proof.evaluation
    # The cap that the held-out evaluation reached is noted with how to resume.
    elsewhere = () if evaluation is None else cap_notes(evaluation.end)
    uses = uses_of(cases)
    return finished(
        state,
        saved,
        claims=claims,
        sentence=proof.sentence if proof is not None else claims[0].sentence,
        reason=proof.reason if proof is not None else claims[0].sentence,
        proven=proof is not None and proof.proven,
        refined=None if refined is None else refined.stopped,
        evaluation=evaluation,
        cases=(uses["learn"], uses["held_out"], uses["negative"]),
        notes=() if evaluation is None else [note for note in evaluation.notes if note not in elsewhere],
    )


def _saved(
    state: Teaching, best: Draft, cases: tuple[Case, ...], proof: Proof | None, claims: Sequence[StudentClaim]
) -> Saved:
    inputs = state.inputs
    copy = state.folder.keep_draft(best)
    if problems := draft_problems(best, before=inputs.old, clean=state.redactor.clean):
        raise SkillInvalid(f"{best.name}: this draft cannot be saved as a skill", problems=problems)
    if inputs.old is not None and content_of(best) == content_of(inputs.old):
        return Saved(copy=copy, unchanged=True)
    found = state.search.search(copy)
    if inputs.target.in_place and inputs.order.evaluate and not (proof is not None and proof.proven):
        return Saved(copy=copy, unchanged=False, findings=found)
    found = agreed(state, found, copy)
    meta = replace(provenance_of(state, proof, claims), findings=found, digest=read_skill(copy).digest)
    place, skill = save_draft(state, best, meta, cases, copy=copy)
    return Saved(copy=copy, unchanged=False, place=place, skill=skill, findings=found)
