"""The engine's logs: zip files of JSON, written by the engine while it runs. Cleaned here once it has ended."""

import os
import secrets
import zipfile
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path


def clean_logs(folder: Path, clean: Callable[[str], str]) -> tuple[str, ...]:
    """Rewrite the logs in which `clean` finds something, each whole or not at all; a note for each it cannot read.

    An engine that was killed leaves a log without its end. That is no reason to lose a run.
    """
    with suppress(ImportError):
        # Logs are packed with zstd. Older interpreters learn it from this package, which comes with the engine; a run
        # that had nothing left to do has not loaded that.
        import_module("zipfile_zstd")
    notes: list[str] = []
    for path in sorted(folder.glob("*.eval")):
        try:
            _clean(path, clean)
        except (OSError, zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError):
            notes.append(
                f"{path.name}: cut short, not looked through for your keys; remove it before you share the run"
            )
    return tuple(notes)


def _clean(path: Path, clean: Callable[[str], str]) -> None:
    with zipfile.ZipFile(path) as log:
        members = log.infolist()
        if all(_text(log, member) == clean(_text(log, member)) for member in members):
            return
        beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            with zipfile.ZipFile(beside, "x", zipfile.ZIP_DEFLATED) as cleaned:
                for member in members:
                    cleaned.writestr(member, clean(_text(log, member)).encode("utf-8", "surrogatepass"))
            with beside.open("rb") as file:
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)


def _text(log: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    return log.read(member).decode("utf-8", "surrogatepass")
