"""The contract of a plug-in: a function of your own package that looks at an answer. This module is stable.

Name the function in your package under the entry point group `upskill.checks`, and a case can ask for it as
`{"python": {"name": "your-name", "with": …}}`. See docs/how-to/write-a-check-plugin.md.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from upskill.checks.kind import Need
from upskill.domain import Answer, Case, Files
from upskill.domain.case import Json
from upskill.sandbox import CommandResult, FileRefused, Limits, Mount, Sandbox, SandboxSpec

GROUP = "upskill.checks"


class Finding(NamedTuple):
    """What a plug-in hands back: whether the answer passed, and what was seen, in words for a person."""

    passed: bool
    saw: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Inspection:
    """All that a plug-in may look at and use."""

    case: Case
    answer: Answer
    """The text, and the answer's own files: real ones, or those of its fenced blocks where it has none."""
    files: Files
    """The whole folder: the files of the case, and over them those of the answer."""
    only_block: str | None
    """The only fenced block of the text, where no block has a name and there are no files."""
    given: Json
    """What stands under `with` in the check; `None` where nothing does."""
    open_sandbox: Callable[[SandboxSpec], Sandbox]
    """A fresh sandbox with your mounts and limits. Use it in a `with` block; keep none for the next answer.

    Whatever the student wrote runs in here, and nowhere else. Raises where no sandbox can be had.
    """


class CheckFunction(Protocol):
    """A plug-in. It must be quick to import, keep no state between answers, and give equal findings for equal answers.

    Return a `Finding` when you know; raise when you do not. An exception is a fault of the check: the trial is errored
    and counts in neither arm. What the student's work did (a crash, a time-out, a wrong file) is never an exception.
    It is called from several threads at once.
    """

    def __call__(self, inspection: Inspection, /) -> Finding:
        """Look at one answer."""
        ...


@runtime_checkable
class HasProblems(Protocol):
    """A plug-in may say what is wrong with what stands under `with`, before anything runs."""

    def problems(self, given: Json, /) -> list[str]:
        """Everything wrong, in words; empty when it can be used."""
        ...


@runtime_checkable
class HasNeeds(Protocol):
    """A plug-in that runs something declares `needs = {"sandbox"}`; one that wants files, also `"files"`."""

    needs: Collection[Need]


__all__ = [
    "GROUP",
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
