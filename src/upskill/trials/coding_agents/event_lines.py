"""What agents print and ask, read without trust: anything may be missing or of another type."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def event_lines(stdout: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects that an agent printed, one on each line. Other lines are skipped."""
    for line in stdout.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event


def object_in(value: Any, name: str) -> Mapping[str, Any]:
    """A field that is an object; empty where there is none."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def objects_in(value: Any, name: str) -> list[Mapping[str, Any]]:
    """The objects of a field that is a list."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def texts_in(messages: list[Mapping[str, Any]]) -> Iterator[str]:
    """Every text of these messages, in order."""
    for message in messages:
        content = message.get("content")
        if isinstance(content, str):
            yield content
        for part in objects_in(message, "content"):
            if isinstance(part.get("text"), str):
                yield part["text"]
