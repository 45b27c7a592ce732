"""The report of a `generate`: how its skill came about, and what the held-out test showed, from its run folder.

The folder may be a stranger's. Files are read within limits, no recorded path is followed out of the folder, and what
cannot be read becomes a line in `problems`."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

from upskill.core.cases.files import read_case_file
from upskill.core.cases.skill_meta import Aptitude
from upskill.core.nouns import Case, Evaluation, Purchase
from upskill.core.nouns.evaluation import shown_interval
from upskill.core.nouns.finding import Finding
from upskill.core.nouns.skill import RUN_FILE, SKILL_FILE
from upskill.core.nouns.text import count, shortened
from upskill.core.runs.own_runs import resume_command
from upskill.core.runs.records import HELD_OUT
from upskill.core.runs.skill_copy import SkillText, skill_text
from upskill.core.skills.skill_files import first_problem
from upskill.core.skills.skills import read_skill
from upskill.errors import EngineError, UpskillError
from upskill.evaluation.replay import skill_of
from upskill.evaluation.report import Report, keep_page, read_report, settings_shown
from upskill.generation.aptitude import aptitude_figures
from upskill.generation.decision import on_held_out_cases
from upskill.generation.files import (
    APTITUDE_FILE,
    ATTEMPTS_FILE,
    CASES_FILE,
    MATERIAL_FILE,
    OWN_CASES_FILE,
    RefiningRecord,
    TeachingFolder,
    TeachingRecord,
    read_teaching_run,
    shown_path,
    shown_skill,
)
from upskill.generation.gathering import GatheredMaterial, read_gathered
from upskill.generation.generated import AttemptSummary
from upskill.generation.story_section import (
    MaterialItem,
    Outcome,
    StoryAttempt,
    StoryCases,
    StoryTest,
    TeachingStory,
    TextDiff,
    text_diff,
)
from upskill.generation.words import MOST_REASON
from upskill.redaction import redactor_from
from upskill.report.facts import ENOUGH
from upskill.report.html import RunFacts, report_page
from upskill.report.html.figures import Spent
from upskill.report.next_step import NextStep, step_after_generate
from upskill.report.wording import confidence_interval, names_by_model, points, unique_names

MOST_DRAFTS = 100
T = TypeVar("T")
_APTITUDES = TypeAdapter(tuple[Aptitude, ...])


class RecordedFiles:
    """One run folder. Each file is read once, when it is asked for. Drafts are named as seen from the folder."""

    def __init__(self, run: Path) -> None:
        self.problems: list[str] = []
        self._folder = TeachingFolder(path=run)
        self._texts: dict[str, SkillText | None] = {}

    @cached_property
    def gathered(self) -> GatheredMaterial | None:
        """What was read, without the skill that is improved."""

        def read() -> GatheredMaterial | None:
            text = self._folder.saved(MATERIAL_FILE)
            return None if text is None else read_gathered(text, previous=None, skill_folder=None)

        return self.tried(MATERIAL_FILE, read)

    @cached_property
    def refining(self) -> RefiningRecord:
        """Each draft on the learn cases."""
        return self.tried(ATTEMPTS_FILE, self._folder.read_attempts) or RefiningRecord()

    @cached_property
    def aptitudes(self) -> tuple[Aptitude, ...]:
        """What each student could do without a skill."""

        def read() -> tuple[Aptitude, ...] | None:
            text = self._folder.saved(APTITUDE_FILE)
            return None if text is None else _APTITUDES.validate_json(text)

        return self.tried(APTITUDE_FILE, read) or ()

    def cases(self, name: str) -> tuple[Case, ...] | None:
        """The cases of a file; `None` where there is none."""

        def read() -> tuple[Case, ...] | None:
            if self._folder.saved(name) is None:  # which refuses links and files without end
                return None
            return read_case_file(self._folder.path / name, check_problems=lambda _: []).cases

        return self.tried(name, read)

    @cached_property
    def drafts(self) -> list[str]:
        """All drafts, in order."""
        below = (self._folder.path / "drafts").glob("[0-9]*/*")
        numbered = [path for path in below if path.parent.name.isdecimal() and path.is_dir()]
        ordered = sorted(numbered, key=lambda path: int(path.parent.name))
        return [path.relative_to(self._folder.path).as_posix() for path in ordered[-MOST_DRAFTS:]]

    @cached_property
    def previous(self) -> str | None:
        """The skill that is improved, as it was."""
        previous = self.tried("previous", lambda: self._folder.previous)
        return None if previous is None else previous.relative_to(self._folder.path).as_posix()

    def text(self, draft: str | None) -> SkillText | None:
        """The text of a draft of this run; `None` where it is not there, or not in this folder."""
        if draft is None:
            return None
        if draft not in self._texts:
            self._texts[draft] = self.tried(draft, lambda: self._read_draft(draft))
        return self._texts[draft]

    def _read_draft(self, draft: str) -> SkillText:
        path = self._folder.path / draft
        if path.resolve() != self._folder.path.resolve() / PurePosixPath(draft):
            raise EngineError("it is outside the run folder")
        return skill_text(path, read_skill(path))

    def diff(self, before: str | None, after: str) -> TextDiff | None:
        """What changed between two drafts; `None` where one cannot be read."""
        old, new = self.text(before), self.text(after)
        return None if old is None or new is None else text_diff(_named_texts(old), _named_texts(new))

    def tried(self, what: str, read: Callable[[], T | None]) -> T | None:
        """What `read` returns; `None` and a line in `problems` where the file is damaged."""
        try:
            return read()
        except UpskillError as error:
            problem = "; ".join((error.message, *error.problems[:1]))
        except (OSError, ValueError, RecursionError) as error:
            problem = first_problem(error) if isinstance(error, ValidationError) else type(error).__name__
        self.problems.append(f"{shortened(what, 100)} could not be read: {shortened(problem, 300)}")
        return None


def _named_texts(text: SkillText) -> dict[str, str]:
    """What a teacher can change, by name. The rest of the frontmatter is only written otherwise by us."""
    body = skill_of(text).body.strip("\n")
    files = {file.path: file.text for file in text.files if file.text is not None}
    return {"description": text.description, SKILL_FILE: body, **files}


MOST_ATTEMPTS = 40
MOST_LINES = 50
"""Notes, findings or dropped cases that are listed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Spent:
    calls: int = 0
    tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Results:
    """What a report needs of the results of a `generate`; keys that earlier versions did not write have defaults."""

    skill: dict[str, str] = field(default_factory=dict)
    saved: str | None = None
    revision: bool = False
    sentence: str = ""
    decision: str | None = None
    teacher: str | None = None
    students: tuple[dict[str, JsonValue], ...] = ()
    refined: str | None = None
    spent: dict[str, _Spent] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    description: dict[str, JsonValue] | None = None


