"""Your own runs: recognised by a seal, and resumed under their own settings. Others are refused until you trust them.

A seal is an HMAC-SHA256 over what a run asks for (its plan and its settings), its name and the folder where it lies. It
is made with a key of the user's when the run begins, and is kept in the record. Answers and results are not covered:
they are data. No seal fits a run that was moved or changed, or that somebody else started.
"""

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from shlex import quote
from typing import Any

from upskill import disk
from upskill.core.nouns.plan import Again
from upskill.core.nouns.skill import RECORD_FILES, TEACHING_FILE
from upskill.core.nouns.text import on_one_line, visible
from upskill.core.runs.records import RunRecord, SettingRecord
from upskill.core.settings import (
    NAMES,
    PREFIX,
    URLS,
    Origin,
    ResolvedSettings,
    settings_from,
    user_settings_folder,
    without_secrets,
)
from upskill.core.settings.trust import is_own, trusted_digests
from upskill.core.skills.skill_files import read_plain, write_text
from upskill.errors import EngineError, SettingsError, UsageError
from upskill.redaction import redactor_from

KEY_FILE = "run.key"
_KEY_BYTES = 32
_NOT_COVERED = frozenset({"seal", "status", "finished_at", "notes", "end", "results", "stage", "findings", "dropped"})
"""What a record says of how far the run came. It asks for nothing."""
CAPS = ("max_cost", "max_calls", "max_total_tokens", "max_time_minutes")
_PACE = (
    "concurrency",
    "attempt_timeout_seconds",
    "call_timeout_seconds",
    "max_retries",
    "max_retry_wait_seconds",
)
_LOCAL = ("runs_dir", "skills_dir", "store", "store_days", "report", "wait", "anyway", "agent_bin", "among")
"""They may be others each time, as caps and pace may: they decide nothing that a run measures, or name what lies
elsewhere now, which is compared with what was measured."""
_CHANGEABLE = frozenset({*CAPS, *_PACE, *_LOCAL})
_UNSAID = frozenset({*_LOCAL, *URLS, "models"} - {"agent_bin"})
"""What the next command has no use for, or names by other options."""
_HIDDEN = "[hidden]"


# The seal


def seal_of(folder: Path, text: str) -> str | None:
    """The seal of a record with this text; `None` where no key can be kept."""
    key = _key(make=True)
    return None if key is None else _seal(folder, json.loads(redactor_from(os.environ).clean_own(text)), key)


def is_own_run(folder: Path) -> bool:
    """Whether the user started a run here, or trusted it, and it asks for what it asked for then."""
    record = _record(folder)
    if run_digest(folder, record) in trusted_digests(os.environ):
        return True
    return is_sealed(folder, record)


def is_sealed(folder: Path, record: Mapping[str, Any]) -> bool:
    """Whether the user's key made the seal in a record, here and with this content."""
    key, seal = _key(make=False), record.get("seal")
    return (
        key is not None
        and isinstance(seal, str)
        and seal.isascii()
        and hmac.compare_digest(seal, _seal(folder, record, key))
    )


def run_digest(folder: Path, record: Mapping[str, Any] | None = None) -> str:
    """SHA-256 of what a run asks for, wherever it lies: what `UPSKILL_TRUST` may name."""
    return hashlib.sha256(_covered(folder, _record(folder) if record is None else record)).hexdigest()


