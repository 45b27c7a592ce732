"""What a check may use beside the answer, and what it returns. The caller that grades supplies the context."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from upskill.sandbox import Sandbox, SandboxSpec


class CheckOutcome(NamedTuple):
    """Whether the answer passed, and what was seen, in words for a person."""

    passed: bool
    saw: str
    basis: str | None = None
    """For a judgement that was paid for: the digest of all that it rests on. An equal basis is not paid for again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeQuestion:
    """A question to the model that judges."""

    system: str
    prompt: str
    case_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class GradingContext:
    """What grading may use. A check that needs something missing here raises: nothing was measured."""

    open_sandbox: Callable[[SandboxSpec], Sandbox] | None = None
    """Opens a new, empty sandbox. The check that opened it closes it."""
    ask: Callable[[JudgeQuestion], str] | None = None
    """The answer of the model that judges, through the metered client. Blocks."""
    judge: str | None = None
    """Which model judges, as part of what a judgement rests on."""
    judged: Mapping[str, CheckOutcome] = field(default_factory=dict)
    """Judgements that were paid for before, by their basis."""
