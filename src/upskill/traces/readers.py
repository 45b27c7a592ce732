"""The recorders whose recordings can be read, one line each; which of them wrote a file; which files may be recordings.

What lies beside a recording and belongs to it is left to its reader.
"""

import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from upskill.errors import UsageError
from upskill.traces import (
    aider,
    atif,
    chat_messages,
    claude_code,
    claude_output,
    cline,
    codex,
    cursor,
    gemini_cli,
    inspect_log,
    openai_responses,
    opencode,
    openhands,
    pi,
    plain_text,
    sharegpt,
    spans,
    swe_agent,
)
from upskill.traces.fields import items, mapping, objects, parsed
from upskill.traces.recording import LONGEST_LINE, LOOKED_AT, ZIP, Reader, Record, Recording

READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        atif.READER,
        opencode.EXPORT,
        swe_agent.MINI_READER,
        swe_agent.READER,
        inspect_log.READER,
        codex.ROLLOUT,
        codex.EXEC,
        gemini_cli.READER,
        chat_messages.SESSION_READER,
        pi.READER,
        cursor.STREAM,
        claude_output.STREAM,
        claude_code.READER,
        opencode.RUN,
        spans.OPENINFERENCE,
        spans.OTEL,
        openhands.READER,
        sharegpt.READER,
        cline.READER,
        openai_responses.READER,
        chat_messages.READER,
        aider.READER,
        cursor.EXPORT,
        claude_output.EXPORT,
        plain_text.READER,
    )
}
"""By name. The first that recognises a recording reads it: whoever is easily mistaken for another comes before it."""


def title_of(recorder: str) -> str:
    """The name of a recorder as people know it."""
    return READERS[recorder].title if recorder in READERS else recorder


TEXT_LOOKED_AT = 2_000
KEYS_NAMED = 12

OTHER_FILES = {
    b"SQLi": "is a database, not a session; export the session from the program that wrote it",
    b"\x1f\x8b\x08": "is a gzip file, not a session; unpack it first",
    b"%PDF": "is a PDF, not a session; name the session itself, or its text",
}


def detect(recording: Recording) -> str:
    """The name of the format. Refuses what is empty, binary, or JSON of no known format."""
    path = recording.path
    for magic, what in OTHER_FILES.items():
        if recording.magic.startswith(magic):
            raise UsageError(f"{path}: {what}")
    if recording.magic == ZIP:
        return _in_archive(path)
    opening = recording.opening()
    if not opening:
        raise UsageError(f"{path}: is empty", hint="name a session that has content")
    if opening[:1] == b"[" or _begins_an_object(opening):
        return _in_json(recording, opening)
    if b"\x00" in opening[:4_000]:
        raise UsageError(f"{path}: is neither text nor a session of a known format")
    return _in_text(recording)


