"""Gemini CLI sessions: lines of which later ones replace or undo earlier ones."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from upskill.traces.recording import Reader, Record, Recording, at, mapping, objects, string, texts
from upskill.traces.steps import Draft, Drafts
from upskill.traces.trace import Trace

INJECTED = ("<session_context>", "This is the Gemini CLI. We are setting up the context")
COMMAND = re.compile(r"\A/[\w:-]+\s*\Z")
EXIT_CODE = re.compile(r"^Exit Code: (-?\d{1,9})$", re.MULTILINE)
FAILED = {"error": True, "cancelled": True, "success": False}


def read(recording: Recording) -> Iterator[Trace]:
    """One trace, as it stood at the end."""
    session = _Session(recording)
    for record in recording.objects():
        session.add(record)
    yield session.drafts.trace("gemini-cli")


class _Session:
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
            if COMMAND.match(text):
                self.drafts.commands += 1
            elif not text.lstrip().startswith(INJECTED):
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
        content = _result(call.get("result")) or string(call.get("resultDisplay"))
        failed = FAILED.get(string(call.get("status")))
        code = EXIT_CODE.search(content[-2_000:]) if "shell" in name else None
        exit_code = int(code.group(1)) if code else None
        self.drafts.observe(
            call_id or draft.calls[-1].id, content, failed=bool(exit_code) or failed, exit_code=exit_code
        )


def _result(result: Any) -> str:
    if isinstance(result, str):
        return result
    found = []
    for part in objects(result):
        response = mapping(at(part, "functionResponse", "response"))
        found += [texts(response.get(key)) for key in ("output", "error", "content")] + [string(part.get("text"))]
    return "\n".join(filter(None, found))


def _are_lines(records: Sequence[Record]) -> bool:
    first = records[0] if records else {}
    if {"sessionId", "projectHash"} <= first.keys():
        return True
    return any(record.get("type") == "gemini" and "id" in record for record in records)


READER = Reader(name="gemini-cli", title="Gemini CLI", read=read, in_lines=_are_lines)
