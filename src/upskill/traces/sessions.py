"""Where agents keep their sessions on this machine, and which of them were recorded in a given folder, newest first.

A session belongs to the folder that it recorded itself. Names of files and folders are not trusted: they lose letters.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from upskill.errors import UpskillError, UsageError
from upskill.traces import claude_code, codex, gemini_cli, opencode
from upskill.traces.fields import items, mapping, string
from upskill.traces.recording import FileRecording

AGENTS: Mapping[str, str] = {
    reader.name: reader.title for reader in (claude_code.READER, codex.ROLLOUT, gemini_cli.READER, opencode.EXPORT)
}
"""The agents whose sessions are looked for, by the name that is typed, with the name that is shown."""
SHORT_NAMES: Mapping[str, str] = {"claude": "claude-code", "gemini": "gemini-cli"}

_LOOKED_AT = 40
"""Records at the head of a file in which its folder must be named."""
_WAIT_SECONDS = 60
_OPENCODE_QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """A session that was found. `id` is set where a program must be asked for it, and then `path` is its store."""

    agent: str
    path: Path
    written_at: float
    """Seconds since the epoch."""
    id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """What was found, newest first, and where was looked, for a person to read."""

    sessions: tuple[Session, ...]
    looked: tuple[str, ...]


def find_sessions(folder: Path, *, environment: Mapping[str, str], agent: str | None = None) -> Search:
    """The sessions that were recorded in `folder`, by any agent or by one of them."""
    home = Path(environment.get("HOME") or environment.get("USERPROFILE") or Path.home())
    here = _Folder(folder, environment)
    sessions: list[Session] = []
    looked: list[str] = []
    for name, find in _FINDERS.items():
        if agent in (None, name):
            found, where = find(here, home, environment)
            sessions.extend(found)
            looked.append(f"{AGENTS[name]}: {where}")
    if agent in (None, "opencode"):
        newest = max((session.written_at for session in sessions), default=0.0)
        found, where = _opencode(here, home, environment, newer_than=newest)
        sessions.extend(found)
        looked.append(f"{AGENTS['opencode']}: {where}")
    sessions.sort(key=lambda session: (-session.written_at, str(session.path)))
    return Search(sessions=tuple(sessions), looked=tuple(looked))


def agent_named(name: str) -> str:
    """The agent of `last:NAME`."""
    wanted = SHORT_NAMES.get(name.lower(), name.lower())
    if wanted not in AGENTS:
        raise UsageError(
            f"last:{name}: sessions of no such agent can be found",
            hint=f"known are {', '.join(f'last:{each}' for each in AGENTS)}; or pass the file of the session",
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

    @property
    def hashes(self) -> set[str]:
        """As Gemini CLI names projects: SHA-256 of the path."""
        return {hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest() for name in self.names}


_Finder = Callable[[_Folder, Path, Mapping[str, str]], tuple[list[Session], str]]


def _claude_code(here: _Folder, home: Path, environment: Mapping[str, str]) -> tuple[list[Session], str]:
    root = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"
    files = [path for path in _files(root, "*/*.jsonl") if not path.name.startswith("agent-")]
    found = [
        Session(agent="claude-code", path=path, written_at=_written(path))
        for path in files
        if here.is_named(_first_value(path, lambda record: string(record.get("cwd"))))
    ]
    return found, _looked(root, len(files))


def _codex(here: _Folder, home: Path, environment: Mapping[str, str]) -> tuple[list[Session], str]:
    root = Path(environment.get("CODEX_HOME") or home / ".codex")
    files = [
        path
        for place in ("sessions", "archived_sessions")
        for path in _files(root / place, "**/rollout-*")
        if path.name.endswith((".jsonl", ".jsonl.zst"))
    ]
    found = [
        Session(agent="codex", path=path, written_at=_codex_written(path))
        for path in files
        if here.is_named(_first_value(path, _codex_folder))
    ]
    return found, _looked(root / "sessions", len(files))


def _codex_folder(record: Mapping[str, Any]) -> str:
    payload = mapping(record.get("payload"))
    if record.get("type") != "session_meta" or payload.get("parent_thread_id"):
        # A thread that another one started is part of that one.
        return ""
    return string(payload.get("cwd"))


def _codex_written(path: Path) -> float:
    """A rollout is compressed days later, so then its name says better when it was."""
    stamp = re.match(r"rollout-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)", path.name)
    if path.suffix == ".zst" and stamp:
        try:
            return min(_written(path), datetime.strptime(stamp.group(1), "%Y-%m-%dT%H-%M-%S").timestamp())
        except (ValueError, OverflowError):
            return _written(path)
    return _written(path)


def _gemini_cli(here: _Folder, home: Path, environment: Mapping[str, str]) -> tuple[list[Session], str]:
    root = Path(environment.get("GEMINI_CLI_HOME") or home) / ".gemini" / "tmp"
    files = _files(root, "*/chats/session-*.json*")
    hashes = here.hashes
    found = [
        Session(agent="gemini-cli", path=path, written_at=_written(path))
        for path in files
        if _gemini_project(path) in hashes or here.is_named(_gemini_root(path))
    ]
    return found, _looked(root, len(files))


def _gemini_root(path: Path) -> str:
    """Newer versions name the folder of a project in a file of its own."""
    try:
        return (path.parent.parent / ".project_root").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


def _gemini_project(path: Path) -> str:
    """The hash in the session's own header; older files are one document, whose head is enough."""
    try:
        with path.open("rb") as file:
            head = file.read(4_000).decode("utf-8", "replace")
    except OSError:
        return ""
    seen = re.search(r'"projectHash"\s*:\s*"([0-9a-f]{64})"', head)
    return seen.group(1) if seen else path.parent.parent.name


