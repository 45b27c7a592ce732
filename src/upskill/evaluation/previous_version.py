"""The older version of a skill that an evaluation compares with: a folder, or a commit of its git repository."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from upskill.core.skills.git_version import GIT_PREFIX, CaseChanges, open_git_version
from upskill.core.skills.skills import read_skill
from upskill.errors import UpskillError, UsageError
from upskill.evaluation.check_cases import changed_cases, find_cases
from upskill.evaluation.prepare import EvaluationOrder

FOLDER_PREFIX = "previous:"
_COMMIT = re.compile(r"git:([0-9a-f]{40}|[0-9a-f]{64})")


class SameVersion(UsageError):
    """Both versions are equal, so there is nothing to compare."""

    def __init__(self, message: str, *, commit: str, case_changes: CaseChanges) -> None:
        super().__init__(message)
        self.commit = commit
        self.case_changes = case_changes


class Previous(NamedTuple):
    """Where an older version is; both are `None` where none was asked for."""

    folder: Path | None = None
    revision: str | None = None
    """`git:REF`, in the repository that holds the skill."""


def read_compare(text: str | None) -> Previous:
    """The value of `--compare`. Raises `UsageError` where it is neither `previous:PATH` nor `git:REF`."""
    if text is None:
        return Previous()
    if text.startswith(GIT_PREFIX) and text != GIT_PREFIX:
        return Previous(revision=text)
    if text.startswith(FOLDER_PREFIX) and text != FOLDER_PREFIX:
        return Previous(folder=Path(text.removeprefix(FOLDER_PREFIX)))
    raise UsageError(f"--compare {text}: is not understood", hint="write --compare previous:PATH, or --compare git:REF")


def recorded_revision(source: str | None) -> str | None:
    """The commit that the record of a run names as the older version; `None` for a folder."""
    return source if source is not None and _COMMIT.fullmatch(source) else None


@contextmanager
def opened_previous(order: EvaluationOrder) -> Iterator[EvaluationOrder]:
    """The order with its older version in a folder, and the commit by its full id, as long as this lasts.

    Raises `storage.NotInCommit` where the commit does not have the skill, and `SameVersion` where it has the same one.
    """
    asked = order.previous_revision
    if asked is None:
        yield order
        return
    current = read_skill(order.skill)
    with open_git_version(order.skill, asked.removeprefix(GIT_PREFIX)) as version:
        try:
            previous = read_skill(version.folder)
        except UpskillError as error:
            error.message = f"{asked}: {error.message}"
            error.hint = "leave out --compare, or compare with another version"
            raise
        if previous.digest == current.digest:
            same = f"{order.skill}: is the same in {asked}, so there is nothing to compare"
            now = find_cases(order.skill, None, judge=True)
            cases = () if now is None else now.cases
            _, changes = changed_cases(version.folder, cases, accepted=order.accept_changed_cases)
            raise SameVersion(same, commit=version.commit, case_changes=changes)
        yield replace(order, previous=version.folder, previous_revision=version.name)
