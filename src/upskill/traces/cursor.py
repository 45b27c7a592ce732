"""Cursor: the stream its command line prints."""

from collections.abc import Iterator, Sequence
from typing import Any

from upskill.traces.claude_code import is_stream
from upskill.traces.recording import Reader, Record, Recording, as_json, mapping, string, texts, whole
from upskill.traces.steps import Draft, Drafts
from upskill.traces.trace import Trace

SHOWN = ("stdout", "stderr", "output", "content", "error", "message", "reason")


def read_stream(recording: Recording) -> Iterator[Trace]:
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
                drafts.say(_agent(drafts, reasoning), texts(message.get("content")))
            case "tool_call":
                _add_tool(drafts, reasoning, record)
    yield drafts.trace("cursor-stream")


def _agent(drafts: Drafts, reasoning: list[str]) -> Draft:
    draft = drafts.agent(reasoning="".join(reasoning))
    reasoning.clear()
    return draft


def _add_tool(drafts: Drafts, reasoning: list[str], record: dict[str, Any]) -> None:
    call_id = string(record.get("call_id"))
    name, body = next(((key, mapping(value)) for key, value in mapping(record.get("tool_call")).items()), ("", {}))
    name = string(body.get("name")) or name.removesuffix("ToolCall")
    if not drafts.knows(call_id):
        drafts.call(_agent(drafts, reasoning), call_id, name, body.get("args", body.get("arguments")))
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


def _is_stream(records: Sequence[Record]) -> bool:
    return any(map(is_stream, records)) and any(
        string(record.get("apiKeySource")) in KEY_SOURCES
        or (record.get("type") == "tool_call" and {"call_id", "model_call_id"} <= record.keys())
        or record.get("type") == "thinking"
        for record in records
    )


STREAM = Reader(name="cursor-stream", title="Cursor", read=read_stream, in_lines=_is_stream)
