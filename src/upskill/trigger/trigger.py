"""Measures when a skill is loaded, and records it in one run folder.

The folder holds `trigger.json` (what was asked, of whom, under which settings, and what came of it), `triggers.json`
(the prompts that were asked) and `trials/alone/` and `trials/among/`, each of them an ordinary run folder.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import JsonValue, TypeAdapter

from upskill.core.cases.prompts import TRIGGERS_FILE, TriggerFile, read_skill_triggers, read_trigger_file, triggers_text
from upskill.core.nouns.skill import TRIGGER_FILE, Among
from upskill.core.nouns.trigger import Company
from upskill.core.progress import SILENT, PricedPlan, Progress
from upskill.core.runs.own_runs import settings_record
from upskill.core.runs.records import SettingRecord, Status, keep_text, now, read_record, record_text
from upskill.core.runs.run_folders import new_folder, only_one_in, run_folder_at
from upskill.core.runs.run_summaries import TRIGGER_FORMAT, runs_in
from upskill.core.settings import ResolvedSettings, Settings
from upskill.core.skills.skills import read_skill
from upskill.errors import EngineError, UpskillError, UsageError
from upskill.evaluation.estimate import client_for, purchase_since
from upskill.evaluation.evaluate import relative, versions
from upskill.evaluation.triggering import PreparedTriggering, measure_triggering, prepare_triggering, trigger_looks
from upskill.sandbox import Backend
from upskill.trigger.offers import WRITE_MISSING_PROMPTS
from upskill.trigger.report import TriggerResult, trigger_json

PROMPTS_FILE = "triggers.json"
_KINDS = {True: "that should load the skill", False: "that is a near miss"}


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerOrder:
    """What a person asks `upskill trigger` for."""

    skill: Path
    prompt_file: Path | None = None
    """A file of trigger prompts, instead of those that lie with the skill."""
    repeats: int = 1
    among: Among = field(default_factory=Among)
    """Other skills: the prompts are asked without them, and again beside them."""
    sandbox: Backend = "bubblewrap"
    agent_bin: Path | None = None
    """The coding agent that the harness runs, where it is not the one on the search path."""
    accept_findings: bool = False
    """Run a skill with dangers even where nothing confines programs: a person typed it."""


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


def _past_runs(runs_dir: Path, *, skill_name: str) -> Iterator[tuple[Path, TriggerRecord]]:
    """The measurements of this skill that can be read, each after its folder."""
    for folder in runs_in(runs_dir, marked_by=(TRIGGER_FILE,)):
        if f"trigger-{skill_name}-" in folder.name:
            with suppress(UpskillError, OSError):  # of another version, or damaged: nothing is known
                yield folder, read_trigger_run(folder)


def loaded_instead(runs_dir: Path, *, skill_name: str) -> Iterator[Mapping[str, int]]:
    """For each measurement of this skill, by name: prompts that should load it and loaded another skill instead."""
    for _, record in _past_runs(runs_dir, skill_name=skill_name):
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


def plan_triggering(
    order: TriggerOrder,
    settings: Settings,
    *,
    unchosen: Collection[str] = (),
    progress: Progress = SILENT,
    announce: Callable[[str], None] = lambda _: None,
    needs_keys: bool = True,
) -> PreparedTriggering:
    """Read the prompts, and plan how they are asked. Raises, with what to do, if no call could succeed."""
    skill = read_skill(order.skill)
    if order.repeats < 1:
        raise UsageError(f"--runs must be at least 1, not {order.repeats}")
    found = _read_prompts(order)
    if found is None:
        raise UsageError(
            f"{skill.name}: there are no trigger prompts",
            hint=f"let a teacher write them with `upskill trigger {order.skill} --write`, or add {TRIGGERS_FILE}; "
            "see docs/how-to/check-when-a-skill-loads.md",
        )
    prompts = tuple(prompt for prompt in found.prompts if prompt.use in (None, "held-out"))
    missing = [words for kind, words in _KINDS.items() if not any(one.should_load is kind for one in prompts)]
    if missing:
        raise UsageError(f"{found.path}: has no held-out prompt {' and none '.join(missing)}")
    return prepare_triggering(
        order.skill,
        prompts,
        settings,
        source=found.path,
        repeats=order.repeats,
        among=order.among,
        sandbox=order.sandbox,
        agent_bin=order.agent_bin,
        accept_findings=order.accept_findings,
        search=True,
        unchosen=unchosen,
        progress=progress,
        announce=announce,
        needs_keys=needs_keys,
    )


def _read_prompts(order: TriggerOrder) -> TriggerFile | None:
    return read_skill_triggers(order.skill) if order.prompt_file is None else read_trigger_file(order.prompt_file)


def trigger(
    order: TriggerOrder,
    *,
    settings: ResolvedSettings,
    progress: Progress = SILENT,
    confirm: Callable[[PricedPlan], bool] = lambda _: True,
) -> TriggerResult:
    """Measure when a skill is loaded. Raises before any call if it could not succeed; later it returns a result.

    The teacher writes missing prompts once, and saves them with the skill.
    """
    client = client_for(settings.values)
    if _read_prompts(order) is None:
        read_skill(order.skill)
        WRITE_MISSING_PROMPTS.load()(order.skill, settings=settings, progress=progress, confirm=confirm, client=client)
    prepared = plan_triggering(
        order, settings.values, unchosen=settings.unchosen, progress=progress, announce=progress.announce
    )
    for line in prepared.lines:
        progress.note(line)
    if prepared.estimate.is_much and not confirm(prepared.estimate):
        raise UsageError("nothing was run and nothing was spent")
    runs_dir = settings.place("runs_dir")
    folder = new_folder(runs_dir, f"trigger-{prepared.skill.name}")
    run = relative(folder, Path.cwd())
    keep_text(folder / PROMPTS_FILE, triggers_text(prepared.prompts))
    record = _first_record(order, prepared, settings, folder)
    _keep(folder, record)
    before = replace(client.spent)
    try:
        with only_one_in(folder):
            measured = measure_triggering(
                prepared,
                settings=settings,
                client=client,
                folder_of=lambda company: run_folder_at(folder / "trials" / company),
                progress=progress,
                looks=trigger_looks(prepared, settings.values, run=run),
            )
    except BaseException as error:
        status: Status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        with suppress(EngineError):  # what happened matters more than that it could not be recorded
            _keep(folder, replace(record, status=status, finished_at=now()))
        raise
    result = TriggerResult(
        skill=prepared.skill.name,
        skill_digest=prepared.skill.digest,
        description=prepared.skill.description,
        prompts=prepared.prompts,
        repeats=order.repeats,
        scores=measured.scores,
        bought=replace(purchase_since(client.spent, before), reused=measured.reused),
        interrupted=measured.end.interrupted,
        run=run,
        notes=(*prepared.notes, *measured.notes),
    )
    status = "interrupted" if result.interrupted else "finished"
    _keep(folder, replace(record, status=status, finished_at=now(), notes=result.notes, results=trigger_json(result)))
    return result


def _keep(folder: Path, record: TriggerRecord) -> None:
    """Replace `trigger.json`, whole or not at all."""
    keep_text(folder / TRIGGER_FILE, record_text(_RECORD, record))


def _first_record(
    order: TriggerOrder, prepared: PreparedTriggering, settings: ResolvedSettings, folder: Path
) -> TriggerRecord:
    plan = prepared.parts[0][1].experiment.plan
    return TriggerRecord(
        started_at=now(),
        versions=versions(),
        skill_name=prepared.skill.name,
        skill_digest=prepared.skill.digest,
        skill_source=relative(order.skill, folder),
        prompt_source=relative(prepared.source, folder),
        harness=plan.harness,
        companies=tuple(company for company, _ in prepared.parts),
        students=tuple(student.name for student in plan.students),
        repeats=plan.repeats,
        settings=settings_record(settings),
        notes=prepared.notes,
    )
