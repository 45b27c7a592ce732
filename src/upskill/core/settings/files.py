"""Settings files: where they are looked for, who could have written them, and what they set."""

import hashlib
import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from upskill.core.settings.values import PROJECT_FILE, checked_value, known_name
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
        with path.open("rb") as file:
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
