"""Attempts on the learn cases: a draft and how it did, and which of several did best. Nothing is claimed from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from upskill import measuring
from upskill.domain import Answer, Case, Draft, Evaluation, Scored
from upskill.domain.answer import answer_digest
from upskill.domain.student_profile import StudentProfile
from upskill.teaching.edits import Edit
from upskill.teaching.failures import Failure, failure_of
from upskill.teaching.presentations import PROSE, Presentation
from upskill.workflows.generating.measure import Measurement

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
        measuring.Pair(
            case_id=case_id,
            repeat=students.index(student) + 1,
            passed=attempt.passed[student, case_id],
            passed_against=over.passed[student, case_id],
            family=families.get(case_id),
        )
        for student, case_id in common
    )
    lift = measuring.measure_lift(measuring.Pairing(arm="with_skill", against="previous", pairs=pairs))
    return None if lift is None else round(lift.mean, 9)


def outcomes(
    measured: Measurement, cases: Sequence[Case], profile: StudentProfile | None = None
) -> tuple[Mapping[tuple[str, str], bool], tuple[Failure, ...]]:
    """Who passed which case with the skill, and the failures that a teacher is shown."""
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
