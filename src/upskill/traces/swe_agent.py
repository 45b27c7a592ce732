"""Trajectories of SWE-agent (an action, what it brought, and the thought before it) and of mini-swe-agent.

The latter are messages, in which the user's are outputs after the first.
"""

import re
from collections.abc import Iterator
from typing import Any

from upskill.domain.trace import Trace
from upskill.traces.chat_messages import HARNESS_ROLES, function_call, reasoning_of, visible
from upskill.traces.conversation import Conversation, ToolUse, split_tags
from upskill.traces.fields import at, first_string, items, mapping, objects, string, whole
from upskill.traces.recording import Reader, Record, Recording

RECORDER = "swe-agent"
ENDS = ("submit", "exit", "exit_cost", "exit_context", "exit_error", "exit_format", "exit_forfeit")

MINI = "mini-swe-agent"
FENCE = re.compile(r"^```(?:mswea_bash_command|bash|sh)[ \t]*\n", re.MULTILINE)
FENCE_END = "\n```"
RETURNED = re.compile(r"<returncode>\s*(-?\d{1,6})\s*</returncode>")
OUTPUT = "output|output_head|output_tail"


def read(recording: Recording) -> Iterator[Trace]:
    """One trace. Every step repeats the whole prompt: it is read once."""
    document = mapping(recording.document())
    steps = objects(document.get("trajectory"))
    conversation = Conversation(recording)
    _add_task(conversation, steps, objects(document.get("history")))
    for step in steps:
        conversation.add_details(folder=string(at(step, "state", "working_dir")))
        _add(conversation, step)
    yield conversation.trace(RECORDER)


def _add_task(conversation: Conversation, steps: list[Record], history: list[Record]) -> None:
    asked = objects(steps[0].get("query")) if steps else []
    for message in asked or history:
        if message.get("role") == "user" and message.get("is_demo") is not True:
            conversation.person(visible(message.get("content")))
        elif message.get("role") in HARNESS_ROLES:
            conversation.harness(visible(message.get("content")))
        elif not asked and message.get("role") == "assistant":
            return  # the history holds the whole work; the task is what comes before it


def _add(conversation: Conversation, step: dict[str, Any]) -> None:
    action = string(step.get("action")).strip()
    text = first_string(step, "thought", "response")
    if not action or action.split(maxsplit=1)[0] in ENDS:
        conversation.agent(text)
        return
    conversation.agent(text, calls=[ToolUse(name="bash", arguments=action)])
    conversation.output(string(step.get("observation")))


def read_mini(recording: Recording) -> Iterator[Trace]:
    """One trace, up to the message of role `exit`."""
    document = mapping(recording.document())
    conversation = Conversation(recording)
    for message in objects(document.get("messages")):
        if message.get("role") == "exit":
            break
        _add_message(conversation, message)
    yield conversation.trace(MINI, model=string(at(document, "info", "config", "model", "model_name")))


def _add_message(conversation: Conversation, message: dict[str, Any]) -> None:
    role, text = message.get("role"), visible(message.get("content"))
    if role in HARNESS_ROLES:
        conversation.harness(text)
    elif role == "assistant":
        prose, fenced = _without_fences(text)
        conversation.agent(prose, reasoning=reasoning_of(message), calls=_calls(message, fenced))
    elif role == "tool" or (role == "user" and RETURNED.search(text)):
        _add_output(conversation, message, text)
    elif role == "user" and not conversation.has_person:
        conversation.person(text)
    elif role == "user":
        conversation.harness(text)  # such as a complaint about the format of an answer


def _add_output(conversation: Conversation, message: dict[str, Any], text: str) -> None:
    returned = RETURNED.search(text)
    output = "\n".join(part.strip("\n") for _, part in split_tags(text, OUTPUT).pieces)
    recorded = whole(at(message, "extra", "returncode"))
    conversation.output(
        output or (text[: returned.start()] + text[returned.end() :] if returned else text),
        call_id=string(message.get("tool_call_id")),
        exit_code=recorded if recorded is not None else int(returned.group(1)) if returned else None,
    )


def _without_fences(text: str) -> tuple[str, list[str]]:
    """The prose of a message, and the commands in fences within it."""
    prose, commands, done = [], [], 0
    while (fence := FENCE.search(text, done)) is not None:
        end = text.find(FENCE_END, fence.end() - 1)
        if end < 0:
            break
        prose.append(text[done : fence.start()])
        commands.append(text[fence.end() : end])
        done = end + len(FENCE_END)
    return "".join((*prose, text[done:])), commands


def _calls(message: dict[str, Any], fenced: list[str]) -> list[ToolUse]:
    calls = [function_call(call) for call in items(message.get("tool_calls"))]
    if calls:
        return calls
    commands = [string(action.get("command")) for action in objects(at(message, "extra", "actions"))] or fenced
    return [ToolUse(name="bash", arguments=command.strip()) for command in commands if command.strip()]


READER = Reader(
    name=RECORDER,
    title="SWE-agent",
    read=read,
    in_document=lambda top: {"trajectory", "history", "info"} <= top.keys(),
)
MINI_READER = Reader(
    name=MINI,
    title="mini-swe-agent",
    read=read_mini,
    in_document=lambda top: string(top.get("trajectory_format")).startswith(MINI),
)
