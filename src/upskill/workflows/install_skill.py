"""Install a skill into the folders of coding agents. Copies, never links; asks nobody and prints nothing."""

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from upskill.domain.evidence import Evidence
from upskill.domain.finding import Finding
from upskill.domain.skill import INSTALL_RECORD, NAME_RULE, Skill, is_skill_name
from upskill.domain.text import count, on_one_line
from upskill.errors import EngineError, SkillInvalid, UsageError
from upskill.shipping.installing import (
    AGENTS,
    ANY_AGENT,
    OTHER_AGENTS,
    READ_THE_SHARED_FOLDER,
    SHARED_FOLDER,
    Target,
    skills_add_line,
    targets_for,
)
from upskill.storage.folder_changes import FolderChanges, NewFile, why_not
from upskill.storage.install_record import (
    MOST_FOLDERS_MADE,
    InstallRecord,
    changes_since,
    install_record_text,
    read_install_record,
)
from upskill.storage.shared_skill import SharedSkill, read_shared_skill
from upskill.workflows.shared_evidence import FoundEvidence, beside, files_beside, findings_in, measured_here

Action = Literal["write", "replace", "keep"]
_MOST_NAMED = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """Where things are installed: in a project, or for a user."""

    project: Path
    user: bool
    home: Path
    environment: Mapping[str, str]

    @property
    def base(self) -> Path:
        """The folder that installing never makes or removes."""
        return self.home if self.user else self.project


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedCopy:
    """One copy of the skill: for whom, where, and what happens there."""

    agents: tuple[str, ...]
    folder: Path
    """The folder of the copy, as it was asked for."""
    real: Path
    """The same without links."""
    action: Action
    """`keep`: the same copy is there already."""


@dataclass(frozen=True, kw_only=True, slots=True)
class InstallPlan:
    """What installing would do. Nothing was written yet."""

    shared: SharedSkill
    files: Mapping[str, NewFile]
    """What each copy holds, besides its record."""
    copies: tuple[PlannedCopy, ...]
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
    name = shared.skill.name
    written = shared.skill.frontmatter.get("name")
    if not is_skill_name(name) or written != name:
        raise SkillInvalid(
            on_one_line(f"{skill}: the name {written!r} in SKILL.md is not valid, so agents would refuse the skill"),
            hint=NAME_RULE,
        )
    chosen, names = _chosen(agents, scope, skill)
    found = beside(shared)
    evidence = files_beside(shared, found)
    files = {**shared.files, **evidence}
    copies = tuple(_planned(target, shared, files, scope) for target in targets(names, scope))
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


def targets(agents: Sequence[str], scope: Scope) -> tuple[Target, ...]:
    """The folders of skills of these agents, each once even where links make two of them one."""
    found = targets_for(agents, user=scope.user, project=scope.project, home=scope.home, environment=scope.environment)
    by_real: dict[str, Target] = {}
    for target in found:
        real = os.path.realpath(target.folder)
        before = by_real.get(real)
        by_real[real] = (
            target if before is None else Target(agents=(*before.agents, *target.agents), folder=before.folder)
        )
    return tuple(by_real.values())


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


def _planned(target: Target, shared: SharedSkill, files: Mapping[str, NewFile], scope: Scope) -> PlannedCopy:
    name = shared.skill.name
    folder = target.folder / name
    real = Path(os.path.realpath(target.folder)) / name
    shown = on_one_line(str(folder))
    if not scope.user and not real.is_relative_to(scope.project.resolve()):
        raise UsageError(
            on_one_line(f"{target.folder}: leads out of the project, to {real.parent}"),
            hint="replace the link with a folder, or install with --user",
        )
    if real == shared.root or real.is_relative_to(shared.root) or shared.root.is_relative_to(real):
        raise UsageError(
            f"{shown}: overlaps the skill that would be installed", hint="name the skill where it was written"
        )
    for parent in (real.parent, *real.parent.parents):
        if parent.exists() and not parent.is_dir():
            raise UsageError(on_one_line(f"{parent}: is not a folder"), hint="move it away")
    _require_no_twin(real, shown)
    return PlannedCopy(agents=target.agents, folder=folder, real=real, action=_action(real, shown, files))


def _require_no_twin(real: Path, shown: str) -> None:
    """Not every file system has room for two names that differ only by case."""
    if not real.parent.is_dir():
        return
    for other in (one.name for one in real.parent.iterdir()):
        if other != real.name and other.casefold() == real.name.casefold():
            raise UsageError(on_one_line(f"{shown}: {other} is there, and differs only by case"), hint="rename it")


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


def named_changes(changed: Sequence[str]) -> list[str]:
    """The first of what changed, and how many more there are."""
    more = len(changed) - _MOST_NAMED
    return [*changed[:_MOST_NAMED], *([f"and {count(more, 'more change')}"] if more > 0 else [])]


def _made_before(skills_folder: Path) -> list[int]:
    """How many folders were made for other copies here: whichever copy is removed last removes them."""
    found = [read_install_record(one) for one in sorted(skills_folder.iterdir()) if one.is_dir()]
    return [record.folders_made for record in found if record is not None]
