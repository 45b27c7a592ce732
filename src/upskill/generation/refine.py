"""Refine a draft on learn cases: measure it, in other presentations where the student is small, show the teacher what
failed, measure the revision, keep the better.

Learn cases are for choosing, and any number of tries on them is free: nothing is claimed from them. What is claimed
comes from held-out cases, tested once, in `proof`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean
from typing import Literal

from upskill.core.models.teacher_answers import TeacherUnusable
from upskill.core.nouns import Answer, Case, Evaluation, Scored
from upskill.core.nouns.answer import answer_digest
from upskill.core.nouns.text import count as counted
from upskill.core.nouns.text import shortened
from upskill.core.statistics.intervals import merge_families
from upskill.core.statistics.pairs import Pair, tally_pairs
from upskill.errors import WindowExceeded
from upskill.generation.draft import Draft
from upskill.generation.drafting import SkillBudget, cut_to
from upskill.generation.edits import Edit
from upskill.generation.failures import Failure, failure_of
from upskill.generation.material import Assignment
from upskill.generation.measure import Measure, Measurement
from upskill.generation.prompts import quoted
from upskill.generation.revising import PROSE, FailedEdits, Presentation, other_presentations, revise
from upskill.generation.search import PROPOSALS_PER_REVISION, DraftScores, search
from upskill.generation.student import CountTokens, StudentProfile

FEW_REACHABLE = 4
"""With fewer cases that pass with their passage, a share of them says nothing: all learn cases count."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """A draft and how it did on the learn cases."""

    number: int
    """From 1: the first is the draft that refining began with."""
    draft: Draft
    passed: Mapping[tuple[str, str], bool]
    """By student and case, who passed. A trial that errored is missing: it measured nothing."""
    failures: tuple[Failure, ...] = ()
    evaluation: Evaluation | None = None
    """`None` for a draft that a search measured piece by piece."""
    edits: tuple[Edit, ...] = ()
    """How it was made from the one that it revises."""
    revises: int | None = None
    presentation: Presentation = PROSE
    """The form of its body; a revision has that of the draft it revises."""

    @property
    def passes(self) -> int:
        """How many learn trials passed, of all students together."""
        return sum(self.passed.values())

    @property
    def share(self) -> str:
        """For people: `7 of 10`."""
        return f"{self.passes} of {len(self.passed)}"

    def reached(self, profile: StudentProfile | None) -> float:
        """The share that passed of the trials that aptitude showed to be reachable; of all where it showed too few."""
        mine = dict.fromkeys(student for student, _ in self.passed)
        within = {student: None if profile is None else profile.reachable(student) for student in mine}
        reachable = [key for key in self.passed if (cases := within[key[0]]) is None or key[1] in cases]
        counted = [self.passed[key] for key in (reachable if len(reachable) >= FEW_REACHABLE else self.passed)]
        return sum(counted) / len(counted) if counted else 0.0


def best_of(attempts: Sequence[Attempt], cases: Sequence[Case] = (), *, first_loses_ties: bool = False) -> Attempt:
    """The best on learn cases: an attempt takes the place of an earlier one only if its lift over it is above zero.

    The lift is that of the measurements: pairs of the same student and case, families as units, errors dropped. A tie
    keeps the earlier; of two presentations of one draft, the shorter.
    """
    families = {case.id: case.family for case in cases}
    best = attempts[0]
    for attempt in attempts[1:]:
        gain = _gain(attempt, best, families)
        if gain is None:
            continue
        siblings = attempt.presentation != PROSE and not attempt.edits and attempt.revises == best.revises
        shorter = siblings and len(attempt.draft.body) < len(best.draft.body)
        if gain > 0 or (gain == 0 and (shorter or (first_loses_ties and best is attempts[0]))):
            best = attempt
    return best


def _gain(attempt: Attempt, over: Attempt, families: Mapping[str, str | None]) -> float | None:
    """The lift of one attempt over another; `None` where they share no trial. Students are repeats of a case."""
    common = sorted(attempt.passed.keys() & over.passed.keys())
    students = sorted({student for student, _ in common})
    pairs = tuple(
        Pair(
            case_id=case_id,
            repeat=students.index(student) + 1,
            passed=attempt.passed[student, case_id],
            passed_against=over.passed[student, case_id],
            family=families.get(case_id),
        )
        for student, case_id in common
    )
    units = merge_families(tally_pairs(pairs))
    return round(fmean(unit.difference for unit in units), 9) if units else None


def outcomes(
    measured: Measurement, cases: Sequence[Case], profile: StudentProfile | None = None
) -> tuple[Mapping[tuple[str, str], bool], tuple[Failure, ...]]:
    """Whether each student passed each case with the skill, and the failures that a teacher is shown."""
    by_id = {case.id: case for case in cases}
    passed: dict[tuple[str, str], bool] = {}
    failures: list[Failure] = []
    for report in measured.evaluation.students:
        name = report.student.name
        arm, against = report.compared
        reachable = None if profile is None else profile.reachable(name)
        mine = [trial for trial in measured.of(name) if isinstance(trial.outcome, Scored)]
        without = {trial.case_id: trial for trial in mine if trial.arm == against}
        for trial in mine:
            if trial.arm != arm or trial.case_id not in by_id:
                continue
            assert isinstance(trial.outcome, Scored)
            passed[name, trial.case_id] = trial.outcome.passed
            bare = without.get(trial.case_id)
            failure = failure_of(
                by_id[trial.case_id],
                trial,
                without=bare,
                passes_without=bare.outcome.passed if bare is not None and isinstance(bare.outcome, Scored) else None,
                reachable=None if reachable is None else trial.case_id in reachable,
            )
            if failure is not None:
                failures.append(failure)
    return passed, tuple(failures)


def content_of(draft: Draft) -> str:
    """Equal for two drafts exactly when a student would see the same."""
    return answer_digest(Answer(text=f"{draft.name}\0{draft.description}\0{draft.body}", files=draft.files))


MOST_PASSING = 20
"""Passing tasks that a teacher is shown, each in a line."""
_MOST_TASK = 160


def standing(best: Attempt, attempts: Sequence[Attempt], cases: Sequence[Case]) -> str:
    """How a draft does, for the teacher that revises it: its passes, those of other forms, and what its own revision
    mended and broke. Of learn cases only."""
    parts = [f"{best.share} practice tasks pass with this skill."]
    forms = [one for one in attempts if one.presentation != PROSE and not one.edits]
    if forms:
        others = [f"{one.share} as {one.presentation}" for one in (attempts[0], *forms) if one is not best]
        parts.append(f"The same content passed {', '.join(others)}. The form of this one, {best.presentation}, stays.")
    told = [" ".join(parts)]
    if best.edits and best.revises is not None:
        told += _moved("Its last revision", attempts[best.revises - 1], best, cases)
    if passing := [key for key, passes in best.passed.items() if passes]:
        told.append(f"These pass; what they need must stay:\n\n{_task_list(passing, cases)}")
    return "# How the skill does\n\n" + "\n\n".join(told) + "\n\n"


def _moved(what: str, before: Attempt, after: Attempt, cases: Sequence[Case]) -> Iterator[str]:
    """Which tasks a revision mended, and which it broke."""
    for word, now in (("mended", True), ("broke", False)):
        moved = [key for key, passes in after.passed.items() if passes is now and before.passed.get(key) is not now]
        if moved:
            yield f"{what} {word}:\n\n{_task_list(moved, cases)}"


def _task_list(keys: Sequence[tuple[str, str]], cases: Sequence[Case]) -> str:
    lines = {case.id: f"- {shortened(' '.join(case.prompt.split()), _MOST_TASK)}" for case in cases}
    tasks = list(dict.fromkeys(lines[case_id] for _, case_id in keys if case_id in lines))
    return quoted("\n".join(tasks[:MOST_PASSING]))


REVISIONS = 3
REWRITE_BELOW = 0.25
"""A whole new body is allowed where less than this share of the reachable learn cases passes."""
PRESENT_BELOW = 0.5
"""Other presentations are tried where the first draft passes less than this share of them."""
MOST_CUTS = 5
"""How often a draft that no student can be given is cut before the cases are at fault."""
Effort = Literal["low", "high"]
"""`low`: a few revisions, one after the other. `high`: a search over many, under the same budget of trials."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RefineResult:
    """All attempts, the best of them, and why refining ended."""

    best: Attempt
    attempts: tuple[Attempt, ...]
    stopped: str
    """Why it ended, in words for a person."""
    note: str | None = None
    """What a person should know of it besides."""


