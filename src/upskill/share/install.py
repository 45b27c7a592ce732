"""Install a skill into the folders of coding agents, and undo that. Copies, never links; asks and prints nothing."""

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Literal, NamedTuple

from upskill.core.nouns.finding import Finding
from upskill.core.nouns.skill import INSTALL_RECORD, Skill, is_skill_name
from upskill.core.nouns.text import on_one_line
from upskill.core.skills.skills import read_skill
from upskill.errors import EngineError, SkillInvalid, UsageError
from upskill.share.copies import (
    AGENTS,
    ANY_AGENT,
    MOST_FOLDERS_MADE,
    OTHER_AGENTS,
    READ_THE_SHARED_FOLDER,
    SHARED_FOLDER,
    Action,
    Copy,
    InstallRecord,
    Scope,
    changes_since,
    copies_of,
    install_record_text,
    named_changes,
    read_install_record,
    require_no_twin,
    skills_add_line,
)
from upskill.share.evidence import Evidence
from upskill.share.files import (
    FoundEvidence,
    SharedSkill,
    beside,
    files_beside,
    findings_in,
    measured_here,
    read_shared_skill,
)
from upskill.share.folder_changes import FolderChanges, NewFile, why_not


@dataclass(frozen=True, kw_only=True, slots=True)
class InstallPlan:
    """What installing would do. Nothing was written yet."""

    shared: SharedSkill
    files: Mapping[str, NewFile]
    """What each copy holds, besides its record."""
    copies: tuple[Copy, ...]
    scope: Scope
    chosen: Literal["named", "present", "none present"]
    """How the agents were chosen: by the user, or because they are there."""
    findings: tuple[Finding, ...]
    evidence: FoundEvidence

    @property
    def skill(self) -> Skill:
        return self.shared.skill

    @property
    def dangers(self) -> tuple[Finding, ...]:
        """What a person must agree to first."""
        return tuple(one for one in self.findings if one.severity == "danger")

    @property
    def measured(self) -> Evidence | None:
        return self.evidence.evidence


def plan_install(
    skill: Path, *, agents: Sequence[str], scope: Scope, runs_dir: Path, ledger: Path | None
) -> InstallPlan:
    """What installing this skill would write, and where. Raises where a copy cannot or must not be written."""
    _require_project(scope)
    shared = read_shared_skill(skill)
    chosen, names = _chosen(agents, scope, skill)
    found = beside(shared)
    evidence = files_beside(shared, found)
    files = {**shared.files, **evidence}
    copies = tuple(_planned(one, shared, files, scope) for one in copies_of(shared.skill.name, names, scope))
    if found.evidence is None and runs_dir.is_dir():
        found = measured_here(shared.root, runs_dir=runs_dir, ledger=ledger)._replace(note=found.note)
    return InstallPlan(
        shared=shared,
        files=files,
        copies=copies,
        scope=scope,
        chosen=chosen,
        findings=findings_in(shared, evidence),
        evidence=found,
    )


def install(plan: InstallPlan) -> None:
    """Write every copy, or none. Raises where somebody changed a copy since the plan was made."""
    for copy in plan.copies:
        _action(copy.real, on_one_line(str(copy.folder)), plan.files)
    hashes = _hashes(plan.files)
    try:
        with FolderChanges() as changes:
            for copy in plan.copies:
                if copy.action == "keep":
                    continue
                made = len(changes.make_folders(copy.real.parent))
                record = InstallRecord(
                    upskill=version("upskill"),
                    name=plan.skill.name,
                    digest=plan.skill.digest,
                    files=hashes,
                    folders_made=max(min(made, MOST_FOLDERS_MADE), *_made_before(copy.real.parent), 0),
                )
                text = NewFile(install_record_text(record).encode())
                changes.stage_folder(copy.real, {**plan.files, INSTALL_RECORD: text})
            changes.apply()
    except OSError as error:
        raise EngineError(
            on_one_line(f"{plan.skill.name}: not installed, nothing was changed ({why_not(error)})")
        ) from error


def present_agents(scope: Scope) -> tuple[str, ...]:
    """The agents that are on this machine: their own folder is there, or their program is on the search path."""
    return tuple(
        agent.name
        for agent in AGENTS.values()
        if (agent.own_folder is not None and agent.own_folder.path(scope.home, scope.environment).is_dir())
        or (agent.program is not None and shutil.which(agent.program, path=scope.environment.get("PATH")) is not None)
    )


def require_known(agents: Sequence[str], *, user: bool, skill: Path) -> None:
    """Raise for a name that is no agent that upskill installs for; for those of `skills` from npm, with its command."""
    known = ", ".join(AGENTS)
    for name in agents:
        if name in AGENTS:
            continue
        if name in READ_THE_SHARED_FOLDER and not user:
            raise UsageError(
                f"--for {name}: this agent reads {SHARED_FOLDER} of a project",
                hint=f"upskill install {skill} --for {ANY_AGENT}",
            )
        if name in OTHER_AGENTS:
            copy = f"./{SHARED_FOLDER}/{skill.resolve().name}"
            raise UsageError(
                f"--for {name}: upskill installs for {known}; `skills` from npm installs for {name}",
                hint=f"upskill install {skill} --for {ANY_AGENT} && {skills_add_line(copy, name, user=user)}",
            )
        raise UsageError(on_one_line(f"--for {name}: no such agent"), hint=f"known: {known}")


