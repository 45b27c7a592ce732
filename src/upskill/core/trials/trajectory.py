"""What a student did: the trajectory of an answer, made from the tool calls of any model, and its use of the skill.

Each harness has a table of its own tools: what they are for, and which argument is the command line or the path. The
tools of the harness `agent` are here as well.

Use of a skill is seen in what really came back to the student. A file counts as read when the file tool handed it out,
or when a line of it that the student could not know otherwise came back from a command. A file beside `SKILL.md` also
counts as run when a command that went well names the skill's folder and the file in it.
"""

import json
import posixpath
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from upskill.core.nouns import Files, SkillUse
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


LEAST_CHARACTERS = 12
"""A shorter line is too common to tell where it came from."""
MOST_LINES = 2_000
"""Per file: who reads a longer one sees its beginning or its end."""
MOST_WITHIN = 40
"""Per file: so many lines are also looked for within other lines, which takes longer."""
SKILL_FILE = "SKILL.md"

Marks = Mapping[str, tuple[str, ...]]
"""Per file of a skill, the lines by which it is recognised."""


class OtherMark(NamedTuple):
    """How the `SKILL.md` of another skill is recognised."""

    path: str
    """Where it lies."""
    marks: tuple[str, ...]


OtherMarks = Mapping[str, OtherMark]
"""By the name of each other skill."""


def marks_of(contents: Files) -> Marks:
    """Lines that are long enough and stand in no other file of the skill."""
    lines = {path: _lines(data) for path, data in contents.items()}
    seen: set[str] = set()
    twice: set[str] = set()
    for mine in lines.values():
        twice |= seen & mine.keys()
        seen |= mine.keys()
    return {path: tuple(line for line in mine if line not in twice) for path, mine in lines.items()}


def _lines(data: bytes) -> dict[str, None]:
    stripped = (line.strip() for line in data.decode("utf-8", "replace").splitlines())
    return dict.fromkeys(islice((line for line in stripped if len(line) >= LEAST_CHARACTERS), MOST_LINES))


class SkillWatch:
    """Watches which files of a skill come back to the student in one trial, and which other skills it loads."""

    def __init__(
        self, marks: Marks, *, folder: str, called: str, given: bool, known: str, others: OtherMarks | None = None
    ) -> None:
        """`folder` is where the skill lies and `called` how the student was told; both are empty where there is none.

        `known` is what the student knows without opening anything of the skill: its first request and its files.
        `others` are the marks of other skills.
        """
        self._marks = marks
        self._folder = folder
        self._called = called
        self._given = given
        self._known = known
        self._others = others or {}
        self._used: dict[str, None] = {}
        self._loaded_others: dict[str, None] = {}
        self._turn: int | None = 0 if given else None

    def read(self, path: str) -> None:
        """The file tool handed out a file."""
        path = posixpath.normpath(path)
        if self._folder and (inside := posixpath.relpath(path, self._folder)) in self._marks:
            self._used.setdefault(inside)
        for name, other in self._others.items():
            if path == other.path:
                self._loaded_others.setdefault(name)

    def ran(self, command: str, output: str, *, well: bool) -> None:
        """A command came back with this output, as the student saw it."""
        lines = {line.strip() for line in output.splitlines()}
        for path, marks in self._marks.items():
            if path not in self._used and ((well and self._names(command, path)) or self._shows(marks, lines, output)):
                self._used[path] = None
        for name, other in self._others.items():
            if name not in self._loaded_others and self._shows(other.marks, lines, output):
                self._loaded_others[name] = None

    def _shows(self, marks: tuple[str, ...], lines: set[str], output: str) -> bool:
        """Whether a line came back, whole or, as from `grep -n`, within another."""
        whole = (mark for mark in marks if mark in lines)
        within = (mark for mark in marks[:MOST_WITHIN] if mark in output)
        return any(mark not in self._known for found in (whole, within) for mark in found)

    def _names(self, command: str, path: str) -> bool:
        """Whether a command names a file of the skill. To name `SKILL.md` is not to read it: that must come back."""
        return (
            path != SKILL_FILE
            and self._called in command
            and re.search(rf"(?<![\w.-]){re.escape(path)}(?![\w.-])", command) is not None
        )

    def end_turn(self, turn: int) -> None:
        """The model's turn is over, with the results of its calls: a load that was seen by now came with it."""
        if self._turn is None and SKILL_FILE in self._used:
            self._turn = turn

    def use(self) -> SkillUse:
        """What was seen up to now."""
        return SkillUse(
            listed=bool(self._folder) and not self._given,
            loaded=self._given or SKILL_FILE in self._used,
            files=tuple(self._used),
            turn=self._turn,
            others=tuple(self._loaded_others),
            others_listed=len(self._others) or None,
        )
