"""What a model with tools did on the way to its answer: its tool calls in order, without what they returned.

Checks of the way read it, and the report shows its steps from it. It is kept with the answer: both can be made again.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

ToolKind = Literal[
    "shell", "read_file", "write_file", "edit_file", "find_files", "search_files", "web", "skill", "subagent"
]
"""What a tool is for, whatever an agent calls it."""
TOOL_KINDS: tuple[ToolKind, ...] = get_args(ToolKind)

MOST_CALLS = 1_000
"""Of one answer; later ones are only counted."""
MOST_CHARACTERS = 50_000
"""Of the arguments of one call: a command line may hold a whole file."""
MOST_TOTAL_CHARACTERS = 500_000
"""Of the arguments of all calls of an answer."""


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
