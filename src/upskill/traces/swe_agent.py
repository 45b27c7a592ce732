"""SWE-agent trajectories: an action, what it brought, and the thought before it."""

from collections.abc import Iterator
from typing import Any

from upskill.domain.trace import Trace
from upskill.traces.chat_messages import HARNESS_ROLES, visible
from upskill.traces.conversation import Asked, Conversation
from upskill.traces.fields import items, mapping, string
from upskill.traces.source import Recording

RECORDER = "swe-agent"
ENDS = ("submit", "exit", "exit_cost", "exit_context", "exit_error", "exit_format", "exit_forfeit")


def read(recording: Recording) -> Iterator[Trace]:
    """One trace. Every step repeats the whole prompt: it is read once."""
    document = mapping(recording.document())
    steps = [mapping(step) for step in items(document.get("trajectory"))]
    conversation = Conversation(recording)
    _tell_task(conversation, steps, items(document.get("history")))
    folder = ""
    for step in steps:
        folder = folder or string(mapping(step.get("state")).get("working_dir"))
        _tell(conversation, step)
    if not conversation.empty:
        yield conversation.trace(RECORDER, folder=folder)


def _tell_task(conversation: Conversation, steps: list[dict[str, Any]], history: list[Any]) -> None:
    asked = items(steps[0].get("query")) if steps else []
    for message in map(mapping, asked or history):
        if message.get("role") == "user" and message.get("is_demo") is not True:
            conversation.person(visible(message.get("content")))
        elif message.get("role") in HARNESS_ROLES:
            conversation.harness(visible(message.get("content")))
        elif not asked and message.get("role") == "assistant":
            return  # the history holds the whole work; the task is what comes before it


def _tell(conversation: Conversation, step: dict[str, Any]) -> None:
    action = string(step.get("action")).strip()
    said = string(step.get("thought")) or string(step.get("response"))
    if not action or action.split(maxsplit=1)[0] in ENDS:
        conversation.agent(said)
        return
    conversation.agent(said, calls=[Asked(name="bash", arguments=action)])
    conversation.output(string(step.get("observation")))
