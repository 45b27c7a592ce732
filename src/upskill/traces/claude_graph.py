"""The records of a Claude Code session as a graph, and the branch of each thread that belongs to the work as it stands.

Holds no content: ids become numbers, texts become hashes, so that a session of any length fits. Parents are never
followed by recursion, and a circle ends the walk. Most forks are no rewinds: parallel calls, late results and replays
fork too. What remains outside a branch is what the person went back on.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from upskill.traces.claude_messages import result_text, typed
from upskill.traces.fields import blocks, items, mapping, string

MAIN = 0
ROOT = -1
MISSING = -2
"""Its parent is named but not in the file: the line was lost."""

USER, ASSISTANT, BOUNDARY, STEERING, OTHER = range(5)
CONVERSATION = (USER, ASSISTANT)
PROMPT, RESULT = 1, 2
PRESERVED = 50
AGENT_MARK = "agentId:"


@dataclass(slots=True)
class Boundary:
    """Where the program compacted: what it says came before."""

    before: str
    preserved: tuple[str, ...]


@dataclass(slots=True)
class Graph:
    """One entry per record that has an id, in the order of the file."""

    line: "array[int]" = field(default_factory=lambda: array("q"))
    parent: "array[int]" = field(default_factory=lambda: array("q"))
    kind: bytearray = field(default_factory=bytearray)
    flags: bytearray = field(default_factory=bytearray)
    thread: "array[int]" = field(default_factory=lambda: array("q"))
    message: "array[int]" = field(default_factory=lambda: array("q"))
    time: "array[int]" = field(default_factory=lambda: array("q"))
    previous: "array[int]" = field(default_factory=lambda: array("q"))
    """The last record of the conversation before it in the same thread."""

    boundaries: dict[int, Boundary] = field(default_factory=dict)
    call_of_agent: dict[str, str] = field(default_factory=dict)
    node_of_call: dict[str, int] = field(default_factory=dict)
    results: list[tuple[str, int]] = field(default_factory=list)
    call_of_prompt: dict[int, list[str]] = field(default_factory=dict)
    agent_of_thread: dict[int, str] = field(default_factory=dict)
    prompt_of_thread: dict[int, int] = field(default_factory=dict)
    steered: set[int] = field(default_factory=set)
    removed: list[tuple[int, int]] = field(default_factory=list)
    leaf: str = ""
    leaf_line: int = 0

    node_of_uuid: dict[str, int] = field(default_factory=dict)
    last_of_thread: dict[int, int] = field(default_factory=dict)
    """The last record of the conversation in each thread in which somebody spoke."""

    _waiting: dict[int, str] = field(default_factory=dict)
    _messages: dict[str, int] = field(default_factory=dict)
    _threads: dict[str, int] = field(default_factory=dict)

    def add(self, line: int, record: dict[str, Any]) -> None:
        """Add one record; the first of several with one id counts."""
        kind = string(record.get("type"))
        if kind == "last-prompt":
            self.leaf, self.leaf_line = string(record.get("leafUuid")), line
        elif kind == "queue-operation" and record.get("operation") == "remove":
            text = prompt_text(record.get("content"))
            if text:
                self.removed.append((line, hash(text)))
        uuid = string(record.get("uuid"))
        if not uuid or uuid in self.node_of_uuid:
            return
        node = len(self.line)
        self.node_of_uuid[uuid] = node
        self.line.append(line)
        self.parent.append(self._parent(node, record))
        self.time.append(hash(string(record.get("timestamp"))))
        self.thread.append(self._thread(node, record))
        self.previous.append(self.last_of_thread.get(self.thread[node], ROOT))
        self.message.append(0)
        self.flags.append(0)
        self.kind.append(self._kind(node, kind, record))
        if self.kind[node] in CONVERSATION:
            self.last_of_thread[self.thread[node]] = node

    def finish(self) -> None:
        """Resolve parents that came after their children."""
        for node, uuid in self._waiting.items():
            self.parent[node] = self.node_of_uuid.get(uuid, MISSING)
        self._waiting.clear()

    def forget_ids(self) -> None:
        """They are half of what the graph holds, and once the branch is found nothing asks for them."""
        self.node_of_uuid.clear()
        self._messages.clear()
        self.results.clear()
        self.node_of_call.clear()
        self.call_of_prompt.clear()

    def _parent(self, node: int, record: dict[str, Any]) -> int:
        parent = string(record.get("parentUuid"))
        if not parent:
            return ROOT
        known = self.node_of_uuid.get(parent)
        if known is None:
            self._waiting[node] = parent
            return MISSING
        return ROOT if known == node else known

    def _thread(self, node: int, record: dict[str, Any]) -> int:
        """The main thread, or one per subagent; lines of old files name none and follow their parents."""
        if record.get("isSidechain") is not True:
            return MAIN
        agent = string(record.get("agentId"))
        if agent:
            thread = self._threads.setdefault(agent, len(self._threads) + 1)
            self.agent_of_thread[thread] = agent
            return thread
        parent = self.parent[node]
        if parent >= 0 and self.thread[parent] != MAIN:
            return self.thread[parent]
        return self._threads.setdefault(f"line {self.line[node]}", len(self._threads) + 1)

    def _kind(self, node: int, kind: str, record: dict[str, Any]) -> int:
        message = mapping(record.get("message"))
        if kind == "assistant":
            message_id = string(message.get("id"))
            if message_id:
                self.message[node] = self._messages.setdefault(message_id, len(self._messages) + 1)
            self._calls(node, message.get("content"))
            return ASSISTANT
        if kind == "user":
            self._add_user(node, record, message.get("content"))
            return USER
        if kind == "system" and record.get("subtype") == "compact_boundary":
            about = mapping(record.get("compactMetadata"))
            self.boundaries[node] = Boundary(string(record.get("logicalParentUuid")), _preserved(about))
            return BOUNDARY
        if kind == "attachment":
            text = steering_text(record)
            if text:
                self.steered.add(hash(text))
                return STEERING
        return OTHER

    def _calls(self, node: int, content: Any) -> None:
        for block in blocks(content):
            if block.get("type") == "tool_use":
                call_id = string(block.get("id"))
                self.node_of_call.setdefault(call_id, node)
                prompt = string(mapping(block.get("input")).get("prompt"))
                if prompt:
                    self.call_of_prompt.setdefault(hash(prompt.strip()), []).append(call_id)

    def _add_user(self, node: int, record: dict[str, Any], content: Any) -> None:
        found = blocks(content)
        results = [block for block in found if block.get("type") == "tool_result"]
        for block in results:
            call_id = string(block.get("tool_use_id"))
            self.results.append((call_id, node))
            self._link(call_id, record, block)
        if results:
            self.flags[node] = RESULT
            return
        text = "\n".join(string(block.get("text")) for block in found).strip()
        if not injected(record) and typed(text).text:
            self.flags[node] = PROMPT
        self.prompt_of_thread.setdefault(self.thread[node], hash(text))

    def _link(self, call_id: str, record: dict[str, Any], block: dict[str, Any]) -> None:
        """Which agent a call began: in the structured copy of its result, else in the text."""
        about = mapping(record.get("toolUseResult"))
        agent = string(about.get("agentId"))
        if not agent and not about:
            text = result_text(block)[-2_000:]
            agent = (text.rpartition(AGENT_MARK)[2].split() or [""])[0] if AGENT_MARK in text else ""
        if agent:
            self.call_of_agent.setdefault(agent, call_id)


def injected(record: dict[str, Any]) -> bool:
    """Written by the program, whatever it says."""
    return any(record.get(name) is True for name in ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"))


def steering_text(record: dict[str, Any]) -> str:
    """What was typed while the agent worked."""
    attachment = mapping(record.get("attachment"))
    return prompt_text(attachment.get("prompt")) if attachment.get("type") == "queued_command" else ""


def prompt_text(content: Any) -> str:
    """A text, or the texts of its blocks."""
    return "\n".join(string(block.get("text")) for block in blocks(content)).strip()


def _preserved(about: dict[str, Any]) -> tuple[str, ...]:
    found: list[str] = []
    for name in ("preservedSegment", "preservedMessages"):
        value = about.get(name)
        parts = list(value.values()) if isinstance(value, dict) else items(value)
        for part in parts[:PRESERVED]:
            found += [string(one) for one in (items(part) or [mapping(part).get("uuid", part)])[:PRESERVED]]
    return tuple(filter(None, found[:PRESERVED]))


@dataclass(frozen=True, slots=True)
class Branch:
    """What was found out about the branch of one thread."""

    dropped: int
    """Branches beside it in which somebody spoke."""
    gaps: tuple[int, ...]
    """Lines whose parent is not in the file: taken to follow the record before them."""


@dataclass(frozen=True, slots=True)
class Branches:
    """The branch of each thread, and for each record whether it is on the branch of its thread."""

    by_thread: dict[int, Branch]
    kept: bytearray


def branches(graph: Graph) -> Branches:
    """The branches of all threads in which somebody spoke."""
    members = {thread: array("q") for thread in sorted(graph.last_of_thread)}
    for node, thread in enumerate(graph.thread):
        if thread in members:
            members[thread].append(node)
    finder = _BranchFinder(graph)
    found = Branches({}, bytearray(len(graph.line)))
    for thread, nodes in members.items():
        found.by_thread[thread] = finder.branch(thread, nodes)
        for node in nodes:
            found.kept[node] = finder.kept[node]
    return found


class _BranchFinder:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        count = len(graph.line)
        self.kept = bytearray(count)
        self.gaps: list[int] = []
        self.first_child = array("q", [ROOT]) * count
        self.next_child = array("q", [ROOT]) * count
        for node in range(count - 1, -1, -1):  # from the end, so that children come in order
            parent = graph.parent[node]
            if parent >= 0:
                self.next_child[node] = self.first_child[parent]
                self.first_child[parent] = node
        self.results_of: dict[int, list[int]] = {}
        for call_id, node in graph.results:
            if call_id in graph.node_of_call:
                self.results_of.setdefault(graph.node_of_call[call_id], []).append(node)

    def branch(self, thread: int, members: "array[int]") -> Branch:
        """Mark the records kept of one thread."""
        self.gaps = []
        path: list[int] = []
        node = self._leaf(thread)
        while node >= 0 and not self.kept[node]:
            self.kept[node] = 1
            path.append(node)
            node = self._above(node)
        self._rescue(path, thread)
        return Branch(self._dropped(members), tuple(self.gaps))

    def _leaf(self, thread: int) -> int:
        """Where the work stands: what the program noted last, if nobody spoke after that; else the last record."""
        graph = self.graph
        last = graph.last_of_thread[thread]
        noted = graph.node_of_uuid.get(graph.leaf) if thread == MAIN and graph.leaf else None
        if noted is None or graph.line[last] > graph.leaf_line or graph.thread[noted] != thread:
            return last
        return last if any(graph.kind[child] in CONVERSATION for child in self._children(noted)) else noted

    def _above(self, node: int) -> int:
        graph = self.graph
        parent = graph.parent[node]
        if parent >= 0 and not self.kept[parent]:
            return parent
        if graph.kind[node] == BOUNDARY:
            return self._before(node)
        before = graph.previous[node]
        if parent == ROOT and (graph.flags[node] & PROMPT or before < 0):
            return ROOT
        if parent == MISSING and before >= 0:
            self.gaps.append(graph.line[node])
        return before

    def _before(self, boundary: int) -> int:
        """The last record before a compaction. What it names can hang below it: then it is no record before it."""
        about = self.graph.boundaries[boundary]
        for uuid in (about.before, *about.preserved):
            node = self.graph.node_of_uuid.get(uuid)
            if node is not None and node < boundary and not self.kept[node]:
                return node
        return self.graph.previous[boundary]

    def _rescue(self, waiting: list[int], thread: int) -> None:
        """Add what a fork that is no rewind left beside the path: the rest of a message, results of kept calls."""
        graph = self.graph
        while waiting:
            node = waiting.pop()
            if graph.kind[node] == ASSISTANT:
                for child in self._children(node):
                    if graph.kind[child] == ASSISTANT and graph.message[child] == graph.message[node] != 0:
                        self._keep_down(child, waiting)
                for result in self.results_of.get(node, ()):
                    if graph.thread[result] == thread:
                        self._keep_down(result, waiting, alone=graph.parent[result] != node)
            elif graph.kind[node] == USER and graph.flags[node] & RESULT:
                for child in self._children(node):
                    if graph.kind[child] == STEERING:
                        self.kept[child] = 1

    def _keep_down(self, node: int, waiting: list[int], *, alone: bool = False) -> None:
        """A record beside the path and, unless it is to be `alone`, what came of it, by its last child each time."""
        while node >= 0 and not self.kept[node]:
            self.kept[node] = 1
            waiting.append(node)
            node = ROOT if alone else max(self._children(node), default=ROOT)

    def _children(self, node: int) -> Iterator[int]:
        child = self.first_child[node]
        while child >= 0:
            yield child
            child = self.next_child[child]

    def _dropped(self, members: "array[int]") -> int:
        """Branches left out in which somebody spoke; replays by a compaction are none."""
        graph, spoken, dropped = self.graph, set[int](), 0
        replayed = {(graph.parent[node], graph.time[node]) for node in members if self.kept[node]}
        for node in members:
            if self.kept[node]:
                continue
            inside = graph.parent[node] in spoken
            speaks = graph.kind[node] == ASSISTANT or bool(graph.flags[node] & PROMPT)
            if inside or speaks:
                spoken.add(node)
            if speaks and not inside and (graph.parent[node], graph.time[node]) not in replayed:
                dropped += 1
        return dropped
