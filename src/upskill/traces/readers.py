"""Recorded work -> `Trace`: the recorders whose recordings can be read, one line each, and which of them wrote a file.

Text of no known recorder has no steps. What lies beside a recording and belongs to it is left to its reader.
"""

import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from upskill import disk, plugin
from upskill.errors import UsageError
from upskill.traces import chats, claude_code, codex, coding_agents, inspect_log, spans
from upskill.traces.recording import (
    LONGEST_LINE,
    LOOKED_AT,
    ZIP,
    Clean,
    Reader,
    Record,
    Recording,
    items,
    mapping,
    objects,
    parsed,
    unchanged,
)
from upskill.traces.trace import Trace

TEXT = "text"
"""The format of what no known recorder wrote."""
_BLOCK = 400_000
_LONGEST_BLOCK = 2_000_000
_UNCUT = 10**9


def cleaned_lines(recording: Recording) -> Iterator[str]:
    """Every line of a text as it may be kept, streamed in blocks that end at blank lines."""
    block: list[str] = []
    size = 0
    open_keys = 0
    for line in recording.lines():
        block.append(line)
        size += len(line) + 1
        if line.startswith("-----"):
            open_keys += line.count("-----BEGIN") - line.count("-----END")
        if (size >= _BLOCK and not line.strip() and open_keys <= 0) or size >= _LONGEST_BLOCK:
            yield from _cleaned(recording, block)
            block, size, open_keys = [], 0, 0
    if block:
        yield from _cleaned(recording, block)


def _cleaned(recording: Recording, block: list[str]) -> Iterator[str]:
    lines = recording.clean("\n".join(block), limit=_UNCUT).split("\n")
    yield from lines
    # A secret may have been several lines; the lines after it keep their numbers.
    yield from [""] * (len(block) - len(lines))


_OWN: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        coding_agents.OPENCODE,
        inspect_log.READER,
        codex.ROLLOUT,
        codex.EXEC,
        coding_agents.GEMINI,
        coding_agents.CURSOR,
        claude_code.STREAM,
        claude_code.READER,
        coding_agents.OPENCODE_RUN,
        spans.OPENINFERENCE,
        spans.OTEL,
        chats.RESPONSES_READER,
        chats.READER,
    )
}
"""By name. The first that recognises a recording reads it: whoever is easily mistaken for another comes before it."""


def readers() -> dict[str, Reader]:
    """Ours, and after them those of plug-ins."""
    others = {name: place for name, place in plugin.names("session_readers").items() if name not in _OWN}
    return {**_OWN, **{name: plugin.load(place) for name, place in others.items()}}


def title_of(recorder: str) -> str:
    """The name of a recorder as people know it."""
    return "plain text" if recorder == TEXT else readers()[recorder].title


KEYS_NAMED = 12

OTHER_FILES = {
    b"SQLi": "is a database, not a session; export the session from the program that wrote it",
    b"\x1f\x8b\x08": "is a gzip file, not a session; unpack it first",
    b"%PDF": "is a PDF, not a session; name the session itself, or its text",
}


_SAMPLED = 65_536
_ENCODED = re.compile(r"(?<![^\s])[A-Za-z0-9+/=_-]{60,}\s*")
"""As base64 and hexadecimal digits are written, in lines or in one."""


def detect(recording: Recording) -> str:
    """The name of the format. Refuses what is empty, binary, or JSON of no known format."""
    path = recording.path
    for magic, what in OTHER_FILES.items():
        if recording.magic.startswith(magic):
            raise UsageError(f"{path}: {what}")
    if recording.magic == ZIP:
        return _in_archive(recording)
    opening = recording.opening()
    if not opening:
        raise UsageError(f"{path}: is empty", hint="name a session that has content")
    if opening[:1] == b"[" or _begins_an_object(opening):
        return _in_json(recording, opening)
    if b"\x00" in opening[:4_000]:
        raise UsageError(f"{path}: is neither text nor a session of a known format")
    _require_words(recording, opening)
    return TEXT


def _require_words(recording: Recording, opening: bytes) -> None:
    """Refuse a text whose beginning has none: bytes that are no UTF-8, or data that is written in letters."""
    sample = opening
    for _, line in recording.numbered():
        if len(sample) >= _SAMPLED:
            break
        sample += line
    text = sample[:_SAMPLED].decode("utf-8", "replace")
    if text.count("\ufffd") > len(text) / 20:
        raise UsageError(
            f"{recording.path}: is not UTF-8 text: binary data, or another encoding", hint="save it as UTF-8"
        )
    if sum(map(len, _ENCODED.findall(text))) > 0.9 * len(text):
        raise UsageError(f"{recording.path}: has no words, it looks like encoded data", hint="decode it first")


