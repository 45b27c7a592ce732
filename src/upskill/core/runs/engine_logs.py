"""The engine's logs: zip files of JSON, written by the engine while it runs. Searched by the names of their members,
and cleaned once the engine has ended of keys in what the user wrote; answers reach the engine without them.

The steps of agents are the recorded tool calls, with what the logs have of them beside. Which calls there were is told
by the trajectory of a trial, which checks read too. Its words, outputs and times are in the log. A log that cannot be
read has none of these: nothing rests on them. The steps of a trial without a trajectory are those of the log.
"""

import json
import math
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from upskill import disk
from upskill.core.nouns.answer import AgentStep, AgentSteps, ToolCall, Trajectory
from upskill.core.nouns.trial import ARMS

_LOG = re.compile(r"-(\d+)_[^_]+\.eval$")
_MEMBER = re.compile(rf"samples/(\d{{6,}}-(.*)-({'|'.join(ARMS)})-(\d+))_epoch_\d+\.json$")
MOST_MEMBER_BYTES = 500_000_000
"""Unpacked: a few bytes of a stranger's log could become all memory."""
_Key = tuple[int, str, str, int]


class LogSamples:
    """The samples of a run's logs, by student, case, arm and repeat; of several tries the last."""

    def __init__(self, folder: Path, case_ids: Sequence[str]) -> None:
        """A log that cannot be opened holds nothing: an engine that was killed leaves one without its end."""
        names = [_member_name(case_id) for case_id in case_ids]
        self._ambiguous = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
        self._found: dict[_Key, tuple[str, str]] = {}
        for path in disk.plain_files(folder, "*.eval"):
            log = _LOG.search(path.name)
            if log is None:
                continue
            try:
                with open_log(path) as opened:
                    members = opened.namelist()
            except (OSError, zipfile.BadZipFile):
                continue
            for member in sorted(members):
                sample = _MEMBER.match(member)
                if sample is not None:
                    key = (int(log[1]), sample[2], sample[3], int(sample[4]))
                    self._found[key] = (path.name, sample[1])

    def find(self, student: int, case_id: str, arm: str, repeat: int) -> tuple[str, str] | None:
        """The log and the name in it; `None` where there is none, or where it cannot be told. Students from 1."""
        name = _member_name(case_id)
        return None if name in self._ambiguous else self._found.get((student, name, arm, repeat))


@contextmanager
def open_log(path: Path) -> Iterator[zipfile.ZipFile]:
    """A log whose members can be read. Raises what a zip file raises, and `OSError`."""
    with suppress(ImportError):
        # Logs are packed with zstd. Older interpreters learn it from this package, which comes with the engine; a run
        # that had nothing left to do has not loaded that.
        import_module("zipfile_zstd")
    with disk.opened(path) as file, zipfile.ZipFile(file) as log:
        yield log


def _member_name(case_id: str) -> str:
    """As the engine is told to name it."""
    return re.sub(r"[^\w.-]+", "_", case_id)[:60]


def clean_logs(folder: Path, clean: Callable[[str], str]) -> tuple[str, ...]:
    """Rewrite the logs in which `clean` finds something, each whole or not at all; a note for each it cannot read.

    An engine that was killed leaves a log without its end. That is no reason to lose a run.
    """
    notes: list[str] = []
    for path in disk.plain_files(folder, "*.eval"):
        try:
            _clean(path, clean)
        except (OSError, zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError):
            notes.append(
                f"{path.name}: incomplete, so it was not searched for your keys; remove it before you share the run"
            )
    return tuple(notes)


def _clean(path: Path, clean: Callable[[str], str]) -> None:
    with open_log(path) as log:
        members = log.infolist()
        if any(member.file_size > MOST_MEMBER_BYTES for member in members):
            raise zipfile.BadZipFile("the log is too large")
        if all(_member_text(log, member) == clean(_member_text(log, member)) for member in members):
            return
        with (
            disk.replacing(path, mode=0o600) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as cleaned,
        ):
            for member in members:
                cleaned.writestr(member, clean(_member_text(log, member)).encode("utf-8", "surrogatepass"))


def _member_text(log: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    return log.read(member).decode("utf-8", "surrogatepass")


MOST_SAMPLE_BYTES = 20_000_000
"""Unpacked; a larger sample is not read."""
MOST_STEP_BYTES = 100_000_000
"""Unpacked, over all samples: the report of many long sessions must not take minutes."""
MOST_CHARACTERS = 4_000
"""Characters of one text of a step."""
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
        self._left = MOST_STEP_BYTES
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
            except (OSError, zipfile.BadZipFile):
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
