"""Claude Code sessions written for one test: records with the keys that matter, in the order given."""

import json
from pathlib import Path
from typing import Any

from upskill.traces.readers import Reading, read_traces
from upskill.traces.trace import Trace

Record = dict[str, Any]


def user(uuid: str, parent: str | None, content: Any, **more: Any) -> Record:
    return _record("user", uuid, parent, message={"role": "user", "content": content}, **more)


def result(uuid: str, parent: str | None, call: str, content: Any, *, error: bool | None = None, **more: Any) -> Record:
    block = {"type": "tool_result", "tool_use_id": call, "content": content}
    return user(uuid, parent, [block if error is None else {**block, "is_error": error}], **more)


def agent(uuid: str, parent: str | None, *content: Record, message: str | None = None, **more: Any) -> Record:
    body = {"id": message or f"msg-{uuid}", "role": "assistant", "model": "claude-sonnet-5", "content": list(content)}
    return _record("assistant", uuid, parent, message=body, **more)


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def call(call_id: str, name: str = "Bash", **given: Any) -> Record:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given or {"command": f"run {call_id}"}}


def boundary(uuid: str, before: str | None, **metadata: Any) -> Record:
    return _record(
        "system",
        uuid,
        None,
        subtype="compact_boundary",
        logicalParentUuid=before,
        compactMetadata={"trigger": "auto", **metadata},
    )


def other(kind: str, uuid: str, parent: str | None, **more: Any) -> Record:
    return _record(kind, uuid, parent, **more)


def write(path: Path, *records: Record) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def read(folder: Path, *records: Record) -> Trace:
    (trace,) = reading(folder, *records).traces
    return trace


def reading(folder: Path, *records: Record) -> Reading:
    return read_traces(write(folder / "session.jsonl", *records))


_CLOCK = iter(range(10_000_000))


def _record(kind: str, uuid: str, parent: str | None, **more: Any) -> Record:
    envelope = {"parentUuid": parent, "isSidechain": False, "sessionId": "s", "cwd": "/home/dev/project"}
    return {**envelope, "uuid": uuid, "timestamp": f"t{next(_CLOCK)}", "type": kind, **more}
