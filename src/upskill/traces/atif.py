"""ATIF trajectories: steps with their calls and observations, subagents beside them."""

from collections.abc import Iterator
from typing import Any

from upskill.domain.trace import Subtrace, Trace
from upskill.traces.chat_messages import output_text, visible
from upskill.traces.conversation import Conversation, ToolUse
from upskill.traces.fields import at, mapping, objects, string
from upskill.traces.recording import Reader, Recording

RECORDER = "atif"
DEEPEST = 100
"""Subagents below subagents; chains of 79 were seen."""


def read(recording: Recording) -> Iterator[Trace]:
    """One trace, with the trajectories of its subagents."""
    yield _trace(recording, mapping(recording.document()), depth=0)


def _trace(recording: Recording, trajectory: dict[str, Any], *, depth: int) -> Trace:
    conversation = Conversation(recording)
    began: dict[str, str] = {}
    called = bool(depth)
    for step in objects(trajectory.get("steps")):
        if step.get("is_copied_context") is True:
            continue
        if called and step.get("source") == "user":
            # What a subagent is asked first is the prompt of the call that began it.
            conversation.harness(visible(step.get("message")))
            called = False
        else:
            _add(conversation, step)
        began.update(_subagents_begun(step))
    if trajectory.get("continued_trajectory_ref"):
        recording.note("the session continues in another file, which was not read")
    subtraces = _subtraces(recording, trajectory, began, depth=depth)
    return conversation.trace(RECORDER, model=string(at(trajectory, "agent", "model_name")), subtraces=subtraces)


def _add(conversation: Conversation, step: dict[str, Any]) -> None:
    source, text = step.get("source"), visible(step.get("message"))
    if source == "user":
        conversation.person(text)
    elif source == "system":
        conversation.harness(text)
    elif source == "agent":
        calls = [
            ToolUse(
                id=string(call.get("tool_call_id")),
                name=string(call.get("function_name")),
                arguments=call.get("arguments"),
            )
            for call in objects(step.get("tool_calls"))
        ]
        conversation.agent(text, reasoning=string(step.get("reasoning_content")), calls=calls)
    for result in objects(at(step, "observation", "results")):
        conversation.output(output_text(result.get("content")), call_id=string(result.get("source_call_id")))


def _subagents_begun(step: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Ids of trajectories, each with the call that its result came back to."""
    for result in objects(at(step, "observation", "results")):
        for reference in objects(result.get("subagent_trajectory_ref")):
            if begun := string(reference.get("trajectory_id")):
                yield begun, string(result.get("source_call_id"))


def _subtraces(
    recording: Recording, trajectory: dict[str, Any], began: dict[str, str], *, depth: int
) -> tuple[Subtrace, ...]:
    below = objects(trajectory.get("subagent_trajectories"))
    if below and depth >= DEEPEST:
        recording.note(f"subagents more than {DEEPEST} deep, skipped")
        return ()
    found = []
    for each in below:
        trace = _trace(recording, each, depth=depth + 1)
        call_id = began.get(string(each.get("trajectory_id")))
        if trace.steps:
            found.append(Subtrace(call_id=recording.clean(call_id, limit=200) if call_id else None, trace=trace))
    return tuple(found)


READER = Reader(
    name=RECORDER,
    title="ATIF",
    read=read,
    in_document=lambda top: string(top.get("schema_version")).startswith("ATIF-v"),
)
