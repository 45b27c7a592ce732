"""Which recorder wrote a file, told by what is in it. The first rule that fits decides; the order is documented."""

import zipfile
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from upskill.errors import UsageError
from upskill.traces.fields import items, mapping, string
from upskill.traces.recording import LONGEST_LINE, ZIP, FileRecording, parse

LOOKED_AT = 50
"""Lines that parse. Recorders say who they are at once."""
TEXT_LOOKED_AT = 2_000
KEYS_NAMED = 12

CODEX = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
CODEX_EXEC = ("thread.started", "turn.", "item.")
STREAM = frozenset({"system", "user", "assistant", "tool_call", "thinking", "result"})
CURSOR_KEYS = frozenset({"env", "flag", "login"})
CLAUDE = frozenset(
    {"user", "assistant", "system", "queue-operation", "ai-title", "last-prompt", "attachment", "progress"}
)
OPENCODE_RUN = frozenset({"step_start", "step_finish", "tool_use", "text"})
RESPONSES = frozenset({"function_call", "function_call_output", "message", "reasoning"})
OTHER_FILES = {
    b"SQLi": "a database; export the session from the program that wrote it, and pass that",
    b"\x1f\x8b\x08": "packed with gzip; unpack it first",
    b"%PDF": "a PDF; pass the recording itself, or its text",
}

Record = dict[str, Any]


def detect(recording: FileRecording) -> str:
    """The name of the format. Refuses what is empty, binary, or JSON of no known format."""
    path = recording.path
    for magic, what in OTHER_FILES.items():
        if recording.magic.startswith(magic):
            raise UsageError(f"{path}: no recording but {what}")
    if recording.magic == ZIP:
        return _in_archive(path)
    opening = recording.opening()
    if not opening:
        raise UsageError(f"{path}: nothing in it", hint="pass a recording that has been written to")
    if opening[:1] in (b"{", b"["):
        return _in_json(recording, opening)
    if b"\x00" in opening[:4_000]:
        raise UsageError(f"{path}: neither text nor a recording that is known")
    return _in_text(recording)


