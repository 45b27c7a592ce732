"""Claude Code: sessions with subagents, compactions and rewound branches, and what the program prints.

A session is read twice: first the graph, without content, to find the branch that was kept; then only the records of
that branch, each cleaned and cut as it is read. Nothing else of the file is ever held. The prompt is not in a stream
(`claude -p --output-format stream-json`), unless it was asked for. An export (`/export`) is a printed terminal: outputs
are cut in it, and reasoning is gone.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from upskill.errors import UsageError
from upskill.traces.claude_records import (
    ASSISTANT,
    EXIT_CODE,
    MAIN,
    STEERING,
    USER,
    Graph,
    add_message,
    add_result,
    branches,
    injected,
    prompt_text,
    steering_text,
    tagged,
    typed,
)
from upskill.traces.recording import Reader, Record, Recording, any_record, blocks, distinct, mapping, parsed, string
from upskill.traces.steps import NO_PROMPT, Draft, Drafts, Thread, nest
from upskill.traces.trace import Trace

RECORDER = "claude-code"
AGENT_ID = re.compile(r"\A[A-Za-z0-9_-]{1,80}\Z")
AGENT_FILES = 2_000
LARGEST_META = 100_000
NOTIFICATION = "<task-notification>"


def read(recording: Recording) -> Iterator[Trace]:
    """One trace of the session, subagents under the calls that began them."""
    session = _read_file(recording, alone=True)
    yield nest(RECORDER, session.main, [*session.threads, *_subagents(recording, session)], recording)


@dataclass(frozen=True, slots=True)
class _Session:
    """What one file holds: its main thread, and the subagents written into the same file."""

    main: Drafts
    threads: list[Thread]
    call_of_agent: dict[str, str]
    undone: frozenset[str]
    """Calls of branches that were rewound: what they began is left out as well."""


def _read_file(recording: Recording, *, alone: bool) -> _Session:
    graph = Graph()
    for line, record in recording.records():
        graph.add(line, record)
    graph.finish()
    found, kept = branches(graph)
    main = MAIN if MAIN in found or not found else min(found)
    undone = frozenset(call for call, node in graph.node_of_call.items() if not kept[node])
    calls = {thread: _call_of(graph, thread) for thread in found if thread != main}
    found = {thread: branch for thread, branch in found.items() if calls.get(thread) not in undone}
    graph.forget_ids()
    drafts = _fill(recording, graph, kept, list(found), main=main, alone=alone)
    for thread, branch in found.items():
        drafts[thread].dropped = branch.dropped
        for line in branch.gaps:
            recording.note("its predecessor is not in the file; read as a follow-up of the record above it", line=line)
    threads = [(calls[thread], drafts[thread]) for thread in found if thread != main]
    return _Session(drafts.get(main) or Drafts(recording), threads, graph.call_of_agent, undone)


def _call_of(graph: Graph, thread: int) -> str:
    """The call that began a subagent: by its id, else by its prompt, each call once."""
    agent = graph.agent_of_thread.get(thread)
    if agent and agent in graph.call_of_agent:
        return graph.call_of_agent[agent]
    same = graph.call_of_prompt.get(graph.prompt_of_thread.get(thread, 0))
    return same.pop(0) if same else ""


def _fill(
    recording: Recording, graph: Graph, kept: bytearray, threads: list[int], *, main: int, alone: bool
) -> dict[int, Drafts]:
    """The second reading: the kept records in the order of the file."""
    fillers = {
        thread: _ThreadFiller(recording, graph, person=thread == MAIN, asked=alone and thread == main)
        for thread in threads
    }
    removed = {line for line, text in graph.removed if text not in graph.steered}
    node, count = 0, len(graph.line)
    for line, raw in recording.numbered():
        while node < count and graph.line[node] < line:
            node += 1
        if node < count and graph.line[node] == line:
            if kept[node] and graph.thread[node] in fillers:
                fillers[graph.thread[node]].add(node, mapping(parsed(raw)))
        elif line in removed and MAIN in fillers:
            fillers[MAIN].steer(prompt_text(mapping(parsed(raw)).get("content")))
    return {thread: filler.drafts for thread, filler in fillers.items()}


class _ThreadFiller:
    """One thread becoming steps."""

    def __init__(self, recording: Recording, graph: Graph, *, person: bool, asked: bool) -> None:
        self.drafts = Drafts(recording)
        self._graph = graph
        self._person = person
        self._asked = asked
        self._draft_of: dict[int, Draft] = {}

    def add(self, node: int, record: dict[str, Any]) -> None:
        kind, message = self._graph.kind[node], mapping(record.get("message"))
        self.drafts.add_details(folder=string(record.get("cwd")))
        if kind == ASSISTANT:
            self._add_agent(node, record, message)
        elif kind == USER:
            self._add_user(record, message)
        elif kind == STEERING:
            self.steer(steering_text(record))

    def _add_agent(self, node: int, record: dict[str, Any], message: dict[str, Any]) -> None:
        """One model message is written as several lines: each belongs to its parent's, if that has the same id."""
        model = string(message.get("model"))
        if model == "<synthetic>" or record.get("isApiErrorMessage") is True:
            return
        self.drafts.add_details(model=model)
        parent, messages = self._graph.parent[node], self._graph.message
        same = parent >= 0 and messages[parent] == messages[node] != 0
        draft = (self._draft_of.get(parent) if same else None) or self.drafts.agent()
        self._draft_of[node] = draft
        add_message(self.drafts, draft, message.get("content"))

    def _add_user(self, record: dict[str, Any], message: dict[str, Any]) -> None:
        texts: list[str] = []
        for block in blocks(message.get("content")):
            if block.get("type") == "tool_result":
                add_result(self.drafts, block)
            elif block.get("type") == "text" and not injected(record):
                texts.append(string(block.get("text")))
        if self._person:
            for text in texts:
                self.steer(text)
        elif self._asked and texts:
            # A subagent's own file: what it was asked came from another agent.
            self.drafts.harness("\n".join(texts))
            self._asked = False

    def steer(self, text: str) -> None:
        """Words under the role of the person, typed or not."""
        text = text.strip()
        if text.startswith(NOTIFICATION):
            self._add_notification(text)
            return
        found = typed(text)
        self.drafts.commands += found.command
        if found.interrupted:
            self.drafts.harness("[the person interrupted]")
        self.drafts.person(found.text)

    def _add_notification(self, text: str) -> None:
        """The answer of an agent in the background: it belongs to the call that began it."""
        call_id = tagged(text, "tool-use-id") or self._graph.call_of_agent.get(tagged(text, "task-id"), "")
        answer = tagged(text, "result")
        if call_id and answer:
            failed = {"completed": None, "failed": True, "killed": True}.get(tagged(text, "status"))
            self.drafts.revise(call_id, answer, failed=failed)