def refine(
    start: Draft,
    *,
    cases: Sequence[Case],
    measure: Measure,
    assignment: Assignment,
    revisions: int = REVISIONS,
    effort: Effort = "low",
    proposed: Draft | None = None,
    exists: bool = False,
    on_attempt: Callable[[Attempt, Attempt], None] = lambda attempt, best: None,
) -> RefineResult:
    """Revise a draft while learn cases fail, and keep the best. `on_attempt` gets each attempt once it is measured, and
    the best so far.

    An attempt replaces the best only if its lift over it is above zero (`best_of`); else the earlier stays. Where a
    person asked for a change of a skill that exists, `proposed` is a draft of it that was already made, which counts
    as a revision. Then the first change is measured even if nothing fails, and the
    draft it began with loses a tie: what was asked for gets its held-out test. `exists` says that `start` is a skill in
    use: it is never cut and gets no other presentations.

    Raises what `measure` and `ask` raise; a teacher whose answers cannot be used ends it with what there is.
    """
    profile = assignment.profile
    commented = any(comment.is_wish for comment in assignment.material.comments)
    loop = _Loop(
        cases=tuple(cases),
        measure=measure,
        asked_for=assignment.material.wish is not None or proposed is not None or commented,
        profile=profile,
        count=assignment.count,
        on_attempt=on_attempt,
    )
    first = loop.attempt(start, cut=not exists)
    if loop.cut_short is None and not first.passed:
        return loop.end("nothing could be measured on the practice cases")
    if loop.cut_short is None and proposed is not None and loop.is_new(proposed):
        loop.attempt(proposed, revises=1)
    if not exists and loop.wants_presentations:
        try:
            loop.present(other_presentations(first.draft, assignment))
        except TeacherUnusable as unusable:
            loop.unpresented = unusable.message
    if (why := loop.cut_short) is not None:
        return loop.end(why)
    if effort == "high" and not loop.is_done:
        return _search(loop, assignment, revisions=revisions)
    while loop.revisions < revisions:
        if loop.is_done:
            return loop.end("every practice case passes")
        best = loop.best
        rewrite = best.reached(profile) < REWRITE_BELOW
        try:
            revision = revise(
                best.draft,
                best.failures,
                assignment,
                tried=loop.tried,
                standing=standing(best, loop.attempts, loop.cases),
                rewrite=rewrite,
            )
        except TeacherUnusable as unusable:
            return loop.end(unusable.message)
        if not loop.is_new(revision.draft):
            return loop.end("the teacher proposed nothing new")
        loop.attempt(revision.draft, edits=revision.edits, revises=best.number, presentation=best.presentation)
        if (why := loop.cut_short) is not None:
            return loop.end(why)
    done = loop.is_done
    return loop.end("every practice case passes" if done else f"{counted(revisions, 'revision')} made")


