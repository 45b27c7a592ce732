"""Refine a draft on learn cases: measure it, show the teacher what failed, measure the revision, keep the better.

Learn cases are for choosing, and any number of tries on them is free: nothing is claimed from them. What is claimed
comes from held-out cases, tested once, in `prove`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from upskill.domain import Answer, Case, Draft, Evaluation, Lesson, Scored
from upskill.domain.answer import answer_digest
from upskill.domain.text import count
from upskill.models import Ask
from upskill.teaching.answers import TeacherUnusable
from upskill.teaching.draft_rules import Clean, clean_by_patterns
from upskill.teaching.draft_search import PROPOSALS_PER_REVISION, Budget, DraftScores, search
from upskill.teaching.edits import Edit
from upskill.teaching.failures import Failure, failure_of
from upskill.teaching.revising import FailedEdits, Revise, revise
from upskill.workflows.generating.measure import Measure, Measurement

REVISIONS = 3
Effort = Literal["low", "high"]
"""`low`: a few revisions, one after the other. `high`: a search over many, under the same budget of trials."""


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

    @property
    def passes(self) -> int:
        """How many learn trials passed, of all students together."""
        return sum(self.passed.values())

    @property
    def share(self) -> str:
        """For people: `7 of 10`."""
        return f"{self.passes} of {len(self.passed)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class RefineResult:
    """All attempts, the best of them, and why refining ended."""

    best: Attempt
    attempts: tuple[Attempt, ...]
    stopped: str
    """Why it ended, in words for a person."""


def refine(
    start: Draft,
    *,
    cases: Sequence[Case],
    measure: Measure,
    ask: Ask,
    lessons: Sequence[Lesson] = (),
    revisions: int = REVISIONS,
    effort: Effort = "low",
    wish: str | None = None,
    proposed: Draft | None = None,
    seed: int = 0,
    window: int | None = None,
    clean: Clean = clean_by_patterns,
    on_attempt: Callable[[Attempt], None] = lambda _: None,
) -> RefineResult:
    """Revise a draft while learn cases fail, and keep the best. `on_attempt` gets each attempt once it is measured.

    A revision replaces the best only if it passes more of the cases that both were measured on; else the earlier
    stays. Where a person asked for a change of a skill that exists, `wish` says it to the teacher, and `proposed` is a
    draft of it that was already made, which counts as a revision. Then the first change is measured even if nothing
    fails, and the draft it began with loses a tie: what was asked for gets its held-out test.

    `window` is the teacher's, `clean` takes secrets out of a text. Raises what `measure` and `ask` raise; a teacher
    whose answers cannot be used ends it with what there is.
    """
    by_teacher = partial(revise, lessons=lessons, ask=ask, wish=wish, window=window, clean=clean)
    loop = _Loop(
        cases=tuple(cases), measure=measure, asked_for=wish is not None or proposed is not None, on_attempt=on_attempt
    )
    first = loop.attempt(start)
    if loop.cut_short is None and not first.passed:
        return loop.end("nothing could be measured on the learn cases")
    if loop.cut_short is None and proposed is not None and loop.is_new(proposed):
        loop.attempt(proposed, revises=1)
    if (why := loop.cut_short) is not None:
        return loop.end(why)
    if effort == "high" and not loop.is_done:
        return _search(loop, by_teacher, revisions=revisions, seed=seed)
    while len(loop.attempts) <= revisions:
        if loop.is_done:
            return loop.end("every learn case passes")
        best = loop.best
        try:
            revision = by_teacher(best.draft, best.failures, tried=loop.tried)
        except TeacherUnusable as unusable:
            return loop.end(unusable.message)
        if not loop.is_new(revision.draft):
            return loop.end("the teacher had nothing new to propose")
        loop.attempt(revision.draft, edits=revision.edits, revises=best.number)
        if (why := loop.cut_short) is not None:
            return loop.end(why)
    done = loop.is_done
    return loop.end("every learn case passes" if done else f"{count(revisions, 'revision')} made")


@dataclass(kw_only=True, slots=True)
class _Loop:
    """The attempts so far, the best of them, and what was tried on it in vain."""

    cases: tuple[Case, ...]
    measure: Measure
    asked_for: bool
    on_attempt: Callable[[Attempt], None]
    attempts: list[Attempt] = field(default_factory=list)
    tried: list[FailedEdits] = field(default_factory=list)
    cut_short: str | None = None
    """Why nothing more can be bought."""

    @property
    def best(self) -> Attempt:
        return best_of(self.attempts, first_loses_ties=self.asked_for)

    @property
    def is_done(self) -> bool:
        """Nothing fails, and what a person asked for has been tried."""
        return not self.best.failures and (not self.asked_for or len(self.attempts) > 1)

    def is_new(self, draft: Draft) -> bool:
        return content_of(draft) not in {content_of(attempt.draft) for attempt in self.attempts}

    def attempt(self, draft: Draft, *, edits: tuple[Edit, ...] = (), revises: int | None = None) -> Attempt:
        number = len(self.attempts) + 1
        measured = self.measure(f"learn-{number}", draft, self.cases, repeats=1)
        self.cut_short = measured.cut_short
        passed, failures = outcomes(measured, self.cases)
        attempt = Attempt(
            number=number,
            draft=draft,
            passed=passed,
            failures=failures,
            evaluation=measured.evaluation,
            edits=edits,
            revises=revises,
        )
        before = self.best if self.attempts else attempt
        self.note(attempt)
        if self.best is before and edits:
            self.tried.append(FailedEdits(edits=edits, outcome=f"{attempt.share} passed instead of {before.share}"))
        elif self.best is not before:
            self.tried.clear()
        return attempt

    def note(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)
        self.on_attempt(attempt)

    def end(self, stopped: str) -> RefineResult:
        return RefineResult(best=self.best, attempts=tuple(self.attempts), stopped=stopped)


def _search(loop: _Loop, by_teacher: Revise, *, revisions: int, seed: int) -> RefineResult:
    """The same budget of trials, spent by a search: many revisions, most of them tried on a few cases only."""
    start = loop.best
    students = len({student for student, _ in start.passed})
    left = max(0, revisions + 1 - len(loop.attempts))
    stages = 0

    def examine(draft: Draft, cases: Sequence[Case]) -> DraftScores:
        nonlocal stages
        stages += 1
        measured = loop.measure(f"search-{stages}", draft, cases, repeats=1)
        passed, failures = outcomes(measured, cases)
        return DraftScores(passed=passed, failures=failures, trials=len(cases) * students, cut_short=measured.cut_short)

    found = search(
        start.draft,
        loop.cases,
        examine,
        by_teacher,
        known=DraftScores(passed=start.passed, failures=start.failures),
        budget=Budget(trials=left * len(loop.cases) * students, proposals=left * PROPOSALS_PER_REVISION),
        seed=seed,
    )
    for candidate in found.candidates[1:]:
        loop.note(
            Attempt(
                number=len(loop.attempts) + 1,
                draft=candidate.draft,
                passed=candidate.examined.passed,
                failures=candidate.examined.failures,
                revises=start.number,
            )
        )
    return loop.end(f"{found.stopped}, after {count(found.proposals, 'proposal')}")


def best_of(attempts: Sequence[Attempt], *, first_loses_ties: bool = False) -> Attempt:
    """The best on learn cases: most passes on the cases that two attempts were both measured on; then the earlier."""
    best = attempts[0]
    for attempt in attempts[1:]:
        common = best.passed.keys() & attempt.passed.keys()
        gain = sum(attempt.passed[key] - best.passed[key] for key in common)
        if common and (gain > 0 or (gain == 0 and first_loses_ties and best is attempts[0])):
            best = attempt
    return best


def outcomes(
    measured: Measurement, cases: Sequence[Case]
) -> tuple[Mapping[tuple[str, str], bool], tuple[Failure, ...]]:
    """Who passed which case with the skill, and the failures that a teacher is shown."""
    by_id = {case.id: case for case in cases}
    passed: dict[tuple[str, str], bool] = {}
    failures: list[Failure] = []
    for report in measured.evaluation.students:
        name = report.student.name
        arm, against = report.compared
        mine = [trial for trial in measured.of(name) if isinstance(trial.outcome, Scored)]
        without = {trial.case_id: trial.outcome.passed for trial in mine if trial.arm == against}  # type: ignore[union-attr]
        for trial in mine:
            if trial.arm != arm or trial.case_id not in by_id:
                continue
            assert isinstance(trial.outcome, Scored)
            passed[name, trial.case_id] = trial.outcome.passed
            failure = failure_of(by_id[trial.case_id], trial, passes_without=without.get(trial.case_id))
            if failure is not None:
                failures.append(failure)
    return passed, tuple(failures)


def content_of(draft: Draft) -> str:
    """Equal for two drafts exactly when a student would see the same."""
    return answer_digest(Answer(text=f"{draft.name}\0{draft.description}\0{draft.body}", files=draft.files))
