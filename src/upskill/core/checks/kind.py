"""What every kind of check promises, and how a kind reads its spec. Knows no kind in particular.

A kind owns its name and everything that others must know about it.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import ClassVar, Literal, NamedTuple

from upskill.core.nouns import Answer, Case
from upskill.core.nouns.answer import MOST_CALLS, MOST_CHARACTERS, ToolCall, Trajectory
from upskill.core.nouns.answer_schemas import Schema
from upskill.core.nouns.case import Json
from upskill.core.nouns.skill import path_problem
from upskill.sandbox import Sandbox, SandboxSpec


class CheckOutcome(NamedTuple):
    """Whether the answer passed, and what was seen, in words for a person."""

    passed: bool
    saw: str
    basis: str | None = None
    """For a judgement that was paid for: the digest of all that it rests on. An equal basis is not paid for again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeQuestion:
    """A question to the model that judges."""

    system: str
    prompt: str
    case_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class GradingContext:
    """What grading may use. A check that needs something missing here raises: nothing was measured."""

    open_sandbox: Callable[[SandboxSpec], Sandbox] | None = None
    """Opens a new, empty sandbox. The check that opened it closes it."""
    ask: Callable[[JudgeQuestion], str] | None = None
    """The answer of the model that judges, through the metered client. Blocks."""
    judge: str | None = None
    """Which model judges, as part of what a judgement rests on."""
    judged: Mapping[str, CheckOutcome] = field(default_factory=dict)
    """Judgements that were paid for before, by their basis."""


Need = Literal["files", "sandbox", "judge", "trajectory"]
"""What a check needs: files or recorded tool calls in the answer, or a sandbox or a judge in the grading context."""

NOTHING: frozenset[Need] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Submission:
    """One answer to one case, with the context in which it is graded."""

    case: Case
    answer: Answer
    context: GradingContext


class Kind(ABC):
    """One kind of check. The same spec, case and answer give the same outcome; only a judge may vary.

    `problems` lists everything wrong with a spec before any trial runs; the other methods assume there was nothing.
    An exception from `check` is a fault of ours, never a failed answer.
    """

    name: str
    schema: Schema | None = None
    """The JSON Schema of a spec that a teacher writes; `None` where teachers may not write such checks."""
    guidance: str = ""
    """What a teacher is told about it, with an example; empty where the text for another kind covers it."""
    rules: tuple[str, ...] = ()
    """How it reads an answer, a short sentence each: for teachers after the guidance, and for the reference page."""
    judges: ClassVar[bool] = False
    """Whether a model decides."""
    only_words: ClassVar[bool] = False
    """Whether it looks at the words of an answer and at nothing else."""
    only_forbids: ClassVar[bool] = False
    """Whether an answer that says nothing passes by design."""
    of_the_way: ClassVar[bool] = False
    """Whether it looks at what was done on the way to an answer, which no reference shows."""
    too_weak: ClassVar[str | None] = None
    """What is usually wrong with such a check where an answer that says nothing passes it."""

    @abstractmethod
    def problems(self, spec: Json) -> list[str]:
        """Everything wrong with the spec; empty when it can be used."""

    @abstractmethod
    def check(self, spec: Json, submission: Submission) -> CheckOutcome:
        """Whether one answer passes, and what was seen in it."""

    def describe(self, spec: Json) -> str:
        """What it asks for, in words for a person who reads a result."""
        return spec if isinstance(spec, str) else json.dumps(spec, ensure_ascii=False)

    def needs(self, spec: Json) -> frozenset[Need]:
        """What must be there for it, beside the text of an answer."""
        return NOTHING

    def case_problems(self, spec: Json, case: Case) -> list[str]:
        """What is wrong with the spec in this case."""
        return []

    def doubts(self, spec: Json) -> list[str]:
        """How a model could pass it without the work, and what to write instead, for the person who wrote it."""
        return []

    def expected(self, spec: Json) -> list[str]:
        """The words that an answer must contain."""
        return []

    def pattern(self, spec: Json) -> str | None:
        """The pattern that the text of an answer must match."""
        return None

    def reads_words(self, spec: Json) -> bool:
        """Whether the words of an answer can matter, blocks in them apart. In doubt they can."""
        return True

    def with_time_limit(self, spec: Json, most_seconds: float) -> Json:
        """The same check with at most this much time for a program."""
        return spec

    def questions(self, spec: Json) -> int:
        """How many questions one check asks a model, when no reply must be repaired."""
        return 0


