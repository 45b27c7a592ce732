"""What a person asks an evaluation for, and the older version of the skill to compare with: a folder or a commit."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from upskill.core.nouns.case import CaseChanges
from upskill.core.nouns.harness import Ceiling
from upskill.core.nouns.skill import Among
from upskill.core.skills.git_version import GIT_PREFIX, open_git_version
from upskill.core.skills.skills import read_skill
from upskill.errors import UpskillError, UsageError
from upskill.evaluation.cases import changed_cases, find_cases
from upskill.sandbox import Backend

FOLDER_PREFIX = "previous:"
_COMMIT = re.compile(r"git:([0-9a-f]{40}|[0-9a-f]{64})")


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationOrder:
    """What a person asks an evaluation for."""

    skill: Path
    case_file: Path | None = None
    repeats: int | None = None
    """Repeats per case of a fixed design; `None` for the sequential design."""
    baseline: bool = True
    min_lift: float | None = None
    """Go on until the interval clears this lift, or is wholly below it."""
    previous: Path | None = None
    """An older version of the skill to measure against, instead of no skill."""
    previous_revision: str | None = None
    """Where that is a version in git: `git:REF` as it was typed; once it lies in `previous`, `git:` and the commit."""
    ceiling: Ceiling | None = None
    """Run the ceiling arm too, without a skill and with the passage of each case: beside the others, where it decides
    nothing; or `alone` with the baseline, on the cases that name a passage, and then nothing of the skill is shown."""
    fresh: bool = False
    """Ask again even where nothing has changed since it was answered."""
    sandbox: Backend = "bubblewrap"
    """What confines executed programs. `none` is never read from a file: a person typed it."""
    among: Among = field(default_factory=Among)
    """The skills that lie beside the measured one, in every arm."""
    agent_bin: Path | None = None
    """The coding agent that the harness runs, where it is not the one on the search path. Never read from a file."""
    accept_findings: bool = False
    """Run a skill with dangers even where nothing confines programs. Never read from a file: a person typed it."""
    accept_changed_cases: bool = False
    """Measure the cases as they are now, although the older version in git has others. Never read from a file."""

    def __post_init__(self) -> None:
        """Refuse what cannot be asked for together."""
        if self.repeats is not None and self.repeats < 1:
            raise UsageError(f"--runs must be at least 1, or auto, not {self.repeats}")
        if self.min_lift is not None and not -1 <= self.min_lift <= 1:
            raise UsageError(
                f"--min-lift must be between -1 and 1, not {self.min_lift:g}", hint="write 10 points as 0.1"
            )
        if self.min_lift is not None and not self.baseline and self.previous is None:
            raise UsageError("--min-lift needs answers without the skill", hint="remove --no-baseline")
        if self.ceiling is not None and (not self.baseline or self.previous is not None):
            raise UsageError("the ceiling needs answers without the skill", hint="remove --no-baseline and --compare")


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

    Raises `NotInCommit` where the commit does not have the skill, and `SameVersion` where it has the same one.
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