def _opencode(
    here: _Folder, home: Path, environment: Mapping[str, str], *, newer_than: float
) -> tuple[list[Session], str]:
    """The store is a database of opencode's own, so opencode is asked; that takes seconds, so only if it is newer."""
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share") / "opencode"
    if not data.is_dir():
        return [], f"nothing in {data}"
    if max((_written(path) for path in data.glob("*.db*")), default=newer_than + 1) < newer_than:
        return [], f"{data} was last written to before that"
    program = shutil.which("opencode", path=environment.get("PATH"))
    if program is None:
        return [], (
            f"{data} is there, but the program `opencode` is not on the path to be asked; "
            "pass what `opencode export SESSION` prints"
        )
    listed = _ask([program, "session", "list", "--format", "json"], folder=here.real, environment=environment)
    try:
        rows = items(json.loads(listed)) if listed is not None else None
    except ValueError:
        rows = None
    if rows is None:
        return [], "the program `opencode` did not list its sessions; pass what `opencode export SESSION` prints"
    found = [
        Session(agent="opencode", path=data, written_at=_opencode_written(row), id=string(row.get("id")))
        for row in map(mapping, rows)
        if re.fullmatch(r"ses_\w+", string(row.get("id"))) and here.is_named(string(row.get("directory")))
    ]
    return found, f"{len(rows):,} sessions listed by `opencode`"


def _opencode_written(row: Mapping[str, Any]) -> float:
    for value in (row.get("updated"), mapping(row.get("time")).get("updated"), row.get("created")):
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value / 1_000
    return 0.0


def export_opencode(session: Session, *, folder: Path, environment: Mapping[str, str]) -> str:
    """What `opencode export` prints for a session."""
    program = shutil.which("opencode", path=environment.get("PATH"))
    printed = None
    if program is not None and session.id is not None:
        printed = _ask([program, "export", session.id], folder=str(folder), environment=environment)
    if printed is None:
        raise UpskillError(
            f"opencode: session {session.id} could not be exported",
            hint=f"run `opencode export {session.id} > session.json` and pass session.json",
        )
    return printed[printed.find("{") :]


def _ask(words: list[str], *, folder: str, environment: Mapping[str, str]) -> str | None:
    """What a program prints, or nothing if it fails or takes too long."""
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env={**environment, **_OPENCODE_QUIET},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_WAIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


_FINDERS: Mapping[str, _Finder] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini-cli": _gemini_cli,
}


def _files(root: Path, pattern: str) -> list[Path]:
    try:
        return sorted(path for path in root.glob(pattern) if path.is_file())
    except OSError:
        return []


def _looked(root: Path, count: int) -> str:
    if not root.is_dir():
        return f"nothing in {root}"
    return f"{count:,} session{'' if count == 1 else 's'} in {root}"


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _first_value(path: Path, value: Callable[[Mapping[str, Any]], str]) -> str:
    """The first record's value that is not empty, near the head of a file. What cannot be read names nothing."""
    try:
        return next(filter(None, map(value, _head(path))), "")
    except (UpskillError, OSError, ValueError):
        return ""


def _head(path: Path) -> Iterator[Mapping[str, Any]]:
    records: Iterable[tuple[int, dict[str, Any]]] = FileRecording(path).records()
    return (record for _, record in islice(records, _LOOKED_AT))
