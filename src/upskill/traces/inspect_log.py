"""Logs of Inspect, as archive or as JSON: one trace per sample, with its score as the label of success.

The archive is unpacked here, sample by sample and bounded: Inspect's own reader takes seconds to import, and a log
that somebody else hands out may unpack to anything.
"""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from upskill.errors import UsageError
from upskill.traces.chats import HARNESS_ROLES, Conversation, ToolUse, reasoning_of, visible
from upskill.traces.recording import (
    LARGEST_DOCUMENT,
    MEGABYTE,
    ZIP,
    Reader,
    Recording,
    at,
    has_too_many_parts,
    mapping,
    objects,
    parsed,
    string,
)
from upskill.traces.trace import Trace

RECORDER = "inspect"
END = "submit"
ATTACHED = "attachment://"
ZSTANDARD_METHOD = 93
LOCAL_HEADER = struct.Struct("<4s22xHH")
"""The head of an entry: its mark, then far behind it how long the name and the extra field are."""
RIGHT, WRONG = ("C", 1, True), ("I", "N", 0, False)


def read(recording: Recording) -> Iterator[Trace]:
    """One trace per sample, in the order of the log."""
    packed = recording.magic == ZIP
    for sample in _samples_in_archive(recording) if packed else objects(at(recording.document(), "samples")):
        yield _trace(recording, sample)


def _trace(recording: Recording, sample: dict[str, Any]) -> Trace:
    conversation = Conversation(recording)
    attached = mapping(sample.get("attachments"))
    began = False
    for message in objects(sample.get("messages")):
        began = began or message.get("role") == "assistant"
        _add(conversation, message, attached, began=began)
    success = None if sample.get("error") else _success(mapping(sample.get("scores")))
    trace = conversation.trace(RECORDER, model=string(at(sample, "output", "model")), success=success)
    if sample.get("error") and trace.steps:
        recording.note("a sample ended with an error: it says nothing about success")
    return trace


def _add(conversation: Conversation, message: dict[str, Any], attached: dict[str, Any], *, began: bool) -> None:
    role, text = message.get("role"), _resolved(visible(message.get("content")), attached)
    if role == "user" and (not began or message.get("source") == "input"):
        conversation.person(text)
    elif role == "user" or role in HARNESS_ROLES:
        conversation.harness(text)  # once the work has begun, a loop speaks for the user: "please go on"
    elif role == "assistant":
        calls = [
            ToolUse(id=string(call.get("id")), name=string(call.get("function")), arguments=call.get("arguments"))
            for call in objects(message.get("tool_calls"))
        ]
        for call in calls:
            if call.name == END:
                conversation.no_call(call.id)
                text = "\n".join(filter(None, (text, string(at(call.arguments, "answer")))))
        kept = [call for call in calls if call.name != END]
        conversation.agent(text, reasoning=reasoning_of(message), calls=kept)
    elif role == "tool":
        conversation.output(
            text or string(at(message, "error", "message")),
            call_id=string(message.get("tool_call_id")) or "unknown",
            failed=True if message.get("error") else None,
        )


def _resolved(text: str, attached: dict[str, Any]) -> str:
    """Long texts may be kept once, beside the messages."""
    return string(attached.get(text.removeprefix(ATTACHED))) if text.startswith(ATTACHED) else text


def _success(scores: dict[str, Any]) -> bool | None:
    """Right if every score says so, wrong if none does; anything between is no label."""
    values = [mapping(score).get("value") for score in scores.values()]
    plain = [value for value in values if isinstance(value, (str, int, float))]
    if not plain or len(plain) < len(values):
        return None
    if all(value in RIGHT for value in plain):
        return True
    return False if all(value in WRONG for value in plain) else None


def _samples_in_archive(recording: Recording) -> Iterator[dict[str, Any]]:
    try:
        with recording.content() as file, zipfile.ZipFile(file) as archive:
            entries = [entry for entry in archive.infolist() if _is_sample(entry.filename)]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UsageError(f"{recording.path}: is a damaged archive", hint="copy the log again") from error
    most, size = min(LARGEST_DOCUMENT, recording.budget.most), 0
    with recording.content() as file:
        for number, entry in enumerate(entries, 1):
            content = _unpacked(file, entry, most)
            recording.budget.require_time()
            if content is not None and len(content) > most:
                recording.note(f"sample {number} unpacks to more than {most // MEGABYTE} MB, skipped")
                continue
            size += len(content or b"")
            recording.budget.require_size(size)
            sample = None if content is None or has_too_many_parts(content) else parsed(content)
            if isinstance(sample, dict):
                yield sample
            else:
                recording.note(f"sample {number} is damaged, skipped")


def _is_sample(name: str) -> bool:
    return name.startswith("samples/") and name.endswith(".json")


def _unpacked(file: BinaryIO, entry: zipfile.ZipInfo, most: int) -> bytes | None:
    """The content of an entry up to just above `most` bytes; `None` where it is damaged."""
    try:
        file.seek(entry.header_offset)
        mark, name_length, extra_length = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
        if mark != ZIP:
            return None
        file.seek(name_length + extra_length, 1)
        packed = file.read(min(entry.compress_size, most + 1))
        return _decompressed(packed, entry.compress_type, most)
    except (OSError, ValueError, struct.error, zlib.error):
        return None


def _decompressed(packed: bytes, method: int, most: int) -> bytes | None:
    if method == zipfile.ZIP_STORED:
        return packed
    if method == zipfile.ZIP_DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, most + 1)
    if method != ZSTANDARD_METHOD:
        return None
    import zstandard

    unpacking = zstandard.ZstdDecompressor(max_window_size=2**27)
    try:
        with unpacking.stream_reader(packed, read_across_frames=True) as reader:
            return reader.read(most + 1)
    except zstandard.ZstdError:
        return None


READER = Reader(
    name=RECORDER,
    title="Inspect",
    read=read,
    in_document=lambda top: {"version", "status", "eval", "plan", "samples"} <= top.keys(),
    in_archive=lambda names: "header.json" in names and any(name.startswith("samples/") for name in names),
)
