"""Install a skill into the folders of coding agents, and undo that. Copies, never links; asks and prints nothing.

The record `.upskill-install.json` in a copy may be a stranger's, in a project that was cloned. It names no place: only
the folder that it lies in can be removed because of it.
"""

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from upskill import __version__, disk
from upskill.core.hub import pinned
from upskill.core.nouns.finding import Finding
from upskill.core.nouns.skill import INSTALL_RECORD, Skill, is_skill_name
from upskill.core.nouns.text import on_one_line
from upskill.core.runs.records import record_text
from upskill.core.skills.skill_files import read_plain
from upskill.core.skills.skills import read_skill
from upskill.errors import EngineError, SkillInvalid, UsageError
from upskill.share.evidence import Evidence
from upskill.share.files import (
    Action,
    FolderChanges,
    NewFile,
    SharedSkill,
    changed_files,
    findings_in,
    named_changes,
    read_shared_skill,
    require_no_twin,
    why_not,
)

SHARED_FOLDER = ".agents/skills"
ANY_AGENT = "agents"
"""Whatever agent reads the shared folder."""
NEEDED_NODE = "22.20"
"""The Node.js that `skills` from npm needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Agent:
    """A coding agent that `upskill install` knows. A folder of a user begins with a variable that may name it."""

    project: str = SHARED_FOLDER
    """The folder of skills in a project."""
    user: str = "~/.agents/skills"
    """The folder of skills for all projects of a user."""
    own_folder: str | None = None
    """A folder that is there where the agent was used."""
    program: str | None = None


AGENTS = {
    "claude-code": Agent(
        project=".claude/skills",
        user="$CLAUDE_CONFIG_DIR/skills",
        own_folder="$CLAUDE_CONFIG_DIR",
        program="claude",
    ),
    "codex": Agent(own_folder="$CODEX_HOME", program="codex"),
    "opencode": Agent(
        user="$XDG_CONFIG_HOME/opencode/skills", own_folder="$XDG_CONFIG_HOME/opencode", program="opencode"
    ),
    ANY_AGENT: Agent(),
}
"""Those that `upskill install` writes for, by their name in `--for`."""
_USUAL = {"~": ".", "$CLAUDE_CONFIG_DIR": ".claude", "$CODEX_HOME": ".codex", "$XDG_CONFIG_HOME": ".config"}
"""Where a folder of a user is, below the home folder, if no variable names it."""

_SHARED_READERS = """
amp antigravity antigravity-cli cline cursor deepagents dexto droid firebender fx gemini-cli github-copilot kilo
kimi-code-cli loaf pi promptscript replit sarvam-code universal warp zed
"""
_OWN_FOLDERS = """
adal aider-desk astrbot augment autohand-code bob codearts-agent codebuddy codemaker codestudio command-code continue
cortex crush devin eve forgecode goose grok hermes-agent iflow-cli inference-sh jazz junie kimchi kiro-cli kode lingma
mcpjam minimax-code mistral-vibe moxby mux neovate ona openclaw openhands pochi posit-assistant qoder qoder-cn qwen-code
reasonix roo rovodev tabnine-cli terramind tinycloud trae trae-cn windsurf zcode zencoder zenflow
"""
READ_THE_SHARED_FOLDER = frozenset(_SHARED_READERS.split())
"""Other agents that read the shared folder of a project, by the names that `skills` from npm has for them."""
OTHER_AGENTS = READ_THE_SHARED_FOLDER | frozenset(_OWN_FOLDERS.split())
"""Every other agent that `skills` 1.7.4 from npm installs for."""


def skills_add_line(folder: str, agent: str = "NAME", *, user: bool = False) -> str:
    """The command that installs a folder for another agent."""
    return f"npx skills add {folder} -a {agent}{' -g' if user else ''}"


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

    def of_user(self, folder: str) -> Path:
        """Where a folder of the user is, `$CODEX_HOME` for example."""
        first, _, inside = folder.partition("/")
        named = self.environment.get(first.removeprefix("$"), "")
        return (Path(named) if named else self.home / _USUAL[first]) / inside


FORMAT = "upskill.install-record/1"
MOST_RECORD_BYTES = 1_000_000
MOST_FOLDERS_MADE = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class InstallRecord:
    """What was installed: every file with its SHA-256, and how many folders above it were made for it."""

    format: str = FORMAT
    upskill: str
    """The version that wrote it."""
    name: str
    digest: str
    """The digest of the skill, as `upskill eval` and `evidence.json` have it."""
    files: Mapping[str, str]
    folders_made: int = 0
    """How many of the folders above, the innermost first."""
    source: str | None = None
    """The `hf://` name with its commit; `None` for a skill from this machine."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Copy:
    """One copy of a skill: for whom, where, and what happens there."""

    agents: tuple[str, ...]
    folder: Path
    """As it was asked for."""
    real: Path
    """The same without links."""
    action: Action = "write"

    def leaves(self, scope: Scope) -> bool:
        """Whether a link leads out of the project that it is for."""
        return not scope.user and not self.real.is_relative_to(scope.project.resolve())