def _in_archive(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UsageError(f"{path}: a damaged archive") from error
    if "header.json" in names and any(name.startswith("samples/") for name in names):
        return "inspect"
    raise UsageError(f"{path}: an archive, but not a log of Inspect", hint="unpack it and pass the recording")


def _in_json(recording: FileRecording, opening: bytes) -> str:
    """A file of one line can be both, so documents are tried first; several lines that parse are lines."""
    records: list[Record] = []
    first = parse(opening) if len(opening) <= LONGEST_LINE else None
    if isinstance(first, dict):
        records = [record for _, record in islice(recording.records(), LOOKED_AT)]
    if len(records) <= 1:
        found = _document_format(recording.document(), recording.path)
        if found:
            recording.is_document = True
            return found
        records = records or [record for _, record in islice(recording.records(), LOOKED_AT)]
    found = next((name for name, rule in LINE_RULES if rule(records)), None)
    if found:
        return found
    whole = recording.document() if len(records) <= 1 else None
    seen = records or [mapping(part) for part in (items(whole) or [whole])[:LOOKED_AT]]
    if not any(seen):
        if whole is None and not _begins_like_json(opening):
            return _in_text(recording)
        raise UsageError(f"{recording.path}: begins like JSON and cannot be parsed", hint="is the file complete?")
    raise UsageError(
        f"{recording.path}: JSON of no known format; keys seen: {', '.join(_keys(seen)) or 'none'}",
        hint="pass the recording as its agent wrote it, or the conversation as text",
    )


def _begins_like_json(opening: bytes) -> bool:
    rest = opening[1:].lstrip()
    return not rest or rest[:1] in b'{["}]' or opening[:1] == b"{"


def _keys(records: Sequence[Record]) -> Iterator[str]:
    """Names only, and only such as look like names: a key can be content too."""
    names = dict.fromkeys(key for record in records for key in record)
    plain = (name for name in names if len(name) <= 40 and name.replace("_", "a").replace("-", "a").isalnum())
    return islice(plain, KEYS_NAMED)


def _in_text(recording: FileRecording) -> str:
    lines = [line[:200] for line in islice(recording.lines(), TEXT_LOOKED_AT)]
    if any(line.startswith("# aider chat started at") for line in lines):
        return "aider"
    if any(line.startswith("_Exported on ") and " from Cursor" in line for line in lines):
        return "cursor-export"
    if all(any(line.startswith(mark) for line in lines) for mark in ("> ", "● ", "  ⎿")):
        return "claude-export"
    return "text"


def _document_format(document: Any, path: Path) -> str | None:
    if isinstance(document, list):
        return _list_format([mapping(part) for part in document[:LOOKED_AT]], path)
    top = mapping(document)
    return next((name for name, rule in DOCUMENT_RULES if rule(top)), None)


def _list_format(parts: Sequence[Record], path: Path) -> str | None:
    if any(("action" in part or "observation" in part) and "source" in part for part in parts):
        return "openhands"
    if any("conversations" in part for part in parts):
        return "sharegpt"
    if any("role" in part and "content" in part for part in parts):
        return "cline" if path.name == "api_conversation_history.json" else "chat"
    if any(string(part.get("type")) in ("say", "ask") and "ts" in part for part in parts):
        raise UsageError(
            f"{path}: what Cline showed, not what was said",
            hint="pass `api_conversation_history.json`, which lies beside it",
        )
    return None


def _is_opencode(top: Record) -> bool:
    messages = [mapping(message) for message in items(top.get("messages"))[:LOOKED_AT]]
    parted = any("info" in message and "parts" in message for message in messages)
    return "info" in top and (
        parted or ("messages" in top and string(mapping(top["info"]).get("id")).startswith("ses_"))
    )


def _is_responses(top: Record) -> bool:
    found = [mapping(part) for name in ("input", "output") for part in items(top.get(name))[:LOOKED_AT]]
    return any(string(part.get("type")) in ("function_call", "function_call_output") for part in found) or (
        isinstance(top.get("output"), list) and any(string(part.get("type")) in RESPONSES for part in found)
    )


DOCUMENT_RULES: tuple[tuple[str, Callable[[Record], bool]], ...] = (
    ("atif", lambda top: string(top.get("schema_version")).startswith("ATIF-v")),
    ("opencode", _is_opencode),
    ("mini-swe-agent", lambda top: string(top.get("trajectory_format")).startswith("mini-swe-agent")),
    ("swe-agent", lambda top: {"trajectory", "history", "info"} <= top.keys()),
    ("otel-genai", lambda top: "resourceSpans" in top),
    ("inspect", lambda top: {"version", "status", "eval", "plan", "samples"} <= top.keys()),
    ("gemini-cli", lambda top: {"sessionId", "projectHash"} <= top.keys() and isinstance(top.get("messages"), list)),
    ("cline", lambda top: "sessionId" in top and isinstance(top.get("messages"), list)),
    ("openai-responses", _is_responses),
    ("chat", lambda top: isinstance(top.get("messages"), list)),
)


def _any(rule: Callable[[Record], bool]) -> Callable[[Sequence[Record]], bool]:
    return lambda records: any(rule(record) for record in records)


def _is_gemini(records: Sequence[Record]) -> bool:
    first = records[0] if records else {}
    if {"sessionId", "projectHash"} <= first.keys():
        return True
    return any(record.get("type") == "gemini" and "id" in record for record in records)


def _is_stream(record: Record) -> bool:
    return string(record.get("type")) in STREAM and "session_id" in record


def _is_cursor(records: Sequence[Record]) -> bool:
    return any(_is_stream(record) for record in records) and any(
        string(record.get("apiKeySource")) in CURSOR_KEYS
        or (record.get("type") == "tool_call" and {"call_id", "model_call_id"} <= record.keys())
        or record.get("type") == "thinking"
        for record in records
    )


def _is_claude(record: Record) -> bool:
    if "isSidechain" in record or "parentUuid" in record:
        return True
    kind = string(record.get("type"))
    return (
        (kind in CLAUDE and "sessionId" in record)
        or (kind == "summary" and "leafUuid" in record)
        or (kind == "file-history-snapshot" and "messageId" in record)
    )


def _attribute(name: str) -> Callable[[Record], bool]:
    def has(record: Record) -> bool:
        attributes = record.get("attributes")
        if isinstance(attributes, list):
            return any(mapping(part).get("key") == name for part in attributes)
        return name in mapping(attributes)

    return has


LINE_RULES: tuple[tuple[str, Callable[[Sequence[Record]], bool]], ...] = (
    ("codex", _any(lambda record: "payload" in record and string(record.get("type")) in CODEX)),
    ("codex-exec", _any(lambda record: string(record.get("type")).startswith(CODEX_EXEC))),
    ("gemini-cli", _is_gemini),
    ("hf-sts", _any(lambda record: record.get("type") == "session" and "harness" in record)),
    ("pi", _any(lambda record: record.get("type") == "session" and {"version", "cwd"} <= record.keys())),
    ("cursor-stream", _is_cursor),
    ("claude-stream", _any(_is_stream)),
    ("claude-code", _any(_is_claude)),
    ("opencode-run", _any(lambda record: string(record.get("type")) in OPENCODE_RUN and "sessionID" in record)),
    ("otel-genai", _any(lambda record: "resourceSpans" in record)),
    ("openinference", _any(_attribute("openinference.span.kind"))),
    ("otel-genai", _any(_attribute("gen_ai.operation.name"))),
    ("chat", _any(lambda record: isinstance(record.get("messages"), list))),
    ("sharegpt", _any(lambda record: "from" in mapping((items(record.get("conversations")) or [None])[0]))),
    ("chat", _any(lambda record: "role" in record and "type" not in record)),
)
