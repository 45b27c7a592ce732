"""A trace as one sequence: what the person and the agent said, what was called and what came of it.

Subagents stand where they were started, so that an edit by one can be the fix of a failure of another.
"""

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from upskill.traces import shell
from upskill.traces.excerpt import Generalise, error_line, generalising, one_line, plain, shortened, sounds_failed
from upskill.traces.recording import first_string, objects, parsed, string
from upskill.traces.trace import Call, Observation, Place, Step, Subtrace, Trace

State = Literal["failed", "looks failed", "passed", "unknown"]
ActionKind = Literal["command", "edit", "look", "other"]

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
    kind: ActionKind
    state: State
    path: str | None = None
    """The file it is about, of an edit or another tool that names one."""
    at: float | None = None

    @property
    def output(self) -> str:
        """What the call brought, or nothing."""
        return self.observation.content if self.observation else ""

    @property
    def failed(self) -> bool:
        """Marked as failed, or failed by its text."""
        return self.state in {"failed", "looks failed"}

    @property
    def simple_commands(self) -> tuple[shell.SimpleCommand, ...]:
        """The simple commands of a shell command; none of any other call."""
        return shell.simple_commands(self.call.arguments) if self.kind == "command" else ()

    @property
    def is_check(self) -> bool:
        """Whether it was run to learn whether the work is right."""
        return any(part.is_check for part in self.simple_commands)


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """Something the person or the agent wrote. `amid` the work: the agent had not yet answered."""

    index: int
    step: int
    thread: str
    source: Literal["person", "agent"]
    text: str
    amid: bool = False
    at: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """Everything that was done and said in one trace, in order, each with its own index."""

    trace: int
    """The number of the trace in its source."""
    actions: tuple[Action, ...]
    statements: tuple[Statement, ...]
    subagents: int
    generalise: Generalise

    def shown(self, text: str) -> str:
        """A recorded text as a digest shows it."""
        return self.generalise(plain(text))

    def command(self, action: Action) -> str:
        """The command itself of a shell, else the arguments of a call."""
        return self.shown(action.call.arguments)

    def name(self, action: Action) -> str:
        """One call in a few words."""
        if action.kind == "edit":
            return self.shown(action.path or action.call.name)
        if action.kind in {"command", "look"} and not action.call.arguments.lstrip().startswith("{"):
            return one_line(self.command(action), most=120)
        return one_line(f"{action.call.name} {self.command(action)}", most=120)

    def change(self, action: Action, *, lines: int, chars: int) -> str:
        """What one call changed, cut to a size: a small diff for an edit, the command itself for a command."""
        if action.kind != "edit":
            return "$ " + shortened(self.command(action), lines=lines, chars=chars)
        diff = self.shown("\n".join(changed_lines(action.call.arguments)))
        return shortened(f"{self.name(action)}\n{diff}".rstrip(), lines=lines + 1, chars=chars)

    def error(self, action: Action) -> str:
        """The line of an output that says best what went wrong."""
        return self.shown(error_line(action.output))

    def places(self, actions: Iterable[Action]) -> tuple[Place, ...]:
        """Where these were, one place per thread."""
        steps: dict[str, set[int]] = {}
        for action in actions:
            steps.setdefault(action.thread, set()).add(action.step)
        return tuple(Place(trace=self.trace, thread=thread, steps=tuple(sorted(at))) for thread, at in steps.items())


def work_of(trace: Trace, *, number: int) -> Work:
    """The actions and statements of a trace with those of its subagents."""
    actions: list[Action] = []
    statements: list[Statement] = []
    agent_at_work: dict[str, bool] = {}
    for thread, step in _steps_by_thread(trace):
        interrupts = step.source == "person" and INTERRUPTED.match(step.text) is not None
        if step.source != "harness" and step.text.strip() and not interrupts:
            statements.append(
                Statement(
                    index=len(actions) + len(statements),
                    step=step.number,
                    thread=thread,
                    source=step.source,
                    text=step.text,
                    amid=step.source == "person" and agent_at_work.get(thread, False),
                    at=step.at,
                )
            )
        if step.source == "agent" or (step.source == "person" and not interrupts):
            agent_at_work[thread] = step.source == "agent" and bool(step.calls)
        outputs = {observation.call_id: observation for observation in step.observations}
        for call in step.calls:
            kind = _kind(call)
            actions.append(
                Action(
                    index=len(actions) + len(statements),
                    step=step.number,
                    thread=thread,
                    call=call,
                    observation=outputs.get(call.id),
                    kind=kind,
                    state=_state(call, outputs.get(call.id), kind),
                    path=path_in(call.arguments) if kind in {"edit", "other"} else None,
                    at=step.at,
                )
            )
    return Work(
        trace=number,
        actions=tuple(actions),
        statements=tuple(statements),
        subagents=sum(1 for _ in with_subagents(trace)) - 1,
        generalise=generalising(trace.folder),
    )


