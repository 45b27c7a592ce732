"""Reads from the run folder of a `generate` how its skill came about.

The folder may be a stranger's. Files are read within limits, no recorded path is followed out of the folder, and what
cannot be read becomes a line in `problems`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

from upskill import storage
from upskill.domain import Case, Evaluation, Purchase
from upskill.domain.evaluation import shown_interval
from upskill.domain.finding import Finding
from upskill.domain.generated import AttemptSummary
from upskill.domain.skill import SKILL_FILE
from upskill.domain.skill_text import SkillText
from upskill.domain.student_profile import Aptitude
from upskill.domain.text import count, shortened
from upskill.errors import EngineError, UpskillError
from upskill.reporting.aptitude import aptitude_figures
from upskill.reporting.html.story import MaterialItem, Outcome, StoryAttempt, StoryCases, StoryTest, TeachingStory
from upskill.reporting.html.text_diff import TextDiff, text_diff
from upskill.reporting.wording import confidence_interval, dollars, points
from upskill.storage.records import first_problem
from upskill.storage.skill_copy import skill_text
from upskill.storage.teaching_runs import RefiningRecord, TeachingFolder, TeachingRecord
from upskill.workflows.evaluating.measured_skill import skill_of
from upskill.workflows.generating.material import GatheredMaterial, read_gathered

MOST_ATTEMPTS = 40
MOST_LINES = 50
"""Notes, findings or dropped cases that are listed."""
T = TypeVar("T")


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
    attempts: tuple[AttemptSummary, ...] = ()
    refined: str | None = None
    spent: dict[str, _Spent] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


_RESULTS = TypeAdapter(_Results)
_APTITUDES = TypeAdapter(tuple[Aptitude, ...])


class StoryReader:
    """Reads one run folder. Each part is read once; `problems` lists what could not be read."""

    def __init__(self, run: Path, record: TeachingRecord) -> None:
        self.problems: list[str] = []
        self._record = record
        self._folder = TeachingFolder(path=run)
        self._texts: dict[str, SkillText | None] = {}

    def story(self, evaluation: Evaluation | None) -> TeachingStory:
        """How the skill came about; `evaluation` is that on held-out cases."""
        record, results, gathered = self._record, self._results, self._gathered
        attempts = tuple(map(self._attempt, self._summaries()))
        cases = self._cases()
        teacher = (results.teacher if results is not None else None) or record.teacher
        wrote = record.case_writer if record.case_writer != record.teacher else None
        return TeachingStory(
            task=str(record.order.get("task") or "") if gathered is None else gathered.material.task,
            wish=None if gathered is None else gathered.wish,
            outcome=self.outcome,
            decision=self.decision,
            teacher=teacher,
            case_writer=wrote if cases is None or cases.own < cases.total else None,
            material=() if gathered is None else tuple(_items(gathered, self._text(self._previous))),
            redacted=0 if gathered is None else gathered.redacted,
            cases=cases,
            before=self._before(),
            attempts=attempts,
            stopped=self._refining.stopped or (None if results is None else results.refined),
            test=None if evaluation is None else held_out_test(evaluation),
            change=self._change(),
            findings=(results.findings if results is not None else record.findings)[:MOST_LINES],
            spent=tuple(self._spent()),
            notes=self._notes(),
            problems=tuple(self.problems),
        )

    def skill(self) -> SkillText | None:
        """The text of the skill: what was saved, what stays, or the best draft."""
        match self.outcome:
            case "saved":
                found, note = self._text(self._saved_draft()), None
            case "stays":
                found, note = self._text(self._previous), "The old version, which stays."
            case "nothing":
                found, note = self._text(self._best_draft()), "The best draft so far. It was not saved."
        return None if found is None else replace(found, note=note)

    @property
    def name(self) -> str:
        """The name of the skill; before there is one, what the run is called."""
        results = self._results
        named = None if results is None else results.skill.get("name")
        draft = self._best_draft() or self._previous
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
            return f"Nothing was saved: the draft has {found}, which nobody accepted."
        if record.end is None:
            return f"Nothing was saved yet: the run is still going on or was killed, after the stage “{record.stage}”."
        reason = record.end.reason.removeprefix("nothing was saved: ").rstrip(".")
        yet = " yet" if record.status == "interrupted" else ""
        return f"Nothing was saved{yet}: {reason}."

    @cached_property
    def _results(self) -> _Results | None:
        """The results of a run that came to its end."""
        found = self._record.results if self._record.end is None else None
        return None if found is None else self._tried("the results in generate.json", lambda: _results(found))

    @cached_property
    def _gathered(self) -> GatheredMaterial | None:
        text = self._tried("material.json", lambda: self._folder.saved("material.json"))
        if text is None:
            return None
        return self._tried("material.json", lambda: read_gathered(text, previous=None, skill_folder=None))

    @cached_property
    def _refining(self) -> RefiningRecord:
        return self._tried("attempts.json", self._folder.read_attempts) or RefiningRecord()

    def _summaries(self) -> tuple[AttemptSummary, ...]:
        """The attempts that are shown: the first ones, and always the chosen one."""
        found = self._refining.attempts or (() if self._results is None else self._results.attempts)
        if len(found) > MOST_ATTEMPTS:
            self.problems.append(f"{len(found) - MOST_ATTEMPTS} of {len(found)} attempts are not shown")
        first = found[:MOST_ATTEMPTS]
        return first if any(one.chosen for one in first) else (*first[:-1], *(one for one in found if one.chosen))

    def _attempt(self, one: AttemptSummary) -> StoryAttempt:
        drafts = {other.number: other.draft for other in self._refining.attempts}
        if one.revises is None or one.draft is None:
            return StoryAttempt(summary=one)
        change = self._diff(drafts.get(one.revises), one.draft)
        return StoryAttempt(summary=one, against=f"attempt {one.revises}", change=change)

    def _change(self) -> TextDiff | None:
        """What the best draft changes in the version that was to be improved."""
        best = self._best_draft()
        return None if self._previous is None or best is None else self._diff(self._previous, best)

    def _diff(self, before: str | None, after: str) -> TextDiff | None:
        old, new = self._text(before), self._text(after)
        return None if old is None or new is None else text_diff(_named_texts(old), _named_texts(new))

    def _saved_draft(self) -> str | None:
        """The draft with the digest of the results; the best one where none has it."""
        results = self._results
        digest = None if results is None else results.skill.get("digest")
        for draft in reversed(self._drafts):
            found = self._text(draft)
            if found is not None and found.digest == digest:
                return draft
        return self._best_draft()

    def _best_draft(self) -> str | None:
        """The attempt that was chosen; without attempts, the last draft."""
        chosen = next((one.draft for one in self._refining.attempts if one.chosen), None)
        return chosen or (self._drafts[-1] if self._drafts else None)

    @cached_property
    def _drafts(self) -> list[str]:
        """The folders of all drafts, in order, seen from the run folder."""
        below = (self._folder.path / "drafts").glob("[0-9]*/*")
        numbered = [path for path in below if path.parent.name.isdecimal() and path.is_dir()]
        ordered = sorted(numbered, key=lambda path: int(path.parent.name))
        return [path.relative_to(self._folder.path).as_posix() for path in ordered[: MOST_ATTEMPTS + 1]]

    @cached_property
    def _previous(self) -> str | None:
        previous = self._tried("previous", lambda: self._folder.previous)
        return None if previous is None else previous.relative_to(self._folder.path).as_posix()

    def _text(self, draft: str | None) -> SkillText | None:
        """The text of a draft of this run; `None` where it is not there, or not in this folder."""
        if draft is None:
            return None
        if draft not in self._texts:
            self._texts[draft] = self._tried(draft, lambda: self._read_draft(draft))
        return self._texts[draft]

    def _read_draft(self, draft: str) -> SkillText:
        path = self._folder.path / draft
        if path.resolve() != self._folder.path.resolve() / PurePosixPath(draft):
            raise EngineError("it leads out of the run folder")
        return skill_text(path, storage.read_skill(path))

    def _cases(self) -> StoryCases | None:
        cases = self._case_file("cases.json")
        if cases is None:
            return None
        own = {case.digest for case in self._case_file("own-cases.json") or ()}
        uses = [case.use for case in cases]
        return StoryCases(
            learn=uses.count("learn"),
            held_out=uses.count("held-out"),
            negative=uses.count("negative"),
            own=sum(case.digest in own for case in cases),
            dropped=self._record.dropped[:MOST_LINES],
        )

    def _notes(self) -> tuple[str, ...]:
        """The notes of the run, without those on cases, which stand beside the cases."""
        dropped = {f"dropped: {line}" for line in self._record.dropped}
        notes = self._record.notes if self._results is None else self._results.notes
        return tuple(note for note in notes if note not in dropped)[:MOST_LINES]

    def _case_file(self, name: str) -> tuple[Case, ...] | None:
        def read() -> tuple[Case, ...] | None:
            if self._folder.saved(name) is None:  # which refuses links and endless files
                return None
            return storage.read_case_file(self._folder.path / name, check_problems=lambda _: []).cases

        return self._tried(name, read)

    def _before(self) -> tuple[str, ...]:
        """What the students could do without a skill."""
        text = self._tried("aptitude.json", lambda: self._folder.saved("aptitude.json"))
        if text is None:
            return ()
        found = self._tried("aptitude.json", lambda: _APTITUDES.validate_json(text)) or ()
        return tuple(f"{one.student}: {aptitude_figures(one)}" for one in found)

    def _spent(self) -> Iterator[tuple[str, str]]:
        results, end = self._results, self._record.end
        spent = {} if results is None else results.spent
        if results is None and end is not None:
            spent = {"teacher": _spent_of(end.teacher), "students": _spent_of(end.students)}
        for who, name in (("teacher", "Teacher"), ("students", "Models that were measured")):
            if (one := spent.get(who)) is not None and one.calls:
                price = "price unknown" if one.cost is None else dollars(one.cost)
                yield name, f"{price}, {count(one.calls, 'call')}, {count(one.tokens, 'token')}"

    def _tried(self, what: str, read: Callable[[], T | None]) -> T | None:
        """What `read` returns; `None` and a line in `problems` where the file is damaged."""
        try:
            return read()
        except UpskillError as error:
            problem = "; ".join((error.message, *error.problems[:1]))
        except (OSError, ValueError, RecursionError) as error:
            problem = first_problem(error) if isinstance(error, ValidationError) else type(error).__name__
        line = f"{what} could not be read: {shortened(problem, 300)}"
        if line not in self.problems:
            self.problems.append(line)
        return None


def _results(found: dict[str, JsonValue]) -> _Results:
    return _RESULTS.validate_python(found)


def _spent_of(purchase: Purchase) -> _Spent:
    return _Spent(calls=purchase.calls, tokens=purchase.tokens, cost=purchase.cost)


def _items(gathered: GatheredMaterial, previous: SkillText | None) -> Iterator[MaterialItem]:
    material = gathered.material
    if (digest := material.digest) is not None:
        left_out = f", {len(digest.left_out)} did not fit" if digest.left_out else ""
        size = f"~{digest.tokens:,} tokens, {count(len(digest.kept), 'finding')}{left_out}"
        yield MaterialItem(kind="recorded work", name=_recordings(gathered), size=size)
    for document in material.documents:
        yield MaterialItem(kind="document", name=document.name, size=f"{len(document.text):,} characters")
    if material.examples:
        size = f"{sum(map(len, material.examples)):,} characters"
        yield MaterialItem(kind="examples", name=count(len(material.examples), "example"), size=size)
    if previous is not None:
        yield MaterialItem(kind="skill", name=previous.name, size=f"~{previous.tokens:,} tokens")


def _recordings(gathered: GatheredMaterial) -> str:
    """The sources that are no documents. A repository names its files, so it may be listed here as well."""
    documents = {one.name for one in gathered.material.documents}
    names = [name for source in gathered.sources if (name := PurePosixPath(source).name) not in documents]
    return ", ".join(names) or "a recording"


def _named_texts(text: SkillText) -> dict[str, str]:
    """What a teacher can change, by name. The rest of the frontmatter is only written otherwise by us."""
    body = skill_of(text).body.strip("\n")
    files = {file.path: file.text for file in text.files if file.text is not None}
    return {"description": text.description, SKILL_FILE: body, **files}


def held_out_test(evaluation: Evaluation) -> StoryTest:
    """The held-out evaluation in a figure and a few words."""
    on = f"on {count(evaluation.cases, 'held-out case')}"
    if len(evaluation.students) != 1:
        verdicts = [report.verdict for report in evaluation.students]
        return StoryTest(figure=f"{verdicts.count('helps')} of {len(verdicts)} models helped", words=on)
    (report,) = evaluation.students
    if not report.lifts or report.verdict == "invalid":
        return StoryTest(figure="no verdict", words=on)
    lift = report.lifts[0]
    interval = shown_interval(claim=report.claim, these_cases=lift.these_cases, cases_like_these=lift.cases_like_these)
    return StoryTest(figure=f"{points(lift.mean)} points", words=f"{confidence_interval(lift, interval)}, {on}")
