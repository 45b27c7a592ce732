"""Codex: rollouts, plain or compressed, and what `codex exec --json` prints, in which the prompt is missing.

Every text is in a rollout twice: only `response_item` is read for what was said.
"""

import re
from collections.abc import Iterator
from typing import Any

from upskill.traces.recording import (
    Reader,
    Record,
    Recording,
    any_record,
    at,
    distinct,
    flag,
    items,
    mapping,
    objects,
    parsed,
    string,
    texts,
    whole,
)
from upskill.traces.steps import NO_PROMPT, Draft, Drafts
from upskill.traces.trace import Trace

INJECTED = (
    "# AGENTS.md instructions",
    "<environment_context>",
    "<user_instructions>",
    "<skill>",
    "<user_shell_command>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<external_",
    "<codex_internal_context",
    "<goal_context>",
    "<permissions instructions>",
    "<skills_instructions>",
)
TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
EXEC_TYPES = ("thread.started", "turn.", "item.")
HEADER = re.compile(r"\A(?:(?!Output:).{0,200}\n){0,8}?(?:Process exited with code|Exit code:) (-?\d{1,9})\n")
OUTPUT = re.compile(r"\A(?:.{0,200}\n){0,8}?Output:\n")
HEADER_LENGTH = 2_000
CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
CALLS_WITHOUT_OUTPUT = frozenset({"web_search_call", "image_generation_call", "tool_search_call"})
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})


def read(recording: Recording) -> Iterator[Trace]:
    """One trace: the turns that were not rolled back."""
    rollout = _Rollout(recording)
    for line, record in recording.records():
        rollout.add(line, string(record.get("type")), mapping(record.get("payload")))
    yield rollout.drafts.trace("codex")


