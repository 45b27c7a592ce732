"""Steps in the order they happened: what readers of flat recordings share. Knows no formats."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from upskill.traces.excerpt import looks_failed, tidy
from upskill.traces.recording import OBSERVED, READ, SAID, Recording, as_json, mapping, string
from upskill.traces.trace import Call, Observation, Source, Step, Subtrace, Trace

COMMANDS = ("command", "cmd", "script", "code")
READING = frozenset({"read", "read_file", "readfile", "read_many_files", "notebookread", "view_file", "cat"})
LONGEST_ID = 200
NO_PROMPT = "this kind of session does not contain the prompt: state the task yourself"


@dataclass(slots=True, eq=False)
class Draft:
    """A step while its records are read."""

    source: Source
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    at: float | None = None

    @property
    def empty(self) -> bool:
        """Nothing was said or done."""
        return not (self.text or self.reasoning or self.calls)


class Drafts:
    """Collects what a recording says, cleaning every text as it comes in, so that nothing uncleaned is held."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.steps: list[Draft] = []
        self.call_ids: set[str] = set()
        """The ids of all calls made."""
        self._observed: dict[str, Observation] = {}
        self._reads: set[str] = set()
        self._names: dict[str, str] = {}
        self.commands = 0
        """Commands to the program, typed by a person, which are no turns."""
        self.dropped = 0
        """Branches and turns that were undone."""
        self.has_person = False
        """Whether a person has spoken so far."""
        self.folder: str | None = None
        self.model: str | None = None

    def begin(self, source: Source) -> Draft:
        """A new step, to be filled."""
        draft = Draft(source, at=self.recording.written_at)
        self.steps.append(draft)
        return draft

    def agent(self, text: str = "", *, reasoning: str = "") -> Draft:
        """A new step of the model."""
        draft = self.begin("agent")
        self.say(draft, text)
        self.think(draft, reasoning)
        return draft

    def add_details(self, *, folder: str = "", model: str = "") -> None:
        """Where the work was done and by which model; the first that is not empty counts."""
        self.folder = self.folder or folder or None
        self.model = self.model or model or None

    def person(self, text: str) -> None:
        """A turn typed by a person; blank text is none."""
        if text.strip():
            self.has_person = True
            self.say(self.begin("person"), text)

    def harness(self, text: str) -> None:
        """Text of the program around the model, whatever role it was written under."""
        if text.strip():
            self.say(self.begin("harness"), text)

    def say(self, draft: Draft, text: str) -> None:
        """Add visible text."""
        if text.strip():
            draft.text.append(self.recording.clean(text, limit=SAID))

    def think(self, draft: Draft, text: str) -> None:
        """Add reasoning."""
        if text.strip():
            draft.reasoning.append(self.recording.clean(text))

    def call(self, draft: Draft, call_id: str, name: str, arguments: Any) -> bool:
        """Add a call; `False` if a call of this id is there already."""
        call_id = plain_id(call_id) or f"call-{len(self.call_ids) + 1}"
        if call_id in self.call_ids:
            return False
        if name not in self._names:
            self._names[name] = self.recording.clean(name, limit=READ)
        name = self._names[name]
        if name.lower() in READING:
            self._reads.add(call_id)
        draft.calls.append(Call(id=call_id, name=name, arguments=self.recording.clean(arguments_text(arguments))))
        self.call_ids.add(call_id)
        return True

    def knows(self, call_id: str) -> bool:
        """Whether a call of this id was made."""
        return plain_id(call_id) in self.call_ids

    def observe(self, call_id: str, content: str, *, failed: bool | None = None, exit_code: int | None = None) -> bool:
        """Add what a call brought; `False` if the call is unknown or has its output already."""
        call_id = plain_id(call_id)
        if call_id not in self.call_ids or call_id in self._observed:
            return False
        judged = failed is None and looks_failed(content)
        if failed or judged:
            kept = self.recording.clean(content, limit=OBSERVED)
        else:
            kept = self.recording.clean(content, limit=READ if call_id in self._reads else None)
        self._observed[call_id] = Observation(
            call_id=call_id, content=kept, failed=failed, exit_code=exit_code, looks_failed=judged
        )
        return True

    def revise(self, call_id: str, content: str, *, failed: bool | None) -> None:
        """Replace the note that an answer will come by the answer."""
        self._observed.pop(plain_id(call_id), None)
        self.observe(call_id, content, failed=failed)

    def mark(self, call_id: str, *, failed: bool | None, exit_code: int | None) -> None:
        """Add to an output what a later record says of its success."""
        seen = self._observed.get(plain_id(call_id))
        if seen is not None:
            self._observed[seen.call_id] = replace(seen, failed=failed, exit_code=exit_code, looks_failed=False)

    def empty(self, draft: Draft) -> None:
        """Empty a step again, because a later record replaces it."""
        for call in draft.calls:
            self.call_ids.discard(call.id)
            self._observed.pop(call.id, None)
        draft.text, draft.reasoning, draft.calls = [], [], []

    def drop_turns(self, count: int) -> None:
        """Undo the last `count` turns of the person, with all after them."""
        turns = [number for number, draft in enumerate(self.steps) if draft.source == "person"]
        if count <= 0 or not turns:
            return
        start = turns[max(0, len(turns) - count)]
        self.dropped += min(count, len(turns))
        self.drop_from(start)

    def drop_from(self, start: int) -> None:
        """Undo the steps from this index on."""
        for draft in self.steps[start:]:
            self.empty(draft)
        del self.steps[start:]

    def trace(
        self,
        recorder: str,
        *,
        model: str = "",
        folder: str = "",
        success: bool | None = None,
        subtraces: tuple[Subtrace, ...] = (),
    ) -> Trace:
        """All of it as a value; steps in which nothing was said or done are left out. To be called once, at the end."""
        self.add_details(folder=folder, model=model)
        kept = [draft for draft in reversed(self.steps) if not draft.empty]
        # Each draft goes as its step comes: a long trace must not be held twice.
        self.steps = []
        steps: list[Step] = []
        while kept:
            steps.append(self._step(len(steps) + 1, kept.pop()))
        return Trace(
            recorder=recorder,
            steps=tuple(steps),
            subtraces=subtraces,
            folder=None if self.folder is None else self.recording.clean(self.folder, limit=READ),
            model=None if self.model is None else self.recording.clean(self.model, limit=READ),
            success=success,
            commands=self.commands,
            dropped_branches=self.dropped,
        )

    def _step(self, number: int, draft: Draft) -> Step:
        return Step(
            number=number,
            source=draft.source,
            text="\n\n".join(draft.text),
            reasoning="\n\n".join(draft.reasoning),
            calls=tuple(draft.calls),
            observations=tuple(self._observed[call.id] for call in draft.calls if call.id in self._observed),
            at=draft.at,
        )


