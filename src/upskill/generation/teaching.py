"""The state of one `generate` under way: what its stages work from, and what they have brought so far.

Every stage is a function of this state. The result of each is saved when it ends; a resumed run finds it again.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path

from upskill.core.cases.skill_meta import HeldOutUse, note_use, read_meta
from upskill.core.models import Ask, Endpoint, MeteredClient, NoAnswer, Question, Reply, ServedModel, Spending, Teacher
from upskill.core.models.client import PaidReply
from upskill.core.models.teacher_answers import TeacherUnusable
from upskill.core.nouns import Cap, Purchase, Skill, estimate_tokens
from upskill.core.nouns.evaluation import Evaluation
from upskill.core.nouns.finding import Finding, FindingsRefused
from upskill.core.nouns.text import count
from upskill.core.progress import RunProgress
from upskill.core.runs.handing_off import CloseSide, handoff_for
from upskill.core.runs.journal import Journal, PaidAnswer
from upskill.core.runs.own_runs import resume_command
from upskill.core.runs.records import now
from upskill.core.skills.skills import read_contents, read_skill
from upskill.core.trials.judge import identity
from upskill.errors import EngineError
from upskill.evaluation.estimate import client_for, purchase_of, spent_in
from upskill.evaluation.looks import open_ledger
from upskill.generation.draft import without_hidden
from upskill.generation.files import (
    RefiningRecord,
    TeachingEnd,
    TeachingFolder,
    TeachingRecord,
    shown_path,
    shown_skill,
)
from upskill.generation.generated import AttemptSummary, DescriptionRevision, GenerateResult, StudentClaim, worst_of
from upskill.generation.material import Material
from upskill.generation.plan import GenerateInputs
from upskill.generation.student import CountTokens, StudentProfile, counter_for
from upskill.generation.words import caution_lines, generated_json
from upskill.lint.search import new_findings, search_skill, search_text
from upskill.redaction import Redactor, redactor_from

Accept = Callable[[Sequence[Finding], Path], bool]
"""Whether a person agrees to dangers that a draft has and the version before it had not; the path is the draft's."""
NOBODY: Accept = lambda _findings, _draft: False  # noqa: E731
_STEP = re.compile(r"\b(?:trace \d+,? )?(?:steps?|turns?) \d+", re.IGNORECASE)
_MOST_NOTED = 5


class DraftSearch:
    """Watches the answers that drafts are made from, and searches the draft that would be saved."""

    def __init__(self) -> None:
        self._removed = 0

    def watching(self, ask: Ask) -> Ask:
        """The same, with invisible characters counted: they are removed when an answer is read."""

        def watched(questions: Sequence[Question], /) -> tuple[Reply, ...]:
            replies = ask(questions)
            texts = [_unescaped(reply.text) for reply in replies]
            self._removed += sum(len(text) - len(without_hidden(text)) for text in texts)
            return replies

        return watched

    def search(self, draft: Path) -> tuple[Finding, ...]:
        """Every finding in the files of a draft, and one for what was removed before it was one."""
        found = search_skill(_contents(draft))
        return (*found, *self._removals())

    def _removals(self) -> Iterator[Finding]:
        if self._removed:
            characters = count(self._removed, "invisible character")
            yield Finding(
                rule="invisible-characters",
                severity="caution",
                file="answers of the teacher",
                line=1,
                excerpt=f"{characters} {'was' if self._removed == 1 else 'were'} removed",
                reason="An answer of the teacher had invisible characters.",
                remedy="Search the material for their source.",
            )


def agreed_findings(
    found: Sequence[Finding], *, draft: Path, previous: Path | None, accept: Accept, shown: str, accepting: str
) -> tuple[Finding, ...]:
    """The findings as they are saved. Raises `FindingsRefused` where nobody agrees to a danger that `previous`, the
    version that would be replaced, has not; `accepting` is the command that agrees to all of them."""
    new = found if previous is None else new_findings(found, _contents(previous))
    dangers = [one for one in new if one.severity == "danger"]
    if dangers and not accept(dangers, draft):
        raise FindingsRefused(
            f"{draft.name}: not saved: {count(len(dangers), 'dangerous finding')} in the draft {shown}",
            findings=found,
            problems=[one.line_for_people for one in dangers],
            hint=f"read the draft; to save it as it is: {accepting}",
        )
    return tuple(replace(one, accepted=one in dangers) for one in found)