def with_subagents(trace: Trace) -> Iterator[Trace]:
    """A trace and the traces of its subagents, in no order to rely on."""
    waiting = [trace]
    while waiting:
        each = waiting.pop()
        yield each
        waiting.extend(subtrace.trace for subtrace in each.subtraces)


def _steps_by_thread(trace: Trace) -> Iterator[tuple[str, Step]]:
    """The steps of a trace and its subagents, each with the name of its thread."""
    # A stack of threads, never recursion: chains of subagents can be deep.
    stack = [("", _steps_and_subtraces(trace))]
    subagents = 0
    while stack:
        thread, entries = stack[-1]
        entry = next(entries, None)
        if entry is None:
            stack.pop()
        elif isinstance(entry, Step):
            yield thread, entry
        else:
            subagents += 1
            stack.append((f"subagent {subagents}", _steps_and_subtraces(entry.trace)))


def _steps_and_subtraces(trace: Trace) -> Iterator[Step | Subtrace]:
    """Each subagent follows the step that started it; those of no known step come last."""
    by_call: dict[str, list[Subtrace]] = {}
    for subtrace in trace.subtraces:
        by_call.setdefault(subtrace.call_id or "", []).append(subtrace)
    for step in trace.steps:
        yield step
        for call in step.calls:
            yield from by_call.pop(call.id, [])
    for subtraces in by_call.values():
        yield from subtraces


def _kind(call: Call) -> ActionKind:
    arguments = call.arguments.lstrip()
    if arguments.startswith("*** Begin Patch") or _EDITS.search(call.name):
        # Editors that also view say which in their arguments.
        return "look" if re.search(r'"command":\s*"view"', arguments) else "edit"
    if _SHELLS.search(call.name) and not arguments.startswith("{"):
        if "*** Begin Patch" in arguments and not any(part.is_check for part in shell.simple_commands(arguments)):
            return "edit"
        return "look" if shell.only_looks(arguments) else "command"
    return "look" if _LOOKS.search(call.name) else "other"


def _state(call: Call, observation: Observation | None, kind: ActionKind) -> State:
    if observation is None:
        return "unknown"
    if observation.failed:
        return "failed"
    if observation.failed is None:
        return "looks failed" if observation.looks_failed else "passed"
    if kind == "command" and sounds_failed(observation.content):
        parts = shell.simple_commands(call.arguments)
        if any(part.masked and part.is_check for part in parts):
            return "looks failed"
    return "passed"


_PATHS = ("file_path", "path", "filePath", "filename", "file", "notebook_path", "target_file", "absolute_path", "uri")
_OLD = ("old_string", "old_str", "oldString", "old_text", "search", "old")
_NEW = (
    *("new_string", "new_str", "newString", "new_text", "replace", "content", "file_text", "contents", "new"),
    "new_source",
)
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$|^\+\+\+ (?:b/)?(\S+)", re.MULTILINE)


def path_in(arguments: str) -> str | None:
    """The file that an edit is about, as recorded; the first one of a patch."""
    found = _PATCHED.search(arguments)
    if found:
        return (found.group(1) or found.group(2)).strip()
    given = _parsed(arguments)
    changes = objects(given.get("changes"))
    return first_string(given, *_PATHS) or (string(changes[0].get("path")) if changes else "") or None


def changed_lines(arguments: str) -> Iterator[str]:
    """The lines of a small diff; the arguments themselves where they name no old or new text."""
    if "*** Begin Patch" in arguments or _PATCHED.search(arguments):
        yield from (row for row in arguments.split("\n") if row[:1] in "+-" and not row.startswith(("+++", "---")))
        return
    given = _parsed(arguments)
    pieces = objects(given["edits"]) if isinstance(given.get("edits"), list) else [given]
    pairs = [(first_string(piece, *_OLD), first_string(piece, *_NEW)) for piece in pieces[:20]]
    if not any(old or new for old, new in pairs):
        yield arguments
    for old, new in pairs:
        # Both sides are bounded, since a diff is quadratic.
        before, after = (text.split("\n")[:400] if text else [] for text in (old, new))
        rows = difflib.unified_diff(before, after, n=0, lineterm="")
        yield from (row for row in rows if not row.startswith(("---", "+++", "@@")))


def _parsed(arguments: str) -> dict[str, Any]:
    """The object; where it was cut, what can still be seen of it."""
    if not arguments.lstrip().startswith("{"):
        return {}
    whole = parsed(arguments)
    if isinstance(whole, dict):
        return whole
    found = {}
    for name in (*_PATHS, *_OLD, *_NEW):
        seen = re.search(rf'"{name}":\s*"((?:[^"\\]|\\.){{0,6000}})', arguments)
        if seen:
            found[name] = re.sub(r"\\(.)", _unescaped, seen.group(1))
    return found


def _unescaped(match: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(match.group(1), match.group(1))
