"""Run folders: one per run, readable at any moment, also after kill -9.

`runs/<time>-<skill>-<short id>/` holds `run.json` (what was planned, with which versions, and what came out),
`trials.jsonl` (one line per finished trial, appended) and `logs/` (the engine's own logs).
"""

import re
import secrets
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Literal

from pydantic import JsonValue, TypeAdapter

from upskill.atomic_file import write_atomically
from upskill.domain import Arm, Cap, Design, Outage, Qualification, RunEnd, Student
from upskill.domain.look import LookTerms
from upskill.domain.other_skills import OtherSkills
from upskill.domain.run_end import CapKind
from upskill.errors import EngineError, UsageError
from upskill.storage.plain_files import ENGINE_FOLDER
from upskill.storage.records import keep_text, read_record, record_text
from upskill.storage.run_folders import RUN_FILE, RUN_FORMAT, TEACHING_FILE, TRIALS_FILE, TRIGGER_FILE
from upskill.storage.trial_log import TrialLog

RESERVED_BYTES = 65_536
MOST_TURNS = 1_000_000
"""Pairs that one student could be asked for: a record that says more would be planned for ever."""

# How runs of earlier versions tell in their notes why they ended.
_CAP = re.compile(r"stopped at the cap of (\$)?([0-9][0-9.,e+-]*)(?: (calls?|tokens|minutes))?")
_OUTAGE = re.compile(r"(.+?): the endpoint went down and nothing more was sent to it \((.*)\)", re.DOTALL)
_KINDS: dict[str, CapKind] = {"call": "calls", "calls": "calls", "tokens": "tokens", "minutes": "minutes"}

