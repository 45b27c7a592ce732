"""Gemini CLI, opencode and Cursor: what each keeps of a session, or prints of one.

The lines of a Gemini session replace or undo earlier ones. In what `opencode run --format json` prints the prompt is
missing.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from upskill.traces.claude_code import is_stream
from upskill.traces.recording import (
    LOOKED_AT,
    Reader,
    Record,
    Recording,
    any_record,
    as_json,
    at,
    distinct,
    first_string,
    items,
    mapping,
    objects,
    string,
    texts,
    whole,
)
from upskill.traces.steps import NO_PROMPT, Draft, Drafts
from upskill.traces.trace import Trace

GEMINI_INJECTED = ("<session_context>", "This is the Gemini CLI. We are setting up the context")
GEMINI_COMMAND = re.compile(r"\A/[\w:-]+\s*\Z")
GEMINI_EXIT_CODE = re.compile(r"^Exit Code: (-?\d{1,9})$", re.MULTILINE)
GEMINI_FAILED = {"error": True, "cancelled": True, "success": False}


def read_gemini(recording: Recording) -> Iterator[Trace]:
    """One trace, as it stood at the end."""
    session = _GeminiSession(recording)
    for record in recording.objects():
        session.add(record)
    yield session.drafts.trace("gemini-cli")


class _GeminiSession:
    def __init__(self, recording: Recording) -> None:
        self.drafts = Drafts(recording)
        self._by_id: dict[str, Draft] = {}

    def add(self, record: dict[str, Any]) -> None:
        if "$rewindTo" in record:
            self._rewind(string(record["$rewindTo"]))
        elif "$set" in record:
            self._replace(mapping(record["$set"]))
        else:
            self._message(record)

    def _replace(self, header: dict[str, Any]) -> None:
        if isinstance(header.get("messages"), list):
            self._forget(0)
            for message in objects(header["messages"]):
                self._message(message)

    def _rewind(self, message_id: str) -> None:
        """Deletes that message and all after it; one that is not there clears everything."""
        draft = self._by_id.get(message_id)
        start = next((number for number, step in enumerate(self.drafts.steps) if step is draft), 0)
        if self.drafts.steps:
            self.drafts.dropped += 1
        self._forget(start)

    def _forget(self, start: int) -> None:
        gone = {id(draft) for draft in self.drafts.steps[start:]}
        self._by_id = {name: draft for name, draft in self._by_id.items() if id(draft) not in gone}
        self.drafts.drop_from(start)

    def _message(self, message: dict[str, Any]) -> None:
        self.drafts.recording.dated(message)
        kind = string(message.get("type"))
        if kind not in ("user", "gemini"):
            return
        message_id = string(message.get("id"))
        draft = self._by_id.get(message_id) if message_id else None
        if draft is None:
            draft = self.drafts.begin("agent" if kind == "gemini" else "person")
            self._by_id[message_id] = draft
        else:
            self.drafts.empty(draft)
            draft.source = "agent" if kind == "gemini" else "person"
        text = texts(message.get("content"))
        if kind == "user":
            if GEMINI_COMMAND.match(text):
                self.drafts.commands += 1
            elif not text.lstrip().startswith(GEMINI_INJECTED):
                self.drafts.say(draft, text)
            return
        self.drafts.add_details(model=string(message.get("model")))
        self.drafts.say(draft, text)
        for thought in objects(message.get("thoughts")):
            about = (string(thought.get("subject")), string(thought.get("description")))
            self.drafts.think(draft, ": ".join(filter(None, about)))
        for call in objects(message.get("toolCalls")):
            self._call(draft, call)

    def _call(self, draft: Draft, call: dict[str, Any]) -> None:
        call_id, name = string(call.get("id")), string(call.get("name"))
        if not self.drafts.call(draft, call_id, name, call.get("args")):
            return
        if not ("result" in call or "resultDisplay" in call):
            return
        content = _gemini_result(call.get("result")) or string(call.get("resultDisplay"))
        failed = GEMINI_FAILED.get(string(call.get("status")))
        code = GEMINI_EXIT_CODE.search(content[-2_000:]) if "shell" in name else None
        exit_code = int(code.group(1)) if code else None
        self.drafts.observe(
            call_id or draft.calls[-1].id, content, failed=bool(exit_code) or failed, exit_code=exit_code
        )


def _gemini_result(result: Any) -> str:
    if isinstance(result, str):
        return result
    found = []
    for part in objects(result):
        response = mapping(at(part, "functionResponse", "response"))
        found += [texts(response.get(key)) for key in ("output", "error", "content")] + [string(part.get("text"))]
    return "\n".join(filter(None, found))


def _is_gemini(records: Sequence[Record]) -> bool:
    first = records[0] if records else {}
    if {"sessionId", "projectHash"} <= first.keys():
        return True
    return any(record.get("type") == "gemini" and "id" in record for record in records)


GEMINI = Reader(name="gemini-cli", title="Gemini CLI", read=read_gemini, in_lines=_is_gemini)


def read_opencode(recording: Recording) -> Iterator[Trace]:
    """One trace. A session that was reverted ends before the message it was reverted to."""
    document = mapping(recording.document())
    info = mapping(document.get("info"))
    reverted_to = string(at(info, "revert", "messageID"))
    drafts = Drafts(recording)
    drafts.add_details(folder=string(info.get("directory")))
    for message in distinct(objects(document.get("messages")), "info", "id"):
        about = mapping(message.get("info"))
        if reverted_to and about.get("id") == reverted_to:
            drafts.dropped += 1
            break
        _opencode_message(drafts, about, objects(message.get("parts")))
    yield drafts.trace("opencode")


def read_opencode_run(recording: Recording) -> Iterator[Trace]:
    """One trace; the parts of one message are one step."""
    drafts = Drafts(recording)
    steps: dict[str, Draft] = {}
    for part in distinct((mapping(record.get("part")) for record in recording.objects()), "id"):
        message_id = string(part.get("messageID"))
        if message_id not in steps:
            steps[message_id] = drafts.agent()
        _opencode_part(drafts, steps[message_id], part)
    recording.note(NO_PROMPT)
    yield drafts.trace("opencode-run")


def _opencode_message(drafts: Drafts, about: dict[str, Any], parts: list[dict[str, Any]]) -> None:
    drafts.recording.dated(about)
    if about.get("role") == "user":
        typed = [string(part.get("text")) for part in parts if part.get("type") == "text" and not _injected(part)]
        drafts.person("\n".join(filter(None, typed)))
    elif about.get("role") == "assistant" and about.get("summary") is not True:
        drafts.add_details(model=string(about.get("modelID")))
        draft = drafts.agent()
        for part in parts:
            _opencode_part(drafts, draft, part)


def _injected(part: dict[str, Any]) -> bool:
    return part.get("synthetic") is True or part.get("ignored") is True


def _opencode_part(drafts: Drafts, draft: Draft, part: dict[str, Any]) -> None:
    match part.get("type"):
        case "text" if not _injected(part):
            drafts.say(draft, string(part.get("text")))
        case "reasoning":
            drafts.think(draft, string(part.get("text")))
        case "tool":
            _opencode_tool(drafts, draft, part)


def _opencode_tool(drafts: Drafts, draft: Draft, part: dict[str, Any]) -> None:
    state = mapping(part.get("state"))
    if not drafts.call(draft, first_string(part, "callID", "id"), string(part.get("tool")), state.get("input")):
        return
    call_id = draft.calls[-1].id
    exit_code = whole(at(state, "metadata", "exit"))
    match state.get("status"):
        case "error":
            drafts.observe(call_id, string(state.get("error")), failed=True, exit_code=exit_code)
        case "completed":
            drafts.observe(call_id, string(state.get("output")), failed=bool(exit_code), exit_code=exit_code)


OPENCODE_RUN_TYPES = frozenset({"step_start", "step_finish", "tool_use", "text"})


def _is_opencode(top: Record) -> bool:
    messages = objects(items(top.get("messages"))[:LOOKED_AT])
    parted = any("info" in message and "parts" in message for message in messages)
    return "info" in top and (parted or ("messages" in top and string(at(top, "info", "id")).startswith("ses_")))


def _is_opencode_run(record: Record) -> bool:
    return string(record.get("type")) in OPENCODE_RUN_TYPES and "sessionID" in record


OPENCODE = Reader(name="opencode", title="opencode", read=read_opencode, in_document=_is_opencode)
OPENCODE_RUN = Reader(
    name="opencode-run", title="opencode run", read=read_opencode_run, in_lines=any_record(_is_opencode_run)
)


SHOWN = ("stdout", "stderr", "output", "content", "error", "message", "reason")


def read_cursor(recording: Recording) -> Iterator[Trace]:
    """One trace. Calls come twice, begun and done; reasoning comes in pieces."""
    drafts = Drafts(recording)
    reasoning: list[str] = []
    for record in recording.objects():
        message = mapping(record.get("message"))
        match record.get("type"):
            case "system":
                drafts.add_details(folder=string(record.get("cwd")), model=string(record.get("model")))
            case "user":
                drafts.person(texts(message.get("content")))
            case "thinking":
                reasoning.append(string(record.get("text")))
            case "assistant":
                drafts.say(_cursor_agent(drafts, reasoning), texts(message.get("content")))
            case "tool_call":
                _add_cursor_call(drafts, reasoning, record)
    yield drafts.trace("cursor-stream")


def _cursor_agent(drafts: Drafts, reasoning: list[str]) -> Draft:
    draft = drafts.agent(reasoning="".join(reasoning))
    reasoning.clear()
    return draft


def _add_cursor_call(drafts: Drafts, reasoning: list[str], record: dict[str, Any]) -> None:
    call_id = string(record.get("call_id"))
    name, body = next(((key, mapping(value)) for key, value in mapping(record.get("tool_call")).items()), ("", {}))
    name = string(body.get("name")) or name.removesuffix("ToolCall")
    if not drafts.knows(call_id):
        drafts.call(_cursor_agent(drafts, reasoning), call_id, name, body.get("args", body.get("arguments")))
    result = mapping(body.get("result"))
    if record.get("subtype") != "completed" or not result:
        return
    bad = mapping(result.get("failure")) or mapping(result.get("error")) or mapping(result.get("rejected"))
    shown = bad or mapping(result.get("success"))
    exit_code = whole(shown.get("exitCode"))
    content = "\n".join(filter(None, (texts(shown.get(name)) for name in SHOWN)))
    failed = True if any(key in result for key in ("failure", "error", "rejected")) else None
    if failed is None and "success" in result:
        failed = bool(exit_code)
    drafts.observe(call_id, content or (as_json(shown) if shown else ""), failed=failed, exit_code=exit_code)


KEY_SOURCES = frozenset({"env", "flag", "login"})


def _is_cursor(records: Sequence[Record]) -> bool:
    return any(map(is_stream, records)) and any(
        string(record.get("apiKeySource")) in KEY_SOURCES
        or (record.get("type") == "tool_call" and {"call_id", "model_call_id"} <= record.keys())
        or record.get("type") == "thinking"
        for record in records
    )


CURSOR = Reader(name="cursor-stream", title="Cursor", read=read_cursor, in_lines=_is_cursor)
