"""Messages in their order, and each output beside the call that it answers: what readers of chats share."""

import re
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from upskill.domain.trace import Subtrace, Trace
from upskill.traces.fields import parsed
from upskill.traces.recording import Recording
from upskill.traces.steps import LONGEST_ID, Draft, Drafts

MOST_UNCLOSED = 50
"""Names that open and never close, before the rest of a text is taken as it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolUse:
    """One use of a tool as recorded, not cleaned yet. An empty id is one that the recording does not give."""

    id: str = ""
    name: str
    arguments: Any


class Conversation(Drafts):
    """Drafts that find the call of each output. Many recordings give no id to a call, and some give all the same."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(recording)
        self._ids: set[str] = set()
        self._waiting: dict[tuple[str, str], OrderedDict[str, tuple[str, str]]] = defaultdict(OrderedDict)
        """Calls without an output, oldest first: all of them, those of an id, those of a name."""
        self._recorded_ids: set[str] = set()
        self._orphans = 0

    def say(self, draft: Draft, text: str) -> None:
        super().say(draft, text.strip())

    def think(self, draft: Draft, text: str) -> None:
        super().think(draft, text.strip())

    def agent(
        self, text: str = "", *, reasoning: str = "", calls: Iterable[ToolUse] = (), joined: bool = False
    ) -> Draft:
        """A message of the model. `joined` adds it to the message before, if that one is the model's too."""
        follows = joined and self.steps and self.steps[-1].source == "agent"
        draft = self.steps[-1] if follows else self.begin("agent")
        self.say(draft, text)
        self.think(draft, reasoning)
        for call in calls:
            own = self._own_id(call)
            self.call(draft, own, call.name or "unnamed", _unpacked(call.arguments))
            for queue in _queues(call.id, call.name):
                self._waiting[queue][own] = (call.id, call.name)
        return draft

    def output(
        self,
        content: str,
        *,
        call_id: str = "",
        name: str = "",
        failed: bool | None = None,
        exit_code: int | None = None,
    ) -> None:
        """What a call brought: of the id given; else the oldest call that waits, of the name given if there is one."""
        waiting = self._waiting.get(("id", call_id) if call_id else ("name", name))
        if not waiting:
            # A second output of one call is a repetition; one of no call at all was cut off from it.
            self._orphans += not call_id or call_id not in self._recorded_ids
            return
        own, recorded = next(iter(waiting.items()))
        for queue in _queues(*recorded):
            self._waiting[queue].pop(own, None)
        if failed is None and exit_code is not None:
            failed = exit_code != 0
        self.observe(own, content, failed=failed, exit_code=exit_code)

    def no_call(self, call_id: str) -> None:
        """A call that only ends the work: neither it nor its output is kept."""
        self._recorded_ids.add(call_id)

    def waits(self, *, call_id: str = "", name: str = "") -> bool:
        """Whether a call of that id, else of that tool, has no output yet."""
        return bool(self._waiting.get(("id", call_id) if call_id else ("name", name)))

    def trace(
        self,
        recorder: str,
        *,
        model: str = "",
        folder: str = "",
        success: bool | None = None,
        subtraces: tuple[Subtrace, ...] = (),
    ) -> Trace:
        trace = super().trace(recorder, model=model, folder=folder, success=success, subtraces=subtraces)
        if self._orphans and trace.steps:
            outputs = "an output belongs" if self._orphans == 1 else f"{self._orphans:,} outputs belong"
            self.recording.note(f"{outputs} to no call, skipped")
        return trace

    def _own_id(self, call: ToolUse) -> str:
        """The id as recorded, with a number behind it where it was used before."""
        self._recorded_ids.add(call.id)
        recorded = self.recording.clean(call.id)[: LONGEST_ID - 20]
        number = len(self._ids) + 1
        own = recorded or f"call-{number}"
        while own in self._ids:
            own = f"{recorded or 'call'}#{number}"
            number += 1
        self._ids.add(own)
        return own


def _unpacked(arguments: Any) -> Any:
    """Arguments are an object, or that object as JSON in a string."""
    if isinstance(arguments, str) and arguments.lstrip()[:1] == "{":
        value = parsed(arguments)
        return value if isinstance(value, dict) else arguments
    return "" if arguments is None else arguments


def _queues(call_id: str, name: str) -> set[tuple[str, str]]:
    return {("name", ""), ("id", call_id), ("name", name)}


@dataclass(frozen=True, slots=True)
class TaggedText:
    """What was between tags, with the tag's name, and the text without it."""

    pieces: tuple[tuple[str, str], ...]
    rest: str


def split_tags(text: str, names: str, *, open_end: bool = False) -> TaggedText:
    """Take out the pieces between `<name>` and `</name>`, for names that fit the pattern `names`.

    `open_end` lets a piece that is never closed reach to the end of the text, as when a model was stopped.
    """
    opening = re.compile(f"<({names})>")
    pieces, rest, unclosed = [], [], set[str]()
    done = at = 0
    while (found := opening.search(text, at)) is not None:
        name = found.group(1)
        end = -1 if name in unclosed else text.find(f"</{name}>", found.end())
        if end < 0 and not open_end:
            unclosed.add(name)
            at = found.end()
            if len(unclosed) > MOST_UNCLOSED:
                break
            continue
        end = len(text) if end < 0 else end
        pieces.append((name, text[found.end() : end]))
        rest.append(text[done : found.start()])
        done = at = end + len(name) + 3
    return TaggedText(tuple(pieces), "".join((*rest, text[done:])))