_RESULTS = TypeAdapter(_Results)
_SEEN = re.compile(r"(?P<end>FAILED|passed) (?P<kind>[\w-]+): (?P<said>.*)", re.DOTALL)


class StoryReader:
    """Tells the story of one run folder, as far as its files can be read."""

    def __init__(self, run: Path, record: TeachingRecord) -> None:
        self._run, self._record = run, record
        self._files = RecordedFiles(run)

    def story(self, evaluation: Evaluation | None) -> TeachingStory:
        """How the skill came about; `evaluation` is that on held-out cases."""
        record, results, gathered = self._record, self._results, self._files.gathered
        attempts = tuple(map(self._attempt, self._summaries()))
        cases = self._cases()
        teacher = (results.teacher if results is not None else None) or record.teacher
        wrote = record.case_writer if record.case_writer != record.teacher else None
        return TeachingStory(
            task=str(record.order.get("task") or "") if gathered is None else gathered.material.task,
            wish=None if gathered is None else gathered.wish,
            outcome=self.outcome,
            decision=self.decision,
            teacher=unique_names([teacher])[0],
            next_step=self._next_step(evaluation),
            case_writer=wrote if cases is None or cases.own < cases.total else None,
            material=() if gathered is None else tuple(_items(gathered, self._files.text(self._files.previous))),
            redacted=0 if gathered is None else gathered.redacted,
            cases=cases,
            before=self._before(),
            attempts=attempts,
            stopped=self._stopped(),
            test=None if evaluation is None else held_out_test(evaluation),
            change=self._change(),
            findings=(results.findings if results is not None else record.findings)[:MOST_LINES],
            saved=self.saved,
            spent=tuple(self._spent(evaluation)),
            notes=self._notes(() if evaluation is None else evaluation.notes),
            problems=tuple(self._files.problems),
        )

    def left_out(self, line: str) -> None:
        """Note what could not be read elsewhere."""
        self._files.problems.append(line)

    def skill(self) -> SkillText | None:
        """The text of the skill: what was saved, what stays, or the best draft."""
        match self.outcome:
            case "saved":
                found, note = self._files.text(self._saved_draft()), None
            case "stays":
                found, note = self._files.text(self._files.previous), "The old version, which was kept."
            case "nothing":
                found, note = self._files.text(self._best_draft()), "The best draft so far. It was not saved."
        return None if found is None else replace(found, note=note)

    @property
    def name(self) -> str:
        """The name of the skill; before there is one, what the run is called."""
        results = self._results
        named = None if results is None else results.skill.get("name")
        draft = self._best_draft() or self._files.previous
        return named or (PurePosixPath(draft).name if draft is not None else "a new skill")

    @property
    def saved(self) -> str | None:
        """The folder that the skill was saved to, as it was seen from where the command was typed."""
        return None if self._results is None else self._results.saved

    @property
    def outcome(self) -> Outcome:
        """Whether something was saved."""
        if (results := self._results) is None:
            return "nothing"
        return "stays" if results.saved is None else "saved"

    @property
    def decision(self) -> str:
        """What was decided, or how far it got, in one sentence."""
        results, record = self._results, self._record
        if results is not None:
            return results.decision or f"{results.sentence[:1].upper()}{results.sentence[1:]}."
        dangers = sum(one.severity == "danger" for one in record.findings)
        if dangers:
            found = count(dangers, "dangerous finding")
            return f"Nothing was saved: the draft has {found} that {'was' if dangers == 1 else 'were'} not accepted."
        if record.results is not None and record.end is None:
            return "The decision of this run cannot be read."
        if record.end is None:
            return f"Nothing was saved yet: the run is still working or was killed after the stage “{record.stage}”."
        reason = record.end.reason.removeprefix("nothing was saved: ").rstrip(".")
        yet = " yet" if record.status == "interrupted" else ""
        return f"Nothing was saved{yet}: {reason}."

    @cached_property
    def _results(self) -> _Results | None:
        """The results of a run that came to its end."""
        found = self._record.results if self._record.end is None else None
        if found is None:
            return None
        return self._files.tried("the results in generate.json", lambda: _RESULTS.validate_python(found))

    def _summaries(self) -> tuple[AttemptSummary, ...]:
        """The attempts that are shown: the first ones, and always the chosen one."""
        found = tuple(map(self._named, self._files.refining.attempts))
        if len(found) > MOST_ATTEMPTS:
            self._files.problems.append(f"{len(found) - MOST_ATTEMPTS} of {len(found)} attempts are not shown")
        chosen = [one for one in found[MOST_ATTEMPTS:] if one.chosen][:1]
        return (*found[: MOST_ATTEMPTS - len(chosen)], *chosen)

    def _named(self, one: AttemptSummary) -> AttemptSummary:
        """The same with short names of the models."""
        return replace(
            one,
            by_student=tuple(replace(score, student=self._short(score.student)) for score in one.by_student),
            failures=tuple(
                replace(failed, student=self._short(failed.student), saw=tuple(map(check_words, failed.saw)))
                for failed in one.failures
            ),
        )

    def _short(self, student: str) -> str:
        return self._short_names.get(student) or unique_names([student])[0]

    @cached_property
    def _short_names(self) -> dict[str, str]:
        names = list(dict.fromkeys(score.student for one in self._files.refining.attempts for score in one.by_student))
        return names_by_model(names)

    def _attempt(self, one: AttemptSummary) -> StoryAttempt:
        drafts = {other.number: other.draft for other in self._files.refining.attempts}
        if one.revises is None or one.draft is None:
            return StoryAttempt(summary=one)
        change = self._files.diff(drafts.get(one.revises), one.draft)
        return StoryAttempt(summary=one, against=f"attempt {one.revises}", change=change)

    def _change(self) -> TextDiff | None:
        """What the best draft changes in the version that was to be improved."""
        best = self._best_draft()
        return None if self._files.previous is None or best is None else self._files.diff(self._files.previous, best)

    def _saved_draft(self) -> str | None:
        """The draft with the digest of the results; the best one where none has it."""
        results = self._results
        digest = None if results is None else results.skill.get("digest")
        for draft in reversed(self._files.drafts):
            found = self._files.text(draft)
            if found is not None and found.digest == digest:
                return draft
        return self._best_draft()

    def _best_draft(self) -> str | None:
        """The attempt that was chosen; without attempts, the last draft."""
        chosen = next((one.draft for one in self._files.refining.attempts if one.chosen), None)
        return chosen or (self._files.drafts[-1] if self._files.drafts else None)

    def _cases(self) -> StoryCases | None:
        cases = self._files.cases(CASES_FILE)
        if cases is None:
            return None
        own = {case.digest for case in self._files.cases(OWN_CASES_FILE) or ()}
        uses = [case.use for case in cases]
        return StoryCases(
            learn=uses.count("learn"),
            held_out=uses.count("held-out"),
            negative=uses.count("negative"),
            own=sum(case.digest in own for case in cases),
            dropped=self._record.dropped[:MOST_LINES],
        )

    def _next_step(self, evaluation: Evaluation | None) -> NextStep:
        """The command that the decision calls for."""
        if self._results is None:
            return self._way_on()
        previous = self._files.previous
        asked = self._results.students if self._record.order.get("evaluate") else ()
        return step_after_generate(
            evaluation,
            saved=self.saved,
            improved=shown_skill(self._record, None if previous is None else Path(previous)),
            resume=self._resume(),
            students=[str(one["model"]) for one in asked if "model" in one],
            description=self._results.description is not None,
        )

    def _way_on(self) -> NextStep:
        """How to go on with a run that saved nothing."""
        if any(one.severity == "danger" for one in self._record.findings):
            return NextStep("read the draft; to save it as it is", self._resume("--accept-findings"))
        if self._record.stage == "aptitude" and self._record.status == "failed":
            what = "choose another model or other cases, or write the skill anyway"
            return NextStep(what, self._resume("UPSKILL_ANYWAY=true"))
        return NextStep("resume where it stopped", self._resume())

    def _resume(self, *extra: str) -> str:
        return resume_command(Path(shown_path(self._run)), *extra)

    def _notes(self, on_test: tuple[str, ...]) -> tuple[str, ...]:
        """The notes of the run, without those on cases and on the held-out test, which stand beside these."""
        dropped = {*(f"dropped: {line}" for line in self._record.dropped), *on_test}
        notes = self._record.notes if self._results is None else self._results.notes
        return tuple(note for note in notes if note not in dropped)[:MOST_LINES]

    def _stopped(self) -> str | None:
        """Why revising ended, on one line."""
        why = self._files.refining.stopped or (None if self._results is None else self._results.refined)
        return None if why is None else shortened(why, MOST_REASON).rstrip(".")

    def _before(self) -> tuple[str, ...]:
        """What the students could do without a skill."""
        return tuple(f"{self._short(one.student)}: {aptitude_figures(one)}" for one in self._files.aptitudes)

    def _spent(self, evaluation: Evaluation | None) -> Iterator[Spent]:
        """The parts of what the run cost; `evaluation` is the held-out test, which the record counts with the rest."""
        results, end = self._results, self._record.end
        spent = {} if results is None else results.spent
        if results is None and end is not None:
            spent = {"teacher": _spent_of(end.teacher), "students": _spent_of(end.students)}
        teacher, students = spent.get("teacher", _Spent()), spent.get("students", _Spent())
        test = _Spent() if evaluation is None else _spent_of(evaluation.bought)
        for part, one in (
            ("Teacher", teacher),
            ("Models on practice cases", _rest(students, test)),
            ("Models in the held-out test", test),
        ):
            if one.calls:
                yield Spent(part=part, calls=one.calls, tokens=one.tokens, cost=one.cost)


