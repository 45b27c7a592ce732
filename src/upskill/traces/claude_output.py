"""What Claude Code prints: the stream of `claude -p --output-format stream-json`, and the text of `/export`.

The prompt is not in a stream, unless it was asked for. An export is a printed terminal: outputs are cut in it, and
reasoning is gone.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from upskill.domain.trace import Trace
from upskill.traces.claude_messages import EXIT_CODE, add_message, add_result, typed
from upskill.traces.fields import blocks, distinct, mapping, string
from upskill.traces.recording import Reader, Record, Recording, any_record
from upskill.traces.steps import NO_PROMPT, Draft, Drafts, nest

CALL = re.compile(r"\A● ((?:mcp__)?[A-Z][\w-]*|mcp__[\w-]+)\((.*)\Z", re.DOTALL)
RESULT = re.compile(r"\A {1,4}⎿ {0,2}")


def read_stream(recording: Recording) -> Iterator[Trace]:
    """One trace, subagents under the calls that began them."""
    threads: dict[str, _Thread] = {"": _Thread(Drafts(recording))}
    for record in distinct(recording.objects(), "uuid"):
        under = string(record.get("parent_tool_use_id"))
        if under not in threads:
            threads[under] = _Thread(Drafts(recording))
        threads[under].add(record, main=not under)
    main = threads.pop("")
    if not main.drafts.has_person:
        recording.note(NO_PROMPT)
    others = [(under, thread.drafts) for under, thread in threads.items()]
    yield nest("claude-stream", main.drafts, others, recording)


class _Thread:
    def __init__(self, drafts: Drafts) -> None:
        self.drafts = drafts
        self._message = ""
        self._draft: Draft | None = None

    def add(self, record: dict[str, Any], *, main: bool) -> None:
        message = mapping(record.get("message"))
        kind = record.get("type")
        if kind == "assistant":
            self._say(message)
        elif kind == "user":
            self._draft = None
            self._hear(record, message, main=main)
        elif kind == "system":
            self.drafts.add_details(folder=string(record.get("cwd")), model=string(record.get("model")))

    def _say(self, message: dict[str, Any]) -> None:
        """There is no parent id: only records that follow each other directly are one message."""
        message_id = string(message.get("id"))
        if message.get("model") == "<synthetic>":
            return
        if self._draft is None or not message_id or message_id != self._message:
            self._draft = self.drafts.agent()
        self._message = message_id
        add_message(self.drafts, self._draft, message.get("content"))

    def _hear(self, record: dict[str, Any], message: dict[str, Any], *, main: bool) -> None:
        for block in blocks(message.get("content")):
            if block.get("type") == "tool_result":
                add_result(self.drafts, block)
            elif main and block.get("type") == "text" and record.get("isSynthetic") is not True:
                found = typed(string(block.get("text")))
                self.drafts.commands += found.command
                self.drafts.person(found.text)


def read_export(recording: Recording) -> Iterator[Trace]:
    """One trace, of what the terminal showed."""
    drafts = Drafts(recording)
    block: list[str] = []
    for line in recording.lines():
        if line.startswith(("> ", "❯ ", "● ")) or RESULT.match(line):
            _add(drafts, block)
            block = [line]
        elif block:
            block.append(line)
    _add(drafts, block)
    recording.note(
        "a terminal export: outputs are cut and reasoning is missing; the session's .jsonl file has everything"
    )
    yield drafts.trace("claude-export")


def _add(drafts: Drafts, block: list[str]) -> None:
    if not block:
        return
    head = block[0]
    text = "\n".join([RESULT.sub("", head) if RESULT.match(head) else head[2:], *(line.strip() for line in block[1:])])
    text = text.strip()
    if head.startswith(("> ", "❯ ")):
        found = typed(text)
        is_command = text.startswith("/") and " " not in text
        drafts.commands += is_command
        drafts.person("" if is_command else found.text)
        return
    if RESULT.match(head):
        calls = [call for draft in drafts.steps[-1:] for call in draft.calls]
        if calls:
            code = EXIT_CODE.match(text)
            failed = True if text.startswith("Error") else None
            drafts.observe(calls[-1].id, text, failed=failed, exit_code=int(code.group(1)) if code and failed else None)
        return
    call = CALL.match("\n".join([head, *block[1:]]).rstrip())
    if call and call.group(2).endswith(")"):
        drafts.call(drafts.agent(), "", call.group(1), call.group(2)[:-1])
    else:
        drafts.agent(text)


STREAM_TYPES = frozenset({"system", "user", "assistant", "tool_call", "thinking", "result"})


def is_stream(record: Record) -> bool:
    """Whether a record is of a stream. Cursor's has the same form, and is asked for first."""
    return string(record.get("type")) in STREAM_TYPES and "session_id" in record


def _is_export(lines: Sequence[str]) -> bool:
    return all(any(line.startswith(mark) for line in lines) for mark in ("> ", "● ", "  ⎿"))


STREAM = Reader(
    name="claude-stream", title="Claude Code, as a stream", read=read_stream, in_lines=any_record(is_stream)
)
EXPORT = Reader(name="claude-export", title="Claude Code, exported as text", read=read_export, in_text=_is_export)
