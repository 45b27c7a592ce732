"""One kind of check, put to one answer."""

from collections.abc import Sequence
from typing import Any

from upskill.core.checks import KINDS, CheckOutcome, GradingContext
from upskill.core.checks.kind import Kind, Submission
from upskill.core.nouns import Answer, Case, Files
from upskill.core.nouns.answer import ToolCall, Trajectory
from upskill.core.nouns.case import Json


def run_check(
    kind: Kind | str,
    spec: Json,
    text: str = "",
    *,
    files: Files | None = None,
    case_files: Files | None = None,
    context: GradingContext | None = None,
    reference: Answer | None = None,
    calls: Sequence[ToolCall] | None = (),
    turns: int | None = 1,
    tokens: int | None = 1,
    left_out: int = 0,
) -> CheckOutcome:
    """What a check sees in an answer, after its spec was found to be in order."""
    found = KINDS[kind] if isinstance(kind, str) else kind
    case = Case(id="c", prompt="Write it.", checks=(), files=case_files or {}, reference=reference)
    trajectory = None if calls is None else Trajectory(calls=tuple(calls), left_out=left_out)
    answer = Answer(text=text, files=files or {}, trajectory=trajectory, turns=turns, tokens=tokens)
    return found.check(spec, Submission(case=case, answer=answer, context=context or GradingContext()))


def shell(line: str, *, turn: int = 1, **more: Any) -> ToolCall:
    """A command line that a model ran."""
    return ToolCall(turn=turn, tool=more.pop("tool", "shell"), kind="shell", arguments=line, **more)


def read(path: str, *, turn: int = 1, **more: Any) -> ToolCall:
    """A file that a model read with its file tool."""
    return ToolCall(turn=turn, tool=more.pop("tool", "read_file"), kind="read_file", arguments=path, **more)