@dataclass(kw_only=True, slots=True)
class _Loop:
    """The attempts so far, the best of them, and what was tried on it in vain."""

    cases: tuple[Case, ...]
    measure: Measure
    asked_for: bool
    profile: StudentProfile | None
    count: CountTokens
    on_attempt: Callable[[Attempt, Attempt], None]
    attempts: list[Attempt] = field(default_factory=list)
    presented: int = 0
    """Attempts that were other presentations: no revisions."""
    unpresented: str | None = None
    """Why there are no other presentations, though they were wanted."""
    tried: list[FailedEdits] = field(default_factory=list)
    cut_short: str | None = None
    """Why nothing more can be bought."""

    @property
    def best(self) -> Attempt:
        return best_of(self.attempts, self.cases, first_loses_ties=self.asked_for)

    @property
    def revisions(self) -> int:
        """How many were made."""
        return len(self.attempts) - 1 - self.presented

    @property
    def is_done(self) -> bool:
        """Nothing fails, and what a person asked for has been tried."""
        return not self.best.failures and (not self.asked_for or len(self.attempts) > 1)

    @property
    def wants_presentations(self) -> bool:
        """Whether the student is small, or does badly at what it can reach; unknown where no student is known."""
        profile = self.profile
        if self.cut_short is not None or profile is None or self.is_done:
            return False
        known = any(profile.reachable(name) for name in profile.names)
        return profile.is_small or (known and self.best.reached(profile) < PRESENT_BELOW)

    def is_new(self, draft: Draft) -> bool:
        return content_of(draft) not in {content_of(attempt.draft) for attempt in self.attempts}

    def present(self, forms: Mapping[Presentation, Draft]) -> None:
        """Measure the same content in other presentations."""
        for form, draft in forms.items():
            if self.cut_short is None and self.is_new(draft):
                self.presented += 1
                self.attempt(draft, revises=1, presentation=form)

    def attempt(
        self,
        draft: Draft,
        *,
        edits: tuple[Edit, ...] = (),
        revises: int | None = None,
        presentation: Presentation = PROSE,
        cut: bool = True,
    ) -> Attempt:
        number = len(self.attempts) + 1
        draft, measured = self._measured(f"learn-{number}", draft, most_cuts=MOST_CUTS if cut else 0)
        self.cut_short = measured.cut_short
        passed, failures = outcomes(measured, self.cases, self.profile)
        attempt = Attempt(
            number=number,
            draft=draft,
            passed=passed,
            failures=failures,
            evaluation=measured.evaluation,
            edits=edits,
            revises=revises,
            presentation=presentation,
        )
        before = self.best if self.attempts else attempt
        self.note(attempt)
        if self.best is before and edits:
            moved = "\n\n".join(_moved("It", before, attempt, self.cases))
            outcome = f"{attempt.share} passed instead of {before.share}"
            self.tried.append(FailedEdits(edits=edits, outcome=outcome, moved=moved))
        elif self.best is not before:
            self.tried.clear()
        return attempt

    def _measured(self, stage: str, draft: Draft, *, most_cuts: int) -> tuple[Draft, Measurement]:
        """The draft as it was measured: cut where tokens were estimated too low and it does not fit a window."""
        for cuts in range(most_cuts + 1):
            try:
                # A stage of its own for every cut: a run that is resumed finds it again.
                return draft, self.measure(f"{stage}-cut-{cuts}" if cuts else stage, draft, self.cases, repeats=1)
            except WindowExceeded:
                if cuts == most_cuts:
                    raise
                draft = cut_to(draft, SkillBudget(tokens=self.count(draft.body) * 3 // 4, count=self.count))
        raise AssertionError("the last cut returns or raises")

    def note(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)
        self.on_attempt(attempt, self.best)

    def end(self, stopped: str) -> RefineResult:
        note = None if self.unpresented is None else f"no other presentations were tried: {self.unpresented}"
        return RefineResult(best=self.best, attempts=tuple(self.attempts), stopped=stopped, note=note)


def _search(loop: _Loop, assignment: Assignment, *, revisions: int) -> RefineResult:
    """The same budget of trials, spent by a search: many revisions, most of them tried on a few cases only."""
    start = loop.best
    students = len({student for student, _ in start.passed})
    left = max(0, revisions - loop.revisions)
    stages = 0

    def examine(draft: Draft, cases: Sequence[Case]) -> DraftScores:
        nonlocal stages
        stages += 1
        try:
            measured = loop.measure(f"search-{stages}", draft, cases, repeats=1)
        except WindowExceeded:
            names = {student for student, _ in start.passed}
            return DraftScores(passed={(name, case.id): False for name in names for case in cases})
        passed, failures = outcomes(measured, cases, loop.profile)
        return DraftScores(passed=passed, failures=failures, trials=len(cases) * students, cut_short=measured.cut_short)

    found = search(
        start.draft,
        loop.cases,
        examine,
        partial(revise, assignment=assignment),
        known=DraftScores(passed=start.passed, failures=start.failures),
        trials=left * len(loop.cases) * students,
        proposals=left * PROPOSALS_PER_REVISION,
    )
    for draft, examined in found.candidates[1:]:
        loop.note(
            Attempt(
                number=len(loop.attempts) + 1,
                draft=draft,
                passed=examined.passed,
                failures=examined.failures,
                revises=start.number,
                presentation=start.presentation,
            )
        )
    return loop.end(f"{found.stopped}, after {counted(found.proposals, 'proposal')}")
