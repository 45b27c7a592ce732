"""Settings files: where they are looked for, who could have written them, what they set, and which are trusted."""

import hashlib
import json
import os
import re
import stat
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Any

from upskill import disk
from upskill.core.settings.values import (
    PROJECT_FILE,
    TRUST_VARIABLE,
    URLS,
    Settings,
    checked_value,
    known_name,
    without_secrets,
)
from upskill.errors import SettingsError

SHARED_FILE = "pyproject.toml"
MOST_BYTES = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingsFile:
    """A settings file as it was read once: what is judged is what is used."""

    path: Path
    """Where it was found."""
    target: Path
    """The file itself, with all links followed."""
    content: bytes
    foreign: str | None
    """Why it could be somebody else's, for a person; `None` for the user's own."""

    @property
    def digest(self) -> str:
        """SHA-256 of the content, as `sha256sum` prints it."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def root(self) -> Path:
        """The project that the file is in."""
        return project_root(self.target.parent)

    def table(self) -> dict[str, Any]:
        """What stands in it, unchecked. Raises `SettingsError` if it is not TOML."""
        try:
            return tomllib.loads(self.content.decode("utf-8"))
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SettingsError(f"{self.path}: cannot be read: {error}") from None

    def settings(self) -> dict[str, object]:
        """The settings in it, checked. Raises `SettingsError` for what is none."""
        table = self.table()
        if self.path.name == SHARED_FILE:
            inner = _table(table.get("tool")).get("upskill", {})
            if not isinstance(inner, dict):
                raise SettingsError(f"{self.path}: [tool.upskill] must be a table")
            table = inner
        values: dict[str, object] = {}
        for key, value in table.items():
            name = known_name(str(key).replace("-", "_"), where=str(self.path))
            if name in values:
                raise SettingsError(f"{self.path}: `{name}` is set twice, with a hyphen and with an underscore")
            values[name] = checked_value(name, value, where=str(self.path))
        return values


def read_settings_file(path: Path) -> SettingsFile | None:
    """The file, with its owner; `None` if there is none. Raises `SettingsError` if it cannot be read."""
    if not path.is_file():
        return None
    try:
        with disk.opened(disk.named(path)) as file:
            content = file.read(MOST_BYTES + 1)
            foreign = _foreign(os.fstat(file.fileno()), path.lstat(), path.resolve())
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from None
    if len(content) > MOST_BYTES:
        raise SettingsError(f"{path}: cannot be read: it is larger than {MOST_BYTES:,} bytes")
    return SettingsFile(path=path, target=path.resolve(), content=content, foreign=foreign)


def project_file(folder: Path, *, home: Path | None = None) -> SettingsFile | None:
    """The nearest `upskill.toml`, or `pyproject.toml` with `[tool.upskill]`, upwards from the folder.

    The search ends with the root of the repository or with the home folder; outside both, with the folder itself.
    """
    for parent in _searched(folder, _home() if home is None else home):
        own = read_settings_file(parent / PROJECT_FILE)
        if own is not None:
            return own
        shared = read_settings_file(parent / SHARED_FILE)
        if shared is not None and "upskill" in _table(shared.table().get("tool")):
            return shared
    return None


def unread_above(folder: Path) -> str:
    """What to do, before other advice, where the user's settings file lies above what is searched; else empty."""
    for parent in folder.parents[len(_searched(folder, _home())) - 1 :]:
        with suppress(OSError):
            if is_own(os.lstat(parent / PROJECT_FILE).st_uid):
                near = os.path.relpath(parent, folder)
                return f"{near}/{PROJECT_FILE} is not read, as no repository holds both folders: cd {quote(near)}; or "
    return ""


def _searched(folder: Path, home: Path | None) -> list[Path]:
    upwards = [folder, *folder.parents]
    last = _repository(folder)
    if last is None and home in upwards:
        last = home
    return upwards[: upwards.index(last or folder) + 1]


def _repository(folder: Path) -> Path | None:
    """The root of the repository. A `.git` of somebody else makes none: it would extend the search to their files."""
    for parent in (folder, *folder.parents):
        try:
            if is_own(os.lstat(parent / ".git").st_uid):
                return parent
        except OSError:
            continue
    return None


def project_root(folder: Path) -> Path:
    """The project: the repository that the folder is in, else the folder itself. A home is no project."""
    found, home = _repository(folder), _home()
    return folder if found is None or (home is not None and home.is_relative_to(found)) else found


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except (OSError, RuntimeError):
        return None


