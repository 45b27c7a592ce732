"""Copies of a skill in the folders of coding agents: which folder is right for each agent, and what was installed
there.

The record `.upskill-install.json` in a copy may be a stranger's, in a project that was cloned. It names no place: only
the folder that it lies in can be removed because of it.
"""

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from upskill.core.nouns.skill import INSTALL_RECORD, MOST_SHARED_BYTES, MOST_SHARED_FILES
from upskill.core.nouns.text import count, on_one_line
from upskill.core.runs.records import record_text
from upskill.core.skills.skill_files import open_plain, read_plain
from upskill.errors import EngineError, UsageError

SHARED_FOLDER = ".agents/skills"
ANY_AGENT = "agents"
"""Whatever agent reads the shared folder."""
NEEDED_NODE = "22.20"
"""The Node.js that `skills` from npm needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HomeFolder:
    """A folder of a user: below what an environment variable names, else below the home folder."""

    base: str
    inside: str = "."
    variable: str | None = None
    """Takes the place of `base` where it is set."""

    def path(self, home: Path, environment: Mapping[str, str]) -> Path:
        """Where the folder is."""
        named = environment.get(self.variable, "") if self.variable else ""
        return (Path(named) if named else home / self.base) / self.inside


@dataclass(frozen=True, kw_only=True, slots=True)
class Agent:
    """A coding agent that `upskill install` knows, with its folders of skills."""

    name: str
    """As in `--for`."""
    title: str
    project: str
    """The folder of skills in a project."""
    user: HomeFolder
    """The folder of skills for all projects of a user."""
    own_folder: HomeFolder | None = None
    """A folder that is there where the agent was used."""
    program: str | None = None


_CLAUDE = HomeFolder(variable="CLAUDE_CONFIG_DIR", base=".claude")
_SHARED = HomeFolder(base=".agents", inside="skills")
AGENTS = {
    one.name: one
    for one in (
        Agent(
            name="claude-code",
            title="Claude Code",
            project=".claude/skills",
            user=replace(_CLAUDE, inside="skills"),
            own_folder=_CLAUDE,
            program="claude",
        ),
        Agent(
            name="codex",
            title="Codex",
            project=SHARED_FOLDER,
            user=_SHARED,
            own_folder=HomeFolder(variable="CODEX_HOME", base=".codex"),
            program="codex",
        ),
        Agent(
            name="opencode",
            title="opencode",
            project=SHARED_FOLDER,
            user=HomeFolder(variable="XDG_CONFIG_HOME", base=".config", inside="opencode/skills"),
            own_folder=HomeFolder(variable="XDG_CONFIG_HOME", base=".config", inside="opencode"),
            program="opencode",
        ),
        Agent(name=ANY_AGENT, title="agents that read .agents/skills", project=SHARED_FOLDER, user=_SHARED),
    )
}
"""Those that `upskill install` writes for, by name."""

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


Action = Literal["write", "replace", "keep"]
"""What happens to a folder or a file; `keep`: the same is there already."""


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


def copies_of(name: str, agents: Sequence[str], scope: Scope) -> tuple[Copy, ...]:
    """The copies of a skill for these agents, each once even where links make two of their folders one."""
    found: dict[Path, Copy] = {}
    for one in dict.fromkeys(agents):
        agent = AGENTS[one]
        folder = agent.user.path(scope.home, scope.environment) if scope.user else Path(agent.project)
        folder = scope.project / folder
        real = Path(os.path.realpath(folder)) / name
        known = found.get(real, Copy(agents=(), folder=folder / name, real=real))
        found[real] = replace(known, agents=(*known.agents, one))
    return tuple(found.values())


def require_no_twin(folder: Path) -> None:
    """Raise where a folder beside it differs only by case: not every file system has room for both."""
    if not folder.parent.is_dir():
        return
    for other in (one.name for one in folder.parent.iterdir()):
        if other != folder.name and other.casefold() == folder.name.casefold():
            raise UsageError(on_one_line(f"{folder}: {other} is there, and differs only by case"), hint="rename it")


FORMAT = "upskill.install-record/1"
MOST_RECORD_BYTES = 1_000_000
MOST_FOLDERS_MADE = 3
_MOST_NAMED = 5
LEFT_BY_PROGRAMS = frozenset({"__pycache__", ".DS_Store"})
"""What appears in a folder by itself, and is removed with it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class InstallRecord:
    """What was installed: every file with its SHA-256, and how many folders above it were made for it."""

    format: str = FORMAT
    upskill: str
    """The version that wrote it."""
    name: str
    digest: str
    """Of the skill, as `upskill eval` and `evidence.json` have it."""
    files: Mapping[str, str]
    folders_made: int = 0
    """Of the folders above, the innermost first."""


_RECORD = TypeAdapter(InstallRecord)


def install_record_text(record: InstallRecord) -> str:
    """The record as it stands in its file: equal records have equal bytes."""
    return record_text(_RECORD, record)


def read_install_record(folder: Path) -> InstallRecord | None:
    """The record of an installed skill; `None` where there is none that can be read."""
    try:
        record = _RECORD.validate_json(read_plain(folder / INSTALL_RECORD, most=MOST_RECORD_BYTES))
    except (FileNotFoundError, ValidationError, EngineError):
        return None
    if record.format != FORMAT or not 0 <= record.folders_made <= MOST_FOLDERS_MADE:
        return None
    return record


def changes_since(folder: Path, record: InstallRecord) -> tuple[str, ...]:
    """What is not as it was installed, a sentence each; empty if everything is."""
    return changed_files(folder, record.files, besides=frozenset({INSTALL_RECORD}))


def changed_files(folder: Path, files: Mapping[str, str], *, besides: Collection[str]) -> tuple[str, ...]:
    """What of these files, each with its SHA-256, is otherwise in a folder, a sentence each.

    The names in `besides` may be there with any content.
    """
    found = dict(_walk(folder))
    changes = [f"{path} is missing" for path in files if path not in found]
    for path, what in found.items():
        if what is None:
            changes.append(f"{path} is not an ordinary file")
        elif path in besides:
            continue
        elif path not in files:
            changes.append(f"{path} was added")
        elif what != files[path]:
            changes.append(f"{path} was changed")
    return tuple(on_one_line(change) for change in sorted(changes))


def named_changes(changed: Sequence[str]) -> list[str]:
    """The first of what changed, and how many more there are."""
    more = len(changed) - _MOST_NAMED
    return [*changed[:_MOST_NAMED], *([f"and {count(more, 'more change')}"] if more > 0 else [])]


def _walk(folder: Path) -> Iterator[tuple[str, str | None]]:
    """Every file with its SHA-256; a link, and whatever else is no file, with `None`. Stops at too many."""
    entries = 0
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_BY_PROGRAMS)
        for name in sorted((*folders, *names)):
            path = Path(where, name)
            inside = path.relative_to(folder).as_posix()
            entries += 1
            if entries > 2 * MOST_SHARED_FILES:
                yield inside, None
                return
            if path.is_symlink():
                yield inside, None
            elif name in names and name not in LEFT_BY_PROGRAMS:
                yield inside, _sha256(path)


def _sha256(path: Path) -> str | None:
    try:
        with os.fdopen(open_plain(path), "rb") as file:
            if os.fstat(file.fileno()).st_size > MOST_SHARED_BYTES:
                return ""
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, EngineError):
        return None
