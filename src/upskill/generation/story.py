"""The report of a `generate`: how its skill came about, and what the held-out test showed, from its run folder.

The folder may be a stranger's. Files are read within limits, no recorded path is followed out of the folder, and what
cannot be read becomes a line in `problems`."""

import difflib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Literal, TypeVar

from markupsafe import Markup
from pydantic import JsonValue, TypeAdapter, ValidationError

from upskill.core.cases.files import read_case_file
from upskill.core.cases.skill_meta import Aptitude
from upskill.core.nouns import Case, Evaluation, Purchase
from upskill.core.nouns.finding import Finding
from upskill.core.nouns.plan import NOTHING_MORE
from upskill.core.nouns.skill import RUN_FILE, SKILL_FILE
from upskill.core.nouns.text import count, shortened
from upskill.core.runs.own_runs import resume_command
from upskill.core.runs.records import HELD_OUT
from upskill.core.runs.skill_copy import SkillText, skill_text
from upskill.core.skills.skill_files import first_problem
from upskill.core.skills.skills import read_skill
from upskill.errors import EngineError, UpskillError
from upskill.evaluation.replay import skill_of
from upskill.evaluation.report import Report, keep_page, read_report, settings_shown, typed_for, typed_here
from upskill.generation.aptitude import aptitude_figures
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
from upskill.generation.gathering import read_material
from upskill.generation.generated import AttemptSummary
from upskill.generation.material import Material
from upskill.generation.plan import uses_of
from upskill.generation.words import MOST_REASON, on_held_out_cases
from upskill.redaction import redactor_from
from upskill.report.facts import ENOUGH
from upskill.report.html import RunFacts, report_page
from upskill.report.html.figures import Spent
from upskill.report.html.shell import render
from upskill.report.next_step import NextStep, step_after_generate
from upskill.report.wording import confidence_interval, names_by_model, points, unique_names

MOST_COMPARED = 1_200
"""Lines of one text that are compared: the time that it takes may grow with their square."""
MOST_SHOWN = 400
"""Lines of a diff."""
LONGEST_LINE = 600
Mark = Literal["file", "place", "added", "removed", "same"]
_MARKS: dict[str, Mark] = {"+": "added", "-": "removed", "@": "place"}


@dataclass(frozen=True, kw_only=True, slots=True)
class DiffLine:
    """One line of a diff, with its sign in front."""

    mark: Mark
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TextDiff:
    """What changed, as far as it is shown."""

    lines: tuple[DiffLine, ...]
    left_out: int = 0
    """Further lines, of the diff or of texts that are too long to be compared."""


def text_diff(before: Mapping[str, str], after: Mapping[str, str]) -> TextDiff:
    """The changes from one set of texts to another, by name. No lines where nothing changed."""
    names = [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]
    too_long = 0
    lines: list[DiffLine] = []
    for name in names:
        old, new = before.get(name, "").splitlines(), after.get(name, "").splitlines()
        too_long += sum(max(0, len(one) - MOST_COMPARED) for one in (old, new))
        if changed := list(_changed(old[:MOST_COMPARED], new[:MOST_COMPARED])):
            lines += [DiffLine(mark="file", text=name), *changed]
    return TextDiff(lines=tuple(lines[:MOST_SHOWN]), left_out=too_long + max(0, len(lines) - MOST_SHOWN))


def _changed(old: list[str], new: list[str]) -> Iterator[DiffLine]:
    head = 2  # the names of two files, which are said otherwise
    for line in islice(difflib.unified_diff(old, new, lineterm="", n=2), head, None):
        yield DiffLine(mark=_MARKS.get(line[:1], "same"), text=line[:LONGEST_LINE])


NAMES_SHOWN = 3
HELD_OUT_TEST = "Held-out test"
STEPS_SHOWN = 4
"""Attempts whose share stands in the overview; of more, the first and the chosen one."""
Outcome = Literal["saved", "stays", "nothing"]
_OUTCOMES: dict[Outcome, str] = {"saved": "Saved", "stays": "The old version stays", "nothing": "Nothing saved"}


@dataclass(frozen=True, kw_only=True, slots=True)
class MaterialItem:
    """One thing that the teacher was given to read."""

    kind: str
    """`recorded work`, `document`, `skill` or `examples`."""
    name: str
    size: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StoryCases:
    """How many cases there are, by use, and what was written and not used."""

    learn: int
    held_out: int
    negative: int
    own: int = 0
    """How many of them were there before, or came from a file."""
    dropped: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """Cases of every use."""
        return self.learn + self.held_out + self.negative


