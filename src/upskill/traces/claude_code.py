"""Claude Code: sessions with subagents, compactions and rewound branches, and what the program prints.

A session is read twice: first the graph, without content, to find the branch that was kept; then only the records of
that branch, each cleaned and cut as it is read. Nothing else of the file is ever held. The prompt is not in a stream
(`claude -p --output-format stream-json`), unless it was asked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from upskill import disk
from upskill.errors import UsageError
from upskill.traces.claude_records import (
    ASSISTANT,
    STEERING,
    USER,
    Graph,
    add_message,
    add_result,
    injected,
    kept_branch,
    prompt_text,
    steering_text,
    tagged,
    typed,
)
from upskill.traces.recording import Reader, Record, Recording, any_record, blocks, distinct, mapping, parsed, string
from upskill.traces.steps import NO_PROMPT, Draft, Drafts, Thread, nest
from upskill.traces.trace import Trace

RECORDER = "claude-code"
AGENT_FILES = 2_000
LARGEST_META = 100_000
NOTIFICATION = "<task-notification>"


def read(recording: Recording) -> Iterator[Trace]:
    """One trace of the session, subagents under the calls that began them."""
    session = _read_file(recording, alone=True)
    yield nest(RECORDER, session.drafts, list(_subagents(recording, session)), recording)


@dataclass(frozen=True, slots=True)
class _Session:
    """What one file holds."""

    drafts: Drafts
    call_of_agent: dict[str, str]
    undone: frozenset[str]
    """Calls of branches that were rewound: what they began is left out as well."""


def _read_file(recording: Recording, *, alone: bool) -> _Session:
    graph = Graph()
    for line, record in recording.records():
        graph.add(line, record)
    graph.finish()
    branch = kept_branch(graph)
    undone = frozenset(call for call, node in graph.node_of_call.items() if not branch.kept[node])
    graph.forget_ids()
    drafts = _fill(recording, graph, branch.kept, alone=alone)
    drafts.dropped = branch.dropped
    for line in branch.gaps:
        recording.note("its predecessor is not in the file; read as a follow-up of the record above it", line=line)
    return _Session(drafts, graph.call_of_agent, undone)


def _fill(recording: Recording, graph: Graph, kept: bytearray, *, alone: bool) -> Drafts:
    """Read the kept records, in the order of the file: the second reading."""
    filler = _Filler(recording, graph, alone=alone)
    removed = {line for line, text in graph.removed if text not in graph.steered and graph.last >= 0}
    node, count = 0, len(graph.line)
    for line, raw in recording.numbered():
        while node < count and graph.line[node] < line:
            node += 1
        if node < count and graph.line[node] == line:
            if kept[node]:
                filler.add(node, recording.dated(mapping(parsed(raw))))
        elif line in removed and not graph.of_subagent:
            filler.steer(prompt_text(mapping(parsed(raw)).get("content")))
    return filler.drafts


class _Filler:
    """One conversation becoming steps."""

    def __init__(self, recording: Recording, graph: Graph, *, alone: bool) -> None:
        self.drafts = Drafts(recording)
        self._graph = graph
        self._asked = alone and bool(graph.of_subagent)
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
        if not self._graph.of_subagent:
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
    """The subagents' own files."""
    calls, undone = dict(session.call_of_agent), set(session.undone)
    read: list[tuple[Path, str, Drafts]] = []
    for path in [path for path in files_beside(recording.path) if path.suffix == ".jsonl"][:AGENT_FILES]:
        agent = path.stem.removeprefix("agent-")
        if calls.get(agent) in undone:
            continue
        try:
            part = _read_file(recording.beside(path), alone=False)
        except UsageError as error:
            recording.note(f"the subagent's file {path.name} was skipped: {error.hint or 'it cannot be read'}")
            continue
        calls = part.call_of_agent | calls
        undone |= part.undone
        read.append((path, agent, part.drafts))
    for path, agent, drafts in read:
        call_id = _noted_call(path) or calls.get(agent, "")
        if call_id not in undone:
            yield call_id, drafts


def _noted_call(path: Path) -> str:
    """What the small file beside a subagent's says of the call. It is there even if the agent never returned."""
    try:
        content = disk.read(path.with_suffix(".meta.json"), most=LARGEST_META)
    except OSError:
        return ""
    return string(mapping(parsed(content)).get("toolUseId"))


def files_beside(session: Path) -> list[Path]:
    """The files of a session's subagents, in a folder named like the session; nothing that a link leads to."""
    own = session.with_suffix("")
    if not (disk.is_folder(own) and disk.is_folder(own / "subagents")):
        return []
    try:
        return sorted(disk.below(own / "subagents", "agent-*"))
    except OSError:  # more files than any session has
        return []


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


STREAM_TYPES = frozenset({"system", "user", "assistant", "tool_call", "thinking", "result"})


def is_stream(record: Record) -> bool:
    """Whether a record is of a stream. Cursor's has the same form, and is asked for first."""
    return string(record.get("type")) in STREAM_TYPES and "session_id" in record


STREAM = Reader(
    name="claude-stream", title="Claude Code, as a stream", read=read_stream, in_lines=any_record(is_stream)
)