def _require_project(scope: Scope) -> None:
    if not scope.user and scope.project.resolve() == scope.home.resolve():
        raise UsageError("the current folder is your home folder", hint="add --user, or change to a project first")


def _chosen(
    agents: Sequence[str], scope: Scope, skill: Path
) -> tuple[Literal["named", "present", "none present"], Sequence[str]]:
    if agents:
        require_known(agents, user=scope.user, skill=skill)
        return "named", agents
    present = present_agents(scope)
    return ("present", present) if present else ("none present", (ANY_AGENT,))


def _planned(copy: Copy, shared: SharedSkill, files: Mapping[str, NewFile], scope: Scope) -> Copy:
    real, shown = copy.real, on_one_line(str(copy.folder))
    if copy.leaves(scope):
        raise UsageError(
            on_one_line(f"{copy.folder.parent}: leads out of the project, to {real.parent}"),
            hint="replace the link with a folder, or install with --user",
        )
    if real == shared.root or real.is_relative_to(shared.root) or shared.root.is_relative_to(real):
        raise UsageError(
            f"{shown}: overlaps the skill that would be installed", hint="name the skill where it was written"
        )
    for parent in (real.parent, *real.parent.parents):
        if parent.exists() and not parent.is_dir():
            raise UsageError(on_one_line(f"{parent}: is not a folder"), hint="move it away")
    require_no_twin(real)
    return replace(copy, action=_action(real, shown, files))


def _action(real: Path, shown: str, files: Mapping[str, NewFile]) -> Action:
    """What happens to what is there. Only an unchanged copy that upskill installed is replaced."""
    if not os.path.lexists(real):
        return "write"
    record = None if real.is_symlink() or not real.is_dir() else read_install_record(real)
    if record is None:
        what = "is a link" if real.is_symlink() else "exists and was not installed by upskill"
        raise UsageError(f"{shown}: {what}, so it was not replaced", hint="move it away, then install again")
    if changed := changes_since(real, record):
        raise UsageError(
            f"{shown}: was changed after it was installed, so it was not replaced",
            problems=named_changes(changed),
            hint="copy what you need from it and move it away, then install again",
        )
    return "keep" if record.files == _hashes(files) else "replace"


def _hashes(files: Mapping[str, NewFile]) -> dict[str, str]:
    return {path: hashlib.sha256(file.data).hexdigest() for path, file in files.items()}


def _made_before(skills_folder: Path) -> list[int]:
    """How many folders were made for other copies here: whichever copy is removed last removes them."""
    found = [read_install_record(one) for one in sorted(skills_folder.iterdir()) if one.is_dir()]
    return [record.folders_made for record in found if record is not None]


class InstalledCopy(NamedTuple):
    """A copy that can be removed, and what was installed there."""

    copy: Copy
    record: InstallRecord


def plan_undo(skill: Path, *, agents: Sequence[str], scope: Scope) -> tuple[InstalledCopy, ...]:
    """The copies that would be removed. `skill` is the folder that was installed, or only its name."""
    require_known(agents, user=scope.user, skill=skill)
    name = _name_of(skill)
    found: list[InstalledCopy] = []
    for copy in copies_of(name, agents or tuple(AGENTS), scope):
        record = None if copy.leaves(scope) or copy.real.is_symlink() else read_install_record(copy.real)
        if record is not None and record.name == name:
            found.append(InstalledCopy(copy, record))
            _require_unchanged(found[-1])
    if not found:
        where = "for all your projects" if scope.user else "in this project"
        raise UsageError(
            on_one_line(f"{name}: upskill installed no such skill {where}"),
            hint="run this in the folder of the project; for copies in all your projects add --user",
        )
    return tuple(found)


def undo(copies: Sequence[InstalledCopy], *, scope: Scope) -> None:
    """Remove the copies, all or none, and the empty folders that were made for them.

    Raises where somebody changed a copy since the plan was made.
    """
    for installed in copies:
        _require_unchanged(installed)
    try:
        with FolderChanges() as changes:
            for copy, _ in copies:
                changes.stage_removal(copy.real)
            changes.apply()
    except OSError as error:
        raise EngineError(on_one_line(f"nothing was removed ({why_not(error)})")) from error
    kept = {scope.base.resolve(), *scope.base.resolve().parents}
    for copy, record in copies:
        for folder in copy.real.parents[: record.folders_made]:
            if folder in kept:
                break
            with suppress(OSError):  # not empty: somebody else uses it
                folder.rmdir()


def _require_unchanged(installed: InstalledCopy) -> None:
    if changed := changes_since(installed.copy.real, installed.record):
        raise UsageError(
            on_one_line(f"{installed.copy.folder}: was changed after it was installed, so it was not removed"),
            problems=named_changes(changed),
            hint="copy what you need from it and remove it yourself",
        )


def _name_of(skill: Path) -> str:
    try:
        return read_skill(skill).name
    except (UsageError, SkillInvalid):
        name = skill.name
        if not is_skill_name(name):
            raise
        return name