def _in_archive(recording: Recording) -> str:
    path = recording.path
    try:
        with recording.content() as file, zipfile.ZipFile(file) as archive:
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
        found = _document_format(recording.document())
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
            return TEXT
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


def _document_format(document: Any) -> str | None:
    if isinstance(document, list):
        parts = objects(document[:LOOKED_AT])
        return _first(lambda reader: reader.in_list(parts))
    return _first(lambda reader: reader.in_document(mapping(document)))


def _first(recognised: Callable[[Reader], bool]) -> str | None:
    return next((name for name, reader in readers().items() if recognised(reader)), None)


ENDINGS = (".jsonl", ".json", ".jsonl.zst", ".eval", ".md", ".txt")
SKIPPED = frozenset({".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", "site-packages", ".tox", "dist"})
BESIDE = frozenset({"package.json", "package-lock.json", "tsconfig.json"})
_RUNS_OF_OURS = (
    frozenset({"run.json", "trials.jsonl"}),
    frozenset({"generate.json", "material.json"}),
    frozenset({"handoff.json", "README.md"}),
)


def learnable_below(folder: Path, leave_out: Callable[[Path], bool] = lambda _: False) -> Iterator[Path]:
    """The files and links in a folder, then those of the folders in it, by name; `leave_out` names folders.

    Without what nobody is to learn from: packages and the like, and the cases of skills. Those lie in
    `skill_meta.json`, in the `evals` beside a `SKILL.md`, in run folders of upskill with all that was answered to them,
    and in the questions of a hand-off. Held-out cases would reach the teacher that way, and prove nothing any more. A
    run folder that is named itself is looked into: whoever names it wants it.
    """
    yield from _learnable(folder, leave_out, depth=disk.MOST_DEPTH, named=True)


def _learnable(folder: Path, leave_out: Callable[[Path], bool], *, depth: int, named: bool) -> Iterator[Path]:
    try:
        entries = disk.listed(folder)
    except PermissionError:
        return
    except OSError as error:
        raise UsageError(f"{folder}: cannot be read: {error.strerror}") from None
    names = {path.name for path in entries}
    if not named and any(marks <= names for marks in _RUNS_OF_OURS):
        return
    folders = {path for path in entries if disk.is_folder(path)}
    yield from (path for path in entries if path not in folders and path.name.casefold() != "skill_meta.json")
    for path in sorted(folders) if depth else ():
        of_a_skill = "SKILL.md" in names and path.name.casefold() == "evals"
        if path.name not in SKIPPED and not of_a_skill and not leave_out(path):
            yield from _learnable(path, leave_out, depth=depth - 1, named=False)


def recordings_below(folder: Path) -> Iterator[Path]:
    """What may be recordings, in the order of their names. Links among them are refused by whoever opens them."""
    for path in learnable_below(folder, leave_out=_is_beside_a_session):
        if path.name.endswith(ENDINGS) and path.name not in BESIDE and not path.name.endswith(".meta.json"):
            yield path


def _is_beside_a_session(folder: Path) -> bool:
    """Whether a folder holds files of subagents, which are read with their session, under the calls that began them."""
    return folder.name == "subagents" and disk.is_file(folder.parent.with_suffix(".jsonl"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What was found in one recording."""

    recorder: str
    """The format, such as `claude-code`; `text` where it is none of the known ones."""
    traces: tuple[Trace, ...]
    """None for `text`."""
    bad_lines: int = 0
    """Lines left out because they are broken or too long."""
    notes: tuple[str, ...] = ()
    """What a person should know: file and line, never content."""
    size: int = 0
    """Bytes of content that were read, unpacked, with subagents' files."""


def read_traces(path: Path, *, clean: Clean = unchanged) -> Reading:
    """Detect the format and read it. Every text in the traces has gone through `clean`, whole, before it was cut.

    Raises `UsageError` where there is nothing to read: no such file, empty, of no known format.
    """
    recording = Recording(path, clean=clean)
    recorder = detect(recording)
    traces = () if recorder == TEXT else tuple(trace for trace in readers()[recorder].read(recording) if trace.steps)
    if not traces and recorder != TEXT:
        raise UsageError(f"{path}: an empty session of {recorder}", problems=recording.notes)
    return Reading(
        recorder=recorder, traces=traces, bad_lines=recording.bad_lines, notes=recording.notes, size=recording.size
    )
