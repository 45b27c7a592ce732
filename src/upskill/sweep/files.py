"""The folder of a sweep: its plan, the archives that jobs read, attempts, and results that are written once.

plan.json  jobs.jsonl  refused.jsonl     replaced by each `upskill sweep plan`
history.jsonl                            every job that was ever planned here
summaries.jsonl                          a copy of what is short in results; may be removed
inputs/DIGEST.tar                        a skill with its cases, by content
results/ID.json                          created once: a job is done if it is there
attempts/ID/ATTEMPT/begun.json           before the first call
attempts/ID/ATTEMPT/000001.jsonl         scored and errored answers as they came
attempts/ID/ATTEMPT/ended.json           an attempt without it was killed, or still runs
attempts/ID/ATTEMPT/run/                 the run folder of an attempt that ended
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from upskill.core.nouns import Trial
from upskill.core.nouns.text import on_one_line, whole_characters
from upskill.core.runs.trial_log import UnreadableTrial, trial_from_json
from upskill.core.settings.values import without_secrets
from upskill.core.skills.skill_files import first_problem
from upskill.errors import EngineError, UsageError
from upskill.redaction import redactor_from
from upskill.sweep.objects import open_objects
from upskill.sweep.values import (
    JOB_ID,
    AttemptBegun,
    AttemptEnd,
    PlannedBefore,
    PlannedJob,
    Refused,
    ResultSummary,
    SweepPlan,
    SweepResult,
)

T = TypeVar("T")
_ATTEMPT = re.compile(r"[0-9]{8}T[0-9]{6}-[0-9a-f]{8}")
_TRIALS = re.compile(r"[0-9]{6,}\.jsonl")


_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}
"""Made when they are needed: that takes a while."""


def _adapter(kind: Any) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def value_text(value: object) -> str:
    """A value of a sweep as one line of JSON, without keys of the user's own."""
    return redactor_from(os.environ).clean_own(_text(value))


def _text(value: object) -> str:
    adapter = _adapter(type(value))
    try:
        return adapter.dump_json(value).decode()
    except PydanticSerializationError:  # half a character, which has no UTF-8
        text = json.dumps(adapter.dump_python(value, mode="json"), ensure_ascii=False, allow_nan=False)
        return whole_characters(text)


def value_from_text(kind: type[T], text: str | bytes, *, where: str) -> T:
    """The value in a text. Raises `EngineError`, with the place, where it cannot be read."""
    try:
        value: T = _adapter(kind).validate_json(text)
    except ValidationError as error:
        raise EngineError(on_one_line(f"{where}: cannot be read: {first_problem(error)}")) from None
    return value


