"""Settings: flags, then `UPSKILL_*`, then the project's file, then the user's file, then the defaults.

Every value knows where it came from. Keys and tokens are not settings: they come only from the variables
their providers define.
"""

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_type_hints

from upskill.domain.harness import harness_choices
from upskill.errors import SettingsError

PREFIX = "UPSKILL_"
PROJECT_FILE = "upskill.toml"
NOT_SETTINGS = frozenset({"UPSKILL_ENDPOINT_KEY", "UPSKILL_TEACHER_KEY"})
"""Variables with our prefix that are keys, not settings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What can be set once instead of typed each time."""

    models: tuple[str, ...] = ()
    """The students to evaluate when no -m is given."""
    judge: str | None = None
    """The model that decides `judge` checks; without one they cannot be graded."""
    judge_is_student: bool = False
    """Let a student judge its own answers, which is refused otherwise; the result says so."""
    base_url: str | None = None
    """An OpenAI-compatible endpoint for the students; any model name goes there."""
    teacher: str | None = None
    """The model that writes skills; unset, the strongest for which a key is present."""
    teacher_base_url: str | None = None
    """An OpenAI-compatible endpoint for the teacher; its name goes there."""
    test_gen_model: str | None = None
    """The model that writes cases; unset, the teacher."""
    runs_dir: str = "runs"
    """Where run folders are made."""
    skills_dir: str = "skills"
    """Where `upskill list` looks."""
    concurrency: int = 8
    """Calls in flight per student."""
    temperature: float | None = None
    """Sampling temperature; unset leaves it to the model."""
    max_output_tokens: int = 2048
    """The longest answer a student may give."""
    seed: int = 0
    """Draws the order of cases in each round."""
    attempt_timeout_seconds: int = 300
    """One request to a model may take this long."""
    call_timeout_seconds: int = 900
    """One call with all its retries may take this long."""
    max_retries: int = 4
    """How often a request that failed in transport is sent again."""
    max_retry_wait_seconds: int = 60
    """The longest wait between two attempts, whatever a server asks for."""
    max_cost: float | None = 5.0
    """Stop when so many dollars are spent; bites only where the price is known."""
    max_calls: int | None = None
    """Stop after so many requests, retries included."""
    max_total_tokens: int | None = None
    """Stop after so many tokens, in and out together."""
    max_time_minutes: float | None = None
    """Stop after so many minutes."""
    store: bool = True
    """Reuse young trials of the same request from the trial store."""
    store_days: float = 7.0
    """How old a stored trial may be."""
    harness: str = "auto"
    """How students are asked: chat, agent (with tools), or auto, which gives tools where cases need them."""
    max_turns: int = 30
    """The most answers of a student with tools in one trial; who needs more has failed."""
    max_trial_tokens: int = 200_000
    """The most tokens of a student with tools in one trial, in and out together."""
    max_trial_minutes: float = 10.0
    """The most minutes of a student with tools in one trial, without waiting for a busy provider."""
    command_seconds: int = 60
    """The most seconds of one command of a student with tools."""
    report: bool = True
    """Write report.html, with pictures, at the end of a run."""
    aliases: Mapping[str, str] | None = None
    """Short names for models, as a table; they go before the built-in ones."""


_BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_TYPES: dict[str, Any] = get_type_hints(Settings)
NAMES = tuple(field.name for field in fields(Settings))


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedSettings:
    """Settings together with the origin of each value."""

    values: Settings
    origins: Mapping[str, str]


def resolve_settings(
    flags: Mapping[str, object] | None = None,
    *,
    typed: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    user_folder: Path | None = None,
) -> ResolvedSettings:
    """Settings for a command typed in `folder`. A flag that is `None` or empty was not given.

    `typed`: how a setting is called on the command line, where it is not by its own name.
    """
    environment = os.environ if environment is None else environment
    folder = Path.cwd() if folder is None else folder
    values: dict[str, Any] = {}
    origins = dict.fromkeys(NAMES, "default")
    user_file = (user_folder if user_folder is not None else _user_folder()) / PROJECT_FILE
    for path in (user_file, *_project_files(folder)):
        for name, value in _read_file(path).items():
            values[name], origins[name] = value, str(path)
    for variable, text in environment.items():
        if variable.startswith(PREFIX) and variable not in NOT_SETTINGS:
            name = _known(variable.removeprefix(PREFIX).lower(), where=variable)
            if text.strip():
                values[name], origins[name] = _from_text(name, text, where=variable), variable
    called = {"models": "--model", **(typed or {})}
    for name, flag in (flags or {}).items():
        where = called.get(name, "--" + name.replace("_", "-"))
        _known(name, where=where)
        if flag is not None and flag not in ((), ""):
            values[name], origins[name] = _checked(name, flag, where=where), where
    return ResolvedSettings(values=Settings(**values), origins=origins)


