"""The tools of a student in the harness `agent`, and the trajectory of an answer: the tool calls of any model.

Each harness has a table of its own tools: what they are for, and which argument is the command line or the path."""

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from upskill.core.nouns.answer import (
    MOST_CALLS,
    MOST_CHARACTERS,
    MOST_TOTAL_CHARACTERS,
    ToolCall,
    ToolKind,
    Trajectory,
)
from upskill.core.nouns.text import whole_characters

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage


MOST_NAME_CHARACTERS = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownTool:
    """What a tool of an agent is for."""

    kind: ToolKind
    argument: str = ""
    """The argument that holds the command line or the path: it stands for the call. Empty: all arguments do."""
    folder: str = ""
    """The argument that names the folder in which a command line begins, if the tool has one."""


KnownTools = Mapping[str, KnownTool]
"""The tools of an agent that have a kind, by the names that the agent has for them."""


class TrajectoryBuilder:
    """Takes the tool calls of one answer in their order."""

    def __init__(self, known: KnownTools) -> None:
        self._known = known
        self._calls: list[ToolCall] = []
        self._left_out = 0
        self._room = MOST_TOTAL_CHARACTERS

    def add(
        self, *, turn: int, tool: str, arguments: object, failed: bool = False, subagent: bool = False
    ) -> int | None:
        """Note one call; returns its number for `mark_failed`, or `None` where no more calls are kept.

        `arguments` is what the model wrote: an object, or a text where it is no JSON.
        """
        if len(self._calls) >= MOST_CALLS:
            self._left_out += 1
            return None
        known = self._known.get(tool)
        text = whole_characters(_argument_text(arguments, known))
        kept = text[: min(MOST_CHARACTERS, self._room)]
        self._room -= len(kept)
        self._calls.append(
            ToolCall(
                turn=turn,
                tool=whole_characters(tool)[:MOST_NAME_CHARACTERS],
                kind=None if known is None else known.kind,
                arguments=kept,
                folder=whole_characters(_text_at(arguments, known.folder) if known else "")[: MOST_NAME_CHARACTERS * 5],
                failed=failed,
                cut=len(kept) < len(text),
                subagent=subagent,
            )
        )
        return len(self._calls) - 1

    def mark_failed(self, number: int | None) -> None:
        """The tool refused a call that was noted before, or there is no such tool."""
        if number is not None:
            self._calls[number] = replace(self._calls[number], failed=True)

    def build(self) -> Trajectory:
        """The calls up to now."""
        return Trajectory(calls=tuple(self._calls), left_out=self._left_out)


def trajectory_of(messages: "Iterable[ChatMessage]", *, known: KnownTools) -> Trajectory:
    """The tool calls of a whole conversation. A call whose result is an error has failed."""
    builder = TrajectoryBuilder(known)
    noted: dict[str, int | None] = {}
    turn = 0
    for message in messages:
        if message.role == "assistant":
            turn += 1
            for call in message.tool_calls or ():
                noted[call.id] = builder.add(turn=turn, tool=call.function, arguments=call.arguments)
        elif message.role == "tool" and message.tool_call_id in noted:
            number = noted.pop(message.tool_call_id)
            if message.error is not None:
                builder.mark_failed(number)
    return builder.build()


def _argument_text(arguments: object, known: KnownTool | None) -> str:
    """As a person reads them: the one argument that matters, the only one there is, or a line for each."""
    if not isinstance(arguments, Mapping):
        return "" if arguments is None else str(arguments)
    if known is not None and known.argument in arguments:
        return _text_at(arguments, known.argument)
    shown = {str(name): _text_at(arguments, name) for name in arguments}
    if len(shown) == 1:
        return next(iter(shown.values()))
    return "\n".join(f"{name}: {value}" for name, value in shown.items())


def _text_at(arguments: object, name: object) -> str:
    """The value of an argument as text. A command may be a list of words: then it is written as a shell reads it."""
    value = arguments.get(name, "") if isinstance(arguments, Mapping) else ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return shlex.join(value)
    return json.dumps(value, ensure_ascii=False, default=str)


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSpec:
    """A tool as the student sees it. All its parameters are text, and all are needed."""

    name: str
    description: str
    parameters: tuple[tuple[str, str], ...]

    def as_json(self) -> object:
        """Plain values, for the identity of a trial."""
        return [self.name, self.description, [list(parameter) for parameter in self.parameters]]


SHELL = ToolSpec(
    name="shell",
    description="Run a command line in the working folder, and get its output and exit code.",
    parameters=(("command", "The command line."),),
)
READ_FILE = ToolSpec(
    name="read_file",
    description="Read a text file.",
    parameters=(("path", "The path of the file; relative paths begin in the working folder."),),
)
WRITE_FILE = ToolSpec(
    name="write_file",
    description="Write a text file; folders that are missing are made, and what was there is replaced.",
    parameters=(
        ("path", "The path of the file; relative paths begin in the working folder."),
        ("content", "The whole content."),
    ),
)
TOOLS = (SHELL, READ_FILE, WRITE_FILE)
KNOWN_TOOLS = {
    SHELL.name: KnownTool(kind="shell", argument="command"),
    READ_FILE.name: KnownTool(kind="read_file", argument="path"),
    WRITE_FILE.name: KnownTool(kind="write_file", argument="path"),
}
"""What they are for, and the argument by which a check knows a call."""