def is_own(owner: int) -> bool:
    """Whether a file of this owner was written by the user or by the system. Where there are no owners, all are."""
    return not hasattr(os, "geteuid") or owner in (os.geteuid(), 0)


def _foreign(found: os.stat_result, link: os.stat_result, target: Path) -> str | None:
    if not hasattr(os, "geteuid"):
        return None
    for one in (found, link):
        if not is_own(one.st_uid):
            return f"it belongs to {owner_name(one.st_uid)}, not to you"
    if found.st_mode & stat.S_IWOTH:
        return "any user can write it"
    folder = target.parent.stat()
    if folder.st_mode & stat.S_IWOTH and not folder.st_mode & stat.S_ISVTX:
        return "any user can replace it: its folder is writable by all"
    return None


def owner_name(owner: int) -> str:
    """The name of a user, or the number where there is no name."""
    if os.name != "posix":
        return "unknown"
    import pwd

    try:
        return f"{pwd.getpwuid(owner).pw_name} (user {owner})"
    except KeyError:
        return f"user {owner}"


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


TRUSTED_FILES = "trusted.json"
SCHEMA = "upskill.trusted/1"
_LOOPBACK = re.compile(r"https?://(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d+)?(/[\w./~-]*)?")
"""The only base URLs that need no trust, strictly: what looks like one and is not, is not this machine."""
CAPS = (
    "max_cost",
    "max_calls",
    "max_total_tokens",
    "max_time_minutes",
    "max_retries",
    "max_turns",
    "max_trial_tokens",
    "max_trial_minutes",
)
"""Above the user's own value, else the default, they need trust; where both are unlimited, they only lower."""
FREE_UP_TO = {"concurrency": 32, "max_output_tokens": 32_768}
"""Calls in flight can overshoot a cap, and so can one long answer: ordinary values need no trust."""
WRITTEN = ("runs_dir", "skills_dir", "ledger")
"""Where files are written: outside the project that needs trust."""
BELIEVED = ("ledger", "judge")
"""What verdicts rest on: it always needs trust."""
STARTED = ("agent_bin",)
"""What is started on this machine: it always needs trust."""
MODELS = ("models", "judge", "teacher", "test_gen_model", "aliases")
"""What can name a script, or a hand-off, which is a folder that questions are written to."""
_HANDOFF = "handoff/"
_SCRIPTED = "scripted/"


@dataclass(frozen=True, kw_only=True, slots=True)
class Demand:
    """A setting of a file that needs trust."""

    name: str
    value: str
    """As text, without secrets."""
    why: str
    stops: bool = True
    """Whether commands stop without trust; else the URL is used, without a key."""

    def __str__(self) -> str:
        return f"{self.name} = {self.value}: {self.why}"


def demands_of(
    file: SettingsFile, values: Mapping[str, object], *, mine: Mapping[str, object], folder: Path
) -> tuple[Demand, ...]:
    """The settings among `values`, all from the file, that need trust; `mine` are those of the user's own file.

    Of a file that somebody else could have written, all do. Relative paths count from `folder`.
    """
    found = []
    for name, value in values.items():
        reason = _reason(name, value, mine=mine, folder=folder, root=file.root)
        if reason is None and file.foreign is not None:
            reason = "from a file that is not yours"
        if reason is not None:
            found.append(Demand(name=name, value=_shown(value), why=reason))
        elif name in URLS:
            why = "a server on this machine, which gets no key without trust"
            found.append(Demand(name=name, value=_shown(value), why=why, stops=False))
    return tuple(found)


def _reason(name: str, value: object, *, mine: Mapping[str, object], folder: Path, root: Path) -> str | None:
    if name in URLS and _LOOPBACK.fullmatch(str(value)) is None:
        return "requests would go to another machine"
    if name in WRITTEN and not _is_within(root, folder / Path(str(value)).expanduser()):
        return "files would be written outside the project"
    if name in BELIEVED:
        return "verdicts would come from it"
    if name in STARTED:
        return "a program that it chooses would be started"
    if name in MODELS:
        if scripts := [one for one in _models_in(value) if one.strip().startswith(_SCRIPTED)]:
            return f"{scripts[0]}: a script would answer in place of a model"
        outside = [one for one in _models_in(value) if _handoff_leaves(one, root=root, folder=folder)]
        return f"{outside[0]}: questions would be written outside the project" if outside else None
    limit = _limit(name, mine)
    if limit is not None and isinstance(value, int | float) and value > limit:
        whose = "the limit in your own file" if name in mine else "the limit without trust"
        return f"above {limit:g}, {whose}"
    return None