def _rest(students: _Spent, test: _Spent) -> _Spent:
    """What the students cost besides the held-out test."""
    known = students.cost is not None and (test.cost is not None or not test.calls)
    return _Spent(
        calls=max(0, students.calls - test.calls),
        tokens=max(0, students.tokens - test.tokens),
        cost=max(0.0, (students.cost or 0.0) - (test.cost or 0.0)) if known else None,
    )


def _spent_of(purchase: Purchase) -> _Spent:
    return _Spent(calls=purchase.calls, tokens=purchase.tokens, cost=purchase.cost)


def _items(gathered: GatheredMaterial, previous: SkillText | None) -> Iterator[MaterialItem]:
    material = gathered.material
    if (digest := material.digest) is not None:
        left_out = f", {len(digest.left_out)} did not fit" if digest.left_out else ""
        size = f"~{digest.tokens:,} tokens, {count(len(digest.kept), 'finding')}{left_out}"
        yield MaterialItem(kind="recorded session", name=_recordings(gathered, previous), size=size)
    for document in material.documents:
        yield MaterialItem(kind="document", name=document.name, size=f"{len(document.text):,} characters")
    if material.examples:
        size = f"{sum(map(len, material.examples)):,} characters"
        yield MaterialItem(kind="examples", name=count(len(material.examples), "example"), size=size)
    if previous is not None:
        yield MaterialItem(kind="skill", name=previous.name, size=f"~{previous.tokens:,} tokens")


