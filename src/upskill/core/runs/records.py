"""Records: values kept as JSON files in a run folder, and that of an evaluation among them.

They are written whole, without keys of the user's own, and read with a sentence for whatever may be wrong with them.
"""

import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Any, Literal, Protocol, TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from upskill.core.nouns import Arm, Design, Qualification, RunEnd, Student
from upskill.core.nouns.look import LookTerms
from upskill.core.nouns.skill import RUN_FILE, SLIM_FILE, TEACHING_FILE, TRIGGER_FILE, OtherSkills
from upskill.core.nouns.text import on_one_line, whole_characters
from upskill.core.runs.run_summaries import RUN_FORMAT
from upskill.core.skills.skill_files import first_problem, read_plain, write_text
from upskill.errors import EngineError, UsageError
from upskill.redaction import redactor_from

JOURNAL_FILE = "teacher.jsonl"
TRIALS_FILE = "trials.jsonl"
HELD_OUT = "trials/held-out"
"""In the folder of a `generate`: the run that its skill is judged by."""
MOST_TURNS = 1_000_000
"""Pairs that one student could be asked for: a record that says more would be planned for ever."""
Status = Literal["running", "finished", "interrupted", "failed"]


class Record(Protocol):
    """A value that says in which format it is written."""

    @property
    def format(self) -> str:
        """Name and version, as in `upskill.run/1`."""
        ...


R = TypeVar("R", bound=Record)


def record_text(adapter: TypeAdapter[Any], value: object) -> str:
    """A value as it stands in its file."""
    try:
        return adapter.dump_json(value, indent=2).decode() + "\n"
    except PydanticSerializationError:
        # A path on this machine need not be UTF-8; a record must be.
        text = json.dumps(adapter.dump_python(value, mode="json"), indent=2, ensure_ascii=False, allow_nan=False)
        return whole_characters(text) + "\n"


def keep_text(path: Path, text: str) -> None:
    """The same without keys of the user's own: whatever a run keeps of itself goes through here."""
    write_text(path, redactor_from(os.environ).clean_own(text))


def read_record(path: Path, adapter: TypeAdapter[R], *, wanted: str, missing: str, other: str) -> R:
    """The record in a file.

    `wanted` is the format that can be read, `missing` what its folder is not without it, `other` what to do with
    another format.
    """
    try:
        record = adapter.validate_json(read_plain(path))
    except FileNotFoundError:
        why = f"{missing} (it has no {path.name})" if os.path.lexists(path.parent) else "no such folder"
        raise UsageError(f"{path.parent}: {why}", hint="list the runs with `upskill runs`") from None
    except ValidationError as error:
        raise EngineError(on_one_line(f"{path}: cannot be read as {wanted}: {first_problem(error)}")) from None
    if record.format != wanted:
        raise EngineError(
            on_one_line(f"{path}: has the format {record.format!r}; this version reads {wanted}"), hint=other
        )
    return record


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseReference:
    """A case of the run. The case itself stays in its file."""

    id: str
    digest: str
    prompt_digest: str
    """Digest without the checks."""
    family: str | None = None
    """The family when the run began."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingRecord:
    """The value of a setting and its origin."""

    value: JsonValue
    origin: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRecord:
    """The plan, versions, settings and results of a run."""

    format: str = RUN_FORMAT
    status: Status = "running"
    """A run that reached a cap is `finished`; its `end` says so."""
    started_at: str
    """UTC."""
    finished_at: str | None = None
    versions: dict[str, str]
    """Versions of upskill, the engine and Python."""
    skill_name: str
    skill_digest: str
    """SHA-256 of the files that a model could see."""
    skill_source: str
    """The path of the skill, relative to the run folder."""
    previous_source: str | None = None
    """The older version of `--compare`: its path, or `git:` and the id of a commit."""
    previous_digest: str | None = None
    case_source: str
    """The path of the case file, relative to the run folder."""
    cases: tuple[CaseReference, ...]
    case_states: tuple[Qualification, ...] = ()
    """The state of all cases in the file when the run began."""
    students: tuple[Student, ...]
    arms: tuple[Arm, ...]
    passages: str | None = None
    """Digest of the passages, if the ceiling arm was run."""
    others: OtherSkills | None = None
    """The skills that lie beside the measured one, in every arm; `None` without `--among`."""
    other_sources: tuple[str, ...] = ()
    """The folders of `--among`, relative to the run folder."""
    repeats: int
    """Repeats per case; the maximum, in a design that may stop."""
    design: Design
    min_lift: float | None
    """The value of `--min-lift`."""
    typed: tuple[str, ...] = ()
    """Options that are in no setting, `--runs 3` or `--yes`, for the next command."""
    seed: int
    harness: str
    """How models are asked, with its version. Every change to a request changes the version."""
    frame: str
    """The text around every case, the same in every arm."""
    sandbox: dict[str, JsonValue] | None = None
    """What confined the programs of the run; `{"backend": "none"}` without a sandbox; `None` if nothing was run."""
    agent: dict[str, JsonValue] | None = None
    """The `version` of the coding agent, and how `agent_bin` `named` it; `None` if the harness runs none."""
    judge: str | None = None
    """The judge."""
    looks: dict[str, LookTerms] = field(default_factory=dict)
    """For each model, how strictly its look is tested after earlier ones, and which look it is."""
    settings: dict[str, SettingRecord] = field(default_factory=dict)
    """Every setting with its value and origin. Keys are not settings."""
    notes: tuple[str, ...] = ()
    """Remarks for the reader. No decision uses them."""
    end: RunEnd | None = None
    """What ended the run before its plan was done; `None` until it has ended."""
    results: dict[str, JsonValue] | None = None
    """The object of `upskill eval --json`, once there is one."""
    seal: str | None = None
    """Shows to the user who started the run that it asks for what it asked for then (`own_runs.py`)."""


RUN_RECORD = TypeAdapter(RunRecord)


def named_run(run: str) -> str:
    """The path of the run folder whose name is unique: that of the `generate` for its test on held-out cases."""
    return run.removesuffix(f"/{HELD_OUT}")


def read_run(folder: Path) -> RunRecord:
    """Read `run.json`."""
    again = "the same command again"
    for name, command, hint in (
        (TEACHING_FILE, "generate", f"resume it: upskill generate --resume {quote(str(folder))}"),
        (TRIGGER_FILE, "trigger", f"its result is in trigger.json; {again} takes finished answers from the cache"),
        (SLIM_FILE, "slim", f"its result is in slim.json and slim.html; {again} resumes it"),
    ):
        if (folder / name).is_file() and not (folder / RUN_FILE).exists():
            raise UsageError(f"{folder}: is a run of `{command}`, not of `eval`", hint=hint)
    record = read_record(
        folder / RUN_FILE,
        RUN_RECORD,
        wanted=RUN_FORMAT,
        missing="is not a run folder",
        other="read it with the version of upskill that wrote it",
    )
    _require_sound(record, folder / RUN_FILE)
    return record


def _require_sound(record: RunRecord, path: Path) -> None:
    """Raise where a record contradicts itself, or plans more than any run does."""
    turns = record.repeats * max(1, len(record.cases))
    if record.repeats < 1 or turns > MOST_TURNS:
        raise EngineError(f"{path}: asks for {turns:,} pairs, which is more than any run")
    for names in ([case.id for case in record.cases], [student.name for student in record.students]):
        if len(set(names)) < len(names):
            raise EngineError(f"{path}: names a case or a model twice")


def now() -> str:
    """The wall clock as a label for records: never used to measure a duration."""
    return datetime.now(UTC).isoformat(timespec="seconds")