class SweepFolder:
    """What is kept of a sweep, in a local folder or a bucket."""

    def __init__(self, place: str) -> None:
        self.objects = open_objects(place)
        self.place = without_secrets(place)

    def write_plan(self, plan: SweepPlan, jobs: Sequence[PlannedJob], refused: Iterable[Refused]) -> None:
        """Replace the plan. `plan.json` comes last: without it there is no plan.

        Raises `UsageError` where the place cannot write an object once.
        """
        self.objects.require_written_once()
        before = self.history()
        known = {one.id for one in before}
        new = [
            PlannedBefore(id=job.id, skill=job.skill, name=job.name, students=job.students)
            for job in jobs
            if job.id not in known
        ]
        if new:
            self.objects.replace("history.jsonl", _lines([*before, *new]))
        self.objects.replace("jobs.jsonl", _lines(jobs))
        self.objects.replace("refused.jsonl", _lines(refused))
        self.objects.replace("plan.json", (value_text(plan) + "\n").encode())

    def has_plan(self) -> bool:
        return self.objects.read("plan.json") is not None

    def plan(self) -> SweepPlan:
        """The plan. Raises `UsageError` where there is none."""
        data = self.objects.read("plan.json")
        if data is None:
            raise UsageError(
                f"{self.place}: is not the folder of a sweep (it has no plan.json)",
                hint=f"make a plan with `upskill sweep plan FILE --at {self.place}`",
            )
        return value_from_text(SweepPlan, data, where=f"{self.place}/plan.json")

    def jobs(self) -> list[PlannedJob]:
        """The jobs of the plan. Raises where one confirms another: that follows from a result, and no plan says it."""
        jobs = self._listed(PlannedJob, "jobs.jsonl")
        for number, job in enumerate(jobs, 1):
            if job.confirms is not None:
                raise EngineError(f"{self.place}/jobs.jsonl: line {number}: cannot be read: no plan sets `confirms`")
        return jobs

    def history(self) -> list[PlannedBefore]:
        """Every job that was ever planned here, oldest first."""
        return self._listed(PlannedBefore, "history.jsonl")

    def refused(self) -> list[Refused]:
        """The skills that no job can measure."""
        return self._listed(Refused, "refused.jsonl")

    def _listed(self, kind: type[T], name: str) -> list[T]:
        data = self.objects.read(name) or b""
        lines = enumerate(data.splitlines(), 1)
        return [value_from_text(kind, line, where=f"{self.place}/{name}: line {number}") for number, line in lines]

    def keep_input(self, archive: bytes) -> str:
        """Keep the archive of a skill, unless it is there. Returns its digest, by which jobs name it."""
        digest = archive_digest(archive)
        self.objects.create(input_name(digest), archive)
        return digest

    def input(self, digest: str) -> bytes:
        """The archive of a skill, byte for byte as it was kept."""
        name = input_name(digest)
        data = self.objects.read(name)
        if data is None or archive_digest(data) != digest:
            what = "is missing" if data is None else "is damaged"
            raise EngineError(
                on_one_line(f"{self.place}/{name}: the archive of a skill {what}"),
                hint=f"make the plan again: upskill sweep plan FILE --at {self.place}",
            )
        return data

    def done(self) -> set[str]:
        """The ids of all jobs that have a result, planned ones and others."""
        names = (name.removeprefix("results/").removesuffix(".json") for name in self.objects.names("results"))
        return {name for name in names if JOB_ID.fullmatch(name)}

    def result(self, job: str) -> SweepResult | None:
        """The result of a job; `None` where it has none."""
        name = result_name(job)
        data = self.objects.read(name)
        return None if data is None else self._result(job, data)

    def results(self, jobs: Iterable[str]) -> Iterator[SweepResult]:
        """The results of these jobs that are there."""
        names = {result_name(job): job for job in jobs}
        for name, data in self.objects.read_all(list(names)):
            yield self._result(names[name], data)

    def summaries(self, jobs: Iterable[str]) -> dict[str, ResultSummary]:
        """What is short in the results of these jobs, by id.

        A result is read once, then a copy of its short part is kept: results never change.
        """
        kept = {one.id: one for one in self._listed(ResultSummary, "summaries.jsonl")}
        wanted = set(jobs)
        new = {result.id: result.summary for result in self.results(sorted(wanted - kept.keys()))}
        if new:
            with suppress(EngineError):  # who may only read the folder reads results the next time, too
                self.objects.replace("summaries.jsonl", _lines([*kept.values(), *new.values()]))
        return {id: one for id, one in (kept | new).items() if id in wanted}

    def _result(self, job: str, data: bytes) -> SweepResult:
        where = f"{self.place}/{result_name(job)}"
        result = value_from_text(SweepResult, data, where=where)
        if result.id != job:
            raise EngineError(f"{where}: is the result of another job ({on_one_line(result.id)})")
        try:
            _ = result.summary
        except (AttributeError, KeyError, TypeError):
            raise EngineError(f"{where}: cannot be read: it has no verdicts") from None
        return result

    def attempted(self) -> set[str]:
        """The ids of all jobs that were attempted."""
        return {name for name in self.objects.folders("attempts") if JOB_ID.fullmatch(name)}

    def attempts(self, job: str) -> dict[str, list[str]]:
        """The names of the files of each attempt at a job, oldest attempt first. What has another name is none."""
        found: dict[str, list[str]] = {}
        for name in self.objects.names(f"attempts/{job}"):
            parts = name.split("/")
            if len(parts) > 3 and _ATTEMPT.fullmatch(parts[2]):
                found.setdefault(parts[2], []).append("/".join(parts[3:]))
        return found

    def keep_begun(self, job: str, attempt: str, begun: AttemptBegun) -> None:
        self.objects.replace(f"attempts/{job}/{attempt}/begun.json", value_text(begun).encode())

    def keep_trials(self, job: str, attempt: str, number: int, lines: bytes) -> None:
        """Keep whole lines of the trial log of an attempt, which came after those with a lower number."""
        self.objects.replace(f"attempts/{job}/{attempt}/{number:06}.jsonl", lines)

    def keep_run(self, job: str, attempt: str, files: Mapping[str, Path]) -> None:
        """Keep files of the run folder of an attempt, by their name in it."""
        for name, path in files.items():
            self.objects.upload(f"attempts/{job}/{attempt}/run/{name}", path)

    def keep_result(self, result: SweepResult) -> SweepResult:
        """Keep the result of a job, unless it has one. Returns the one that it has then."""
        if self.objects.create(result_name(result.id), value_text(result).encode()):
            return result
        return self.result(result.id) or result

    def keep_ended(self, ended: AttemptEnd) -> None:
        self.objects.replace(f"attempts/{ended.id}/{ended.attempt}/ended.json", value_text(ended).encode())

    def remove_trials(self, job: str) -> None:
        """Remove what attempts at a job kept while they ran: its result has it all."""
        for attempt, files in self.attempts(job).items():
            for name in filter(_TRIALS.fullmatch, files):
                self.objects.remove(f"attempts/{job}/{attempt}/{name}")

    def begun(self, job: str, attempt: str) -> AttemptBegun | None:
        name = f"attempts/{job}/{attempt}/begun.json"
        data = self.objects.read(name)
        return None if data is None else value_from_text(AttemptBegun, data, where=f"{self.place}/{name}")

    def ended(self, job: str, attempt: str) -> AttemptEnd | None:
        name = f"attempts/{job}/{attempt}/ended.json"
        data = self.objects.read(name)
        if data is None:
            return None
        ended = value_from_text(AttemptEnd, data, where=f"{self.place}/{name}")
        if (ended.id, ended.attempt) != (job, attempt):
            raise EngineError(on_one_line(f"{self.place}/{name}: is the end of another attempt"))
        return ended

    def trials(self, job: str, attempt: str, files: Iterable[str]) -> Iterator[Trial]:
        """The answers that an attempt kept, in the order they came."""
        names = [f"attempts/{job}/{attempt}/{name}" for name in sorted(files) if _TRIALS.fullmatch(name)]
        for name, data in self.objects.read_all(names):
            for number, line in enumerate(data.splitlines(), 1):
                try:
                    yield trial_from_json(line)
                except UnreadableTrial as error:
                    raise EngineError(f"{self.place}/{name}: line {number} is damaged: {error}") from None


def archive_digest(data: bytes) -> str:
    """The name of an archive: the SHA-256 of its bytes."""
    return hashlib.sha256(data).hexdigest()


def result_name(job: str) -> str:
    """The name of the result of a job."""
    return f"results/{job}.json"


def input_name(digest: str) -> str:
    """The name of the archive of a skill."""
    return f"inputs/{digest}.tar"


def _lines(values: Iterable[object]) -> bytes:
    # Cleaned together: to look for keys takes as long for one value as for many.
    return redactor_from(os.environ).clean_own("".join(_text(value) + "\n" for value in values)).encode()