class ObjectKind(Kind):
    """A kind whose spec is an object. A spec that is none is short for an object with the key `short_for`."""

    keys: ClassVar[tuple[str, ...]]
    short_for: ClassVar[str]

    def as_object(self, spec: Json) -> dict[str, Json]:
        """The spec as an object."""
        return spec if isinstance(spec, dict) else {self.short_for: spec}

    def unknown_keys(self, spec: Mapping[str, Json]) -> list[str]:
        """A problem for each key that the spec may not have."""
        return unknown_keys(spec, self.keys, kind=self.name)

    def path_problems(self, spec: Mapping[str, Json], key: str) -> list[str]:
        """What is wrong with a key that names a file in the student's folder."""
        value = spec.get(key)
        if not isinstance(value, str):
            return [f"`{self.name}`: `{key}` must be the name of a file, not {type_name(value)}"]
        problem = path_problem(value)
        return [] if problem is None else [f"`{self.name}`: `{key}` {value[:60]!r} {problem}"]

    def flag_problems(self, spec: Mapping[str, Json], key: str) -> list[str]:
        """What is wrong with a key that can only be switched on."""
        given = spec.get(key, True) is not True
        return [f"`{self.name}`: `{key}` can only be true; otherwise remove it"] if given else []


def shown(text: str) -> str:
    """A text in quotes and on one line, cut where it is long."""
    return repr(text if len(text) <= 60 else text[:60] + "…")


def type_name(value: Json) -> str:
    """The type of a JSON value, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    return {int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}[type(value)]


def listed(texts: Iterable[str]) -> str:
    """Texts in quotes, whole."""
    return ", ".join(map(repr, texts))


def strings_of(spec: Json) -> list[str]:
    """A string, or a list of strings, as a list of strings."""
    if isinstance(spec, str):
        return [spec]
    return [item for item in spec if isinstance(item, str)] if isinstance(spec, list) else []


def string_problems(spec: Json, *, kind: str, many: bool) -> list[str]:
    """What is wrong with a spec that must be a non-empty string, or also a non-empty list of them."""
    if isinstance(spec, list) and many:
        if not spec:
            return [f"`{kind}` is an empty list, so it checks nothing"]
        return [problem for item in spec for problem in string_problems(item, kind=kind, many=False)]
    if not isinstance(spec, str):
        wanted = "a string or a list of strings" if many else "a string"
        return [f"`{kind}` must be {wanted}, not {type_name(spec)}"]
    return [] if spec.strip() else [f"`{kind}` is empty, so it checks nothing"]


def unknown_keys(spec: Mapping[str, Json], known: Iterable[str], *, kind: str) -> list[str]:
    """A problem for each key that a spec may not have, with a suggestion."""
    names = list(known)
    unknown = [key for key in spec if key not in names]
    return [f"`{kind}`: `{key[:40]}` is not a known key; {suggestion(key, names)}" for key in unknown]


def suggestion(word: str, known: Iterable[str]) -> str:
    """The known word that was probably meant, or all that are known."""
    names = list(known)
    near = get_close_matches(word, names, n=1)
    return f"did you mean `{near[0]}`?" if near else f"known: {', '.join(names)}"


NEEDS_TRAJECTORY: frozenset[Need] = frozenset({"trajectory"})


class NotRecorded(Exception):
    """What a check asks for was not recorded with this answer: nothing is known, and the answer has not failed."""


class TrajectoryKind(ObjectKind):
    """A kind that looks at the tool calls of an answer and not at its words."""

    of_the_way = True

    def asked(self, wanted: Mapping[str, Json]) -> list[str]:
        """What the model must and must not do, each in words that follow "the model"."""
        raise NotImplementedError

    def describe(self, spec: Json) -> str:
        asked = self.asked(self.as_object(spec))
        return f"the model {' and '.join(asked)}" if asked else super().describe(spec)

    def needs(self, spec: Json) -> frozenset[Need]:
        return NEEDS_TRAJECTORY

    def reads_words(self, spec: Json) -> bool:
        return False


def trajectory_of(submission: Submission) -> Trajectory:
    """The tool calls of an answer. Raises `NotRecorded`."""
    if submission.answer.trajectory is None:
        raise NotRecorded("the tool calls of this answer were not recorded (the model had no tools)")
    return submission.answer.trajectory


def unseen_calls(trajectory: Trajectory) -> str | None:
    """Why it cannot be said that something was not done, in words; `None` where every call is known whole.

    Whoever makes so many calls, or so long ones, has not shown that it did nothing else.
    """
    if trajectory.left_out:
        return f"more than {MOST_CALLS:,} tool calls; the {trajectory.left_out:,} after them were not looked at"
    if cut := next((call for call in trajectory.calls if call.cut), None):
        return f"the arguments of {where(cut)} are longer than {MOST_CHARACTERS:,} characters and were cut"
    return None


def where(call: ToolCall) -> str:
    """A call, and when it was made, in words."""
    by = " by a subagent" if call.subagent else ""
    return f"{call.tool} in turn {call.turn}{by}"


def shown_call(call: ToolCall) -> str:
    """The same with its arguments on one line."""
    return f"{where(call)}: {shown(' '.join(call.arguments.split()))}"