def material_notes(material: Material) -> tuple[str, ...]:
    """What in the material hides text or gives orders to its reader, with its place. Nothing is refused for it."""
    texts = [("example", one) for one in material.examples]
    texts += [(one.name, one.text) for one in material.documents]
    if material.digest is not None:
        texts.append(("the session", material.digest.text))
    notes = [_note(name, text, one) for name, text in texts for one in search_text("material.md", text)]
    more = len(notes) - _MOST_NOTED
    return (*notes[:_MOST_NOTED], *((f"and {more} more suspicious places",) if more > 0 else ()))


def _note(name: str, text: str, found: Finding) -> str:
    steps = _STEP.findall("\n".join(text.split("\n")[: found.line]))
    where = f"{steps[-1]} of {name}" if steps and name == "the session" else f"line {found.line} of {name}"
    return f"{where} looks suspicious ({found.rule}): {found.excerpt}"


def _contents(folder: Path) -> dict[str, bytes]:
    return dict(read_contents(folder, read_skill(folder)))


def _unescaped(text: str) -> str:
    """The texts of an answer: invisible characters may stand in it as escapes."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return text


class PriorSpending:
    """Counts what was spent before on the metered client, so that a cap holds for all of it."""

    def __init__(self, folder: TeachingFolder, client: MeteredClient) -> None:
        self._client = client
        self._teacher_before = _on_teacher(folder)
        self._students_before = reduce(_sum, map(spent_in, folder.stages()), Spending())
        client.spent = _sum(self._teacher_before, self._students_before)

    @property
    def by_teacher(self) -> Purchase:
        """The teachers' share."""
        return purchase_of(_sum(self._teacher_before, self._teacher_since))

    @property
    def by_students(self) -> Purchase:
        """The students' share."""
        total, teacher = self._client.spent, _sum(self._teacher_before, self._teacher_since)
        since = [spent.cost for (role, _), spent in self._client.spent_by.items() if role != "teacher"]
        unknown = self._students_before.cost is None or None in since
        return Purchase(
            calls=total.calls - teacher.calls,
            failed_calls=total.failed_calls - teacher.failed_calls,
            tokens=total.tokens - teacher.tokens,
            cost=None if unknown else total.cost_known - total.cost_lost - teacher.cost_known + teacher.cost_lost,
            lost=total.cost_lost - teacher.cost_lost,
        )

    @property
    def whole(self) -> Purchase:
        return purchase_of(self._client.spent)

    @property
    def _teacher_since(self) -> Spending:
        spent = self._client.spent_by.get(("teacher", None))
        return Spending() if spent is None else replace(spent)


def _on_teacher(folder: TeachingFolder) -> Spending:
    answers = folder.journal.all()
    return reduce(
        _sum,
        (Spending(calls=one.calls, tokens=one.tokens, cost=one.cost, cost_known=one.cost or 0.0) for one in answers),
        Spending(),
    )


def _sum(one: Spending, other: Spending) -> Spending:
    return Spending(
        calls=one.calls + other.calls,
        failed_calls=one.failed_calls + other.failed_calls,
        tokens=one.tokens + other.tokens,
        tokens_lost=one.tokens_lost + other.tokens_lost,
        tokens_estimated=one.tokens_estimated + other.tokens_estimated,
        cost=None if one.cost is None or other.cost is None else one.cost + other.cost,
        cost_known=one.cost_known + other.cost_known,
        cost_lost=one.cost_lost + other.cost_lost,
    )


def ending_at_a_cap(ask: Ask) -> Ask:
    """Make a cap that is reached during refining end it, so that the best draft so far is saved."""

    def asked(questions: Sequence[Question], /) -> tuple[Reply, ...]:
        try:
            return ask(questions)
        except NoAnswer as error:
            if error.fault != "budget":
                raise
            raise TeacherUnusable(str(error)) from None

    return asked


