"""The run folder of a `generate`: every stage in a file of its own, written when the stage ends.

`generate.json` (what was asked, of whom, under which settings, and what came of it), `teacher.jsonl` (every answer of
a teacher), `material.json`, `plan.json` (of facts), `cases.json`, `lessons.json`, `attempts.json` (each draft on the
learn cases), `drafts/N/<name>/` with `drafts/N/sources.json`, `previous/` (the skill that is improved, as it was),
`no-skill/` (one that says nothing), and `trials/<stage>/`, each of them an ordinary run folder.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from pydantic import JsonValue, TypeAdapter, ValidationError

from upskill import disk
from upskill.core.cases.files import CheckProblems, read_case_file, write_case_file
from upskill.core.nouns import Case
from upskill.core.nouns.evaluation import Purchase
from upskill.core.nouns.finding import Finding
from upskill.core.nouns.skill import SKILL_FILE, TEACHING_FILE
from upskill.core.runs.journal import Journal
from upskill.core.runs.own_runs import seal_of
from upskill.core.runs.records import JOURNAL_FILE, SettingRecord, Status, keep_text, read_record, record_text
from upskill.core.runs.run_folders import RunFolder, new_folder
from upskill.core.runs.run_summaries import TEACHING_FORMAT
from upskill.core.skills.skill_files import first_problem, read_plain, write_text
from upskill.core.skills.skills import copy_skill
from upskill.errors import EngineError
from upskill.generation.draft import Draft, SectionSource, read_draft, write_draft
from upskill.generation.generated import AttemptSummary

_SOURCES = TypeAdapter(tuple[SectionSource, ...])
MATERIAL_FILE = "material.json"
OWN_CASES_FILE = "own-cases.json"
CASES_FILE = "cases.json"
APTITUDE_FILE = "aptitude.json"
ATTEMPTS_FILE = "attempts.json"
_NO_SKILL = Draft(name="no-skill", description="Stands where there is no skill.", body="Nothing.\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class TeachingEnd:
    """How a `generate` ended that has no result, and what it had spent by then."""

    reason: str
    """In words, for a person."""
    teacher: Purchase
    students: Purchase


@dataclass(frozen=True, kw_only=True, slots=True)
class RefiningRecord:
    """`attempts.json`: each draft on the learn cases, and why refining ended; `None` while it goes on."""

    attempts: tuple[AttemptSummary, ...] = ()
    stopped: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TeachingRecord:
    """All that is needed to go on with a `generate`, and to know later what it did."""

    format: str = TEACHING_FORMAT
    status: Status = "running"
    started_at: str
    finished_at: str | None = None
    versions: dict[str, str]
    order: dict[str, JsonValue]
    """What was asked for."""
    teacher: str
    """The engine's name of it, and where it is served."""
    case_writer: str
    students: tuple[str, ...]
    questions: int = 1
    """The version of the questions that teachers are asked; a run goes on only with those that it began with."""
    stage: str = "material"
    """The last stage that has ended."""
    settings: dict[str, SettingRecord] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    results: dict[str, JsonValue] | None = None
    findings: tuple[Finding, ...] = ()
    """What a search found in the draft that was, or would have been, saved."""
    dropped: tuple[str, ...] = ()
    """Cases that were written and not used, a line each with the reason."""
    end: TeachingEnd | None = None
    """Null while it runs, and where there are results."""
    seal: str | None = None
    """Shows to the user who started the run that it asks for what it asked for then."""


_RECORD = TypeAdapter(TeachingRecord)
_REFINING = TypeAdapter(RefiningRecord)


