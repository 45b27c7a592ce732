"""What a `generate` came to: a skill, what is known of it, and what that took."""

from dataclasses import dataclass

from upskill.domain.evaluation import Evaluation, Purchase
from upskill.domain.finding import Finding
from upskill.domain.skill import Skill
from upskill.domain.student_profile import Aptitude

STATUSES = ("hurts", "invalid", "not measured", "not proven", "undecided", "no difference", "cheaper", "helps")
"""From the worst to the best: a skill has the status of the student that it serves worst."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StudentScore:
    """How many learn cases one student passed with a draft."""

    student: str
    passed: int
    of: int


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedAnswer:
    """An answer to a learn case that failed, shortened for a report."""

    case_id: str
    student: str
    prompt: str
    answer: str
    saw: tuple[str, ...]
    """What each check saw."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptSummary:
    """One draft on the learn cases, which say nothing about other cases."""

    number: int
    passed: int
    of: int
    """Trials with the skill that were scored, of all students together."""
    presentation: str = "prose"
    """The form of the draft's body: prose, examples, questions or table."""
    revises: int | None = None
    """The number of the attempt that it was made from; `None` for the first."""
    chosen: bool = False
    """Whether it is the best on learn cases, the only one that held-out cases are used for."""
    draft: str | None = None
    """Where the draft lies, seen from the run folder."""
    by_student: tuple[StudentScore, ...] = ()
    failures: tuple[FailedAnswer, ...] = ()
    """The first few answers that failed."""
    edits: tuple[str, ...] = ()
    """The edits that made it, a line each; empty where the body was written anew."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StudentClaim:
    """What is claimed for one student, from held-out cases."""

    student: str
    status: str
    """A verdict, or `not proven`."""
    sentence: str
    claim: str | None = None
    """How far a verdict reaches, as in `StudentReport`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateResult:
    """A skill that was made or improved."""

    skill: Skill
    """The version that the status is about: for a revision that was not taken, that revision."""
    saved: str | None
    """The folder it was saved to, seen from where the command was typed; `None` where the old version stays."""
    kept: str | None
    """Where the run keeps the same version, whether or not it was taken; `None` where nothing new was made."""
    improved: str | None = None
    """The skill that was to be improved, as it would be typed; `None` for a new one, or where it is not known."""
    revision: bool
    """Whether an existing skill was to be improved."""
    status: str
    sentence: str
    """The status with its figures."""
    reason: str
    """The same without what becomes of an older version."""
    claims: tuple[StudentClaim, ...]
    proven: bool
    evaluation: Evaluation | None
    """On held-out cases; `None` where there was none."""
    attempts: tuple[AttemptSummary, ...]
    refined: str | None
    """Why refining ended; `None` where nothing was refined."""
    teacher: str
    students: tuple[str, ...]
    cases: tuple[int, int, int]
    """How many to learn from, held out, negative."""
    by_teacher: Purchase
    by_students: Purchase
    run: str
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    """What a search of its files found. None found does not mean safe."""
    aptitude: tuple[Aptitude, ...] = ()
    """What each student could do on the learn cases before anything was drafted; empty where that was not measured."""


def worst_of(statuses: tuple[str, ...]) -> str:
    """The worst of several statuses; `not measured` of none."""
    known = [status for status in STATUSES if status in statuses]
    return known[0] if known else "not measured"
