"""A trace as one sequence of moves: what the person said, what the agent said, what was called and what came of it.

Subagents stand where they were started, so that an edit by one can be the fix of a failure of another.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from upskill.domain.trace import Call, Observation, Step, Subtrace, Trace
from upskill.traces.digesting import shell
from upskill.traces.digesting.excerpt import sounds_failed

State = Literal["failed", "looks failed", "passed", "unknown"]
Sort = Literal["command", "edit", "look", "other"]

_SHELLS = re.compile(r"(?i)bash|shell|exec|terminal|command|\brun\b|^run$|^cmd$|powershell|console")
_EDITS = re.compile(
    r"(?i)edit|write|patch|replace|create_file|file_change|insert|^create$|^str_replace|apply_diff|new_file"
)
_LOOKS = re.compile(
    r"(?i)^(?:read|view|open|cat|ls|list|glob|grep|search|find|fetch|web|todo|think|get_|codebase|task|agent|skill)"
    r"|read_?file|list_?dir|search|fetch|todo"
)
INTERRUPTED = re.compile(r"(?i)^\s*\[?request interrupted by user[^\n]{0,40}\]?\s*$")
"""What a program writes in the person's name when they stop the agent; what they type next is meant for the work."""
REFUSED = re.compile(
    r"(?i)^\W*(?:the user (?:doesn't want|does not want|rejected|declined|chose not)"
    r"|user (?:rejected|declined|denied|refused)|\[?request interrupted by user|tool use (?:was )?rejected"
    r"|rejected by (?:the )?user"
    r"|operation (?:cancelled|canceled) by (?:the )?user)"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """One call with what it brought, in its place."""

    index: int
    step: int
    thread: str
    call: Call
    observation: Observation | None
    sort: Sort
    state: State
    path: str | None = None
    """The file it is about, of an edit or another tool that names one."""

    @property
    def output(self) -> str:
        """What the call brought, or nothing."""
        return self.observation.content if self.observation else ""

    @property
    def failed(self) -> bool:
        """Marked as failed, or failed by its text."""
        return self.state in {"failed", "looks failed"}

    @property
    def is_check(self) -> bool:
        """Whether it was run to learn whether the work is right."""
        return self.sort == "command" and any(part.is_check for part in shell.simple_commands(self.call.arguments))


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """Something the person or the agent wrote. `amid` the work: the agent had not yet answered."""

    index: int
    step: int
    thread: str
    source: Literal["person", "agent"]
    text: str
    amid: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """All moves of one trace, in order, each with its own index."""

    actions: tuple[Action, ...]
    said: tuple[Statement, ...]
    subagents: int


def work_of(trace: Trace) -> Work:
    """The moves of a trace with those of its subagents."""
    actions: list[Action] = []
    said: list[Statement] = []
    subagents = 0
    index = 0
    agent_at_work: dict[str, bool] = {}
    # A stack of threads, never recursion: chains of subagents can be deep.
    stack: list[tuple[str, Iterator[Step], dict[str, list[Subtrace]]]] = [("", iter(trace.steps), _by_call(trace))]
    waiting: list[list[Subtrace]] = [[]]
    while stack:
        thread, steps, below = stack[-1]
        if waiting[-1]:
            child = waiting[-1].pop(0).trace
            subagents += 1
            stack.append((f"subagent {subagents}", iter(child.steps), _by_call(child)))
            waiting.append([])
            continue
        step = next(steps, None)
        if step is None:
            rest = [sub for subs in below.values() for sub in subs]
            below.clear()
            if rest:
                waiting[-1].extend(rest)
                continue
            stack.pop()
            waiting.pop()
            continue
        interrupts = step.source == "person" and INTERRUPTED.match(step.text) is not None
        if step.source in {"person", "agent"} and step.text.strip() and not interrupts:
            said.append(
                Statement(
                    index=index,
                    step=step.number,
                    thread=thread,
                    source="person" if step.source == "person" else "agent",
                    text=step.text,
                    amid=step.source == "person" and agent_at_work.get(thread, False),
                )
            )
            index += 1
        if step.source == "agent":
            agent_at_work[thread] = bool(step.calls)
        elif step.source == "person" and not interrupts:
            agent_at_work[thread] = False
        outcomes = {observation.call_id: observation for observation in step.observations}
        for call in step.calls:
            observation = outcomes.get(call.id)
            sort = _sort(call)
            actions.append(
                Action(
                    index=index,
                    step=step.number,
                    thread=thread,
                    call=call,
                    observation=observation,
                    sort=sort,
                    state=_state(call, observation, sort),
                    path=path_in(call.arguments) if sort in {"edit", "other"} else None,
                )
            )
            index += 1
            waiting[-1].extend(below.pop(call.id, []))
    return Work(actions=tuple(actions), said=tuple(said), subagents=subagents)


def _by_call(trace: Trace) -> dict[str, list[Subtrace]]:
    found: dict[str, list[Subtrace]] = {}
    for subtrace in trace.subtraces:
        found.setdefault(subtrace.call_id or "", []).append(subtrace)
    return found


def _sort(call: Call) -> Sort:
    arguments = call.arguments.lstrip()
    if arguments.startswith("*** Begin Patch") or _EDITS.search(call.name):
        # Editors that also view say which in their arguments.
        return "look" if re.search(r'"command":\s*"view"', arguments) else "edit"
    if _SHELLS.search(call.name) and not arguments.startswith("{"):
        if "*** Begin Patch" in arguments and not any(part.is_check for part in shell.simple_commands(arguments)):
            return "edit"
        return "look" if shell.only_looks(arguments) else "command"
    return "look" if _LOOKS.search(call.name) else "other"


def _state(call: Call, observation: Observation | None, sort: Sort) -> State:
    if observation is None:
        return "unknown"
    if observation.failed:
        return "failed"
    if observation.failed is None:
        return "looks failed" if observation.looks_failed else "passed"
    if sort == "command" and sounds_failed(observation.content):
        parts = shell.simple_commands(call.arguments)
        if any(part.masked and part.is_check for part in parts):
            return "looks failed"
    return "passed"


PATHS = ("file_path", "path", "filePath", "filename", "file", "notebook_path", "target_file", "absolute_path", "uri")
OLD = ("old_string", "old_str", "oldString", "old_text", "search", "old")
NEW = (
    "new_string",
    "new_str",
    "newString",
    "new_text",
    "replace",
    "content",
    "file_text",
    "contents",
    "new",
    "new_source",
)
PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$|^\+\+\+ (?:b/)?(\S+)", re.MULTILINE)


def path_in(arguments: str) -> str | None:
    """The file that an edit is about, as recorded; the first one of a patch."""
    found = PATCHED.search(arguments)
    if found:
        return (found.group(1) or found.group(2)).strip()
    given = parsed(arguments)
    for name in PATHS:
        value = given.get(name)
        if isinstance(value, str) and value:
            return value
    changes = given.get("changes")
    first = changes[0] if isinstance(changes, list) and changes else None
    path = first.get("path") if isinstance(first, dict) else None
    return path if isinstance(path, str) and path else None


def parsed(arguments: str) -> Mapping[str, Any]:
    """The object; where it was cut, what can still be seen of it."""
    if not arguments.lstrip().startswith("{"):
        return {}
    try:
        whole = json.loads(arguments)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict):
        return whole
    found = {}
    for name in (*PATHS, *OLD, *NEW):
        seen = re.search(rf'"{name}":\s*"((?:[^"\\]|\\.){{0,6000}})', arguments)
        if seen:
            found[name] = _unescaped(seen.group(1))
    return found


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match.group(1), match.group(1)), text)
