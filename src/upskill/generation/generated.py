"""The result of `generate`: a skill, its status, and its cost."""

from dataclasses import dataclass

from upskill.core.cases.skill_meta import Aptitude
from upskill.core.nouns.evaluation import BrokenCase, Evaluation, Purchase
from upskill.core.nouns.finding import Finding
from upskill.core.nouns.lift import Lift, Verdict
from upskill.core.nouns.skill import Skill
from upskill.core.nouns.trigger import Company, TriggerScore

STATUSES = ("hurts", "invalid", "not measured", "not proven", "undecided", "no difference", "cheaper", "helps")
"""From the worst to the best. With several models, the worst status counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StudentScore:
    """Practice cases that one model passed with a draft."""

    student: str
    passed: int
    of: int


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedAnswer:
    """A failed answer to a practice case, shortened for a report."""

    case_id: str
    student: str
    prompt: str
    answer: str
    saw: tuple[str, ...]
    """What each check saw."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptSummary:
    """One draft on the practice cases. It shows nothing about other cases."""

    number: int
    passed: int
    of: int
    """Scored answers with the skill, of all models."""
    presentation: str = "prose"
    """Form of the draft: prose, examples, questions or table."""
    revises: int | None = None
    """The attempt that it was made from; `None` for the first."""
    chosen: bool = False
    """Whether it is the best on practice cases. Only this draft is measured on held-out cases."""
    draft: str | None = None
    """Its path in the run folder."""
    by_student: tuple[StudentScore, ...] = ()
    failures: tuple[FailedAnswer, ...] = ()
    """The first few answers that failed."""
    edits: tuple[str, ...] = ()
    """Its edits, a line each; empty if the body was rewritten."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StudentClaim:
    """The result for one model on held-out cases."""

    student: str
    status: str
    """A verdict, or `not proven`."""
    sentence: str
    claim: str | None = None
    """As in `StudentReport`."""
    broken: tuple[BrokenCase, ...] = ()
    """Held-out and unrelated cases that it breaks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DescriptionAttempt:
    """One description on the practice prompts. It shows nothing about other prompts."""

    number: int
    """From 1: the first is the old description."""
    description: str
    scores: tuple[TriggerScore, ...]
    """One for each model and company."""
    draft: str | None = None
    """The skill with this description, in the run folder."""
    chosen: bool = False
    """Whether it is the best on practice prompts. Only this one is measured on held-out prompts."""

    @property
    def j(self) -> float | None:
        """The mean of J over models and companies; `None` where one of them has none."""
        found = [score.j for score in self.scores]
        known = [one for one in found if one is not None]
        return sum(known) / len(known) if known and len(known) == len(found) else None

    @property
    def right(self) -> int:
        """Answers that decided rightly whether to load the skill."""
        return self.answers - sum(tally.wrong for score in self.scores for tally in score.tallies)

    @property
    def answers(self) -> int:
        """Answers that were measured."""
        return sum(tally.answers for score in self.scores for tally in score.tallies)


@dataclass(frozen=True, kw_only=True, slots=True)
class DescriptionComparison:
    """The old and the new description on held-out prompts, for one model in one company."""

    student: str
    harness: str
    company: Company
    before: TriggerScore
    after: TriggerScore
    verdict: Verdict
    """On right decisions, new minus old: `helps` where the new description is better."""
    claim: str | None
    """How far it reaches: `new cases` is to other prompts of these kinds."""
    lift: Lift | None
    """The share of right decisions, prompts as units; `None` where no prompt was answered with both."""
    worse: tuple[str, ...] = ()
    """What is shown to be worse, whatever the sum says: `recall`, `near misses`."""
    sentence: str = ""

    @property
    def gain(self) -> float | None:
        """The difference of J, in which both kinds of prompts weigh the same; `None` where one is unknown."""
        if self.before.j is None or self.after.j is None:
            return None
        return self.after.j - self.before.j

    @property
    def better(self) -> bool:
        """Whether the new description is shown to be better on new prompts, and in no kind of them worse."""
        superior = self.verdict == "helps" and self.claim == "new cases"
        return superior and not self.worse and (self.gain or 0.0) > 0


@dataclass(frozen=True, kw_only=True, slots=True)
class DescriptionRevision:
    """What became of the description of a skill."""

    before: str
    after: str
    """The best on practice prompts; the old one where none was better."""
    attempts: tuple[DescriptionAttempt, ...]
    held_out: tuple[DescriptionComparison, ...] = ()
    """Empty where no held-out prompt was used."""
    prompts: tuple[int, int] = (0, 0)
    """Numbers of practice and held-out prompts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateResult:
    """A skill that was made or improved."""

    skill: Skill
    """The version that `status` is about, even if it was not saved."""
    saved: str | None
    """Its folder, relative to the working folder; `None` if the old version stays."""
    kept: str | None
    """That version in the run folder; `None` if nothing new was made."""
    improved: str | None = None
    """The skill that was to be improved, as typed; `None` for a new one."""
    revision: bool
    """Whether an existing skill was to be improved."""
    status: str
    sentence: str
    """The status in words, with its figures."""
    reason: str
    """`sentence` without the part about an older version."""
    claims: tuple[StudentClaim, ...]
    proven: bool
    evaluation: Evaluation | None
    """On held-out cases; `held_out` in JSON."""
    attempts: tuple[AttemptSummary, ...]
    refined: str | None
    """Why refining ended; `None` where nothing was refined."""
    teacher: str
    students: tuple[str, ...]
    cases: tuple[int, int, int]
    """Numbers of practice, held-out and unrelated cases."""
    by_teacher: Purchase
    by_students: Purchase
    run: str
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    """What the search of its files found. An empty result does not mean safe."""
    aptitude: tuple[Aptitude, ...] = ()
    """What each model could do on the practice cases before the first draft; empty if not measured."""
    description: DescriptionRevision | None = None
    """What became of the description, with `--description-only`; `None` otherwise."""
    about: str = ""
    """What all held-out cases are about, where that is known."""


def worst_of(statuses: tuple[str, ...]) -> str:
    """The worst of several statuses; `not measured` of none."""
    known = [status for status in STATUSES if status in statuses]
    return known[0] if known else "not measured"