def _in_archive(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UsageError(f"{path}: is a damaged archive") from error
    if found := _first(lambda reader: reader.in_archive(names)):
        return found
    raise UsageError(f"{path}: is an archive, but not an Inspect log", hint="unpack it and name the session")


def _in_json(recording: Recording, opening: bytes) -> str:
    """A file of one line can be both, so documents are tried first; several lines that parse are lines."""
    records: list[Record] = []
    first = parsed(opening) if len(opening) <= LONGEST_LINE else None
    if isinstance(first, dict):
        records = [record for _, record in islice(recording.records(), LOOKED_AT)]
    if len(records) <= 1:
        found = _document_format(recording.document(), recording.path)
        if found:
            recording.is_document = True
            return found
        records = records or [record for _, record in islice(recording.records(), LOOKED_AT)]
    if found := _first(lambda reader: reader.in_lines(records)):
        return found
    whole = recording.document() if len(records) <= 1 else None
    seen = records or [mapping(part) for part in (items(whole) or [whole])[:LOOKED_AT]]
    if not any(seen):
        if whole is None and not _begins_like_json(opening):
            return _in_text(recording)
        raise UsageError(f"{recording.path}: starts like JSON but cannot be parsed", hint="is the file complete?")
    raise UsageError(
        f"{recording.path}: is JSON of an unknown format; keys seen: {', '.join(_keys(seen)) or 'none'}",
        hint="name the session file that the agent wrote, or save the conversation as text",
    )


def _begins_an_object(opening: bytes) -> bool:
    """Whether it can be a JSON object. A template begins with a brace too: `{{ title }}`, `{% if %}`."""
    return opening[:1] == b"{" and opening[1:].lstrip()[:1] in b'"}'


def _begins_like_json(opening: bytes) -> bool:
    return opening[:1] == b"{" or opening[1:].lstrip()[:1] in b'{["}]'


def _keys(records: Sequence[Record]) -> Iterator[str]:
    """Names only, and only such as look like names: a key can be content too."""
    names = dict.fromkeys(key for record in records for key in record)
    plain = (name for name in names if len(name) <= 40 and name.replace("_", "a").replace("-", "a").isalnum())
    return islice(plain, KEYS_NAMED)


def _in_text(recording: Recording) -> str:
    lines = [line[:200] for line in islice(recording.lines(), TEXT_LOOKED_AT)]
    return _first(lambda reader: reader.in_text(lines)) or "text"


def _document_format(document: Any, path: Path) -> str | None:
    if isinstance(document, list):
        parts = objects(document[:LOOKED_AT])
        return _first(lambda reader: reader.in_list(parts, path))
    return _first(lambda reader: reader.in_document(mapping(document)))


def _first(recognised: Callable[[Reader], bool]) -> str | None:
    return next((name for name, reader in READERS.items() if recognised(reader)), None)


ENDINGS = (".jsonl", ".json", ".jsonl.zst", ".eval", ".traj", ".chat.history.md", ".md", ".txt")
SKIPPED = frozenset({".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", "site-packages", ".tox", "dist"})
BESIDE = frozenset({"ui_messages.json", "package.json", "package-lock.json", "tsconfig.json"})
_RUNS_OF_OURS = (
    frozenset({"run.json", "trials.jsonl"}),
    frozenset({"generate.json", "material.json"}),
    frozenset({"handoff.json", "README.md"}),
)


def learnable_below(folder: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """As `os.walk`, without what nobody is to learn from: packages and the like, and the cases of skills.

    Those lie in `skill_meta.json`, in the `evals` beside a `SKILL.md`, in run folders of upskill with all that was
    answered to them, and in the questions of a hand-off. Held-out cases would reach the teacher that way, and prove
    nothing any more. A run folder that is named itself is looked into: whoever names it wants it.
    """
    for path, folders, names in os.walk(folder):
        below = Path(path)
        if below != folder and any(marks.issubset(names) for marks in _RUNS_OF_OURS):
            folders.clear()
            continue
        cases = {"evals"} if "SKILL.md" in names else set()
        folders[:] = sorted(name for name in folders if name not in SKIPPED and name.casefold() not in cases)
        yield below, folders, sorted(name for name in names if name.casefold() != "skill_meta.json")


def require_below(folder: Path, path: Path) -> None:
    """Raise `UsageError` for a link that leads out of the folder: whoever names a folder names nothing else."""
    if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{path}: is a link out of the folder and was not read; name its target instead")


def recordings_below(folder: Path) -> Iterator[Path]:
    """Files that may be recordings, in the order of their names. Links to folders are not followed."""
    for below, folders, names in learnable_below(folder):
        if below.name == "subagents" and below.parent.with_suffix(".jsonl").is_file():
            # Read with their session, under the calls that began them.
            folders.clear()
            continue
        sessions = any(name.endswith(".jsonl") and not name.startswith("agent-") for name in names)
        for name in names:
            if sessions and name.startswith("agent-") and name.endswith(".jsonl"):
                # An older layout of the same.
                continue
            if name.endswith(ENDINGS) and name not in BESIDE and not name.endswith(".meta.json"):
                path = below / name
                if path.is_file():
                    yield path