def plain_id(call_id: str) -> str:
    """An id that can be written and is not endless; the same on every record that names it."""
    return tidy(call_id[:LONGEST_ID])


def arguments_text(arguments: Any) -> str:
    """The command itself for a shell, else JSON with characters as they are."""
    if isinstance(arguments, str):
        return arguments
    given = mapping(arguments)
    for name in COMMANDS:
        command = given.get(name)
        if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
            # ["bash", "-lc", "make test"]: what is run is the last word.
            return command[-1] if len(command) == 3 and command[1] in ("-c", "-lc") else " ".join(command)
        if string(command) and not any(string(given.get(other)) for other in ("file_path", "path", "content")):
            return string(command)
    return "" if arguments is None else as_json(arguments)


DEEPEST = 100
"""Values nested deeper cannot be compared or written without trouble; deeper threads are put below the main one."""
TOP = -1

Thread = tuple[str, Drafts]
"""The id of the call that began it, empty where the recording does not say, and what it did."""


def nest(recorder: str, main: Drafts, threads: Sequence[Thread], recording: Recording) -> Trace:
    """One trace of all. A subagent whose call is unknown becomes a subtrace of the main thread, with no call named."""
    owners = {call: number for number, (_, drafts) in enumerate(threads) for call in drafts.call_ids}
    owners.update((call, TOP) for call in main.call_ids)
    threads = [(plain_id(call_id), drafts) for call_id, drafts in threads]
    children: dict[int, list[int]] = {}
    for number, (call_id, _) in enumerate(threads):
        children.setdefault(owners.get(call_id, TOP), []).append(number)
    reached = _reached(children)
    nested = set(reached)
    lost = [number for number in range(len(threads)) if number not in nested]
    subtraces: dict[int, Subtrace] = {}
    for number in (*lost, *reversed(reached)):
        call_id, drafts = threads[number]
        # Threads in a circle or too deep are not nested.
        below = children.get(number, []) if number in nested else []
        known = call_id if call_id in owners else None
        trace = drafts.trace(recorder, subtraces=tuple(subtraces[child] for child in below if child in subtraces))
        subtraces[number] = Subtrace(call_id=known, trace=trace)
        if known is None:
            recording.note("the call that started a subagent is missing")
    return main.trace(recorder, subtraces=tuple(subtraces[number] for number in (*children.get(TOP, ()), *lost)))


def _reached(children: Mapping[int, Sequence[int]]) -> list[int]:
    """The threads below the main one, level by level. A circle is not reached."""
    found: list[int] = []
    level: Sequence[int] = children.get(TOP, ())
    for _ in range(DEEPEST):
        found.extend(level)
        level = [child for number in level for child in children.get(number, ())]
    return found