def _subagents(recording: Recording, session: _Session) -> Iterator[Thread]:
    """The subagents' own files: in a folder named like the session, or, older, beside it."""
    folder = recording.path.with_suffix("") / "subagents"
    found = sorted(folder.rglob("agent-*.jsonl"))[:AGENT_FILES] if folder.is_dir() else []
    waiting = [(path, path.stem.removeprefix("agent-")) for path in found]
    calls, undone, seen = dict(session.call_of_agent), set(session.undone), {path for path, _ in waiting}

    def beside(agents: dict[str, str]) -> None:
        for agent in agents:
            path = recording.path.with_name(f"agent-{agent}.jsonl") if AGENT_ID.match(agent) else recording.path
            if path not in seen and path != recording.path and len(seen) < AGENT_FILES and path.is_file():
                seen.add(path)
                waiting.append((path, agent))

    beside(calls)
    read: list[tuple[Path, str, _Session]] = []
    while waiting:
        path, agent = waiting.pop(0)
        if calls.get(agent) in undone:
            continue
        try:
            part = _read_file(recording.beside(path), alone=False)
        except UsageError as error:
            recording.note(f"the subagent's file {path.name} was skipped: {error.hint or 'it cannot be read'}")
            continue
        calls = part.call_of_agent | calls
        undone |= part.undone
        read.append((path, agent, part))
        beside(part.call_of_agent)
    for path, agent, part in read:
        call_id = _noted_call(path) or calls.get(agent, "")
        if call_id not in undone:
            yield call_id, part.main
            yield from part.threads


def _noted_call(path: Path) -> str:
    """What the small file beside a subagent's says of the call. It is there even if the agent never returned."""
    meta = path.with_suffix(".meta.json")
    try:
        content = meta.read_bytes() if meta.stat().st_size <= LARGEST_META else b""
    except OSError:
        return ""
    return string(mapping(parsed(content)).get("toolUseId"))


CLAUDE = frozenset(
    {"user", "assistant", "system", "queue-operation", "ai-title", "last-prompt", "attachment", "progress"}
)


def _is_claude(record: Record) -> bool:
    if "isSidechain" in record or "parentUuid" in record:
        return True
    kind = string(record.get("type"))
    return (
        (kind in CLAUDE and "sessionId" in record)
        or (kind == "summary" and "leafUuid" in record)
        or (kind == "file-history-snapshot" and "messageId" in record)
    )


READER = Reader(name=RECORDER, title="Claude Code", read=read, in_lines=any_record(_is_claude))


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
