"""A revised description: how it did on practice prompts, and what held-out prompts showed against the old one."""

from dataclasses import dataclass

from upskill.domain.lift import Lift, Verdict
from upskill.domain.trigger import Company, TriggerScore


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
    """How far it reaches: `cases like these` is to other prompts of these kinds."""
    lift: Lift | None
    """Of right decisions, prompts as units; `None` where no prompt was answered with both."""
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
        superior = self.verdict == "helps" and self.claim == "cases like these"
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
