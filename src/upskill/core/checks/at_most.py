"""`turns` and `tokens`: at most so many of them were used for the answer."""

from typing import ClassVar

from upskill.core.checks.kind import NOTHING, CheckOutcome, Kind, Need, Submission, type_name
from upskill.core.checks.trajectory import NEEDS_TRAJECTORY, NotRecorded
from upskill.core.nouns import Answer
from upskill.core.nouns.case import Json


class _AtMost(Kind):
    """A kind whose spec is the largest number that passes."""

    only_forbids = True
    of_the_way = True
    too_weak: ClassVar[str | None] = "a limit alone asks for nothing; add a check of the result"

    def problems(self, spec: Json) -> list[str]:
        if isinstance(spec, bool) or not isinstance(spec, int):
            return [f"`{self.name}` must be a whole number, the most that passes, not {type_name(spec)}"]
        return [] if spec > 0 else [f"`{self.name}` must be at least 1"]

    def describe(self, spec: Json) -> str:
        return f"the answer takes at most {spec} {self.name}"

    def reads_words(self, spec: Json) -> bool:
        return False

    def used(self, answer: Answer) -> int | None:
        """How many were used; `None` where it was not recorded."""
        raise NotImplementedError

    def check(self, spec: Json, submission: Submission) -> CheckOutcome:
        used = self.used(submission.answer)
        if used is None:
            raise NotRecorded(f"the {self.name} of this answer were not recorded")
        within = isinstance(spec, int) and used <= spec
        return CheckOutcome(within, f"{used:,} {self.name}{'' if within else f'; at most {spec}'}")


class Turns(_AtMost):
    """Passes when the model gave at most so many answers, those that only call tools included."""

    name = "turns"
    rules = (
        "Every answer of the model is a turn, also one that only calls tools; turns of subagents are not counted.",
    )

    def needs(self, spec: Json) -> frozenset[Need]:
        return NEEDS_TRAJECTORY

    def used(self, answer: Answer) -> int | None:
        return answer.turns


class Tokens(_AtMost):
    """Passes when all calls for the answer took at most so many tokens."""

    name = "tokens"
    rules = (
        "Input and output of all calls together, as the provider reports them; the skill and what is read count too.",
        "A provider that does not report them makes the answer errored.",
    )

    def needs(self, spec: Json) -> frozenset[Need]:
        return NOTHING

    def used(self, answer: Answer) -> int | None:
        return answer.tokens
