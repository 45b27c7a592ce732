"""List past runs, newest first."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from upskill import measuring, storage
from upskill.domain import Trial
from upskill.domain.evaluation import PastRun
from upskill.domain.look import Look, alike, sketch_of
from upskill.errors import UpskillError

if TYPE_CHECKING:
    from upskill.storage import RunRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedRun:
    """One run folder: its record, or why it cannot be read."""

    folder: Path
    record: "RunRecord | None" = None
    problem: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LooksOfSkill:
    """What a ledger holds of one skill."""

    skill: str
    ledger: Path
    looks: tuple[Look, ...]
    notes: tuple[str, ...]


def summarise_runs(folder: Path) -> Iterator[PastRun]:
    """A summary of every run in a folder, newest first, without reading its record and trials."""
    return storage.past_runs(folder)


def only_with(runs: Iterable[PastRun], *, skills: Collection[str], models: Collection[str]) -> Iterator[PastRun]:
    """The runs of these skills with what they found for these models; all where none is named.

    A model may be named by the last part of its name, and a script by its file name.
    """
    for run in runs:
        if skills and run.skill not in skills:
            continue
        results = tuple(one for one in run.results if not models or not names_of(one.model).isdisjoint(models))
        if results or not models:
            yield replace(run, results=results)


def names_of(model: str) -> frozenset[str]:
    """What a person may call a model: its name, the last part of it, and a script by its file name."""
    last = model.rpartition("/")[2]
    script = (last.removesuffix(".yaml"),) if model.startswith("scripted/") else ()
    return frozenset({model, last, *script})


def list_runs(folder: Path) -> Iterator[ListedRun]:
    """Every run in a folder; none where there is no folder."""
    for path in storage.runs_in(folder):
        try:
            yield ListedRun(folder=path, record=storage.read_run(path))
        except UpskillError as error:
            yield ListedRun(folder=path, problem=error.message)


def looks_of(skill: str, ledger: str | None) -> LooksOfSkill:
    """The looks at all versions of a skill, by its name or its folder, oldest first."""
    path = storage.default_ledger_path() if ledger is None else Path(ledger)
    book = storage.LookLedger(path, contradiction=measuring.contradiction)
    looks = book.read()
    folder = Path(skill)
    read = storage.read_skill(folder) if folder.is_dir() else None
    name = skill if read is None else read.name
    sketches = {look.sketch for look in looks if look.skill == name} | (
        {sketch_of(read)} if read is not None else set()
    )
    mine = [look for look in looks if look.skill == name or any(alike(look.sketch, sketch) for sketch in sketches)]
    return LooksOfSkill(skill=name, ledger=book.path, looks=tuple(mine), notes=book.notes)


def trials_of(folder: Path) -> Iterator[Trial]:
    """The finished trials of a run, with their answers, in the order they ended."""
    return storage.RunFolder(path=folder).trials.read()
