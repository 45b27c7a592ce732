"""opencode: the export of a session, and what `opencode run --format json` prints, in which the prompt is missing."""

from collections.abc import Iterator
from typing import Any

from upskill.traces.recording import (
    LOOKED_AT,
    Reader,
    Record,
    Recording,
    any_record,
    at,
    distinct,
    first_string,
    items,
    mapping,
    objects,
    string,
    whole,
)
from upskill.traces.steps import NO_PROMPT, Draft, Drafts
from upskill.traces.trace import Trace


def read_export(recording: Recording) -> Iterator[Trace]:
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
        _message(drafts, about, objects(message.get("parts")))
    yield drafts.trace("opencode")


def read_run(recording: Recording) -> Iterator[Trace]:
    """One trace; the parts of one message are one step."""
    drafts = Drafts(recording)
    steps: dict[str, Draft] = {}
    for part in distinct((mapping(record.get("part")) for record in recording.objects()), "id"):
        message_id = string(part.get("messageID"))
        if message_id not in steps:
            steps[message_id] = drafts.agent()
        _part(drafts, steps[message_id], part)
    recording.note(NO_PROMPT)
    yield drafts.trace("opencode-run")


def _message(drafts: Drafts, about: dict[str, Any], parts: list[dict[str, Any]]) -> None:
    if about.get("role") == "user":
        typed = [string(part.get("text")) for part in parts if part.get("type") == "text" and not _injected(part)]
        drafts.person("\n".join(filter(None, typed)))
    elif about.get("role") == "assistant" and about.get("summary") is not True:
        drafts.add_details(model=string(about.get("modelID")))
        draft = drafts.agent()
        for part in parts:
            _part(drafts, draft, part)


def _injected(part: dict[str, Any]) -> bool:
    return part.get("synthetic") is True or part.get("ignored") is True


def _part(drafts: Drafts, draft: Draft, part: dict[str, Any]) -> None:
    match part.get("type"):
        case "text" if not _injected(part):
            drafts.say(draft, string(part.get("text")))
        case "reasoning":
            drafts.think(draft, string(part.get("text")))
        case "tool":
            _tool(drafts, draft, part)


def _tool(drafts: Drafts, draft: Draft, part: dict[str, Any]) -> None:
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


RUN_TYPES = frozenset({"step_start", "step_finish", "tool_use", "text"})


def _is_export(top: Record) -> bool:
    messages = objects(items(top.get("messages"))[:LOOKED_AT])
    parted = any("info" in message and "parts" in message for message in messages)
    return "info" in top and (parted or ("messages" in top and string(at(top, "info", "id")).startswith("ses_")))


def _is_run(record: Record) -> bool:
    return string(record.get("type")) in RUN_TYPES and "sessionID" in record


EXPORT = Reader(name="opencode", title="opencode", read=read_export, in_document=_is_export)
RUN = Reader(name="opencode-run", title="opencode run", read=read_run, in_lines=any_record(_is_run))
