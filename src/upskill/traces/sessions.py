"""Where agents keep their sessions on this machine, and which of them were recorded in a given folder, newest first.

A session belongs to the folder that it recorded itself; names of files and folders lose letters. Reads no traces.
"""

import hashlib
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from upskill import disk, processes
from upskill.errors import UpskillError, UsageError
from upskill.traces import claude_code, codex, coding_agents
from upskill.traces.recording import Recording, at, items, mapping, objects, parsed, string

AGENTS: Mapping[str, str] = {
    reader.name: reader.title
    for reader in (claude_code.READER, codex.ROLLOUT, coding_agents.GEMINI, coding_agents.OPENCODE)
}
"""The agents whose sessions are looked for, by the name that is typed, with the name that is shown."""
SHORT_NAMES: Mapping[str, str] = {"claude": "claude-code", "gemini": "gemini-cli"}

_LOOKED_AT = 40
"""Records at the head of a file in which its folder must be named."""
_ENDINGS = (".jsonl", ".jsonl.zst")
_WAIT_SECONDS = 60
_OPENCODE_QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    # It runs in the folder that is asked about, whose own plug-ins it would execute.
    "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
    "OPENCODE_PURE": "1",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """A session that was found. `id` is set where a program must be asked for it, and then `path` is its store."""

    agent: str
    path: Path
    written_at: float
    """Seconds since the epoch."""
    id: str | None = None


def find_sessions(
    folder: Path, *, environment: Mapping[str, str], agent: str | None = None
) -> tuple[list[Session], list[str]]:
    """The sessions that were recorded in `folder`, newest first, and where was looked, for a person to read.

    `agent` names one; otherwise sessions of all are looked for.
    """
    home = Path(environment.get("HOME") or environment.get("USERPROFILE") or Path.home())
    here = _Folder(folder, environment)
    sessions: list[Session] = []
    looked: list[str] = []
    for store in _STORES:
        if agent in (None, store.agent):
            found, where = store.find(here, home, environment)
            sessions.extend(found)
            looked.append(f"{AGENTS[store.agent]}: {where}")
    if agent in (None, "opencode"):
        newest = max((session.written_at for session in sessions), default=0.0)
        found, where = _opencode(here, home, environment, newer_than=newest)
        sessions.extend(found)
        looked.append(f"{AGENTS['opencode']}: {where}")
    sessions.sort(key=lambda session: (-session.written_at, str(session.path)))
    return sessions, looked


def sessions_of_all_folders(*, environment: Mapping[str, str]) -> tuple[list[tuple[Session, str]], list[str]]:
    """All sessions that agents keep as files, whatever folder they were recorded in, and where was looked.

    Each has a name that tells it from others: that of its agent, and its path below the agent's own folder.
    """
    home = Path(environment.get("HOME") or environment.get("USERPROFILE") or Path.home())
    found: list[tuple[Session, str]] = []
    looked: list[str] = []
    for store in _STORES:
        own = Path(environment.get(store.variable) or home / store.default)
        files = store.files(own)
        looked.append(f"{AGENTS[store.agent]}: {len(files):,} sessions in {own / store.below[0]}")
        for path in files:
            name = f"{store.agent}/{path.relative_to(own).as_posix()}"
            found.append((Session(agent=store.agent, path=path, written_at=_written(path)), name))
    return found, looked


def agent_named(name: str) -> str:
    """The agent of `last:NAME`."""
    wanted = SHORT_NAMES.get(name.lower(), name.lower())
    if wanted not in AGENTS:
        raise UsageError(
            f"last:{name}: unknown agent",
            hint=f"choose one of {', '.join(f'last:{each}' for each in AGENTS)}, or name the file of the session",
        )
    return wanted


class _Folder:
    """A folder with the names under which it may have been recorded: as typed, and with links followed."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.real = os.path.realpath(folder)
        typed = environment.get("PWD", "")
        logical = typed if typed and os.path.realpath(typed) == self.real else str(folder)
        self.names = {self.real, os.path.normpath(logical), str(folder.absolute())}
        self._known: dict[str, bool] = {}

    def is_named(self, recorded: str) -> bool:
        """Whether a recorded path is this folder, also by way of a link."""
        if recorded not in self._known:
            self._known[recorded] = bool(recorded) and (
                os.path.normpath(recorded) in self.names or os.path.realpath(recorded) == self.real
            )
        return self._known[recorded]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Store:
    """The folder in which an agent keeps its sessions as files."""

    agent: str
    variable: str
    """Names the agent's own folder, if it is set."""
    default: str
    """That folder, below the home of the user."""
    below: tuple[str, ...]
    """The folders in it that hold sessions; the first one is named to people."""
    pattern: str
    depth: int
    belongs: Callable[[Path, _Folder], bool]

    def files(self, own: Path) -> list[Path]:
        """The sessions, without those of subagents, which belong to another session."""
        found: list[Path] = []
        for folder in self.below:
            with suppress(OSError):
                found += disk.below(own / folder, self.pattern, depth=self.depth)
        return [path for path in found if path.name.endswith(_ENDINGS) and not path.name.startswith("agent-")]

    def find(self, here: _Folder, home: Path, environment: Mapping[str, str]) -> tuple[list[Session], str]:
        """The sessions of a folder, and where was looked."""
        own = Path(environment.get(self.variable) or home / self.default)
        files = self.files(own)
        root, count = own / self.below[0], len(files)
        looked = f"{count:,} session{'' if count == 1 else 's'} in {root}" if root.is_dir() else f"nothing in {root}"
        found = [path for path in files if self.belongs(path, here)]
        return [Session(agent=self.agent, path=path, written_at=_written(path)) for path in found], looked