@dataclass(kw_only=True, slots=True)
class Teaching:
    """One `generate`: its folder, its budget, and the results of the stages that have ended."""

    folder: TeachingFolder
    record: TeachingRecord
    inputs: GenerateInputs
    progress: RunProgress
    client: MeteredClient
    spending: PriorSpending
    redactor: Redactor
    accept: Accept = NOBODY
    search: DraftSearch = field(default_factory=DraftSearch)
    notes: list[str] = field(default_factory=list)
    profile: StudentProfile | None = None
    """What writers are told of the students; each stage that learns more of them replaces it."""
    count: CountTokens = estimate_tokens
    attempts: tuple[AttemptSummary, ...] = ()
    best_draft: str | None = None
    """The best new version so far, for a person: where it lies and how it did. `None` before there is one."""
    down: str | None = None
    """Why a model could not be asked any more; `None` while all can be."""
    close: CloseSide = lambda _side, _outcome: None
    """Tells a side of the hand-off, where there is one, that it is done."""

    @property
    def previous(self) -> Path | None:
        """The copy of the skill that is improved, as it was when the run began; `None` for a new skill."""
        return self.folder.previous

    @property
    def students(self) -> tuple[str, ...]:
        return tuple(student.name for student in self.inputs.roles.students)

    def note(self, line: str) -> None:
        """Show a line, and keep it for the result."""
        self.notes.append(line)
        self.progress.note(line)

    def ended(self, stage: str) -> None:
        """Record that a stage has ended."""
        self.record = replace(self.record, stage=stage)
        self.folder.write_record(self.record)

    def keep_attempt(self, attempt: AttemptSummary, *, best: int) -> None:
        """Keep how an attempt did, for the report of the run; `best` is the number of the best one so far."""
        earlier = (replace(one, chosen=one.number == best) for one in self.attempts)
        self.attempts = (*earlier, attempt)
        self.folder.write_attempts(RefiningRecord(attempts=self.attempts))


def begin(
    folder: TeachingFolder,
    record: TeachingRecord,
    inputs: GenerateInputs,
    *,
    progress: RunProgress,
    accept: Accept,
    close: CloseSide,
) -> Teaching:
    """The state before the first stage, of a new run or of one that is resumed."""
    client = client_for(inputs.settings.values)
    return Teaching(
        folder=folder,
        record=record,
        inputs=inputs,
        progress=progress,
        accept=accept,
        close=close,
        client=client,
        spending=PriorSpending(folder, client),
        redactor=redactor_from(os.environ),
        notes=list(inputs.material.notes),
        profile=inputs.profile,
        count=counter_for(inputs.roles.served) if inputs.profile is not None else estimate_tokens,
    )


def asks(state: Teaching, endpoint: Endpoint, served: ServedModel) -> Ask:
    """Asks this teacher, or finds in the journal what it answered before."""
    run, wait, report = state.folder.path, state.inputs.settings.values.wait, state.progress.note
    handoff = handoff_for(endpoint, run=run, wait=wait, report=report, count=state.count)
    teacher = Teacher(state.client, endpoint, window=served.window, handoff=handoff)
    return ask_function(teacher, state.folder.journal, state.redactor)


def end_without_result(state: Teaching, reason: str) -> TeachingEnd:
    return TeachingEnd(reason=reason, teacher=state.spending.by_teacher, students=state.spending.by_students)


def earlier_uses(state: Teaching, held_out: tuple[str, ...], *, noun: str) -> tuple[bool, ...]:
    """For each earlier use of one of these held-out cases or prompts, by key, whether it proved something.

    Uses are noted in the skill, and by other commands in the ledger of looks. This one is noted before anything is
    bought, since each look spends error. Exchanging one does not begin again at the first level.
    """
    skill = state.inputs.material.skill_folder
    if skill is None or not skill.is_dir() or not held_out:
        return ()
    run = state.folder.path.name
    earlier = {
        use.run: use.helped
        for use in read_meta(skill).held_out_uses
        if use.run != run and not set(held_out).isdisjoint(use.cases)
    }
    values = state.inputs.settings.values
    scripted = all(one.is_scripted for one in state.inputs.roles.students)
    ledger = open_ledger(values, scripted=scripted)
    for look in () if ledger is None else ledger.read():
        name = Path(look.run).name
        asked = look.asked == "lift" and look.skill == skill.name and not look.keys.isdisjoint(held_out)
        if asked and name != run and not look.is_free:
            earlier[name] = earlier.get(name, False) or look.helped()
    try:
        note_use(skill, HeldOutUse(cases=held_out, run=run, at=now()))
    except EngineError as error:
        if state.inputs.target.in_place:
            raise
        state.notes.append(f"this look at its held-out {noun} could not be recorded: {error.message}")
    return tuple(earlier.values())


