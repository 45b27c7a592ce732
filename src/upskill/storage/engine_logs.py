"""The engine's logs: zip files of JSON, written by the engine while it runs. Cleaned here once it has ended."""

import os
import secrets
import zipfile
from collections.abc import Callable
from pathlib import Path

from upskill.errors import EngineError


def clean_logs(folder: Path, clean: Callable[[str], str]) -> int:
    """Rewrite the logs in which `clean` finds something, each whole or not at all, and say how many those were."""
    rewritten = 0
    for path in sorted(folder.glob("*.eval")):
        try:
            rewritten += _clean(path, clean)
        except (OSError, zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError) as error:
            # An engine that was stopped leaves a log without its end. It cannot be cleaned, so it must be told.
            raise EngineError(
                f"{path}: cannot be looked through for your keys ({error})", hint="remove it before you share the run"
            ) from error
    return rewritten


def _clean(path: Path, clean: Callable[[str], str]) -> bool:
    with zipfile.ZipFile(path) as log:
        members = log.infolist()
        if all(_text(log, member) == clean(_text(log, member)) for member in members):
            return False
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
    return True


def _text(log: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    return log.read(member).decode("utf-8", "surrogatepass")