def _limit(name: str, mine: Mapping[str, object]) -> float | None:
    own = mine.get(name)
    if name in FREE_UP_TO:
        return max(FREE_UP_TO[name], own if isinstance(own, int) else 0)
    limit = (own or getattr(Settings(), name)) if name in CAPS else None
    return float(limit) if isinstance(limit, int | float) else None


def _models_in(value: object) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    return [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]


def _handoff_leaves(model: str, *, root: Path, folder: Path) -> bool:
    name = model.strip()
    return name.startswith(_HANDOFF) and not _is_within(root, folder / Path(name[len(_HANDOFF) :]).expanduser())


def _is_within(root: Path, path: Path) -> bool:
    return path.resolve().is_relative_to(root)


def _shown(value: object) -> str:
    return without_secrets(json.dumps(value))  # in ASCII, so that no character can hide or forge a line


def is_trusted(file: SettingsFile, *, environment: Mapping[str, str], user_folder: Path) -> bool:
    """Whether the user trusts the file with this very content, by `upskill trust` or by `UPSKILL_TRUST`."""
    if file.digest in trusted_digests(environment):
        return True
    return {"path": str(file.target), "sha256": file.digest}.items() <= _entry(file, user_folder).items()


def _entry(file: SettingsFile, user_folder: Path) -> dict[str, str]:
    return next((one for one in trusted_files(user_folder) if one["path"] == str(file.target)), {})


def trusted_digests(environment: Mapping[str, str]) -> list[str]:
    """The SHA-256 digests in `UPSKILL_TRUST`: of settings files, and of what runs ask for."""
    given = [one.strip().lower() for one in environment.get(TRUST_VARIABLE, "").split(",") if one.strip()]
    if wrong := [one for one in given if re.fullmatch("[0-9a-f]{64}", one) is None]:
        raise SettingsError(
            f"{TRUST_VARIABLE}: {wrong[0][:80]!r} is not a SHA-256 digest", hint="`upskill trust` shows the digest"
        )
    return given


def trusted_files(user_folder: Path) -> list[dict[str, str]]:
    """The files that `upskill trust` was told of: `path`, `sha256` and `at`. Raises if the list is not the user's."""
    path = user_folder / TRUSTED_FILES
    try:
        with disk.opened(disk.named(path)) as file:
            found = os.fstat(file.fileno())
            value: Any = json.loads(file.read(MOST_BYTES))
        if not is_own(found.st_uid) or (os.name == "posix" and found.st_mode & 0o022):
            raise SettingsError(
                f"{path}: other users can write it, so nothing in it is trusted", hint="delete it and trust again"
            )
        return [{name: str(one[name]) for name in ("path", "sha256", "at")} for one in value["files"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}", hint="delete it and trust again") from None


def trust(file: SettingsFile, user_folder: Path) -> None:
    """Trust the file as it is now, until it changes."""
    kept = [one for one in trusted_files(user_folder) if one["path"] != str(file.target)]
    at = datetime.now(UTC).isoformat(timespec="seconds")
    _write(user_folder, [*kept, {"path": str(file.target), "sha256": file.digest, "at": at}])


def trust_own(path: Path, user_folder: Path) -> None:
    """Trust a file that this command wrote. Where the list cannot be written, the next command asks for trust."""
    with suppress(SettingsError):
        if (file := read_settings_file(path.absolute())) is not None and file.foreign is None:
            trust(file, user_folder)


def revoke(path: Path, user_folder: Path) -> bool:
    """Trust the file no longer, whatever is in it; false if it was not trusted."""
    known = trusted_files(user_folder)
    kept = [one for one in known if one["path"] not in (str(path), str(path.resolve()))]
    if len(kept) == len(known):
        return False
    _write(user_folder, kept)
    return True


def _write(user_folder: Path, files: Sequence[Mapping[str, str]]) -> None:
    path = user_folder / TRUSTED_FILES
    try:
        user_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        disk.write(path, json.dumps({"schema": SCHEMA, "files": list(files)}, indent=2), mode=0o600)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written ({error.strerror})") from None