@dataclass(frozen=True, kw_only=True, slots=True)
class StoryAttempt:
    """One draft on the learn cases, and what was changed in it."""

    summary: AttemptSummary
    against: str = ""
    """What the change is against, in words: `attempt 1`, `the old version`."""
    change: TextDiff | None = None
    """`None` for a first draft, and where the drafts cannot be read any more."""

    @property
    def is_old(self) -> bool:
        """Whether it is the version that was to be improved."""
        return (self.summary.draft or "").startswith("previous/")

    @property
    def share(self) -> str:
        """`3/5`."""
        return f"{self.summary.passed}/{self.summary.of}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One step of the overview."""

    title: str
    figure: str
    words: str = ""
    reached: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class TeachingStory:
    """How a `generate` came to its skill."""

    task: str
    outcome: Outcome
    decision: str
    """One sentence."""
    next_step: NextStep | None = None
    """The command that the decision calls for."""
    teacher: str
    case_writer: str | None = None
    """`None` where nobody wrote cases, or the teacher did."""
    wish: str | None = None
    """What to improve, in the user's words."""
    material: tuple[MaterialItem, ...] = ()
    redacted: int = 0
    """Secrets that were removed from it."""
    cases: StoryCases | None = None
    before: tuple[str, ...] = ()
    """What each model could do without a skill, a line each."""
    attempts: tuple[StoryAttempt, ...] = ()
    stopped: str | None = None
    """Why refining ended."""
    test: Step | None = None
    change: TextDiff | None = None
    """What the chosen draft changes in the old version; `None` for a new skill."""
    findings: tuple[Finding, ...] = ()
    saved: str | None = None
    """The folder that the skill was saved to, as it was typed; `None` where nothing was saved."""
    spent: tuple[Spent, ...] = ()
    """What the run cost as a whole."""
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """What could not be read, a line each."""

    def section(self, skill: SkillText | None) -> Markup:
        """The section "The skill": the way to it, and its text where it can be read."""
        return render("skill.html", skill=skill, story=self, steps=tuple(_steps(self)))


def _steps(story: TeachingStory) -> Iterator[Step]:
    yield _material(story)
    cases = story.cases
    if cases is None:
        yield Step(title="Cases", figure="none yet", reached=False)
    else:
        unrelated = f", {cases.negative} unrelated" if cases.negative else ""
        figure = count(cases.total, "case")
        words = f"{cases.learn} practice, {cases.held_out} held-out{unrelated}"
        yield Step(title="Cases", figure=figure, words=words)
    yield _attempts(story)
    yield story.test or Step(title=HELD_OUT_TEST, figure="not run", reached=False)
    words = "" if story.saved is None else f"in {story.saved}"
    yield Step(title="Decision", figure=_OUTCOMES[story.outcome], words=words)


def _material(story: TeachingStory) -> Step:
    if not story.material:
        return Step(title="Material", figure="the task alone", words="from the teacher's own knowledge")
    figure = count(len(story.material), "source") if len(story.material) > 1 else story.material[0].kind
    return Step(title="Material", figure=figure, words=_listed([one.name for one in story.material]))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(shortened(name, 40) for name in names[:NAMES_SHOWN]) + more


def _attempts(story: TeachingStory) -> Step:
    attempts = story.attempts
    if not attempts:
        return Step(title="Attempts", figure="not measured", reached=False)
    chosen = next((one for one in attempts if one.summary.chosen), attempts[-1])
    few = len(attempts) <= STEPS_SHOWN
    shares = [one.share for one in attempts] if few else [attempts[0].share, "…", chosen.share]
    what = "attempt 1" if len(attempts) == 1 else f"attempt {chosen.summary.number} of {len(attempts)} was best"
    return Step(title="Attempts", figure=" → ".join(shares), words=f"practice cases passed; {what}")