def settings_from(values: Mapping[str, object], *, where: str) -> ResolvedSettings:
    """Settings of which these are set and all others have their default, whatever environment and files say."""
    checked: dict[str, Any] = {_known(name, where=where): _checked(name, values[name], where=where) for name in values}
    origins = dict.fromkeys(NAMES, "default") | dict.fromkeys(checked, where)
    return ResolvedSettings(values=Settings(**checked), origins=origins)


def _user_folder() -> Path:
    from platformdirs import user_config_path

    return user_config_path("upskill", appauthor=False)


def _project_files(folder: Path) -> list[Path]:
    """The nearest `upskill.toml`, or `pyproject.toml` with `[tool.upskill]`, upwards from the folder."""
    for parent in (folder, *folder.parents):
        own = parent / PROJECT_FILE
        if own.is_file():
            return [own]
        shared = parent / "pyproject.toml"
        if shared.is_file() and "upskill" in _table(_parse(shared).get("tool")):
            return [shared]
    return []


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from None


def _read_file(path: Path) -> dict[str, object]:
    if not path.is_file():
        return {}
    table = _parse(path)
    if path.name == "pyproject.toml":
        inner = table["tool"]["upskill"] if "upskill" in _table(table.get("tool")) else {}
        if not isinstance(inner, dict):
            raise SettingsError(f"{path}: [tool.upskill] must be a table")
        table = inner
    values: dict[str, object] = {}
    for key, value in table.items():
        name = _known(str(key).replace("-", "_"), where=str(path))
        if name in values:
            raise SettingsError(f"{path}: `{name}` is set twice, with a hyphen and with an underscore")
        values[name] = _checked(name, value, where=str(path))
    return values


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _known(name: str, *, where: str) -> str:
    if name in NAMES:
        return name
    near = get_close_matches(name, NAMES, n=1)
    raise SettingsError(
        f"{where}: there is no setting `{name}`",
        hint=f"did you mean `{near[0]}`?" if near else "see all with `upskill settings`",
    )


def _from_text(name: str, text: str, *, where: str) -> object:
    wanted = _TYPES[name]
    try:
        if wanted == tuple[str, ...]:
            return tuple(part.strip() for part in text.split(",") if part.strip())
        if wanted in (int, int | None):
            return _checked(name, int(text), where=where)
        if wanted in (float, float | None):
            return _checked(name, float(text), where=where)
        if wanted is bool:
            return _BOOLEANS[text.strip().lower()]
    except KeyError:
        raise SettingsError(f"{where}: `{name}` must be true or false, not {text!r}") from None
    except ValueError:
        raise SettingsError(f"{where}: `{name}` must be a number, not {text!r}") from None
    if name == "aliases":
        raise SettingsError(f"{where}: aliases can only be set in a file", hint=f"put them into {PROJECT_FILE}")
    return _checked(name, text, where=where)


def _checked(name: str, value: object, *, where: str) -> object:
    wanted = _TYPES[name]
    if wanted is bool and isinstance(value, bool):
        return value
    if wanted in (int, int | None) and isinstance(value, int) and not isinstance(value, bool):
        least = 0 if name in ("seed", "max_retries") else 1
        if value < least:
            raise SettingsError(f"{where}: `{name}` must be at least {least}, not {value}")
        return value
    if wanted in (float, float | None) and isinstance(value, int | float) and not isinstance(value, bool):
        most = 2.0 if name == "temperature" else math.inf
        if not 0 <= value <= most or math.isinf(value):
            wanted_range = "between 0 and 2" if name == "temperature" else "at least 0"
            raise SettingsError(f"{where}: `{name}` must be {wanted_range}, not {value:g}")
        return float(value)
    if wanted in (str, str | None) and isinstance(value, str):
        if name == "harness" and value not in (choices := harness_choices()):
            raise SettingsError(f"{where}: `{name}` must be one of {', '.join(choices)}, not {value!r}")
        return value
    if wanted == tuple[str, ...] and isinstance(value, list | tuple) and all(isinstance(v, str) for v in value):
        return tuple(value)
    if name == "aliases" and isinstance(value, dict) and all(isinstance(v, str) for v in value.values()):
        return value
    raise SettingsError(f"{where}: `{name}` cannot be {value!r}")
