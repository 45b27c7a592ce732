"""Undo `upskill install`: remove the copies of a skill that are as they were installed, and nothing else."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from upskill import storage
from upskill.domain.skill import is_skill_name
from upskill.domain.text import on_one_line
from upskill.errors import EngineError, SkillInvalid, UsageError
from upskill.shipping.installing import AGENTS
from upskill.storage.folder_changes import FolderChanges, why_not
from upskill.storage.install_record import InstallRecord, changes_since, read_install_record
from upskill.workflows.install_skill import Scope, named_changes, require_known, targets


@dataclass(frozen=True, kw_only=True, slots=True)
class InstalledCopy:
    """A copy that can be removed."""

    agents: tuple[str, ...]
    folder: Path
    real: Path
    record: InstallRecord


def plan_undo(skill: Path, *, agents: Sequence[str], scope: Scope) -> tuple[InstalledCopy, ...]:
    """The copies that would be removed. `skill` is the folder that was installed, or only its name."""
    require_known(agents, user=scope.user, skill=skill)
    name = _name(skill)
    found: list[InstalledCopy] = []
    for target in targets(agents or tuple(AGENTS), scope):
        folder = target.folder / name
        real = Path(os.path.realpath(target.folder)) / name
        if not scope.user and not real.is_relative_to(scope.project.resolve()):
            continue  # never installed there
        record = None if real.is_symlink() else read_install_record(real)
        if record is None or record.name != name:
            continue
        found.append(InstalledCopy(agents=target.agents, folder=folder, real=real, record=record))
        _require_unchanged(found[-1])
    if not found:
        where = "for you" if scope.user else "in this project"
        raise UsageError(
            on_one_line(f"{name}: upskill installed no such skill {where}"),
            hint="copies in a project are found from its folder, those for all projects with --user",
        )
    return tuple(found)


def undo(copies: Sequence[InstalledCopy], *, scope: Scope) -> None:
    """Remove the copies, all or none, and the empty folders that were made for them.

    Raises where somebody changed a copy since the plan was made.
    """
    for copy in copies:
        _require_unchanged(copy)
    try:
        with FolderChanges() as changes:
            for copy in copies:
                changes.stage_removal(copy.real)
            changes.apply()
    except OSError as error:
        raise EngineError(
            on_one_line(f"nothing was removed ({why_not(error)})"),
        ) from error
    kept = {scope.base.resolve(), *scope.base.resolve().parents}
    for copy in copies:
        for folder in copy.real.parents[: copy.record.folders_made]:
            if folder in kept:
                break
            with suppress(OSError):  # not empty: somebody else uses it
                folder.rmdir()


def _require_unchanged(copy: InstalledCopy) -> None:
    if changed := changes_since(copy.real, copy.record):
        raise UsageError(
            on_one_line(f"{copy.folder}: was changed after it was installed, so it was not removed"),
            problems=named_changes(changed),
            hint="copy what you need from it and remove it yourself",
        )


def _name(skill: Path) -> str:
    try:
        return storage.read_skill(skill).name
    except (UsageError, SkillInvalid):
        name = skill.name
        if not is_skill_name(name):
            raise
        return name
