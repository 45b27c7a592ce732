"""The steps of agents: the recorded tool calls, with what the engine's logs have of them beside.

Which calls there were is told by the trajectory of a trial, which checks read too. Its words, outputs and times are in
the log. A log that cannot be read has none of these: nothing rests on them. A trial of an earlier version has no
trajectory, and its steps are those of the log.
"""

import json
import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from upskill.domain.agent_step import AgentStep, AgentSteps
from upskill.domain.trajectory import ToolCall, Trajectory
from upskill.errors import EngineError
from upskill.storage.engine_logs import open_log

MOST_SAMPLE_BYTES = 20_000_000
"""Unpacked; a larger sample is not read."""
MOST_BYTES = 100_000_000
"""Unpacked, over all samples: the report of many long sessions must not take minutes."""
MOST_CHARACTERS = 4_000
"""Of one text of a step."""
_COMPARED = 1_000
"""So many characters of the arguments tell one call from another."""
_ATTACHED = "attachment://"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, 93)
"""What engines write, 93 being zstd. Others unpack a few bytes into all memory, whatever size the log says."""


class StepReader:
    """Makes the steps of trials, with the logs in a folder. Use it in a `with` block: logs stay open in between."""

    def __init__(self, folder: Path, *, most_steps: int) -> None:
        """At most so many steps of each trial, from its beginning and its end; with 0 nothing is read."""
        self._folder = folder
        self._most = most_steps
        self._left = MOST_BYTES
        self._open: dict[str, zipfile.ZipFile | None] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def read(self, log: str | None, sample: str | None, trajectory: Trajectory | None = None) -> AgentSteps | None:
        """The steps of one trial; `None` where nothing is known of them.

        Of the log nothing is read where it cannot be, or where too much was read already.
        """
        if not self._most:
            return None
        logged = None if log is None or sample is None else self._logged(log, sample)
        steps = logged if trajectory is None else list(_joined(trajectory, logged or []))
        return None if steps is None or (not steps and logged is None) else _shortened(steps, self._most)

    def _logged(self, log: str, sample: str) -> list[AgentStep] | None:
        archive = self._archive(log)
        if archive is None:
            return None
        try:
            member = archive.getinfo(f"samples/{sample}_epoch_1.json")
            if member.compress_type not in _METHODS or member.file_size > min(MOST_SAMPLE_BYTES, self._left):
                return None
            self._left -= member.file_size
            return list(_steps(json.loads(archive.read(member))))
        except Exception:  # noqa: BLE001 - a stranger's log may hold anything, and no result rests on the steps
            return None

    def _archive(self, log: str) -> zipfile.ZipFile | None:
        if log not in self._open:
            try:
                self._open[log] = self._stack.enter_context(open_log(self._folder / log))
            except (OSError, EngineError, zipfile.BadZipFile):
                self._open[log] = None
        return self._open[log]


def _joined(trajectory: Trajectory, logged: Sequence[AgentStep]) -> Iterator[AgentStep]:
    """Every recorded call, with its output where the log has the same call, and the words between them.

    A call that only the log has is left out: no check saw it.
    """
    at = 0
    for call in trajectory.calls:
        found = next((place for place in range(at, len(logged)) if _is_same(call, logged[place])), None)
        if found is None:
            arguments = call.arguments[:MOST_CHARACTERS]
            yield AgentStep(kind="tool", tool=call.tool, arguments=arguments, failed=call.failed)
            continue
        yield from (step for step in logged[at:found] if step.kind == "says")
        yield replace(logged[found], failed=call.failed)
        at = found + 1
    yield from (step for step in logged[at:] if step.kind == "says")


def _is_same(call: ToolCall, step: AgentStep) -> bool:
    """A log may show more arguments of a call than are recorded, never others."""
    return step.kind == "tool" and step.tool == call.tool and call.arguments[:_COMPARED] in step.arguments


def _shortened(steps: list[AgentStep], most: int) -> AgentSteps:
    if len(steps) <= most:
        return AgentSteps(first=tuple(steps))
    last = most // 3
    first = most - last
    return AgentSteps(
        first=tuple(steps[:first]), last=tuple(steps[len(steps) - last :]), left_out=len(steps) - first - last
    )


def _steps(sample: Mapping[str, Any]) -> Iterator[AgentStep]:
    """In the order in which they happened: the words of each answer before the calls that it made."""
    attached = sample.get("attachments") or {}
    messages = sample["messages"]
    results = {one.get("tool_call_id"): one for one in messages if one["role"] == "tool"}
    seconds = {one.get("id"): one.get("working_time") for one in sample.get("events") or () if one["event"] == "tool"}
    for message in messages:
        if message["role"] != "assistant":
            continue
        if words := _text(message.get("content"), attached).strip():
            yield AgentStep(kind="says", text=words[:MOST_CHARACTERS])
        for call in message.get("tool_calls") or ():
            result = results.get(call["id"]) or {}
            error = result.get("error")
            output = _text(result.get("content"), attached) or str((error or {}).get("message") or "")
            took = seconds.get(call["id"])
            yield AgentStep(
                kind="tool",
                tool=str(call["function"])[:80],
                arguments=_arguments(call.get("arguments"), attached)[:MOST_CHARACTERS],
                output=output[:MOST_CHARACTERS],
                failed=error is not None,
                seconds=float(took) if isinstance(took, int | float) and math.isfinite(took) else None,
            )


def _text(content: object, attached: Mapping[str, Any]) -> str:
    """The words of a message: a text, or a list of parts, of which pictures and hidden thoughts are left out."""
    if isinstance(content, str):
        if content.startswith(_ATTACHED):
            return str(attached.get(content.removeprefix(_ATTACHED), ""))
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(_text(part.get("text"), attached) for part in parts if part.get("type") == "text")


def _arguments(arguments: object, attached: Mapping[str, Any]) -> str:
    if not isinstance(arguments, dict):
        return "" if arguments is None else str(arguments)
    shown = {
        str(name): _text(value, attached) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in arguments.items()
    }
    if len(shown) == 1:
        return next(iter(shown.values()))
    return "\n".join(f"{name}: {value}" for name, value in shown.items())
