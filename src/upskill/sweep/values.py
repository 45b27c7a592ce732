"""A sweep: many jobs with one plan, what each may spend, and what is kept of it. Knows neither files nor engines."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple

from upskill.core.models.retrying import RateLimit
from upskill.core.nouns.text import digest_of

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
        "temperature",
        "text_calls",
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
class JobSpending:
    """What was spent on a job."""

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


PLAN_FORMAT: Literal["upskill.sweep-plan/1"] = "upskill.sweep-plan/1"
SWEEP_RESULT_FORMAT: Literal["upskill.sweep-result/1"] = "upskill.sweep-result/1"
Logs = Literal["all", "failures", "none"]
"""Which logs of the engine are kept: of all jobs, of those without a valid result, or of none."""
JOB_ID = re.compile(r"[0-9a-f]{32}")
"""Ids become names of files, and the file that they are read from may be a stranger's."""
_MOST_PLANNED = 1e15


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedJob:
    """One skill on a group of models, as it stands in the plan of a sweep."""

    id: str
    """Made of everything that decides what is measured: equal ids measure the same."""
    skill: str
    """The skill as the manifest names it, for people."""
    name: str
    """The skill's own name."""
    version: str
    """The digest of the skill."""
    input: str
    """The digest of the archive that holds the skill and its cases: while it is the same, nothing is planned again."""
    cases: int
    students: tuple[str, ...]
    calls_expected: int
    calls_at_most: int
    cost_expected: float | None
    cost_at_most: float | None
    """Dollars, for the models whose price is known; `None` where none is known."""
    output_tokens_expected: int = 0
    tokens_at_most: int | None = None
    """Input and output together, without the judge's."""
    earlier: tuple[str, ...] = ()
    """Ids of jobs of this folder that measured this skill before, in another version or under other conditions: their
    results may be looks at the same cases."""
    confirms: str | None = None
    """The id of the job whose winners are measured a second time, with fresh answers."""
    owner: str = ""
    """Who answers for the skill, for people."""

    def __post_init__(self) -> None:
        for id in (self.id, self.confirms, *self.earlier):
            if id is not None and JOB_ID.fullmatch(id) is None:
                raise ValueError("an id must be 32 hexadecimal digits")
        counts = (self.cases, self.calls_expected, self.calls_at_most, self.output_tokens_expected, self.tokens_at_most)
        for number in (*counts, self.cost_expected, self.cost_at_most):
            if number is not None and not 0 <= number <= _MOST_PLANNED:  # also where it is no number at all
                raise ValueError("a count or a cost is out of range")

    def confirmation(self, winners: Iterable[str], *, seed: int) -> "PlannedJob":
        """The job that measures the winners of this one again. Expected calls and cost are a share of this one's."""
        students = tuple(student for student in self.students if student in set(winners))
        share = len(students) / len(self.students)
        return replace(
            self,
            id=digest_of(["confirms", self.id, students, seed])[:32],
            students=students,
            calls_expected=math.ceil(self.calls_expected * share),
            calls_at_most=math.ceil(self.calls_at_most * share),
            cost_expected=None if self.cost_expected is None else self.cost_expected * share,
            # A student may be dearer than its share: only the whole is an upper bound.
            cost_at_most=self.cost_at_most,
            output_tokens_expected=math.ceil(self.output_tokens_expected * share),
            earlier=(),
            confirms=self.id,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedBefore:
    """What stays known of a job after it is in no plan any more."""

    id: str
    skill: str
    """As the manifest named it."""
    name: str
    students: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """A skill of the manifest that no job can measure, and why."""

    skill: str
    why: str
    students: tuple[str, ...] = ()
    """The models that cannot be asked about it; empty for all."""
    input: str | None = None
    """The digest of its archive, where the reason is in that alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedStudent:
    """A model as it was found when the plan was made."""

    name: str
    model: str
    endpoint: str | None = None
    """The base URL, if it is not the provider's own."""
    served: str | None = None
    """The digest of what the server said of the model; `None` where it said nothing."""
    priced: bool = False
    """Whether its price is known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepPlan:
    """What all jobs of a sweep have in common. The jobs themselves are in a file beside it, one per line."""

    format: Literal["upskill.sweep-plan/1"] = PLAN_FORMAT
    manifest: str = ""
    """The name of the file that the sweep was planned from, for people."""
    groups: tuple[tuple[str, ...], ...]
    students: tuple[PlannedStudent, ...] = ()
    """In the order of the groups."""
    harness: str = "auto"
    runs: int | None = None
    """Repeats of each case in a fixed design; `None` for the default design."""
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    """As in a job."""
    caps: Caps = field(default_factory=Caps)
    """For the whole sweep."""
    limits: Mapping[str, RateLimit] = field(default_factory=dict)
    """By model, for the whole sweep."""
    confirm: bool = True
    logs: Logs = "failures"
    made_at: str = ""
    basis: str = ""
    """The digest of everything but the skills that decides what is planned."""

    def seed_of(self, job: PlannedJob) -> int:
        """Cases come in another order where winners are measured again."""
        return self.seed if job.confirms is None else self.seed + 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Assignment:
    """What a worker is given: one job, where it is kept, and what it may spend."""

    at: str
    """The sweep folder: a path or a URL."""
    plan: SweepPlan
    job: PlannedJob
    caps: Caps
    """Reserved for this attempt alone."""
    limits: Mapping[str, RateLimit] = field(default_factory=dict)
    """This worker's share, by model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptBegun:
    """Kept before the first call of an attempt: what may be spent in it."""

    caps: Caps
    host: str
    at: str

    @property
    def charge(self) -> JobSpending:
        """What the attempt is charged with where nobody knows how it ended: all that it might have spent."""
        caps = self.caps
        return JobSpending(calls=caps.max_calls or 0, tokens=caps.max_total_tokens or 0, cost=caps.max_cost)


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptEnd:
    """How an attempt ended. An attempt that has none was killed: it is charged in full."""

    id: str
    """The id of the job."""
    attempt: str
    done: bool
    """Whether the job has a result, by this attempt or by another."""
    spending: JobSpending = field(default_factory=JobSpending)
    """What this attempt alone spent."""
    verdicts: Mapping[str, str] = field(default_factory=dict)
    """By student."""
    evaluation: Mapping[str, Any] | None = None
    """Where there is one and it is not the result: it was cut short, or an answer too many was lost."""
    why: str | None = None
    """Why there is no result, in a line."""
    error: str | None = None
    """The name of the error's class, for example `UsageError`, where one ended the attempt."""
    details: tuple[str, ...] = ()
    """What a person would have read of the error: its hint and problems, or where a bug is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultSummary:
    """What a driver needs of a result. A copy, so that ten thousand results need not be read again."""

    id: str
    verdicts: Mapping[str, str]
    """By student."""
    charged: JobSpending


class Row(NamedTuple):
    """One scored answer that a verdict rests on, as the table over all jobs has it."""

    student: str
    case: str
    arm: str
    repeat: int
    passed: bool
    calls: int
    cost: float | None
    family: str | None = None
    """The family of the case, where it names one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepResult:
    """The one result of a job: written once, never replaced."""

    format: Literal["upskill.sweep-result/1"] = SWEEP_RESULT_FORMAT
    id: str
    skill: str
    name: str
    version: str
    students: tuple[str, ...]
    attempt: str
    """The attempt that wrote it: its run folder is `attempts/ID/ATTEMPT/run`."""
    evaluation: Mapping[str, Any]
    """The object of `upskill eval --json`."""
    rows: tuple[Row, ...]
    """Every scored answer that counts, once."""
    looks: tuple[Mapping[str, Any], ...] = ()
    """The lines of the ledger that this evaluation wrote."""
    spending: JobSpending
    """What this attempt alone spent."""
    charged: JobSpending
    """What all attempts spent, each killed one everything that was reserved for it."""
    confirms: str | None = None
    finished_at: str

    @property
    def summary(self) -> ResultSummary:
        students = self.evaluation.get("students", ())
        verdicts = {str(one["model"]): str(one["verdict"]) for one in students if one.get("verdict") is not None}
        return ResultSummary(id=self.id, verdicts=verdicts, charged=self.charged)