@dataclass(frozen=True, kw_only=True, slots=True)
class TeachingFolder:
    """One `generate` on disk."""

    path: Path

    @property
    def journal(self) -> Journal:
        """What teachers answered."""
        return Journal(self.path / JOURNAL_FILE)

    def sealed(self, record: TeachingRecord) -> TeachingRecord:
        """The record of a run that the user starts or resumes here, sealed as their own."""
        return replace(record, seal=seal_of(self.path, record_text(_RECORD, record)))

    def write_record(self, record: TeachingRecord) -> None:
        """Replace `generate.json`, whole or not at all."""
        self.save(TEACHING_FILE, record_text(_RECORD, record))

    def save(self, name: str, text: str) -> None:
        """Keep what a stage brought, whole or not at all, without keys of the user's own."""
        keep_text(self.path / name, text)

    def saved(self, name: str) -> bytes | None:
        """What a stage brought; `None` if it has not ended."""
        try:
            return read_plain(self.path / name)
        except FileNotFoundError:
            return None

    @property
    def previous(self) -> Path | None:
        """The skill that is improved, as it was when the run began; `None` for a new skill."""
        return next(iter(disk.folders(self.path / "previous")), None)

    def keep_previous(self, skill: Path, *, name: str) -> Path:
        """Set a skill aside, byte for byte."""
        target = self.path / "previous" / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            copy_skill(skill, target)
        return target

    def write_cases(self, cases: Iterable[Case]) -> None:
        """Keep all cases, learn and held-out."""
        write_case_file(self.path / CASES_FILE, cases)

    def read_cases(self, *, check_problems: CheckProblems) -> tuple[Case, ...] | None:
        """The cases; `None` if they have not been written."""
        path = self.path / CASES_FILE
        return read_case_file(path, check_problems=check_problems).cases if path.exists() else None

    @property
    def drafts(self) -> list[Path]:
        """The folders of all drafts, in the order in which they were written."""
        numbered = [path for path in disk.folders(self.path / "drafts") if path.name.isdecimal()]
        ordered = sorted(numbered, key=lambda path: int(path.name))
        whole = (draft for number in ordered for draft in disk.folders(number, "[!.]*"))
        return [draft for draft in whole if disk.is_file(draft / SKILL_FILE)]

    def new_draft(self, name: str) -> Path:
        """The folder of the next draft, which is not made yet."""
        there = (path.name for path in disk.listed(self.path / "drafts"))
        number = max((int(one) for one in there if one.isdecimal()), default=0) + 1
        folder = self.path / "drafts" / str(number) / name
        folder.parent.mkdir(parents=True)
        return folder

    def keep_draft(self, draft: Draft) -> Path:
        """The folder of a draft: the one in which it lies already, or a new one with the next number."""
        if (previous := self.previous) is not None and _same(read_draft(previous), draft):
            return previous
        for folder in self.drafts:
            if folder.name == draft.name and _same(read_draft(folder), draft):
                return folder
        folder = self.new_draft(draft.name)
        write_draft(folder.parent, draft)
        write_text(folder.parent / "sources.json", record_text(_SOURCES, draft.sources))
        return folder

    def write_attempts(self, refining: RefiningRecord) -> None:
        """Keep how each draft did so far."""
        self.save(ATTEMPTS_FILE, record_text(_REFINING, refining))

    def read_attempts(self) -> RefiningRecord | None:
        """How each draft did; `None` if none was measured. Raises `EngineError` where the file is damaged."""
        if (text := self.saved(ATTEMPTS_FILE)) is None:
            return None
        try:
            return _REFINING.validate_json(text)
        except ValidationError as error:
            raise EngineError(f"{ATTEMPTS_FILE}: cannot be read: {first_problem(error)}") from None

    def no_skill(self) -> Path:
        """A skill that says nothing: evaluations without any skill name this one."""
        folder = self.path / "no-skill"
        if not folder.is_dir():
            write_draft(self.path, _NO_SKILL)
        return folder

    def stage(self, name: str) -> RunFolder:
        """Where an evaluation within this run is kept."""
        return RunFolder(path=self.path / "trials" / name)

    def stages(self) -> Iterator[RunFolder]:
        """All evaluations so far."""
        yield from (RunFolder(path=path) for path in disk.folders(self.path / "trials"))


def _same(one: Draft, other: Draft) -> bool:
    def content(draft: Draft) -> tuple[object, ...]:
        # One line feed at the end more or less is what writing and reading make of it.
        return draft.name, draft.description, draft.body.strip(), dict(draft.files), draft.executable

    return content(one) == content(other)


def create_teaching_run(runs_dir: Path, *, about: str) -> TeachingFolder:
    return TeachingFolder(path=new_folder(runs_dir, f"generate-{about}"))


def read_teaching_run(folder: Path) -> TeachingRecord:
    return read_record(
        folder / TEACHING_FILE,
        _RECORD,
        wanted=TEACHING_FORMAT,
        missing="is not a run folder of `generate`",
        other="resume it with the version of upskill that wrote it",
    )


def shown_path(path: Path) -> str:
    """A path as a person would type it: `./skills/x` where it is below the working folder."""
    try:
        below = path.resolve().relative_to(Path.cwd().resolve())
    except ValueError:
        try:
            return Path(os.path.relpath(path.resolve(), Path.cwd().resolve())).as_posix()
        except ValueError:
            return path.as_posix()
    return f"./{below.as_posix()}"


def shown_skill(record: TeachingRecord, previous: Path | None) -> str | None:
    """The skill that was to be improved, as it would be typed here; `previous` is the copy that the run kept."""
    sources = record.order.get("sources")
    if previous is None or not isinstance(sources, list):
        return None
    typed = [one for one in sources if isinstance(one, str)]
    return next((shown_path(Path(one)) for one in typed if previous.name in PurePosixPath(one).parts), None)