def _codex_folder(record: Mapping[str, Any]) -> str:
    payload = mapping(record.get("payload"))
    if record.get("type") != "session_meta" or payload.get("parent_thread_id"):
        # A thread that another one started is part of that one.
        return ""
    return string(payload.get("cwd"))


def _is_gemini_project(path: Path, here: _Folder) -> bool:
    """By the hash of the folder in the session's own head, else by the file in which newer versions name the folder."""
    project = path.parent.parent
    head = _head(path, 4_000)
    seen = re.search(r'"projectHash"\s*:\s*"([0-9a-f]{64})"', head)
    hashes = {hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest() for name in here.names}
    named = seen.group(1) if seen else project.name if head else ""
    return named in hashes or here.is_named(_head(project / ".project_root", 10_000).strip())


_STORES = (
    _Store(
        agent=claude_code.READER.name,
        variable="CLAUDE_CONFIG_DIR",
        default=".claude",
        below=("projects",),
        pattern="*.jsonl",
        depth=1,
        belongs=lambda path, here: here.is_named(_first_value(path, lambda record: string(record.get("cwd")))),
    ),
    _Store(
        agent=codex.ROLLOUT.name,
        variable="CODEX_HOME",
        default=".codex",
        below=("sessions", "archived_sessions"),
        pattern="rollout-*.jsonl*",
        depth=disk.MOST_DEPTH,
        belongs=lambda path, here: here.is_named(_first_value(path, _codex_folder)),
    ),
    _Store(
        agent=coding_agents.GEMINI.name,
        variable="GEMINI_CLI_HOME",
        default="",
        below=(".gemini/tmp",),
        pattern="session-*.jsonl",
        depth=2,
        belongs=_is_gemini_project,
    ),
)


def _opencode(
    here: _Folder, home: Path, environment: Mapping[str, str], *, newer_than: float
) -> tuple[list[Session], str]:
    """The store is a database of opencode's own, so opencode is asked; that takes seconds, so only if it is newer."""
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share") / "opencode"
    if not data.is_dir():
        return [], f"nothing in {data}"
    if max((_written(path) for path in disk.listed(data, "*.db*")), default=newer_than + 1) < newer_than:
        return [], f"{data} is older"
    program = processes.find_program("opencode", source=environment)
    if program is None:
        return [], (
            f"{data} exists, but the program `opencode` is not on the PATH; "
            "save what `opencode export SESSION` prints, and name that file"
        )
    listed = parsed(_ask([program, "session", "list", "--format", "json"], folder=here.real, environment=environment))
    if listed is None:
        return (
            [],
            "`opencode` did not list its sessions; save what `opencode export SESSION` prints, and name that file",
        )
    found = [
        Session(agent="opencode", path=data, written_at=_opencode_written(row), id=string(row.get("id")))
        for row in objects(listed)
        if re.fullmatch(r"ses_\w+", string(row.get("id"))) and here.is_named(string(row.get("directory")))
    ]
    return found, f"{len(items(listed)):,} sessions listed by `opencode`"


def _opencode_written(row: Mapping[str, Any]) -> float:
    for value in (row.get("updated"), at(row, "time", "updated"), row.get("created")):
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value / 1_000
    return 0.0


def export_opencode(session: Session, *, folder: Path, environment: Mapping[str, str]) -> str:
    """What `opencode export` prints for a session."""
    program = processes.find_program("opencode", source=environment)
    printed = None
    if program is not None and session.id is not None:
        printed = _ask([program, "export", session.id], folder=str(folder), environment=environment)
    if printed is None:
        raise UpskillError(
            f"opencode: session {session.id} could not be exported",
            hint=f"run `opencode export {session.id} > session.json` and name session.json",
        )
    return printed[printed.find("{") :]


def _ask(words: list[str], *, folder: str, environment: Mapping[str, str]) -> str | None:
    """What a program prints, or nothing if it fails or takes too long."""
    try:
        done = processes.run(
            "session_export", words, cwd=folder, seconds=_WAIT_SECONDS, variables=_OPENCODE_QUIET, source=environment
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def _head(path: Path, size: int) -> str:
    try:
        return disk.beginning(path, size).decode("utf-8", "replace")
    except OSError:
        return ""


def _written(path: Path) -> float:
    """When it was last written to. Codex compresses a rollout days later: then its name says better when it was."""
    try:
        written = path.stat().st_mtime
        stamp = re.match(r"rollout-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)", path.name) if path.suffix == ".zst" else None
        return min(written, datetime.strptime(stamp.group(1), "%Y-%m-%dT%H-%M-%S").timestamp()) if stamp else written
    except (ValueError, OverflowError):
        return written
    except OSError:
        return 0.0


def _first_value(path: Path, value: Callable[[Mapping[str, Any]], str]) -> str:
    """The first value that is not empty, near the head of a file. What cannot be read names nothing."""
    try:
        records = islice(Recording(path).records(), _LOOKED_AT)
        return next(filter(None, (value(record) for _, record in records)), "")
    except (UpskillError, OSError, ValueError):
        return ""