def _recordings(gathered: GatheredMaterial, previous: SkillText | None) -> str:
    """The sources that are neither documents nor the skill. A repository may be listed here beside its files."""
    others = {one.name for one in gathered.material.documents} | ({previous.name} if previous is not None else set())
    names = [name for source in gathered.sources if (name := PurePosixPath(source).name) not in others]
    return ", ".join(names) or "a session"


def check_words(saw: str) -> str:
    """What a check saw, as a record has it for teachers, in the words of a report."""
    seen = _SEEN.fullmatch(saw)
    if seen is None:
        return saw
    kind, said = seen["kind"], seen["said"]
    if kind == "contains":
        kind, said = "", said.replace("not found: ", "the answer does not contain ", 1)
    return f"Check {seen['end'].lower()}{f' ({kind})' if kind else ''}: {said}"


def held_out_test(evaluation: Evaluation) -> StoryTest:
    """The held-out evaluation in a figure and a few words."""
    on = on_held_out_cases(evaluation)
    if len(evaluation.students) != 1:
        verdicts = [report.verdict for report in evaluation.students]
        return StoryTest(figure=f"{verdicts.count('helps')} of {len(verdicts)} models helped", words=on)
    (report,) = evaluation.students
    if not report.lifts or report.verdict == "invalid":
        return StoryTest(figure="no verdict", words=on)
    lift = report.lifts[0]
    interval = shown_interval(claim=report.claim, these_cases=lift.these_cases, cases_like_these=lift.cases_like_these)
    return StoryTest(figure=f"{points(lift.mean)} points", words=f"{confidence_interval(lift, interval)}, {on}")


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateReport:
    """A run of `generate`, read and ready to be shown."""

    facts: RunFacts
    story: TeachingStory
    skill: SkillText | None
    held_out: Report | None
    """`None` where no held-out case was used."""

    @property
    def measured(self) -> Report | None:
        """The held-out test as a part of this run; `None` where no held-out case was used."""
        if self.held_out is None:
            return None
        return replace(self.held_out, facts=self.facts, story=self.story, skill=self.skill)

    def page(self) -> str:
        """The page, with the held-out test where there was one."""
        if (measured := self.measured) is not None:
            return measured.page()
        clean = redactor_from(os.environ).clean_own
        return clean(report_page(None, self.facts, skill=self.skill, story=self.story))


