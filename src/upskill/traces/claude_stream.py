"""What `claude -p --output-format stream-json` prints. The prompt is not in it, unless it was asked for."""

from collections.abc import Iterator
from typing import Any

from upskill.domain.trace import Trace
from upskill.traces.building import NO_PROMPT, Draft, Drafts
from upskill.traces.claude_messages import add_message, add_result, blocks, typed
from upskill.traces.fields import mapping, string
from upskill.traces.nesting import nest
from upskill.traces.source import Recording


def read(recording: Recording) -> Iterator[Trace]:
    """One trace, subagents under the calls that began them."""
    threads: dict[str, _Thread] = {"": _Thread(Drafts(recording))}
    seen: set[str] = set()
    for _, record in recording.records():
        record_id = string(record.get("uuid"))
        if record_id and record_id in seen:
            continue
        seen.add(record_id)
        under = string(record.get("parent_tool_use_id"))
        if under not in threads:
            threads[under] = _Thread(Drafts(recording))
        threads[under].add(record, main=not under)
    main = threads.pop("")
    if not any(draft.source == "person" for draft in main.drafts.steps):
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
            self.drafts.folder = self.drafts.folder or string(record.get("cwd")) or None
            self.drafts.model = self.drafts.model or string(record.get("model")) or None

    def _say(self, message: dict[str, Any]) -> None:
        """There is no parent id: only records that follow each other directly are one message."""
        message_id = string(message.get("id"))
        if message.get("model") == "<synthetic>":
            return
        if self._draft is None or not message_id or message_id != self._message:
            self._draft = self.drafts.begin("agent")
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