class _Rollout:
    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.drafts = Drafts(recording)
        self._reasoning: list[str] = []
        self._seen: set[str] = set()
        self._ended: dict[str, tuple[bool | None, int | None]] = {}

    def add(self, line: int, kind: str, payload: dict[str, Any]) -> None:
        if kind == "response_item":
            self._item(line, payload)
        elif kind == "event_msg":
            self._event(payload)
        elif kind in ("session_meta", "turn_context"):
            # A forked file holds a second `session_meta`: the first owns the identity.
            self.drafts.add_details(folder=string(payload.get("cwd")), model=string(payload.get("model")))

    def _item(self, line: int, item: dict[str, Any]) -> None:
        kind = string(item.get("type"))
        if kind in OUTPUTS:
            return self._output(item)
        item_id = string(item.get("id"))
        if item_id:
            if item_id in self._seen:
                return None
            self._seen.add(item_id)
        if kind == "message":
            self._message(item)
        elif kind == "reasoning":
            summary = texts(item.get("summary")) or texts(item.get("content"))
            if summary.strip():
                self._reasoning.append(summary)
        elif kind in CALLS or kind in CALLS_WITHOUT_OUTPUT:
            call_id = string(item.get("call_id")) or item_id or f"line-{line}"
            self.drafts.call(self._agent(), call_id, _name(kind, item), _arguments(kind, item))
        return None

    def _message(self, message: dict[str, Any]) -> None:
        role = message.get("role")
        if role == "assistant":
            self.drafts.say(self._agent(), texts(message.get("content")))
        elif role == "user":
            content = message.get("content")
            parts = [content] if isinstance(content, str) else [texts([part]) for part in items(content)]
            typed = [part for part in parts if not part.lstrip().startswith(INJECTED)]
            self.drafts.person("\n".join(part for part in typed if part.strip()))

    def _agent(self) -> Draft:
        draft = self.drafts.agent()
        for summary in self._reasoning:
            self.drafts.think(draft, summary)
        self._reasoning.clear()
        return draft

    def _output(self, item: dict[str, Any]) -> None:
        call_id = string(item.get("call_id"))
        content, exit_code, success = _outcome(item.get("output"))
        failed, ended_code = self._ended.get(call_id, (None, None))
        exit_code = exit_code if ended_code is None else ended_code
        if exit_code is not None:
            failed = exit_code != 0
        elif failed is None and success is not None:
            failed = not success
        self.drafts.observe(call_id, content, failed=failed, exit_code=exit_code)

    def _event(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "thread_rolled_back":
            self._reasoning.clear()
            self.drafts.drop_turns(whole(event.get("num_turns")) or 0)
        elif kind == "turn_aborted":
            self.drafts.harness("[the person stopped the turn]")
        elif kind == "item_completed":
            item = mapping(event.get("item"))
            if item.get("type") == "CommandExecution":
                call_id, exit_code = string(item.get("id")), whole(item.get("exit_code"))
                status = {"failed": True, "declined": True, "completed": False}.get(string(item.get("status")))
                failed = status if exit_code is None else exit_code != 0
                self._ended[call_id] = (failed, exit_code)
                self.drafts.mark(call_id, failed=failed, exit_code=exit_code)


def _name(kind: str, item: dict[str, Any]) -> str:
    name = string(item.get("name")) or {"local_shell_call": "shell"}.get(kind, kind.removesuffix("_call"))
    space = string(item.get("namespace"))
    return f"{space}.{name}" if space else name


def _arguments(kind: str, item: dict[str, Any]) -> Any:
    if kind == "custom_tool_call":
        return string(item.get("input"))
    if kind != "function_call":
        return mapping(item.get("action")) or mapping(item.get("arguments"))
    arguments = item.get("arguments")
    value = parsed(arguments)
    return arguments if value is None else value


def _outcome(output: Any) -> tuple[str, int | None, bool | None]:
    """The text, the exit code and the mark of success. The code stands in the head that Codex writes, or in JSON."""
    success = None
    if isinstance(output, dict):
        success = flag(output.get("success"))
        output = output.get("content")
    text = texts(output)
    if text.startswith('{"') and '"metadata"' in text:
        body = mapping(parsed(text))
        if "output" in body:
            return texts(body["output"]), whole(at(body, "metadata", "exit_code")), success
    head = text[:HEADER_LENGTH]
    code = HEADER.match(head)
    if code is None:
        return text, None, success
    start = OUTPUT.match(head)
    return (text[start.end() :] if start else text), int(code.group(1)), success


def read_exec(recording: Recording) -> Iterator[Trace]:
    """One trace. Only `item.completed` counts: `item.started` says the same before it is known."""
    drafts = Drafts(recording)
    completed = (record for record in recording.objects() if record.get("type") == "item.completed")
    for record in distinct(completed, "item", "id"):
        _add_item(drafts, mapping(record.get("item")))
    recording.note(NO_PROMPT)
    yield drafts.trace("codex-exec")


def _add_item(drafts: Drafts, item: dict[str, Any]) -> None:
    item_id = string(item.get("id"))
    failed = {"failed": True, "completed": False}.get(string(item.get("status")))
    match item.get("type"):
        case "reasoning":
            drafts.agent(reasoning=string(item.get("text")))
        case "agent_message":
            drafts.agent(string(item.get("text")))
        case "command_execution":
            drafts.call(drafts.agent(), item_id, "shell", {"command": item.get("command")})
            exit_code = whole(item.get("exit_code"))
            marked = failed if exit_code is None else exit_code != 0
            drafts.observe(item_id, string(item.get("aggregated_output")), failed=marked, exit_code=exit_code)
        case "file_change":
            drafts.call(drafts.agent(), item_id, "file_change", {"changes": objects(item.get("changes"))})
            if failed:
                drafts.observe(item_id, "", failed=True)
        case "mcp_tool_call":
            name = ".".join(filter(None, (string(item.get("server")), string(item.get("tool")))))
            drafts.call(drafts.agent(), item_id, name, item.get("arguments"))
            drafts.observe(item_id, string(item.get("output")), failed=failed)
        case "web_search":
            drafts.call(drafts.agent(), item_id, "web_search", {"query": item.get("query")})


def _is_rollout(record: Record) -> bool:
    return "payload" in record and string(record.get("type")) in TYPES


def _is_exec(record: Record) -> bool:
    return string(record.get("type")).startswith(EXEC_TYPES)


ROLLOUT = Reader(name="codex", title="Codex", read=read, in_lines=any_record(_is_rollout))
EXEC = Reader(name="codex-exec", title="codex exec", read=read_exec, in_lines=any_record(_is_exec))
