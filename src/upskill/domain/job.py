"""A job: one evaluation as plain data, which any process can run; and its result. Knows neither files nor engines."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

JOB_FORMAT: Literal["upskill.job/1"] = "upskill.job/1"
RESULT_FORMAT: Literal["upskill.job-result/1"] = "upskill.job-result/1"

JOB_SETTINGS = frozenset(
    {
        "aliases",
        "attempt_timeout_seconds",
        "base_url",
        "call_timeout_seconds",
        "command_seconds",
        "concurrency",
        "judge",
        "judge_is_student",
        "max_output_tokens",
        "max_retries",
        "max_retry_wait_seconds",
        "max_trial_minutes",
        "max_trial_tokens",
        "max_turns",
        "store_days",
        "temperature",
    }
)
"""Settings that a job may name. The others have a key of their own, or are not about an evaluation."""

_STRICT = {"extra": "forbid", "allow_inf_nan": False}
"""Reading one of these from JSON refuses unknown keys."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Caps:
    """The most that may be spent. `None` is no cap; 0 allows nothing."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = _STRICT

    max_cost: float | None = None
    """Dollars."""
    max_calls: int | None = None
    """Requests, retries included."""
    max_total_tokens: int | None = None
    """Input and output together."""
    max_time_minutes: float | None = None
    """From the first call of the job."""

    def __post_init__(self) -> None:
        for cap in (self.max_cost, self.max_calls, self.max_total_tokens, self.max_time_minutes):
            if cap is not None and not 0 <= cap < math.inf:
                raise ValueError(f"a cap must be at least 0 and finite, not {cap:g}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One skill on a group of students, kept in one run folder.

    Paths are absolute, or relative to the root folder that is given beside the job. Nothing else decides what is
    measured: neither settings files nor `UPSKILL_*` variables are read. Keys come from the environment of the process.
    """

    __pydantic_config__: ClassVar[Mapping[str, Any]] = _STRICT

    format: Literal["upskill.job/1"] = JOB_FORMAT
    skill: str
    """The skill's folder."""
    case_file: str | None = None
    """`None` for the cases in the skill folder."""
    students: tuple[str, ...]
    """Names of models, as after `-m`."""
    harness: str = "auto"
    runs: int | None = None
    """Repeats of each case in a fixed design; `None` for the sequential design."""
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Other settings that change requests or how they are sent, by name; the defaults hold for the rest."""
    run: str
    """The run folder, made where it is not there. A job that finds its own run there resumes it."""
    caps: Caps
    """This job's share of what may be spent, earlier attempts included."""
    store: str | None = None
    """The file of the trial store; `None` for no store."""

    def measures_the_same_as(self, other: "Job") -> bool:
        """Whether both ask for the same measurement, whatever they may spend and wherever they are kept."""
        return replace(self, caps=other.caps, store=other.store, run=other.run) == other


@dataclass(frozen=True, kw_only=True, slots=True)
class JobError:
    """Why a job has no evaluation, in the words that a person would have read."""

    kind: str
    """The name of the error's class, for example `UsageError`."""
    message: str
    hint: str | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSpending:
    """What a job has spent, earlier attempts included as far as their trials have ended."""

    calls: int = 0
    tokens: int = 0
    cost: float | None = 0.0
    """Dollars; `None` where a price is unknown."""

    def __post_init__(self) -> None:
        if not all(amount is None or 0 <= amount < math.inf for amount in (self.calls, self.tokens, self.cost)):
            raise ValueError("what was spent must be at least 0 and finite")

    def __add__(self, other: "JobSpending") -> "JobSpending":
        return JobSpending(
            calls=self.calls + other.calls,
            tokens=self.tokens + other.tokens,
            cost=None if self.cost is None or other.cost is None else self.cost + other.cost,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class JobResult:
    """The result of a job: an evaluation or an error."""

    format: Literal["upskill.job-result/1"] = RESULT_FORMAT
    run: str | None
    """The run folder as the job names it; `None` where the job could not be read."""
    exit_code: int
    """What `upskill eval` would have ended with."""
    evaluation: Mapping[str, Any] | None = None
    """The object of `upskill eval --json`."""
    error: JobError | None = None
    spending: JobSpending = field(default_factory=JobSpending)


def split_caps(caps: Caps, jobs: int, *, at_once: int = 1) -> tuple[Caps, ...]:
    """A share of the caps for each job; the shares never add up to more than the caps.

    Minutes pass for all jobs that run at the same time, so each round of `at_once` jobs gets an equal part of them.
    """
    rounds = -(-jobs // at_once)
    minutes = None if caps.max_time_minutes is None else _part(caps.max_time_minutes, rounds)
    cost = None if caps.max_cost is None else _part(caps.max_cost, jobs)
    return tuple(
        Caps(
            max_cost=cost,
            max_calls=_whole_part(caps.max_calls, jobs, number),
            max_total_tokens=_whole_part(caps.max_total_tokens, jobs, number),
            max_time_minutes=minutes,
        )
        for number in range(jobs)
    )


def _whole_part(cap: int | None, parts: int, number: int) -> int | None:
    """What does not divide goes to the first parts, one each."""
    return None if cap is None else cap // parts + (number < cap % parts)


def _part(cap: float, parts: int) -> float:
    """The largest float of which so many are no more than the cap: a quotient may have been rounded up."""
    part = cap / parts
    return part if Fraction(part) * parts <= Fraction(cap) else math.nextafter(part, 0.0)