def read_generate_report(run: Path, *, enough: float = ENOUGH) -> GenerateReport:
    """Read a run of `generate`, however far it got. Raises where `generate.json` itself cannot be read."""
    record = read_teaching_run(run)
    reader = StoryReader(run, record)
    held_out = _held_out(run, reader, enough=enough)
    skill = reader.skill()
    story = reader.story(None if held_out is None else held_out.evaluation)
    return GenerateReport(
        facts=_facts(run, record, held_out, name=reader.name), story=story, skill=skill, held_out=held_out
    )


def _held_out(run: Path, reader: StoryReader, *, enough: float) -> Report | None:
    """The held-out test; `None` where there was none, or where it cannot be read."""
    stage = run / HELD_OUT
    if not (stage / RUN_FILE).is_file():
        return None
    if stage.resolve() != run.resolve() / HELD_OUT:
        reader.left_out(f"{HELD_OUT} is outside the run folder and was not read")
        return None
    try:
        return read_report(stage, enough=enough)
    except UpskillError as error:
        reader.left_out(f"{HELD_OUT} could not be read: {error.message}")
        return None


def _facts(run: Path, record: TeachingRecord, held_out: Report | None, *, name: str) -> RunFacts:
    """Where the numbers come from: the run as a whole, and the held-out test as far as it was measured."""
    begun = RunFacts(
        skill=name,
        folder=run.name,
        status=record.status,
        started_at=record.started_at,
        finished_at=record.finished_at,
        versions=record.versions,
        settings=settings_shown(record.settings),
    )
    if held_out is None:
        return begun
    return replace(
        held_out.facts,
        skill=name,
        folder=run.name,
        status=record.status,
        started_at=record.started_at,
        finished_at=record.finished_at,
        settings=begun.settings,
    )


def keep_generate_report(run: Path) -> str | None:
    """Write `report.html` into the run folder. What went wrong is returned, in words: the result does not change."""
    return keep_page(run, lambda: read_generate_report(run).page())
