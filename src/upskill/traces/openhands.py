"""OpenHands V0 events: actions, and observations that name the action that caused them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from upskill.domain.trace import Trace
from upskill.traces.conversation import Conversation, ToolUse
from upskill.traces.fields import at, first_string, flag, mapping, objects, string, whole
from upskill.traces.recording import Reader, Record, Recording

RECORDER = "openhands"
SAID = ("message", "finish", "reject", "think")
HARNESS_ACTIONS = ("system", "recall", "change_agent_state", "condensation", "condensation_request", "null", "start")
HARNESS_OBSERVATIONS = ("agent_state_changed", "recall", "think", "null", "agent_condensation")
NOT_ARGUMENTS = ("thought", "blocking", "is_input", "hidden", "confirmation_state", "security_risk", "keep_prompt")
STILL_RUNNING = -1


def read(recording: Recording) -> Iterator[Trace]:
    """One trace from the list of events."""
    events = _Events(Conversation(recording))
    for event in objects(recording.document()):
        if "action" in event:
            events.action(event)
        elif "observation" in event:
            events.observation(event)
    yield events.conversation.trace(RECORDER)


class _Events:
    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self._seen: set[int] = set()
        self._calls: dict[int, str] = {}
        self._response = ""

    def action(self, event: dict[str, Any]) -> None:
        number, kind, arguments = whole(event.get("id")), string(event.get("action")), mapping(event.get("args"))
        if number is not None and number in self._seen:
            return
        self._seen.add(number if number is not None else -1)
        if kind in HARNESS_ACTIONS or event.get("source") == "environment":
            return
        if event.get("source") == "user":
            if kind == "message":
                self.conversation.person(string(arguments.get("content")))
            return
        if kind in SAID:
            self._say(kind, event, arguments)
        else:
            self._call(kind, event, arguments, number)

    def observation(self, event: dict[str, Any]) -> None:
        kind, extras = event.get("observation"), mapping(event.get("extras"))
        if kind in HARNESS_OBSERVATIONS:
            return
        metadata = mapping(extras.get("metadata"))
        self.conversation.add_details(folder=string(metadata.get("working_dir")))
        code = whole(metadata.get("exit_code", extras.get("exit_code")))
        failed = None if code == STILL_RUNNING else _failed(event, extras)
        cause = whole(event.get("cause"))
        call_id = string(at(event, "tool_call_metadata", "tool_call_id"))
        if cause is not None and not (call_id and self.conversation.waits(call_id=call_id)):
            call_id = self._calls.get(cause, call_id)
        self.conversation.output(
            string(event.get("content")),
            call_id=call_id or "unknown",
            failed=failed,
            exit_code=None if code == STILL_RUNNING else code,
        )

    def _say(self, kind: str, event: dict[str, Any], arguments: dict[str, Any]) -> None:
        if kind == "think":
            self.conversation.agent(reasoning=string(arguments.get("thought")))
            return
        text = first_string(arguments, "final_thought", "content", "thought")
        self.conversation.agent(text or string(event.get("message")))

    def _call(self, kind: str, event: dict[str, Any], arguments: dict[str, Any], number: int | None) -> None:
        made = mapping(event.get("tool_call_metadata"))
        call_id = string(made.get("tool_call_id")) or f"event-{number}"
        if number is not None:
            self._calls[number] = call_id
        response = mapping(made.get("model_response"))
        self.conversation.add_details(model=string(response.get("model")))
        # Calls of one answer are events of their own; the answer's id says that they belong together.
        joined = bool(self._response) and string(response.get("id")) == self._response
        self._response = string(response.get("id"))
        given = {key: value for key, value in arguments.items() if key not in NOT_ARGUMENTS}
        asked = ToolUse(id=call_id, name=string(made.get("function_name")) or kind, arguments=given)
        self.conversation.agent(string(arguments.get("thought")), calls=[asked], joined=joined)


def _failed(event: dict[str, Any], extras: dict[str, Any]) -> bool | None:
    """What the event marks beside an exit code."""
    if event.get("observation") in ("error", "user_rejected") or extras.get("error") is True:
        return True
    success = flag(event.get("success"))
    return None if success is None else not success


def _are_events(parts: Sequence[Record], _: Path) -> bool:
    return any(("action" in part or "observation" in part) and "source" in part for part in parts)


READER = Reader(name=RECORDER, title="OpenHands", read=read, in_list=_are_events)