def trust_run(folder: Path) -> None:
    """Seal a run as one's own, as it is now. Raises `SettingsError` where no key can be kept."""
    key = _key(make=True)
    if key is None:
        raise SettingsError(
            f"{user_settings_folder() / KEY_FILE}: your key cannot be read or written",
            hint=f"make it a file that only you can read, or set UPSKILL_TRUST={run_digest(folder)}",
        )
    record = _record(folder)
    record["seal"] = _seal(folder, record, key)
    write_text(folder / record_file(folder), json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def revoke_run(folder: Path) -> bool:
    """Trust a run no longer; false where it was not trusted."""
    if not is_own_run(folder):
        return False
    record = _record(folder)
    record["seal"] = None
    write_text(folder / record_file(folder), json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    return True


def asks_for(folder: Path) -> Iterator[str]:
    """What a run asks for beyond the defaults, a line each, for a person who decides whether to trust it."""
    record = _record(folder)
    order = record.get("order")
    asked = {name: record.get(name) for name in ("skill_source", "case_source", "previous_source", "other_sources")}
    for part, name in (("sandbox", "backend"), ("agent", "named")):
        if isinstance(found := record.get(part), dict):
            asked[f"{part}.{name}"] = found.get(name)
    asked |= order if isinstance(order, dict) else {}
    for name, entry in (record.get("settings") or {}).items():
        if isinstance(entry, dict) and entry.get("origin") != "default":
            asked[name] = entry.get("value")
    for name, value in asked.items():
        if value not in (None, [], {}, False, ""):
            yield visible(on_one_line(f"{name} = {without_secrets(json.dumps(value))}"))


def not_own(run: Path, problems: Sequence[str] = ()) -> UsageError:
    """The refusal of a run that is not the user's own. It holds no command of the run."""
    path = user_settings_folder() / KEY_FILE
    why = "somebody else started it, or it was moved or changed since"
    if _key(make=False) is None:
        why = f"your key {path} cannot be used" if path.exists() else f"there is no key of yours ({path})"
    return UsageError(
        f"{run}: is not known as a run of yours: {why}",
        problems=problems,
        hint=f"see what it asks for, and trust it as it is now: `upskill trust {quote(str(run))}`; "
        "or type again all that it was started with",
    )


def resume_command(run: Path, *extra: str) -> str:
    """What is typed to resume a run of one's own; `extra` are options, and variables with their values."""
    command = "generate" if (run / TEACHING_FILE).exists() else "eval"
    variables = [one for one in extra if one.startswith(PREFIX)]
    options = [one for one in extra if one not in variables]
    return visible(" ".join((*variables, "upskill", command, "--resume", quote(run.as_posix()), *options)))


def typed_again(run: Path, record: RunRecord) -> Again | None:
    """What the user typed for this run; `None` for a run that is not known as theirs."""
    if not is_own_run(run):
        return None
    options = [
        f"{entry.origin} {quote(_as_text(entry.value))}"
        for name, entry in record.settings.items()
        if entry.origin in _EVAL_OPTIONS and name not in _UNSAID
    ]
    options += record.typed
    if record.previous_source is not None:
        source = record.previous_source
        options.append(
            f"--compare {quote(source if source.startswith('git:') else f'previous:{_from_here(run, source)}')}"
        )
    options += [f"--among {quote(_from_here(run, folder))}" for folder in record.other_sources]
    if record.others is not None:
        options += [f"--among {record.others.shipped}"] if record.others.shipped else []
        options += ["--among bundled"] if record.others.bundled else []
    if "--yes" in record.typed:
        options += cap_for_yes(record.settings)
    return Again(variables=typed_variables(record.settings), options=tuple(options))


def cap_for_yes(settings: Mapping[str, SettingRecord]) -> list[str]:
    """The cap that is typed with `--yes`, where it was not typed: nobody is asked before what it allows is spent."""
    cap = settings["max_cost"]
    return [] if cap.value is None or cap.origin == "--max-cost" else [f"--max-cost {_as_text(cap.value)}"]


def typed_variables(settings: Mapping[str, SettingRecord]) -> tuple[str, ...]:
    """The variables that set what a command measures, each with its value."""
    return tuple(
        f"{PREFIX}{name.upper()}={quote(_as_text(entry.value))}"
        for name, entry in settings.items()
        if (entry.origin.startswith(PREFIX) or entry.origin.endswith("()")) and name not in _UNSAID
    )


_EVAL_OPTIONS = ("--harness", "--judge", "--max-cost", "--max-calls", "--concurrency")
"""Settings that `upskill eval` has an option for."""


def _from_here(run: Path, source: str) -> str:
    """A recorded path, as it is typed in the working folder."""
    return Path(os.path.relpath(run / source)).as_posix()


def _as_text(value: object) -> str:
    """A setting as a variable or an option has it."""
    match value:
        case bool():
            return str(value).lower()
        case float():
            return str(value).removesuffix(".0")
        case list() | tuple():
            return ",".join(map(str, value))
        case _:
            return str(value)


def record_file(folder: Path) -> str:
    """The name of the record of a run. Raises `UsageError` where there is none."""
    found = next((name for name in RECORD_FILES if (folder / name).is_file()), None)
    if found is None:
        why = "is not a run folder" if os.path.lexists(folder) else "no such folder"
        raise UsageError(f"{folder}: {why}", hint="list the runs with `upskill runs`")
    return found


def is_inside(run: Path, path: Path) -> bool:
    """Whether a recorded path, with its links followed, leads into the run folder or into the working folder."""
    try:
        return any(path.resolve().is_relative_to(place.resolve()) for place in (run, Path.cwd()))
    except (OSError, ValueError, RuntimeError):
        return False


def _record(folder: Path) -> dict[str, Any]:
    path = folder / record_file(folder)
    try:
        value = json.loads(read_plain(path))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise EngineError(f"{path}: cannot be read as a record")
    return value


def _covered(folder: Path, record: Mapping[str, Any]) -> bytes:
    asked = {name: value for name, value in record.items() if name not in _NOT_COVERED}
    return json.dumps({"run": folder.resolve().name, "asks": asked}, sort_keys=True).encode("ascii")


def _seal(folder: Path, record: Mapping[str, Any], key: bytes) -> str:
    place = os.fsencode(folder.resolve())
    return hmac.new(key, _covered(folder, record) + b"\0" + place, hashlib.sha256).hexdigest()


def _key(*, make: bool) -> bytes | None:
    """The key of the user; `None` where there is none, or where others could have read or written it."""
    path = user_settings_folder() / KEY_FILE
    try:
        if make and not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):  # another process was faster
                disk.write_new(path, secrets.token_hex(_KEY_BYTES), mode=0o600)
        with disk.opened(path) as file:
            found, text = os.fstat(file.fileno()), file.read(3 * _KEY_BYTES)
        key = bytes.fromhex(text.decode("ascii"))
    except (OSError, ValueError):
        return None
    private = os.name != "posix" or not found.st_mode & 0o077
    return key if private and is_own(found.st_uid) and len(key) == _KEY_BYTES else None


# Settings


def settings_record(settings: ResolvedSettings) -> dict[str, SettingRecord]:
    """Every setting with its value and where it came from."""
    values = asdict(settings.values)
    values |= {name: without_secrets(values[name]) for name in URLS if values[name] is not None}
    return {name: SettingRecord(value=values[name], origin=origin) for name, origin in settings.origins.items()}


def recorded_settings(record: Mapping[str, SettingRecord]) -> ResolvedSettings:
    """The settings a run was begun with. Raises `SettingsError` where a value could never have been set."""
    known = {name: entry for name, entry in record.items() if name in NAMES}
    given = {name: entry.value for name, entry in known.items() if entry.value is not None}
    values = settings_from(given, where="the record of the run").values
    if "max_cost" in known and known["max_cost"].value is None:  # the only one that is not None by default
        values = replace(values, max_cost=None)
    return ResolvedSettings(values=values, origins={name: entry.origin for name, entry in known.items()})


def is_typed(settings: ResolvedSettings, name: str) -> bool:
    """Whether a setting was typed now: as a flag, or as an argument of a function."""
    return _was_typed(settings.origins.get(name, "default"))


def _is_said(settings: ResolvedSettings, name: str) -> bool:
    """Whether a setting was typed now, or stands in a variable: some have no option."""
    return is_typed(settings, name) or settings.origins.get(name, "default").startswith(PREFIX)


def resumed_settings(run: Path, recorded: ResolvedSettings, today: ResolvedSettings) -> ResolvedSettings:
    """The settings of an own run, with the caps and the pace that were typed. Raises where others were typed."""
    asked, now = recorded.values, today.values
    held: dict[str, Any] = {name: getattr(now, name) for name in _CHANGEABLE if _is_said(today, name)}
    for name in NAMES:
        mine, typed = getattr(asked, name), getattr(now, name)
        if name in URLS and typed is not None and _same(mine, typed):
            held[name] = typed  # with the password that no record keeps
        elif name in URLS and mine is not None and _HIDDEN in mine:
            raise UsageError(
                f"{run}: the address of its server had a password or a query, which no run keeps",
                hint="type the whole address again",
            )
        elif is_typed(today, name) and name not in held and not _allowed(mine, typed):
            flag = today.origins[name]
            raise UsageError(
                f"{run}: was started without {flag}"
                if mine in (None, ())
                else f"{run}: was started with {_shown(mine)}, not with {_shown(typed)}",
                hint=f"remove {flag}, or start a new run",
            )
    held["untyped"] = dict(_origins(recorded, today))
    origins = {**recorded.origins, **{name: today.origins[name] for name in held if _is_said(today, name)}}
    return ResolvedSettings(values=replace(asked, **held), origins=origins)


def differing_settings(recorded: ResolvedSettings, today: ResolvedSettings, *, unused: Iterable[str] = ()) -> list[str]:
    """The settings that decide what a run measures, and that are others today."""
    free = {*_CHANGEABLE, *unused}
    pairs = {name: (getattr(recorded.values, name), getattr(today.values, name)) for name in NAMES if name not in free}
    return [name for name, (mine, now) in pairs.items() if not _same(mine, now)]


def _origins(recorded: ResolvedSettings, today: ResolvedSettings) -> Iterator[tuple[str, Origin]]:
    """Where addresses and aliases come from: what today names too has the trust of today."""
    for name in (*URLS, "aliases"):
        origin = recorded.origins.get(name, "default")
        if _same(getattr(recorded.values, name), getattr(today.values, name)):
            if (found := today.values.untyped.get(name)) is not None:
                yield name, found
        elif origin.startswith(PREFIX):
            yield name, Origin(where=origin)
        elif origin != "default" and not _was_typed(origin):
            yield name, Origin(where=f"{name} in {origin}", keys=False)


def _was_typed(origin: str) -> bool:
    return origin.startswith("--") or origin.endswith("()")


def _allowed(mine: object, typed: object) -> bool:
    """Whether a typed value is that of the run; of several models some may be typed."""
    if isinstance(mine, tuple) and isinstance(typed, tuple):
        return set(typed) <= set(mine)
    return _same(mine, typed)


def _same(mine: object, now: object) -> bool:
    if isinstance(mine, str) and isinstance(now, str):
        return mine.strip().rstrip("/") == without_secrets(now).strip().rstrip("/")
    return mine == now


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else without_secrets(str(value))
