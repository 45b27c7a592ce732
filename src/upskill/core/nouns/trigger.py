"""When a model loads a skill: prompts that should load it, near misses that should not, and what is concluded."""

from dataclasses import dataclass
from typing import Literal

from upskill.core.nouns.case import Case, Json
from upskill.core.nouns.lift import Interval
from upskill.core.nouns.text import digest_of

TriggerUse = Literal["learn", "held-out"]
"""`learn`: practice; whoever revises the description sees it. `held-out`: nobody sees it; it counts for the verdict."""

TriggerVerdict = Literal["triggers well", "does not trigger well", "undecided", "invalid"]
"""The 95% CI of J lies above the threshold, below it, or across it; too few prompts of a kind were answered."""

Company = Literal["alone", "among"]
"""The skill is the only one that is offered; or other skills are offered beside it."""

WELL = 0.5
"""What J must exceed. A description that loads the skill always, or never, has a J of 0; a perfect one has 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerPrompt:
    """One request of a user, and whether it needs the skill. A near miss shares words with it and not the need."""

    id: str
    prompt: str
    should_load: bool
    use: TriggerUse | None = None
    """`None` in a file that was never split: such prompts count like held-out ones."""
    family: str | None = None
    """What it shares with other prompts, such as a template; prompts of one family count once."""
    why: str = ""
    """Why it needs the skill, or does not, in the words of its author. No measured model sees it."""

    @property
    def digest(self) -> str:
        """Changes with the prompt and its label; the id is only a name."""
        return digest_of({"prompt": self.prompt, "should_load": self.should_load})

    @property
    def as_case(self) -> Case:
        """The prompt as a case without checks: nothing about the answer is graded."""
        return Case(id=self.id, prompt=self.prompt, checks=(), use=self.use, family=self.family)


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptTally:
    """What one model did on one prompt, over its repeats."""

    prompt: TriggerPrompt
    answers: int
    """Answers that were measured; errored ones are not among them."""
    loads: int
    """Those in which the skill was loaded."""
    errored: int = 0
    others: tuple[str, ...] = ()
    """Other skills that were loaded, by how often."""
    silent: int = 0
    """Answers that called no tool."""

    @property
    def rate(self) -> float | None:
        """The share of answers that loaded the skill; `None` where none was measured."""
        return self.loads / self.answers if self.answers else None

    @property
    def wrong(self) -> int:
        """Answers that loaded a near miss, or did not load what they should have."""
        return self.answers - self.loads if self.prompt.should_load else self.loads


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerRate:
    """A share with its 95% CI, in which prompts are the units."""

    rate: float
    interval: Interval
    prompts: int
    answers: int

    def as_json(self) -> Json:
        """The rate with its interval."""
        ends: list[Json] = [self.interval.low, self.interval.high]
        return {"rate": self.rate, "interval": ends, "prompts": self.prompts, "answers": self.answers}


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerScore:
    """When one model, in one harness and one company, loads the skill."""

    student: str
    harness: str
    company: Company
    others: int | None
    """Other skills that were offered beside it; `None` where the agent brings its own and they were not counted."""
    recall: TriggerRate | None
    """Over prompts that should load it; `None` where none was measured."""
    near_miss: TriggerRate | None
    """Over near misses."""
    precision: TriggerRate | None
    """The share of the answers that loaded it that should have; `None` where nothing loaded it."""
    j: float | None
    """Recall minus the load rate on near misses (Youden's J)."""
    interval: Interval | None
    confidence: float = 0.95
    """What the interval of J promises to cover; more where earlier looks make this one stricter."""
    verdict: TriggerVerdict
    tallies: tuple[PromptTally, ...] = ()
    errored: int = 0
    """Answers that were not measured; none of them counts."""

    @property
    def no_tool_called(self) -> bool:
        """Whether no answer called any tool: such a model can load no skill."""
        return all(tally.silent == tally.answers for tally in self.tallies)

    @property
    def wrong(self) -> tuple[PromptTally, ...]:
        """The prompts with wrong answers: first what should have loaded the skill, the worst first in each kind."""
        wrong = [tally for tally in self.tallies if tally.wrong]
        return tuple(sorted(wrong, key=lambda one: (not one.prompt.should_load, -one.wrong / one.answers)))
