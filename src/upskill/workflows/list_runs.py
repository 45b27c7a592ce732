"""List past runs, newest first."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from upskill import storage
from upskill.domain import Trial
from upskill.errors import UpskillError
from upskill.storage import RunFolder, RunRecord
from upskill.storage.teaching_runs import TEACHING_FILE, TeachingRecord, read_teaching_run


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedRun:
    """One run folder: its record, or why it cannot be read."""

    folder: Path
    record: RunRecord | None = None
    teaching: TeachingRecord | None = None
    """Of a `generate`, instead of the record of an evaluation."""
    problem: str | None = None


def list_runs(folder: Path) -> Iterator[ListedRun]:
    """Every run in a folder. A folder that is not there holds no runs."""
    evaluations = set(storage.runs_in(folder))
    generated = set(storage.runs_in(folder, marked_by=TEACHING_FILE))
    for path in sorted(evaluations | generated, key=lambda path: path.name, reverse=True):
        try:
            if path in generated:
                yield ListedRun(folder=path, teaching=read_teaching_run(path))
            else:
                yield ListedRun(folder=path, record=storage.read_run(path))
        except UpskillError as error:
            yield ListedRun(folder=path, problem=error.message)


def trials_of(folder: Path) -> Iterator[Trial]:
    """The finished trials of a run, with their answers, in the order they ended."""
    return RunFolder(path=folder).trials.read()
