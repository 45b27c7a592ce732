"""Counts of a trace as `tests/samples/traces/expected.json` means them."""

import json
from pathlib import Path
from typing import Any

from upskill.traces.trace import Trace

SAMPLES = Path(__file__).parents[2] / "samples" / "traces"
EXPECTED: dict[str, dict[str, Any]] = json.loads((SAMPLES / "expected.json").read_text(encoding="utf-8"))
CALLS_APART = frozenset({"codex", "codex-exec", "cursor-stream", "openai-responses"})
"""Formats in which calls are records of their own: only what was said counts as a message."""


def counts(trace: Trace) -> dict[str, int]:
    agent = [step for step in trace.steps if step.source == "agent"]
    spoken = [step for step in agent if step.text]
    outputs = [output for step in trace.steps for output in step.observations]
    return {
        "user": sum(step.source == "person" for step in trace.steps),
        "assistant": len(spoken if trace.recorder in CALLS_APART else agent),
        "texts": len(spoken),
        "calls": sum(len(step.calls) for step in trace.steps),
        "results": len(outputs),
        "errors": sum(output.failed is True for output in outputs),
        "errors_by_text": sum(output.failed is None and output.looks_failed for output in outputs),
    }


def everything(trace: Trace) -> str:
    """Every text in a trace and in its subtraces, one below the other."""
    found: list[str] = []
    waiting = [trace]
    while waiting:
        one = waiting.pop()
        waiting.extend(part.trace for part in one.subtraces)
        found += [one.folder or "", one.model or ""]
        for step in one.steps:
            found += [step.text, step.reasoning]
            found += [f"{call.id} {call.name} {call.arguments}" for call in step.calls]
            found += [output.content for output in step.observations]
    return "\n".join(found)
