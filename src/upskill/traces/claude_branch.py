"""Which records of a Claude Code session belong to the work as it stands, and how many branches were rewound.

Most forks are no rewinds: parallel calls, late results and replays fork too. What remains outside is what the person
went back on.
"""

from array import array
from dataclasses import dataclass

from upskill.traces.claude_graph import (
    ASSISTANT,
    BOUNDARY,
    CONVERSATION,
    MAIN,
    MISSING,
    PROMPT,
    RESULT,
    ROOT,
    STEERING,
    USER,
    Graph,
)


@dataclass(frozen=True, slots=True)
class Branch:
    """The records kept of one thread, as numbers of the graph in the order of the file."""

    nodes: "array[int]"
    dropped: int
    gaps: tuple[int, ...]
    """Lines whose parent is not in the file: taken to follow the record before them."""


def branches(graph: Graph) -> dict[int, Branch]:
    """One per thread."""
    finding = _Finding(graph)
    return {thread: finding.branch(thread, nodes) for thread, nodes in finding.members().items()}


class _Finding:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.kept = bytearray(len(graph.line))
        self.gaps: list[int] = []
        count = len(graph.line)
        self.first_child = array("q", [ROOT]) * count
        self.next_child = array("q", [ROOT]) * count
        for node in range(count - 1, -1, -1):  # from the end, so that children come in order
            parent = graph.parent[node]
            if parent >= 0:
                self.next_child[node] = self.first_child[parent]
                self.first_child[parent] = node
        self.late: dict[int, list[int]] = {}
        for call_id, node in graph.results:
            caller = graph.node_of_call.get(call_id)
            if caller is not None:
                self.late.setdefault(caller, []).append(node)

    def members(self) -> "dict[int, array[int]]":
        """The records of each thread in which somebody spoke, in the order of the file."""
        found = {thread: array("q") for thread in self.graph.threads()}
        for node, thread in enumerate(self.graph.thread):
            if thread in found:
                found[thread].append(node)
        return found

    def branch(self, thread: int, members: "array[int]") -> Branch:
        """The records kept of one thread."""
        self.gaps = []
        path = self._path(self._leaf(thread))
        self._rescue(path, thread)
        kept = array("q", (node for node in members if self.kept[node]))
        return Branch(kept, self._dropped(members), tuple(self.gaps))

    def _leaf(self, thread: int) -> int:
        """Where the work stands: what the program noted last, if nobody spoke after that; else the last record."""
        last = self.graph.last(thread)
        noted = self.graph.node(self.graph.leaf) if thread == MAIN and self.graph.leaf else None
        if noted is None or self.graph.line[last] > self.graph.leaf_line or self.graph.thread[noted] != thread:
            return last
        below = self.first_child[noted]
        while below >= 0:
            if self.graph.kind[below] in CONVERSATION:
                return last
            below = self.next_child[below]
        return noted

    def _path(self, leaf: int) -> list[int]:
        path: list[int] = []
        at = leaf
        while at >= 0 and not self.kept[at]:
            self.kept[at] = 1
            path.append(at)
            at = self._above(at)
        return path

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
            node = self.graph.node(uuid)
            if node is not None and node < boundary and not self.kept[node]:
                return node
        return self.graph.previous[boundary]

    def _rescue(self, path: list[int], thread: int) -> None:
        """Add what a fork that is no rewind left beside the path: the rest of a message, results of kept calls."""
        graph, waiting = self.graph, path
        while waiting:
            node = waiting.pop()
            if graph.kind[node] == ASSISTANT:
                for child in self._children(node):
                    same = graph.message[child] == graph.message[node] != 0
                    if graph.kind[child] == ASSISTANT and same and not self.kept[child]:
                        self._keep_down(child, waiting)
                for result in self.late.get(node, ()):
                    if not self.kept[result] and graph.thread[result] == thread:
                        if graph.parent[result] == node:
                            self._keep_down(result, waiting)
                        else:
                            self.kept[result] = 1
                            waiting.append(result)
            elif graph.kind[node] == USER and graph.flags[node] & RESULT:
                for child in self._children(node):
                    if graph.kind[child] == STEERING and not self.kept[child]:
                        self.kept[child] = 1

    def _keep_down(self, node: int, waiting: list[int]) -> None:
        """A record beside the path with what came of it, by its last child each time."""
        while node >= 0 and not self.kept[node]:
            self.kept[node] = 1
            waiting.append(node)
            below = ROOT
            for child in self._children(node):
                below = child
            node = below

    def _children(self, node: int) -> list[int]:
        found = []
        child = self.first_child[node]
        while child >= 0:
            found.append(child)
            child = self.next_child[child]
        return found

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
