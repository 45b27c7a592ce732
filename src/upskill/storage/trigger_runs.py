"""The run folder of an `upskill trigger`.

`trigger.json` (what was asked, of whom, under which settings, and what came of it), `triggers.json` (the prompts that
were asked) and `trials/alone/` and `trials/among/`, each of them an ordinary run folder.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue, TypeAdapter

from upskill.domain.trigger import Company, TriggerPrompt
from upskill.errors import UpskillError
from upskill.storage.records import keep_text, read_record, record_text
from upskill.storage.run_folders import TRIGGER_FILE, TRIGGER_FORMAT, runs_in
from upskill.storage.runs import RunFolder, SettingRecord, Status, new_folder, run_folder_at
from upskill.storage.triggers import read_trigger_file, triggers_text

PROMPTS_FILE = "triggers.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerRecord:
    """What a measurement of triggering was about, and what came of it."""

    format: str = TRIGGER_FORMAT
    status: Status = "running"
    started_at: str
    """UTC."""
    finished_at: str | None = None
    versions: dict[str, str]
    skill_name: str
    skill_digest: str
    skill_source: str
    """The path of the skill, relative to the run folder."""
    prompt_source: str
    """The path of the file with the prompts, relative to the run folder."""
    harness: str
    companies: tuple[Company, ...]
    students: tuple[str, ...]
    repeats: int
    settings: dict[str, SettingRecord] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    results: dict[str, JsonValue] | None = None
    """The object of `upskill trigger --json`, once there is one."""


_RECORD = TypeAdapter(TriggerRecord)


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerFolder:
    """One `upskill trigger` on disk."""

    path: Path

    def write_record(self, record: TriggerRecord) -> None:
        """Replace `trigger.json`, whole or not at all."""
        keep_text(self.path / TRIGGER_FILE, record_text(_RECORD, record))

    def write_prompts(self, prompts: Iterable[TriggerPrompt]) -> None:
        """Keep the prompts that are asked."""
        keep_text(self.path / PROMPTS_FILE, triggers_text(prompts))

    def part(self, company: Company) -> RunFolder:
        """Where the answers of one company are kept; made where it is not there."""
        return run_folder_at(self.path / "trials" / company)


def create_trigger_run(runs_dir: Path, *, skill_name: str) -> TriggerFolder:
    """Make a new run folder. Two runs in the same second get different ones."""
    return TriggerFolder(path=new_folder(runs_dir, f"trigger-{skill_name}"))


def described_before(runs_dir: Path, *, skill_name: str, prompts: Iterable[TriggerPrompt]) -> frozenset[str]:
    """The descriptions of this skill that runs in this folder measured on one of these prompts."""
    asked = {prompt.digest for prompt in prompts}
    found: set[str] = set()
    for folder in runs_in(runs_dir, marked_by=(TRIGGER_FILE,)):
        if f"trigger-{skill_name}-" not in folder.name:
            continue
        try:
            record = read_trigger_run(folder)
            before = read_trigger_file(folder / PROMPTS_FILE).prompts
        except (UpskillError, OSError):  # of another version, or damaged: nothing is known
            continue
        skill = (record.results or {}).get("skill")
        description = skill.get("description") if isinstance(skill, dict) else None
        if isinstance(description, str) and not asked.isdisjoint(prompt.digest for prompt in before):
            found.add(description)
    return frozenset(found)


def loaded_instead(runs_dir: Path, *, skill_name: str) -> Iterator[Mapping[str, int]]:
    """For each measurement of this skill, by name: prompts that should load it and loaded another skill instead."""
    for folder in runs_in(runs_dir, marked_by=(TRIGGER_FILE,)):
        if f"trigger-{skill_name}-" not in folder.name:
            continue
        try:
            record = read_trigger_run(folder)
        except (UpskillError, OSError):  # of another version, or damaged: nothing is known
            continue
        if record.skill_name == skill_name:
            yield Counter(_others_in(record.results or {}))


def _others_in(results: Mapping[str, JsonValue]) -> Iterator[str]:
    """The other skills, once for each prompt of each model on which they took the place of the measured one."""
    scores = results.get("scores")
    for score in scores if isinstance(scores, list) else ():
        prompts = score.get("prompts") if isinstance(score, dict) else None
        for prompt in prompts if isinstance(prompts, list) else ():
            if not isinstance(prompt, dict) or prompt.get("should_load") is not True:
                continue
            others = prompt.get("others")
            if prompt.get("loads") != prompt.get("answers") and isinstance(others, list):
                yield from {other for other in others if isinstance(other, str)}


def read_trigger_run(folder: Path) -> TriggerRecord:
    """Read `trigger.json`."""
    return read_record(
        folder / TRIGGER_FILE,
        _RECORD,
        wanted=TRIGGER_FORMAT,
        missing="is not a run folder of `trigger`",
        other="read it with the version of upskill that wrote it",
    )
