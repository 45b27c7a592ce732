"""Tells how the skill of a `generate` came about, from its record and the files of its run folder."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath

from pydantic import JsonValue, TypeAdapter

from upskill.domain import Evaluation, Purchase
from upskill.domain.evaluation import shown_interval
from upskill.domain.finding import Finding
from upskill.domain.generated import AttemptSummary
from upskill.domain.skill_text import SkillText
from upskill.domain.text import count, shortened
from upskill.reporting.aptitude import aptitude_figures
from upskill.reporting.decision import on_held_out_cases
from upskill.reporting.generated import MOST_REASON
from upskill.reporting.glance.names import names_by_model, unique_names
from upskill.reporting.html.cost import Spent
from upskill.reporting.html.story import MaterialItem, Outcome, StoryAttempt, StoryCases, StoryTest, TeachingStory
from upskill.reporting.html.text_diff import TextDiff
from upskill.reporting.next_step import NextStep, step_after_generate
from upskill.reporting.wording import confidence_interval, points
from upskill.storage.teaching_runs import CASES_FILE, OWN_CASES_FILE, TeachingRecord
from upskill.workflows.generating.material import GatheredMaterial
from upskill.workflows.generating.recorded_files import RecordedFiles
from upskill.workflows.generating.resuming import resume_command
from upskill.workflows.generating.shown_path import shown_path, shown_skill

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
    attempts: tuple[AttemptSummary, ...] = ()
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
        found = tuple(map(self._named, self._files.refining.attempts or self._recorded_attempts))
        if len(found) > MOST_ATTEMPTS:
            self._files.problems.append(f"{len(found) - MOST_ATTEMPTS} of {len(found)} attempts are not shown")
        chosen = [one for one in found[MOST_ATTEMPTS:] if one.chosen][:1]
        return (*found[: MOST_ATTEMPTS - len(chosen)], *chosen)

    @property
    def _recorded_attempts(self) -> tuple[AttemptSummary, ...]:
        """Those of a run of before `attempts.json`."""
        return () if self._results is None else self._results.attempts

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
            return NextStep(what, self._resume("--anyway"))
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