def _copies(name: str, agents: Sequence[str], scope: Scope) -> tuple[Copy, ...]:
    """The copies of a skill for these agents, each once even where links make two of their folders one."""
    found: dict[Path, Copy] = {}
    for one in dict.fromkeys(agents):
        agent = AGENTS[one]
        folder = scope.project / (scope.of_user(agent.user) if scope.user else agent.project)
        real = Path(os.path.realpath(folder)) / name
        known = found.get(real, Copy(agents=(), folder=folder / name, real=real))
        found[real] = replace(known, agents=(*known.agents, one))
    return tuple(found.values())


_RECORD = TypeAdapter(InstallRecord)


def _read_record(folder: Path) -> InstallRecord | None:
    """The record of an installed skill; `None` where there is none that can be read."""
    try:
        record = _RECORD.validate_json(read_plain(folder / INSTALL_RECORD, most=MOST_RECORD_BYTES))
    except (FileNotFoundError, ValidationError, EngineError):
        return None
    return record if record.format == FORMAT and 0 <= record.folders_made <= MOST_FOLDERS_MADE else None


def _require_unchanged(copy: Copy, record: InstallRecord, *, done: str, instead: str) -> None:
    """Raise where a copy is not as it was installed."""
    if changed := changed_files(copy.real, record.files, besides={INSTALL_RECORD}):
        raise UsageError(
            on_one_line(f"{copy.folder}: was changed after it was installed, so it was not {done}"),
            problems=named_changes(changed),
            hint=f"copy what you need from it and {instead}",
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class InstallPlan:
    """What installing would do. Nothing was written yet."""

    shared: SharedSkill
    copies: tuple[Copy, ...]
    scope: Scope
    chosen: Literal["named", "present", "none present"]
    """How the agents were chosen: by the user, or because they are there."""
    findings: tuple[Finding, ...]
    measured: Evidence | None
    origin: Literal["file", "runs", "none"]
    """Where the results are from: the file beside the skill, or the runs here."""

    @property
    def skill(self) -> Skill:
        return self.shared.skill

    @property
    def files(self) -> dict[str, NewFile]:
        """What each copy holds, besides its record."""
        return {**self.shared.files, **self.shared.evidence_files}

    @property
    def dangers(self) -> tuple[Finding, ...]:
        """What a person must agree to first."""
        return tuple(one for one in self.findings if one.severity == "danger")


def plan_install(
    skill: Path, *, agents: Sequence[str], scope: Scope, runs_dir: Path, ledger: Path | None
) -> InstallPlan:
    """What installing this skill would write, and where. Raises where a copy cannot or must not be written."""
    if not scope.user and scope.project.resolve() == scope.home.resolve():
        raise UsageError("the current folder is your home folder", hint="add --user, or change to a project first")
    shared = read_shared_skill(skill)
    _require_known(agents, user=scope.user, skill=skill)
    present = present_agents(scope)
    plan = InstallPlan(
        shared=shared,
        copies=_copies(shared.skill.name, agents or present or (ANY_AGENT,), scope),
        scope=scope,
        chosen="named" if agents else "present" if present else "none present",
        findings=(),
        measured=shared.evidence,
        origin="none" if shared.evidence is None else "file",
    )
    plan = replace(plan, copies=tuple(_planned(one, plan) for one in plan.copies))
    if shared.evidence is None and runs_dir.is_dir():
        from upskill.share.gather import gather  # reads answers and grades them again

        evidence = gather(shared.root, runs_dir=runs_dir, ledger=ledger).evidence
        plan = replace(plan, measured=evidence, origin="runs" if evidence.results else "none")
    return replace(plan, findings=findings_in(shared, shared.evidence_files))


def install(plan: InstallPlan) -> None:
    """Write every copy, or none. Raises where somebody changed a copy since the plan was made."""
    for copy in plan.copies:
        _action(copy, plan.files)
    try:
        with FolderChanges() as changes:
            for copy in plan.copies:
                if copy.action == "keep":
                    continue
                made = len(changes.make_folders(copy.real.parent))
                record = InstallRecord(
                    upskill=__version__,
                    name=plan.skill.name,
                    digest=plan.skill.digest,
                    files=_hashes(plan.files),
                    source=pinned(plan.shared.root),
                    folders_made=max(min(made, MOST_FOLDERS_MADE), *_made_before(copy.real.parent), 0),
                )
                text = NewFile(record_text(_RECORD, record).encode())
                changes.stage_folder(copy.real, {**plan.files, INSTALL_RECORD: text})
            changes.apply()
    except OSError as error:
        raise EngineError(
            on_one_line(f"{plan.skill.name}: not installed, nothing was changed ({why_not(error)})")
        ) from error


def present_agents(scope: Scope) -> tuple[str, ...]:
    """The agents that are on this machine: their own folder is there, or their program is on the search path."""
    return tuple(
        name
        for name, agent in AGENTS.items()
        if (agent.own_folder is not None and scope.of_user(agent.own_folder).is_dir())
        or (agent.program is not None and shutil.which(agent.program, path=scope.environment.get("PATH")) is not None)
    )


def _require_known(agents: Sequence[str], *, user: bool, skill: Path) -> None:
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


def _planned(copy: Copy, plan: InstallPlan) -> Copy:
    real, root = copy.real, plan.shared.root
    if copy.leaves(plan.scope):
        raise UsageError(
            on_one_line(f"{copy.folder.parent}: leads out of the project, to {real.parent}"),
            hint="replace the link with a folder, or install with --user",
        )
    if real.is_relative_to(root) or root.is_relative_to(real):
        raise UsageError(
            on_one_line(f"{copy.folder}: overlaps the skill that would be installed"),
            hint="name the skill where it was written",
        )
    for parent in (real.parent, *real.parent.parents):
        if parent.exists() and not parent.is_dir():
            raise UsageError(on_one_line(f"{parent}: is not a folder"), hint="move it away")
    require_no_twin(real)
    return replace(copy, action=_action(copy, plan.files))


def _action(copy: Copy, files: Mapping[str, NewFile]) -> Action:
    """What happens to what is there. Only an unchanged copy that upskill installed is replaced."""
    real = copy.real
    if not os.path.lexists(real):
        return "write"
    record = None if real.is_symlink() or not real.is_dir() else _read_record(real)
    if record is None:
        what = "is a link" if real.is_symlink() else "exists and was not installed by upskill"
        raise UsageError(
            on_one_line(f"{copy.folder}: {what}, so it was not replaced"), hint="move it away, then install again"
        )
    _require_unchanged(copy, record, done="replaced", instead="move it away, then install again")
    return "keep" if record.files == _hashes(files) else "replace"


def _hashes(files: Mapping[str, NewFile]) -> dict[str, str]:
    return {path: hashlib.sha256(file.data).hexdigest() for path, file in files.items()}


def _made_before(skills_folder: Path) -> list[int]:
    """How many folders were made for other copies here: whichever copy is removed last removes them."""
    found = [_read_record(one) for one in disk.folders(skills_folder)]
    return [record.folders_made for record in found if record is not None]


def plan_undo(skill: Path, *, agents: Sequence[str], scope: Scope) -> dict[Copy, InstallRecord]:
    """The copies that would be removed, each with what was installed there.

    `skill` is the folder that was installed, or only its name.
    """
    _require_known(agents, user=scope.user, skill=skill)
    name = _name_of(skill)
    found: dict[Copy, InstallRecord] = {}
    for copy in _copies(name, agents or tuple(AGENTS), scope):
        record = None if copy.leaves(scope) or copy.real.is_symlink() else _read_record(copy.real)
        if record is not None and record.name == name:
            _require_unchanged(copy, record, done="removed", instead="remove it yourself")
            found[copy] = record
    if not found:
        where = "for all your projects" if scope.user else "in this project"
        raise UsageError(
            on_one_line(f"{name}: upskill installed no such skill {where}"),
            hint="run this in the folder of the project; for copies in all your projects add --user",
        )
    return found


def undo(copies: Mapping[Copy, InstallRecord], *, scope: Scope) -> None:
    """Remove the copies, all or none, and the empty folders that were made for them.

    Raises where somebody changed a copy since the plan was made.
    """
    for copy, record in copies.items():
        _require_unchanged(copy, record, done="removed", instead="remove it yourself")
    try:
        with FolderChanges() as changes:
            for copy in copies:
                changes.stage_removal(copy.real)
            changes.apply()
    except OSError as error:
        raise EngineError(on_one_line(f"nothing was removed ({why_not(error)})")) from error
    kept = {scope.base.resolve(), *scope.base.resolve().parents}
    for copy, record in copies.items():
        for folder in copy.real.parents[: record.folders_made]:
            if folder in kept:
                break
            disk.remove_empty(folder)  # not empty: somebody else uses it


def _name_of(skill: Path) -> str:
    try:
        return read_skill(skill).name
    except (UsageError, SkillInvalid):
        if not is_skill_name(skill.name):
            raise
        return skill.name
