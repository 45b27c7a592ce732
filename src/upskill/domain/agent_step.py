"""What a student with tools did on the way to its answer, step by step."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal


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
