"""How each end of a trial is counted: the one table that decides between scored and errored.

| what happened | counted as |
|---|---|
| an answer; the checks decide | scored, `answered` |
| an answer cut at the length limit; the checks decide on what is there | scored, `cut` |
| no text at all, and no file | scored, `empty`: failed |
| the provider reports a refusal | scored, `refused`: failed |
| the content filter stopped it | scored, `filtered`: failed |
| prompt and answer overflow the model's window | scored, `overflow`: failed |
| the student's time, turns or tokens ran out | scored, `time limit`, `turn limit`, `token limit`: failed |
| it left too many files or folders, too deep or too large ones | scored, `file limit`: failed |
| what a model ran used up the memory, and its coding agent ended with it | scored, `memory limit`: failed |
| it loaded the skill, and nothing else was to be measured | scored, `stopped` |
| the provider failed | errored, `provider` |
| the provider asked to slow down until we gave up | errored, `rate limit` |
| the request or the answer was lost on the way | errored, `transport` |
| no complete answer within the deadline of a call | errored, `timeout` |
| the sandbox did not open, or ended by itself | errored, `sandbox` |
| the coding agent crashed, hung or was killed, or a program spoke to the model in its name | errored, `agent` |
| a check crashed | errored, `check` |
| anything else went wrong in our own code | errored, `crash` |
| a cap of the run (cost, calls, tokens, time) was reached first | errored, `budget` |
| the person stopped the run | errored, `cancelled` |
"""

from dataclasses import dataclass
from typing import Literal

from upskill.core.nouns import End, Errored, Fault, Grade, Outcome, Scored

StopReason = Literal["stop", "max_tokens", "model_length", "tool_calls", "content_filter", "unknown"]
Limit = Literal[
    "time", "working", "message", "turn", "token", "cost", "operator", "custom", "context", "load", "memory"
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """Everything known about how a trial ended, gathered from the engine and from the metered client."""

    text: str = ""
    stop: StopReason | None = None
    """Why the model stopped; `None` when it never answered."""
    left_files: bool = False
    """Whether files were left behind: then it need not have said anything."""
    files_refused: bool = False
    """What was left behind is more than is taken."""
    refused: bool = False
    limit: Limit | None = None
    error: str | None = None
    """The engine's error, if the trial ended in one."""
    fault: Fault | None = None
    """The kind of fault, where the metered client or the grader named it."""
    cancelled: bool = False
    grade: Grade | None = None


_LIMITS: dict[Limit, End] = {
    "time": "time limit",
    "working": "time limit",
    "message": "turn limit",
    "turn": "turn limit",
    "token": "token limit",
    "context": "overflow",
    "load": "stopped",
    "memory": "memory limit",
}


def outcome_of(ending: Ending) -> Outcome:
    """Read the table from the bottom: whatever measured nothing is errored, only then is anything scored."""
    if ending.cancelled:
        return Errored(fault="cancelled", message="stopped by the person")
    if ending.limit in ("operator", "cost", "custom"):
        return Errored(fault="cancelled", message=f"stopped by the {ending.limit} limit")
    if ending.error is not None:
        return Errored(fault=ending.fault or "crash", message=ending.error)
    if ending.limit is not None:
        return Scored(end=_LIMITS[ending.limit], grade=ending.grade or Grade(results=()))
    if ending.files_refused and ending.grade is not None:
        return Scored(end="file limit", grade=ending.grade)
    if ending.stop is None or ending.grade is None:
        return Errored(fault=ending.fault or "crash", message="the engine returned no answer or no grade")
    return Scored(end=_end_of(ending), grade=ending.grade)


def _end_of(ending: Ending) -> End:
    if ending.refused:
        return "refused"
    if ending.stop == "content_filter":
        return "filtered"
    if ending.stop == "model_length":
        return "overflow"
    if not ending.text.strip() and not ending.left_files:
        return "empty"
    return "cut" if ending.stop == "max_tokens" else "answered"
