"""What every kind of check promises. A kind owns its name and all that others must know of it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

from upskill.checks.grading_context import CheckOutcome, GradingContext
from upskill.domain import Answer, Case
from upskill.domain.answer_schemas import Form
from upskill.domain.case import Json

Need = Literal["files", "sandbox", "judge"]
"""What an answer or a grader must have: files in the answer, a sandbox on the grading context, a judge on the grading
context."""

NOTHING: frozenset[Need] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Submission:
    """One answer to one case, on the grading context."""

    case: Case
    answer: Answer
    context: GradingContext


class Kind(ABC):
    """One kind of check. The same spec, case and answer give the same look; only a judge may waver.

    `problems` lists everything wrong with a spec before any trial runs; all else may assume there was nothing.
    An exception from `look` is a fault of ours, never a failed answer.
    """

    name: str
    schema: Form | None = None
    """The JSON Schema of a spec that a teacher writes; `None` where teachers may not write such checks."""
    told: str = ""
    """What a teacher is told of it, with an example; empty where another kind's words show this one too."""
    judges: ClassVar[bool] = False
    """Whether a model decides."""
    only_words: ClassVar[bool] = False
    """Whether it looks at the words of an answer and at nothing else."""
    only_forbids: ClassVar[bool] = False
    """Whether an answer that says nothing passes by design."""
    too_weak: ClassVar[str | None] = None
    """What is usually wrong with such a check where an answer that says nothing passes it."""

    @abstractmethod
    def problems(self, spec: Json) -> list[str]:
        """Everything wrong with the spec; empty when it can be used."""

    @abstractmethod
    def look(self, spec: Json, work: Submission) -> CheckOutcome:
        """Look at one answer."""

    def needs(self, spec: Json) -> frozenset[Need]:
        """What must be there for it, beside the text of an answer."""
        return NOTHING

    def case_problems(self, spec: Json, case: Case) -> list[str]:
        """What is wrong with the spec in this case."""
        return []

    def expected(self, spec: Json) -> list[str]:
        """The words that an answer must hold."""
        return []

    def pattern(self, spec: Json) -> str | None:
        """The pattern that the text of an answer must match."""
        return None

    def reads_words(self, spec: Json) -> bool:
        """Whether the words of an answer can matter, blocks in them apart. In doubt they can."""
        return True

    def hurried(self, spec: Json, most_seconds: float) -> Json:
        """The same check with at most so much time for a program."""
        return spec

    def questions(self, spec: Json) -> int:
        """How many questions one look puts to a model, when no reply must be mended."""
        return 0


def shown(text: str) -> str:
    """A text in quotes and on one line, cut where it would be tiresome to read."""
    return repr(text if len(text) <= 60 else text[:60] + "…")


def strings_of(spec: Json) -> list[str]:
    """A string, or a list of strings, as a list of strings."""
    if isinstance(spec, str):
        return [spec]
    return [item for item in spec if isinstance(item, str)] if isinstance(spec, list) else []


def string_problems(spec: Json, *, kind: str, many: bool) -> list[str]:
    """What is wrong with a spec that must be a non-empty string, or also a non-empty list of them."""
    wanted = "a string or a list of strings" if many else "a string"
    if isinstance(spec, list) and many:
        if not spec:
            return [f"`{kind}` is an empty list, which says nothing about an answer"]
        return [problem for item in spec for problem in string_problems(item, kind=kind, many=False)]
    if not isinstance(spec, str):
        return [f"`{kind}` must be {wanted}, not {type_name(spec)}"]
    if not spec.strip():
        return [f"`{kind}` is empty, which says nothing about an answer"]
    return []


def type_name(value: Json) -> str:
    """The type of a JSON value, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    return {int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}[type(value)]
