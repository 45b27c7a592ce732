"""The state of one `generate` under way: what its stages work from, and what they have brought so far.

Every stage is a function of this state. The result of each is saved when it ends; a resumed run finds it again.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from upskill.core.cases.skill_meta import HeldOutUse, note_use, read_meta
from upskill.core.models import Ask, Endpoint, MeteredClient, Question, Reply, ServedModel, Teacher
from upskill.core.nouns import Skill, estimate_tokens
from upskill.core.nouns.evaluation import Evaluation
from upskill.core.nouns.finding import Finding, FindingsRefused
from upskill.core.nouns.text import count
from upskill.core.progress import RunProgress
from upskill.core.runs.own_runs import resume_command
from upskill.core.runs.records import now
from upskill.core.skills.skills import read_contents, read_skill
from upskill.errors import EngineError
from upskill.evaluation.estimate import client_for
from upskill.generation.draft import without_hidden
from upskill.generation.estimate import PriorSpending
from upskill.generation.files import (
    RefiningRecord,
    TeachingEnd,
    TeachingFolder,
    TeachingRecord,
    shown_path,
    shown_skill,
)
from upskill.generation.generated import AttemptSummary, DescriptionRevision, GenerateResult, StudentClaim, worst_of
from upskill.generation.handoff import handoff_for
from upskill.generation.material import Material
from upskill.generation.plan import GenerateInputs
from upskill.generation.resuming import cap_notes
from upskill.generation.student import CountTokens, StudentProfile, counter_for
from upskill.generation.teachers import ask_function
from upskill.generation.words import caution_lines, generated_json
from upskill.lint.dangers.search import new_findings, search_skill, search_text
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
    folder: TeachingFolder, record: TeachingRecord, inputs: GenerateInputs, *, progress: RunProgress, accept: Accept
) -> Teaching:
    """The state before the first stage, of a new run or of one that is resumed."""
    client = client_for(inputs.settings.values)
    return Teaching(
        folder=folder,
        record=record,
        inputs=inputs,
        progress=progress,
        accept=accept,
        client=client,
        spending=PriorSpending(folder, client),
        redactor=redactor_from(os.environ),
        notes=list(inputs.gathered.notes),
        profile=inputs.profile,
        count=counter_for(inputs.roles.served) if inputs.profile is not None else estimate_tokens,
    )


def asks(state: Teaching, endpoint: Endpoint, served: ServedModel) -> Ask:
    """Asks this teacher, or finds in the journal what it answered before."""
    run, wait, report = state.folder.path, state.inputs.order.wait, state.progress.note
    handoff = handoff_for(endpoint, run=run, wait=wait, report=report)
    teacher = Teacher(state.client, endpoint, window=served.window, handoff=handoff)
    return ask_function(teacher, state.folder.journal, state.redactor)


def end_without_result(state: Teaching, reason: str) -> TeachingEnd:
    return TeachingEnd(reason=reason, teacher=state.spending.by_teacher, students=state.spending.by_students)


def earlier_uses(state: Teaching, held_out: tuple[str, ...], *, noun: str) -> tuple[bool, ...]:
    """For each earlier use of one of these held-out cases or prompts, by digest, whether it proved something.

    This one is recorded before anything is bought, since each look spends error. Exchanging one does not begin again at
    the first level.
    """
    skill = state.inputs.gathered.skill_folder
    if skill is None or not skill.is_dir() or not held_out:
        return ()
    run = state.folder.path.name
    earlier = [use for use in read_meta(skill).held_out_uses if use.run != run]
    try:
        note_use(skill, HeldOutUse(cases=held_out, run=run, at=now()))
    except EngineError as error:
        if state.inputs.target.in_place:
            raise
        state.notes.append(f"this look at its held-out {noun} could not be recorded: {error.message}")
    return tuple(use.helped for use in earlier if not set(held_out).isdisjoint(use.cases))


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
        description=description,
    )
    state.record = replace(
        state.record, status="finished", stage="saved", finished_at=now(), results=generated_json(result)
    )
    state.folder.write_record(state.record)
    return result