def agreed(state: Teaching, found: tuple[Finding, ...], copy: Path) -> tuple[Finding, ...]:
    """The findings as they are saved with the skill. Raises where nobody agrees to a danger."""
    state.record = replace(state.record, findings=found)
    for line in caution_lines(found):
        state.progress.note(line)
    return agreed_findings(
        found,
        draft=copy,
        previous=state.previous,
        accept=state.accept,
        shown=shown_path(copy),
        accepting=resume_command(state.folder.path, "--accept-findings"),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """What became of the best version: where it was saved, if it was, and what a search found in it."""

    copy: Path
    """The version in the run folder; the old one where nothing new was made."""
    unchanged: bool
    place: Path | None = None
    skill: Skill | None = None
    findings: tuple[Finding, ...] = ()


def finished(
    state: Teaching,
    saved: Saved,
    *,
    claims: tuple[StudentClaim, ...],
    sentence: str,
    reason: str,
    proven: bool,
    refined: str | None,
    evaluation: Evaluation | None = None,
    cases: tuple[int, int, int] = (0, 0, 0),
    notes: Iterable[str] = (),
    description: DescriptionRevision | None = None,
) -> GenerateResult:
    """The result of the run, recorded."""
    inputs = state.inputs
    result = GenerateResult(
        skill=saved.skill or read_skill(saved.copy),
        saved=None if saved.place is None else shown_path(saved.place),
        kept=None if saved.unchanged else shown_path(saved.copy),
        improved=shown_skill(state.record, state.previous),
        revision=state.previous is not None,
        status=worst_of(tuple(claim.status for claim in claims)),
        sentence=sentence,
        reason=reason,
        claims=claims,
        proven=proven,
        evaluation=evaluation,
        attempts=state.attempts,
        refined=refined,
        teacher=inputs.roles.teacher.name,
        students=state.students if inputs.order.evaluate else (),
        cases=cases,
        by_teacher=state.spending.by_teacher,
        by_students=state.spending.by_students,
        run=shown_path(state.folder.path),
        notes=tuple(dict.fromkeys((*state.notes, *notes, *cap_notes(state.client.exhausted, state.folder.path)))),
        aptitude=() if state.profile is None else state.profile.aptitudes,
        findings=saved.findings,
        about=inputs.about,
        description=description,
    )
    state.record = replace(
        state.record, status="finished", stage="saved", finished_at=now(), results=generated_json(result)
    )
    state.folder.write_record(state.record)
    return result


def cap_notes(cap: Cap | None, run: Path) -> tuple[str, ...]:
    """At which cap a run stopped, and what is typed to resume it; empty where there is room."""
    if cap is None:
        return ()
    return (f"stopped at {cap}; resume with: {resume_command(Path(shown_path(run)), raised_with(cap))}",)


def raised_with(cap: Cap) -> str:
    """What raises a cap of `generate`, with a placeholder for the value."""
    return "UPSKILL_MAX_CALLS=N" if cap.kind == "calls" else cap.raised_with


def ask_function(teacher: Teacher, journal: Journal, redactor: Redactor) -> Ask:
    """The function through which a teacher is asked everything.

    What is sent holds no secret. Every answer is journalled at once and never bought again: when a resumed run asks
    the same question for the second time, it gets its second answer.
    """
    name = identity(teacher.endpoint) or ""
    asked: Counter[str] = Counter()

    def ask(questions: Sequence[Question], /) -> tuple[Reply, ...]:
        clean = [_cleaned(question, redactor) for question in questions]
        replies: dict[int, Reply] = {}
        missing: list[int] = []
        repeats: list[int] = []
        for place, question in enumerate(clean):
            number = asked[question.digest]
            asked[question.digest] += 1
            known = journal.answers(name, question.digest)
            if number < len(known):
                replies[place] = known[number].reply
            else:
                missing.append(place)
                repeats.append(number + 1)

        def record(paid: PaidReply) -> None:
            place = missing[paid.index]
            # A server can send one of the user's own keys back.
            reply = replace(paid.reply, text=redactor.clean_own(paid.reply.text))
            journal.append(
                PaidAnswer(
                    teacher=name,
                    digest=clean[place].digest,
                    question=clean[place],
                    reply=reply,
                    at=now(),
                    calls=paid.calls,
                    tokens=paid.tokens,
                    cost=paid.cost,
                )
            )
            replies[place] = reply

        if missing:
            teacher.ask([clean[place] for place in missing], repeats=repeats, on_reply=record)
        return tuple(replies[place] for place in range(len(clean)))

    return ask


def _cleaned(question: Question, redactor: Redactor) -> Question:
    messages = tuple(replace(message, text=redactor.clean(message.text)) for message in question.messages)
    return replace(question, system=redactor.clean(question.system), messages=messages)
