"""Which value of a setting wins, and where it came from."""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any, Literal

from upskill.core.settings.trust import (
    Demand,
    SettingsFile,
    demands_of,
    is_trusted,
    project_file,
    project_root,
    read_settings_file,
)
from upskill.core.settings.values import (
    NAMES,
    NOT_SETTINGS,
    PREFIX,
    PROJECT_FILE,
    TRUST_VARIABLE,
    URLS,
    Origin,
    Settings,
    checked_value,
    known_name,
    value_from_text,
)
from upskill.errors import EXIT_USAGE, SettingsError

_PLACED = {"runs_dir": f"set {PREFIX}RUNS_DIR=", "skills_dir": "type -o "}
"""How a person names a folder to write to."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedSettings:
    """Settings together with the origin of each value."""

    values: Settings
    origins: Mapping[str, str]
    untrusted: frozenset[str] = frozenset()
    """Settings that come from a file which is not trusted with them."""

    @property
    def unchosen(self) -> frozenset[str]:
        """The settings that nobody chose."""
        return frozenset(name for name, origin in self.origins.items() if origin == "default")

    def following(self, values: Settings, origin: str) -> "ResolvedSettings":
        """The same, but for values that follow from something else."""
        changed = [name for name in NAMES if getattr(values, name) != getattr(self.values, name)]
        return replace(self, values=values, origins={**self.origins, **dict.fromkeys(changed, origin)})

    def place(self, name: Literal["runs_dir", "skills_dir"]) -> Path:
        """The folder to write to. Raises `SettingsError` where nobody named it, and a link leads out of the project."""
        path = Path(getattr(self.values, name))
        real = path.resolve()
        if self.origins[name] == "default" and not real.is_relative_to(project_root(Path.cwd().resolve())):
            raise SettingsError(
                f"{path}: is a link out of the project, to {real}",
                hint=f"to write there, {_PLACED[name]}{quote(str(path))}; or remove the link, or name another folder",
            )
        return path


def resolve_settings(
    flags: Mapping[str, object] | None = None,
    *,
    typed: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    user_folder: Path | None = None,
    uses: Collection[str] = NAMES,
) -> ResolvedSettings:
    """Settings for a command typed in `folder`. A flag that is `None` or empty was not given.

    `typed`: how a setting is called on the command line, where it is not by its own name. Raises `SettingsError` where
    a setting that the command `uses` comes from a file that needs trust for it and has none.
    """
    environment = os.environ if environment is None else environment
    folder = (Path.cwd() if folder is None else folder).resolve()
    user_folder = user_settings_folder() if user_folder is None else user_folder
    files = _files(folder, user_folder)
    untrusted = [one for one in files if not is_trusted(one, environment=environment, user_folder=user_folder)]
    for file in untrusted:
        if file.foreign is not None and len(uses) == len(NAMES):
            raise not_trusted(file)  # whatever is in it, and before it is read
    values: dict[str, Any] = {}
    origins = dict.fromkeys(NAMES, "default")
    read = {file.path: file.settings() for file in files}
    for path, found in read.items():
        values |= found
        origins |= dict.fromkeys(found, str(path))
    for variable, text in environment.items():
        if variable.startswith(PREFIX) and variable not in NOT_SETTINGS:
            name = known_name(variable.removeprefix(PREFIX).lower(), where=variable)
            if text.strip():
                values[name], origins[name] = value_from_text(name, text, where=variable), variable
    untyped = dict(origins)
    called = {"models": "--model", **(typed or {})}
    for name, flag in (flags or {}).items():
        where = called.get(name, "--" + name.replace("_", "-"))
        known_name(name, where=where)
        if flag is not None and flag not in ((), ""):
            try:
                values[name], origins[name] = checked_value(name, flag, where=where), where
            except SettingsError as error:
                error.exit_code = EXIT_USAGE  # it was typed
                raise
            del untyped[name]
    mine = own_settings(user_folder)
    demands: dict[str, Demand] = {}
    for file in untrusted:
        used = {name: value for name, value in read[file.path].items() if untyped.get(name) == str(file.path)}
        needed = needs_of(file, used, mine=mine, folder=folder, user_folder=user_folder)
        if stopping := [one for one in needed if one.stops and one.name in uses]:
            raise not_trusted(file, stopping)
        demands |= {one.name: one for one in needed}
    said = {
        name: Origin(where=_where(name, untyped[name], folder, user_folder), keys=name not in demands)
        for name in (*URLS, "aliases")
        if untyped.get(name, "default") != "default"
    }
    return ResolvedSettings(
        values=Settings(**values, untyped=said),
        origins=origins,
        untrusted=frozenset(name for name, one in demands.items() if one.stops),
    )


def needs_of(
    file: SettingsFile, values: Mapping[str, object], *, mine: Mapping[str, object], folder: Path, user_folder: Path
) -> tuple[Demand, ...]:
    """The settings of the file that need trust. The user's own file needs none, unless others could have written it."""
    if file.foreign is None and file.path == user_folder / PROJECT_FILE:
        return ()
    return demands_of(file, values, mine=mine, folder=folder)


def not_trusted(file: SettingsFile, demands: Iterable[Demand] = ()) -> SettingsError:
    """What a command says that cannot go on without trust."""
    what = "sets values that need your trust" if file.foreign is None else f"is not used, because {file.foreign}"
    return SettingsError(
        f"{file.path}: {what}",
        problems=[str(one) for one in demands],
        hint=f"read it, then trust it as it is now with `upskill trust {quote(str(file.path))}`; "
        f"without a terminal, set {TRUST_VARIABLE}={file.digest}",
    )


def settings_from(values: Mapping[str, object], *, where: str) -> ResolvedSettings:
    """Settings of which these are set and all others have their default, whatever environment and files say."""
    checked: dict[str, Any] = {
        known_name(name, where=where): checked_value(name, values[name], where=where) for name in values
    }
    origins = dict.fromkeys(NAMES, "default") | dict.fromkeys(checked, where)
    return ResolvedSettings(values=Settings(**checked), origins=origins)


def user_settings_folder() -> Path:
    """The folder of the user's own settings file, and of the list of trusted files."""
    from platformdirs import user_config_path

    return user_config_path("upskill", appauthor=False)


def own_settings(user_folder: Path) -> Mapping[str, object]:
    """What the user's own file sets; nothing, if others could have written it."""
    own = read_settings_file(user_folder / PROJECT_FILE)
    return own.settings() if own is not None and own.foreign is None else {}


def _files(folder: Path, user_folder: Path) -> list[SettingsFile]:
    """The user's own file and the project's, those that exist; the later one wins."""
    own, project = read_settings_file(user_folder / PROJECT_FILE), project_file(folder)
    if own is not None and project is not None and own.target == project.target:
        project = None
    return [file for file in (own, project) if file is not None]


def _where(name: str, origin: str, folder: Path, user_folder: Path) -> str:
    """The origin for a person, who types in `folder`."""
    if origin.startswith(PREFIX):
        return origin
    if Path(origin).parent == user_folder:
        return f"{name} in {origin}"
    near = Path(os.path.relpath(origin, folder)).as_posix()
    return f"{name} in {near if near.startswith('..') else './' + near}"
