"""What every kind of check promises."""

from dataclasses import dataclass
from typing import Literal, Protocol

from upskill.checks.bench import Bench, Look
from upskill.domain import Answer, Case
from upskill.domain.case import Json

Need = Literal["files", "sandbox", "judge"]
"""What an answer or a grader must have: files in the answer, a sandbox on the bench, a judge on the bench."""

NOTHING: frozenset[Need] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """One answer to one case, on the bench."""

    case: Case
    answer: Answer
    bench: Bench


class Kind(Protocol):
    """One kind of check. The same spec, case and answer give the same look; only a judge may waver.

    `problems` lists everything wrong with a spec before any trial runs; `look` may assume there was
    nothing. An exception from `look` is a fault of ours, never a failed answer.
    """

    name: str

    def problems(self, spec: Json) -> list[str]:
        """Everything wrong with the spec; empty when it can be used."""
        ...

    def needs(self, spec: Json) -> frozenset[Need]:
        """What must be there for it; asked only of a spec without problems."""
        ...

    def look(self, spec: Json, work: Work) -> Look:
        """Look at one answer."""
        ...


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
