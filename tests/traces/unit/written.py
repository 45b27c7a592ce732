"""Recordings written for one test."""

import json
from pathlib import Path
from typing import Any

from upskill.traces.readers import read_traces
from upskill.traces.trace import Trace


def read_document(folder: Path, document: Any, *, name: str = "recording.json") -> tuple[Trace, ...]:
    path = folder / name
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return read_traces(path).traces


def read_lines(folder: Path, *records: Any) -> tuple[Trace, ...]:
    path = folder / "recording.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return read_traces(path).traces


def read_text(folder: Path, text: str) -> tuple[Trace, ...]:
    path = folder / "recording.md"
    path.write_text(text, encoding="utf-8")
    return read_traces(path).traces


def said(trace: Trace, source: str) -> list[str]:
    """What one side said, turn by turn."""
    return [step.text for step in trace.steps if step.source == source and step.text]


def done(trace: Trace) -> list[tuple[str, str, str | None, bool | None]]:
    """Each call with its output and the mark on it; `None` for a call without an output."""
    found = []
    for step in trace.steps:
        outputs = {output.call_id: output for output in step.observations}
        for call in step.calls:
            output = outputs.get(call.id)
            content, failed = (output.content, output.failed) if output else (None, None)
            found.append((call.name, call.arguments, content, failed))
    return found
