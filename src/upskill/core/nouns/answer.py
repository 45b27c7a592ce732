"""What a student left behind: its last words, its files, its tool calls in order, and the identity of words and files.

Checks of the way read the tool calls, and the report shows its steps from them. They are kept with the answer: both can
be made again.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from upskill.core.nouns.text import digest_of

ToolKind = Literal[
    "shell", "read_file", "write_file", "edit_file", "find_files", "search_files", "web", "skill", "subagent"
]
"""What a tool is for, whatever an agent calls it."""
TOOL_KINDS: tuple[ToolKind, ...] = get_args(ToolKind)

MOST_CALLS = 1_000
"""Calls of one answer; later ones are only counted."""
MOST_CHARACTERS = 50_000
"""Characters of the arguments of one call: a command line may hold a whole file."""
MOST_TOTAL_CHARACTERS = 500_000
"""Characters of the arguments of all calls of an answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """One tool call of a model."""

    turn: int
    """The turn of the model, from 1."""
    tool: str
    """As the agent calls the tool."""
    kind: ToolKind | None = None
    """What the tool is for; `None` for a tool that fits no kind."""
    arguments: str = ""
    """As a person reads them: the command line, the path, or a line for each argument."""
    folder: str = ""
    """Where a command line began, if the call names a folder."""
    failed: bool = False
    """Whether the tool refused the call or does not exist. A command that exits with an error has been run."""
    cut: bool = False
    """Whether arguments are missing because they are too long."""
    subagent: bool = False
    """Whether the call is not of the agent's own conversation: made by an agent that it started, or by a program."""

    @property
    def is_shown(self) -> bool:
        """Whether it is shown that this was done: in the model's own conversation, by a tool that did not refuse.

        Any program that the model runs can send requests like those of a subagent, and nobody carries out the calls in
        the answers. So they count against an answer and never for it.
        """
        return not self.failed and not self.subagent

    def is_called(self, name: str) -> bool:
        """Whether a tool is meant by this name: the kind, or the name that the agent has for it, in any case.

        Agents write `Bash`, `bash` or `shell`: a name that only differs so would forbid nothing.
        """
        return name.casefold() in (self.kind, self.tool.casefold())


@dataclass(frozen=True, kw_only=True, slots=True)
class Trajectory:
    """The tool calls of one answer in the order in which the model made them."""

    calls: tuple[ToolCall, ...] = ()
    left_out: int = 0
    """Calls after the last one that is kept."""

    def cleaned(self, clean: Callable[[str], str]) -> "Trajectory":
        """The same with every text in it cleaned."""
        return replace(
            self,
            calls=tuple(
                replace(call, tool=clean(call.tool), arguments=clean(call.arguments), folder=clean(call.folder))
                for call in self.calls
            ),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentStep:
    """Words of the model, or one call of a tool and what it gave back."""

    kind: Literal["says", "tool"]
    text: str = ""
    """The model's words; empty for a tool."""
    tool: str = ""
    arguments: str = ""
    """As a person reads them: the value of the only argument, or a line for each."""
    output: str = ""
    failed: bool = False
    """Whether the tool itself refused or failed. A command that exits with an error has been run."""
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentSteps:
    """The steps of one trial: the first and the last of them where there are many."""

    first: tuple[AgentStep, ...]
    last: tuple[AgentStep, ...] = ()
    left_out: int = 0
    """How many steps between the two are missing here."""

    def cleaned(self, clean: Callable[[str], str]) -> "AgentSteps":
        """The same steps with every text in them cleaned."""
        return replace(
            self,
            first=tuple(_cleaned(step, clean) for step in self.first),
            last=tuple(_cleaned(step, clean) for step in self.last),
        )


def _cleaned(step: AgentStep, clean: Callable[[str], str]) -> AgentStep:
    return replace(
        step,
        text=clean(step.text),
        tool=clean(step.tool),
        arguments=clean(step.arguments),
        output=clean(step.output),
    )


Files = Mapping[str, bytes]
"""Content by relative path, with forward slashes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What checks can read of an answer. In chat, the files are its fenced blocks."""

    text: str = ""
    """In a conversation, the answer to the last turn of the user that was put."""
    earlier: tuple[str, ...] = ()
    """The answers to the turns before that."""
    files: Files = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    """Files of the case that were removed."""
    trajectory: Trajectory | None = None
    """The tool calls; `None` where none were recorded: without tools."""
    turns: int | None = None
    """Turns of the model; `None` without tools."""
    tokens: int | None = None
    """Input and output together; `None` where the provider did not report them."""


def answer_digest(answer: Answer) -> str:
    """Equal for two answers exactly when their texts and files are."""
    return digest_of(
        {
            "text": answer.text,
            "files": {path: hashlib.sha256(data).hexdigest() for path, data in answer.files.items()},
            **({"earlier": answer.earlier} if answer.earlier else {}),
        }
    )
