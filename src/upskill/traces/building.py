"""Steps put together in the order they happened: what readers of flat recordings share."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from upskill.domain.trace import Call, Observation, Source, Step, Subtrace, Trace
from upskill.traces.cutting import tidy
from upskill.traces.failing import looks_failed
from upskill.traces.fields import as_json, mapping, string
from upskill.traces.source import OBSERVED, READ, SAID, Recording

COMMANDS = ("command", "cmd", "script", "code")
READING = frozenset({"read", "read_file", "readfile", "read_many_files", "notebookread", "view_file", "cat"})
LONGEST_ID = 200
NO_PROMPT = "the prompt is not in this kind of recording: say what the task was"


@dataclass(slots=True, eq=False)
class Draft:
    """A step while it is being put together."""

    source: Source
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Nothing was said or done."""
        return not (self.text or self.reasoning or self.calls or self.observations)


class Drafts:
    """Collects what a recording says, cleaning every text as it comes in, so that nothing uncleaned is held."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.steps: list[Draft] = []
        self._owner: dict[str, Draft] = {}
        self._reads: set[str] = set()
        self._observed: set[str] = set()
        self.commands = 0
        self.dropped = 0
        self.folder: str | None = None
        self.model: str | None = None

    def begin(self, source: Source) -> Draft:
        """A new step, to be filled."""
        draft = Draft(source)
        self.steps.append(draft)
        return draft

    def person(self, text: str) -> None:
        """A turn typed by a person; blank text is none."""
        if text.strip():
            self.say(self.begin("person"), text)

    def harness(self, text: str) -> None:
        """Something the program around the model said that a reader of the work should know."""
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
        call_id = plain_id(call_id) or f"call-{len(self._owner) + 1}"
        if call_id in self._owner:
            return False
        name = self.recording.clean(name, limit=READ)
        if name.lower() in READING:
            self._reads.add(call_id)
        draft.calls.append(Call(id=call_id, name=name, arguments=self.recording.clean(arguments_text(arguments))))
        self._owner[call_id] = draft
        return True

    def knows(self, call_id: str) -> bool:
        """Whether a call of this id was made."""
        return plain_id(call_id) in self._owner

    def call_ids(self) -> Iterable[str]:
        """The ids of all calls made."""
        return self._owner.keys()

    def observe(self, call_id: str, content: str, *, failed: bool | None = None, exit_code: int | None = None) -> bool:
        """Add what a call brought; `False` if the call is unknown or has its output already."""
        call_id = plain_id(call_id)
        draft = self._owner.get(call_id)
        if draft is None or call_id in self._observed:
            return False
        self._observed.add(call_id)
        judged = failed is None and looks_failed(content)
        if failed or judged:
            kept = self.recording.clean(content, limit=OBSERVED)
        else:
            kept = self.recording.clean(content, limit=READ if call_id in self._reads else None)
        draft.observations.append(
            Observation(call_id=call_id, content=kept, failed=failed, exit_code=exit_code, looks_failed=judged)
        )
        return True

    def revise(self, call_id: str, content: str, *, failed: bool | None) -> None:
        """Put the answer that came later in the place of the note that it will come."""
        draft = self._owner.get(plain_id(call_id))
        if draft is not None:
            draft.observations = [seen for seen in draft.observations if seen.call_id != plain_id(call_id)]
            self._observed.discard(plain_id(call_id))
            self.observe(call_id, content, failed=failed)

    def mark(self, call_id: str, *, failed: bool | None, exit_code: int | None) -> None:
        """Say of an output that is there already what a later record says of it."""
        draft = self._owner.get(plain_id(call_id))
        if draft is not None:
            draft.observations = [
                replace(seen, failed=failed, exit_code=exit_code, looks_failed=False)
                if seen.call_id == plain_id(call_id)
                else seen
                for seen in draft.observations
            ]

    def empty(self, draft: Draft) -> None:
        """Take everything out of a step again, because it is said anew."""
        for call in draft.calls:
            self._owner.pop(call.id, None)
            self._observed.discard(call.id)
        draft.text, draft.reasoning, draft.calls, draft.observations = [], [], [], []

    def drop_turns(self, count: int) -> None:
        """Undo the last `count` turns of the person, with all after them."""
        turns = [place for place, draft in enumerate(self.steps) if draft.source == "person"]
        if count <= 0 or not turns:
            return
        start = turns[max(0, len(turns) - count)]
        self.dropped += min(count, len(turns))
        self.drop_from(start)

    def drop_from(self, start: int) -> None:
        """Undo the steps from this place on."""
        for draft in self.steps[start:]:
            self.empty(draft)
        del self.steps[start:]

    def trace(
        self,
        recorder: str,
        *,
        subtraces: tuple[Subtrace, ...] = (),
        success: bool | None = None,
        notes: tuple[str, ...] = (),
    ) -> Trace:
        """All of it as a value; steps in which nothing was said or done are left out."""
        kept = [draft for draft in self.steps if not draft.empty]
        return Trace(
            recorder=recorder,
            steps=tuple(_step(number, draft) for number, draft in enumerate(kept, start=1)),
            subtraces=subtraces,
            folder=None if self.folder is None else self.recording.clean(self.folder, limit=READ),
            model=None if self.model is None else self.recording.clean(self.model, limit=READ),
            success=success,
            commands=self.commands,
            dropped_branches=self.dropped,
            notes=notes,
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


def _step(number: int, draft: Draft) -> Step:
    return Step(
        number=number,
        source=draft.source,
        text="\n\n".join(draft.text),
        reasoning="\n\n".join(draft.reasoning),
        calls=tuple(draft.calls),
        observations=tuple(draft.observations),
    )
