"""The contract of a plug-in: a function of your own package that looks at an answer. This module is stable.

Name the function in the `checks` of your plug-in (`upskill.plugin`), and a case can ask for it as
`{"python": {"name": "your-name", "with": …}}`. See docs/reference/checks.md.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from upskill.core.checks.kind import Need
from upskill.core.nouns import Answer, Case, Files
from upskill.core.nouns.case import Json
from upskill.sandbox import CommandResult, FileRefused, Limits, Mount, Sandbox, SandboxSpec


class Finding(NamedTuple):
    """The result of a plug-in: whether the answer passed, and in words what was found."""

    passed: bool
    saw: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Inspection:
    """What a plug-in can read and use."""

    case: Case
    answer: Answer
    """The text and the answer's own files; in chat, its fenced blocks."""
    files: Files
    """The whole folder: the files of the case, overlaid with those of the answer."""
    only_block: str | None
    """The only fenced block, if it has no name and the answer has no files."""
    given: Json
    """The value of `with` in the check."""
    open_sandbox: Callable[[SandboxSpec], Sandbox]
    """Opens a fresh sandbox with your mounts and limits. Use it in a `with` block, and a new one for each answer.

    Run the model's code only in here. It raises where no sandbox is available.
    """


class CheckFunction(Protocol):
    """A plug-in. It imports fast, keeps no state between answers, and gives equal findings for equal answers. Several
    threads may call it at the same time.

    Return a `Finding` for everything that the model's work did, including a crash, a timeout or a wrong file. An
    exception is a fault of the check: the answer is errored and counts in no arm.
    """

    def __call__(self, inspection: Inspection, /) -> Finding:
        """Check one answer."""
        ...


@runtime_checkable
class HasProblems(Protocol):
    """A plug-in that checks the value of `with` before any model is asked."""

    def problems(self, given: Json, /) -> list[str]:
        """All problems, in words; empty if the value can be used."""
        ...


@runtime_checkable
class HasNeeds(Protocol):
    """A plug-in that runs programs declares `needs = {"sandbox"}`; one that needs files, also `"files"`."""

    needs: Collection[Need]


__all__ = [
    "Answer",
    "Case",
    "CheckFunction",
    "CommandResult",
    "FileRefused",
    "Files",
    "Finding",
    "HasNeeds",
    "HasProblems",
    "Inspection",
    "Json",
    "Limits",
    "Mount",
    "Need",
    "Sandbox",
    "SandboxSpec",
]