MOST_DRAFTS = 100
MOST_ATTEMPTS = 40
MOST_LINES = 50
"""Notes, findings or dropped cases that are listed."""
T = TypeVar("T")
_APTITUDES = TypeAdapter(tuple[Aptitude, ...])
_SEEN = re.compile(r"(?P<end>FAILED|passed) (?P<kind>[\w-]+): (?P<said>.*)", re.DOTALL)
_NOTHING = Purchase(calls=0, failed_calls=0, tokens=0, cost=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Results:
    """What a report needs of the results of a `generate`, which may be a stranger's."""

    skill: dict[str, str] = field(default_factory=dict)
    saved: str | None = None
    sentence: str = ""
    decision: str | None = None
    teacher: str | None = None
    students: tuple[dict[str, JsonValue], ...] = ()
    refined: str | None = None
    spent: dict[str, Purchase] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    description: dict[str, JsonValue] | None = None


_RESULTS = TypeAdapter(_Results)


class StoryReader:
    """Tells the story of one run folder, as far as its files can be read. Each is read once, when it is asked for;
    drafts are named as seen from the folder."""

    def __init__(self, run: Path, record: TeachingRecord) -> None:
        self._folder, self._record = TeachingFolder(path=run), record
        self._texts: dict[str, SkillText | None] = {}
        self.problems: list[str] = []

    def story(self, evaluation: Evaluation | None) -> TeachingStory:
        """How the skill came about; `evaluation` is that on held-out cases."""
        record, results, material = self._record, self._results, self._material
        attempts = tuple(map(self._attempt, self._summaries()))
        cases = self._cases()
        teacher = (results.teacher if results is not None else None) or record.teacher
        wrote = record.case_writer if record.case_writer != record.teacher else None
        before = tuple(f"{self._short(one.student)}: {aptitude_figures(one)}" for one in self._aptitudes)
        stopped = self._refining.stopped or (None if results is None else results.refined)
        best, previous = self._best_draft(), self._previous
        return TeachingStory(
            task=str(record.order.get("task") or "") if material is None else material.task,
            wish=None if material is None else material.wish,
            outcome=self.outcome,
            decision=self._decision,
            teacher=unique_names([teacher])[0],
            next_step=self._next_step(evaluation),
            case_writer=wrote if cases is None or cases.own < cases.total else None,
            material=() if material is None else tuple(_items(material, self._text(previous))),
            redacted=0 if material is None else material.redacted,
            cases=cases,
            before=before,
            attempts=attempts,
            stopped=None if stopped is None else shortened(stopped, MOST_REASON).rstrip("."),
            test=None if evaluation is None else held_out_test(evaluation),
            change=None if previous is None or best is None else self._diff(previous, best),
            findings=(results.findings if results is not None else record.findings)[:MOST_LINES],
            saved=None if results is None else results.saved,
            spent=tuple(self._spent(evaluation)),
            notes=self._notes(() if evaluation is None else evaluation.notes),
            problems=tuple(self.problems),
        )

    def skill(self) -> SkillText | None:
        """The text of the skill: what was saved, what stays, or the best draft."""
        match self.outcome:
            case "saved":
                found, note = self._text(self._saved_draft()), None
            case "stays":
                found, note = self._text(self._previous), "The old version, which was kept."
            case "nothing":
                found, note = self._text(self._best_draft()), "The best draft so far. It was not saved."
        return None if found is None else replace(found, note=note)

    @property
    def name(self) -> str:
        """The name of the skill; before there is one, what the run is called."""
        named = None if self._results is None else self._results.skill.get("name")
        draft = self._best_draft() or self._previous
        return named or (PurePosixPath(draft).name if draft is not None else "a new skill")

    @property
    def outcome(self) -> Outcome:
        """Whether something was saved."""
        if (results := self._results) is None:
            return "nothing"
        return "stays" if results.saved is None else "saved"

    @property
    def _decision(self) -> str:
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

    def _tried(self, what: str, read: Callable[[], T]) -> T | None:
        """What `read` returns; `None` and a line in `problems` where the file is damaged."""
        try:
            return read()
        except UpskillError as error:
            problem = "; ".join((error.message, *error.problems[:1]))
        except (OSError, ValueError, RecursionError) as error:
            problem = first_problem(error) if isinstance(error, ValidationError) else type(error).__name__
        self.problems.append(f"{shortened(what, 100)} could not be read: {shortened(problem, 300)}")
        return None

    def _parsed(self, name: str, parse: Callable[[bytes], T]) -> T | None:
        """What is made of the text of a file; `None` where there is none, or it is damaged."""

        def read() -> T | None:
            text = self._folder.saved(name)  # which refuses links and files without end
            return None if text is None else parse(text)

        return self._tried(name, read)

    @cached_property
    def _results(self) -> _Results | None:
        """The results of a run that came to its end."""
        found = self._record.results if self._record.end is None else None
        if found is None:
            return None
        return self._tried("the results in generate.json", lambda: _RESULTS.validate_python(found))

    @cached_property
    def _material(self) -> Material | None:
        """What was read, without the skill that is improved."""
        return self._parsed(MATERIAL_FILE, lambda text: read_material(text, previous=None, skill_folder=None))

    @cached_property
    def _refining(self) -> RefiningRecord:
        """Each draft on the learn cases."""
        return self._tried(ATTEMPTS_FILE, self._folder.read_attempts) or RefiningRecord()

    @cached_property
    def _aptitudes(self) -> tuple[Aptitude, ...]:
        """What each student could do without a skill."""
        return self._parsed(APTITUDE_FILE, _APTITUDES.validate_json) or ()

    def _cases_in(self, name: str) -> tuple[Case, ...] | None:
        path = self._folder.path / name
        return self._parsed(name, lambda _: read_case_file(path, check_problems=lambda _: []).cases)

    @cached_property
    def _drafts(self) -> list[str]:
        """All drafts, in order."""
        return [path.relative_to(self._folder.path).as_posix() for path in self._folder.drafts[-MOST_DRAFTS:]]

    @cached_property
    def _previous(self) -> str | None:
        """The skill that is improved, as it was."""
        previous = self._tried("previous", lambda: self._folder.previous)
        return None if previous is None else previous.relative_to(self._folder.path).as_posix()

    def _text(self, draft: str | None) -> SkillText | None:
        """The text of a draft of this run; `None` where it is not there, or not in this folder."""
        if draft is None:
            return None

        def read() -> SkillText:
            path = self._folder.path / draft
            if path.resolve() != self._folder.path.resolve() / PurePosixPath(draft):
                raise EngineError("it is outside the run folder")
            return skill_text(path, read_skill(path))

        if draft not in self._texts:
            self._texts[draft] = self._tried(draft, read)
        return self._texts[draft]

    def _diff(self, before: str | None, after: str) -> TextDiff | None:
        """What changed between two drafts; `None` where one cannot be read."""
        old, new = self._text(before), self._text(after)
        return None if old is None or new is None else text_diff(_named_texts(old), _named_texts(new))

    def _summaries(self) -> tuple[AttemptSummary, ...]:
        """The attempts that are shown: the first ones, and always the chosen one."""
        found = tuple(map(self._named, self._refining.attempts))
        if len(found) > MOST_ATTEMPTS:
            self.problems.append(f"{len(found) - MOST_ATTEMPTS} of {len(found)} attempts are not shown")
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
        names = list(dict.fromkeys(score.student for one in self._refining.attempts for score in one.by_student))
        return names_by_model(names)

    def _attempt(self, one: AttemptSummary) -> StoryAttempt:
        drafts = {other.number: other.draft for other in self._refining.attempts}
        if one.revises is None or one.draft is None:
            return StoryAttempt(summary=one)
        change = self._diff(drafts.get(one.revises), one.draft)
        return StoryAttempt(summary=one, against=f"attempt {one.revises}", change=change)

    def _saved_draft(self) -> str | None:
        """The draft with the digest of the results; the best one where none has it."""
        digest = None if self._results is None else self._results.skill.get("digest")
        for draft in reversed(self._drafts):
            found = self._text(draft)
            if found is not None and found.digest == digest:
                return draft
        return self._best_draft()

    def _best_draft(self) -> str | None:
        """The attempt that was chosen; without attempts, the last draft."""
        chosen = next((one.draft for one in self._refining.attempts if one.chosen), None)
        return chosen or (self._drafts[-1] if self._drafts else None)

    def _cases(self) -> StoryCases | None:
        cases = self._cases_in(CASES_FILE)
        if cases is None:
            return None
        own = {case.digest for case in self._cases_in(OWN_CASES_FILE) or ()}
        return StoryCases(
            **uses_of(cases), own=sum(case.digest in own for case in cases), dropped=self._record.dropped[:MOST_LINES]
        )

    def _next_step(self, evaluation: Evaluation | None) -> NextStep:
        """The command that the decision calls for, or how to go on with a run that saved nothing."""
        record, results, previous = self._record, self._results, self._previous
        if results is not None:
            asked = results.students if record.order.get("evaluate") else ()
            return step_after_generate(
                evaluation,
                saved=results.saved,
                improved=shown_skill(record, None if previous is None else Path(previous)),
                resume=self._resume(),
                students=[str(one["model"]) for one in asked if "model" in one],
                description=results.description is not None,
                again=typed_here(NOTHING_MORE, None) if evaluation is None else typed_for(self._folder.path / HELD_OUT),
            )
        if any(one.severity == "danger" for one in record.findings):
            return NextStep("read the draft; to save it as it is", self._resume("--accept-findings"))
        if record.stage == "aptitude" and record.status == "failed":
            what = "choose another model or other cases, or write the skill anyway"
            return NextStep(what, self._resume("UPSKILL_ANYWAY=true"))
        return NextStep("resume where it stopped", self._resume())

    def _resume(self, *extra: str) -> str:
        return resume_command(Path(shown_path(self._folder.path)), *extra)

    def _notes(self, on_test: tuple[str, ...]) -> tuple[str, ...]:
        """The notes of the run, without those on cases and on the held-out test, which stand beside these."""
        dropped = {*(f"dropped: {line}" for line in self._record.dropped), *on_test}
        notes = self._record.notes if self._results is None else self._results.notes
        return tuple(note for note in notes if note not in dropped)[:MOST_LINES]

    def _spent(self, evaluation: Evaluation | None) -> Iterator[Spent]:
        """The parts of what the run cost; `evaluation` is the held-out test, which the record counts with the rest."""
        end, spent = self._record.end, {} if self._results is None else self._results.spent
        if self._results is None and end is not None:
            spent = {"teacher": end.teacher, "students": end.students}
        students, test = spent.get("students", _NOTHING), _NOTHING if evaluation is None else evaluation.bought
        known = students.cost is not None and (test.cost is not None or not test.calls)
        practice = replace(
            students,
            calls=max(0, students.calls - test.calls),
            tokens=max(0, students.tokens - test.tokens),
            cost=max(0.0, (students.cost or 0.0) - (test.cost or 0.0)) if known else None,
        )
        for part, one in (
            ("Teacher", spent.get("teacher", _NOTHING)),
            ("Models on practice cases", practice),
            ("Models in the held-out test", test),
        ):
            if one.calls:
                yield Spent(part=part, calls=one.calls, tokens=one.tokens, cost=one.cost)


def _named_texts(text: SkillText) -> dict[str, str]:
    """What a teacher can change, by name. The rest of the frontmatter is only written otherwise by us."""
    body = skill_of(text).body.strip("\n")
    files = {file.path: file.text for file in text.files if file.text is not None}
    return {"description": text.description, SKILL_FILE: body, **files}


def _items(material: Material, previous: SkillText | None) -> Iterator[MaterialItem]:
    if (digest := material.digest) is not None:
        left_out = f", {len(digest.left_out)} did not fit" if digest.left_out else ""
        size = f"~{digest.tokens:,} tokens, {count(len(digest.kept), 'finding')}{left_out}"
        yield MaterialItem(kind="recorded session", name=_recordings(material, previous), size=size)
    for document in material.documents:
        yield MaterialItem(kind="document", name=document.name, size=f"{len(document.text):,} characters")
    if material.examples:
        size = f"{sum(map(len, material.examples)):,} characters"
        yield MaterialItem(kind="examples", name=count(len(material.examples), "example"), size=size)
    if previous is not None:
        yield MaterialItem(kind="skill", name=previous.name, size=f"~{previous.tokens:,} tokens")


def _recordings(material: Material, previous: SkillText | None) -> str:
    """The sources that are neither documents nor the skill. A repository may be listed here beside its files."""
    others = {one.name for one in material.documents} | ({previous.name} if previous is not None else set())
    names = [name for source in material.sources if (name := PurePosixPath(source).name) not in others]
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


def held_out_test(evaluation: Evaluation) -> Step:
    """The held-out evaluation in a figure and a few words."""
    on = on_held_out_cases(evaluation)
    if len(evaluation.students) != 1:
        verdicts = [report.verdict for report in evaluation.students]
        return Step(title=HELD_OUT_TEST, figure=f"{verdicts.count('helps')} of {len(verdicts)} models helped", words=on)
    (report,) = evaluation.students
    if not report.lifts or report.verdict == "invalid":
        return Step(title=HELD_OUT_TEST, figure="no verdict", words=on)
    lift = report.lifts[0]
    return Step(title=HELD_OUT_TEST, figure=f"{points(lift.mean)} points", words=f"{confidence_interval(lift)}, {on}")


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
        reader.problems.append(f"{HELD_OUT} is outside the run folder and was not read")
        return None
    try:
        return read_report(stage, enough=enough)
    except UpskillError as error:
        reader.problems.append(f"{HELD_OUT} could not be read: {error.message}")
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
