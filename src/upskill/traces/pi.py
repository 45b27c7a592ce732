"""Pi sessions: an append-only tree whose last entry is where the work stands. Old files are a plain list."""

from collections.abc import Iterator
from typing import Any

from upskill.domain.trace import Trace
from upskill.traces.fields import blocks, flag, mapping, string, texts
from upskill.traces.recording import Reader, Record, Recording, any_record
from upskill.traces.steps import Draft, Drafts


def read(recording: Recording) -> Iterator[Trace]:
    """One trace: the branch of the last entry. Read twice: first the tree, then only the entries kept."""
    kept, dropped = _branch(recording)
    drafts = Drafts(recording)
    drafts.dropped = dropped
    for line, record in recording.records():
        if record.get("type") == "session":
            drafts.add_details(folder=string(record.get("cwd")))
        elif kept is not None and line not in kept:
            continue
        elif record.get("type") == "message":
            _message(drafts, mapping(record.get("message")))
        elif record.get("type") == "model_change":
            drafts.model = string(record.get("modelId")) or drafts.model
    yield drafts.trace("pi")


def _branch(recording: Recording) -> tuple[set[int] | None, int]:
    """The lines of the branch, and how many branches were left. `None`: no tree, all lines count."""
    line_of: dict[str, int] = {}
    parent_of: dict[int, tuple[str, int | None]] = {}
    messages: set[int] = set()
    last: int | None = None
    for line, record in recording.records():
        entry = string(record.get("id"))
        if record.get("type") == "session" or not entry or entry in line_of:
            continue
        line_of[entry] = line
        parent_of[line] = (string(record.get("parentId")), last)
        if record.get("type") == "message":
            messages.add(line)
        last = line
    if last is None:
        return None, 0
    up: dict[int, int | None] = {}
    for line, (parent, before) in parent_of.items():
        # A parent that is not in the file was on a line that broke: the entry before it is the best there is.
        up[line] = line_of.get(parent, before) if parent else None
    kept: set[int] = set()
    at: int | None = last
    while at is not None and at not in kept:
        kept.add(at)
        at = up[at]
    dropped = sum(1 for line in messages if line not in kept and (up[line] is None or up[line] in kept))
    return kept, dropped


def _message(drafts: Drafts, message: dict[str, Any]) -> None:
    content = message.get("content")
    match message.get("role"):
        case "user":
            drafts.person(texts(content))
        case "assistant":
            drafts.add_details(model=string(message.get("model")))
            draft = drafts.agent()
            for block in blocks(content):
                _block(drafts, draft, block)
        case "toolResult":
            drafts.observe(string(message.get("toolCallId")), texts(content), failed=flag(message.get("isError")))


def _block(drafts: Drafts, draft: Draft, block: dict[str, Any]) -> None:
    match block.get("type"):
        case "text":
            drafts.say(draft, string(block.get("text")))
        case "thinking":
            drafts.think(draft, string(block.get("thinking")))
        case "toolCall":
            drafts.call(draft, string(block.get("id")), string(block.get("name")), block.get("arguments"))


def _is_pi(record: Record) -> bool:
    return record.get("type") == "session" and {"version", "cwd"} <= record.keys()


READER = Reader(name="pi", title="Pi", read=read, in_lines=any_record(_is_pi))