Status = Literal["running", "finished", "interrupted", "failed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseReference:
    """A case of the run. The case itself stays in its file."""

    id: str
    digest: str
    prompt_digest: str | None = None
    """Digest without the checks; `None` in runs of earlier versions."""
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
    """Repeats per case; in a sequential design, the maximum."""
    turn_cap: int | None = None
    """Maximum pairs per model, if the last repeat does not cover all cases."""
    design: Design
    min_lift: float | None
    """The value of `--min-lift`."""
    seed: int
    harness: str
    """How models are asked, with its version. Every change to a request changes the version."""
    frame: str
    """The text around every case, the same in every arm."""
    sandbox: dict[str, JsonValue] | None = None
    """What confined the programs of the run; `{"backend": "none"}` without a sandbox; `None` if nothing was run."""
    agent: dict[str, JsonValue] | None = None
    """The `version` of the coding agent, and how it was `named` with `--agent-bin`; `None` if the harness runs none."""
    judge: str | None = None
    """The judge."""
    looks: dict[str, LookTerms] = field(default_factory=dict)
    """For each model, the threshold after earlier looks at these cases, and the earlier pairs that count."""
    settings: dict[str, SettingRecord] = field(default_factory=dict)
    """Every setting with its value and origin. Keys are not settings."""
    notes: tuple[str, ...] = ()
    """Remarks for the reader. No decision uses them."""
    end: RunEnd | None = None
    """What ended the run before its plan was done; `None` until it has ended."""
    results: dict[str, JsonValue] | None = None
    """The object of `upskill eval --json`, once there is one."""


_RECORD = TypeAdapter(RunRecord)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFolder:
    """One run's folder. Everything a run writes is in it."""

    path: Path

    @property
    def logs(self) -> Path:
        """Where the engine keeps its logs: every prompt and answer, for `inspect view`."""
        return self.path / "logs"

    @property
    def engine_data(self) -> Path:
        """Where the engine's own scratch files go instead of the user's home."""
        return self.path / ENGINE_FOLDER

    def clear_engine_data(self) -> None:
        """Remove what the engine of a killed run left: it is never read again, whoever made it."""
        shutil.rmtree(self.engine_data, ignore_errors=True)

    @property
    def trials(self) -> TrialLog:
        """The append-only log of finished trials."""
        return TrialLog(self.path / TRIALS_FILE)

    def set_space_aside(self) -> None:
        """Hold a little space, so that a run on a disk that fills up can still write how it ended."""
        try:
            self._reserve.unlink(missing_ok=True)  # what lies there may lead elsewhere
            with self._reserve.open("xb") as file:
                file.write(b"\0" * RESERVED_BYTES)
        except OSError as error:
            self._reserve.unlink(missing_ok=True)
            raise EngineError(
                f"{self.path}: there is no space for a run ({error.strerror})", hint="free some space first"
            ) from None

    def release_space(self) -> None:
        """Give it back, before the last words are written."""
        self._reserve.unlink(missing_ok=True)

    @property
    def _reserve(self) -> Path:
        return self.path / ".reserve"

    def write_record(self, record: RunRecord) -> None:
        """Replace `run.json`, whole or not at all."""
        keep_text(self.path / RUN_FILE, record_text(_RECORD, record))


def create_run(runs_dir: Path, *, skill_name: str) -> RunFolder:
    """Make a new run folder. Two runs in the same second get different ones."""
    return run_folder_at(new_folder(runs_dir, skill_name))


def run_folder_at(path: Path) -> RunFolder:
    """The run folder at this very place, which is made where it is not there."""
    try:
        (path / "logs").mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(f"{path}: a run folder cannot be created here ({error.strerror})") from None
    return RunFolder(path=path)


def new_folder(runs_dir: Path, about: str) -> Path:
    """An empty folder named after the time and what it is about, where neither other users nor version control look."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", about)[:40].strip("-") or "skill"
    try:
        runs_dir.mkdir(parents=True, exist_ok=True)
        ignore = runs_dir / ".gitignore"
        if not ignore.exists():
            write_atomically(ignore, "# Runs hold prompts and answers; keep them out of version control.\n*\n")
        stamp = datetime.now().strftime("%Y-%m-%d-%H%M%S")
        while True:
            folder = runs_dir / f"{stamp}-{name}-{secrets.token_hex(3)}"
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                continue
            break
    except OSError as error:
        raise EngineError(
            f"{runs_dir}: a run folder cannot be created here ({error.strerror})",
            hint="name another folder with --runs-dir DIR",
        ) from None
    return folder


def read_run(folder: Path) -> RunRecord:
    """Read `run.json`."""
    if (folder / TEACHING_FILE).is_file() and not (folder / RUN_FILE).exists():
        raise UsageError(
            f"{folder}: is a run of `generate`, not of `eval`",
            hint=f"resume it: upskill generate --resume {quote(str(folder))}",
        )
    if (folder / TRIGGER_FILE).is_file() and not (folder / RUN_FILE).exists():
        raise UsageError(
            f"{folder}: is a run of `trigger`, not of `eval`",
            hint="its result is in trigger.json; the same command again takes finished answers from the cache",
        )
    record = read_record(
        folder / RUN_FILE,
        _RECORD,
        wanted=RUN_FORMAT,
        missing="is not a run folder",
        other="read it with the version of upskill that wrote it",
    )
    _require_sound(record, folder / RUN_FILE)
    if record.end is None and record.status in ("finished", "interrupted"):
        end = _end_in_words(record.notes, record.students, interrupted=record.status == "interrupted")
        return replace(record, end=end)
    return record


def _require_sound(record: RunRecord, path: Path) -> None:
    """Raise where a record contradicts itself, or plans more than any run does."""
    turns = max(record.repeats * max(1, len(record.cases)), record.turn_cap or 1)
    if record.repeats < 1 or (record.turn_cap or 1) < 1 or turns > MOST_TURNS:
        raise EngineError(f"{path}: asks for {turns:,} pairs, which is more than any run")
    for names in ([case.id for case in record.cases], [student.name for student in record.students]):
        if len(set(names)) < len(names):
            raise EngineError(f"{path}: names a case or a model twice")


def _end_in_words(notes: Iterable[str], students: Iterable[Student], *, interrupted: bool) -> RunEnd:
    """Why a run of an earlier version ended: its record has no key `end`, and says so in its notes only."""
    models = {student.name: student.model for student in students}
    cap: Cap | None = None
    outages: list[Outage] = []
    for note in notes:
        if (reached := _CAP.fullmatch(note)) is not None:
            kind = "dollars" if reached[1] else _KINDS.get(reached[3] or "")
            if kind is not None:
                cap = Cap(kind=kind, amount=float(reached[2].replace(",", "")))
        elif (down := _OUTAGE.fullmatch(note)) is not None:
            outages.append(Outage(model=models.get(down[1], down[1]), said=down[2]))
    return RunEnd(interrupted=interrupted, cap=cap, outages=tuple(outages))


def now() -> str:
    """The wall clock as a label for records: never used to measure a duration."""
    return datetime.now(UTC).isoformat(timespec="seconds")
