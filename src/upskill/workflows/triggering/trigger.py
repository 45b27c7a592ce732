"""Measures when a skill that has trigger prompts is loaded, and records it in one run folder."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from upskill import storage
from upskill.domain.progress import SILENT, Progress
from upskill.domain.text import count
from upskill.domain.trigger import TriggerResult
from upskill.errors import EngineError, UsageError
from upskill.models import MeteredClient, Spending
from upskill.reporting.trigger_report import trigger_json
from upskill.settings import ResolvedSettings
from upskill.storage.runs import Status, now
from upskill.storage.trigger_runs import TriggerFolder, TriggerRecord, create_trigger_run, described_before
from upskill.workflows.evaluating.record import relative, settings_record, versions
from upskill.workflows.evaluating.spending import PricedPlan, client_for, purchase_since
from upskill.workflows.triggering.measure import Measured, measure_triggering
from upskill.workflows.triggering.prepare import PreparedTriggering, TriggerOrder, prepare_triggering

__all__ = ["TriggerOrder", "trigger"]


def trigger(
    order: TriggerOrder,
    *,
    settings: ResolvedSettings,
    progress: Progress = SILENT,
    confirm: Callable[[PricedPlan], bool] = lambda _: True,
    client: MeteredClient | None = None,
) -> TriggerResult:
    """Measure when a skill is loaded. Raises before any call if it could not succeed; later it returns a result.

    `client` is one through which something was bought before, so that its caps hold for both.
    """
    client = client or client_for(settings.values)
    prepared = prepare_triggering(order, settings.values, progress=progress, announce=progress.announce)
    for line in prepared.lines:
        progress.note(line)
    if prepared.is_much and not confirm(prepared.estimate):
        raise UsageError("nothing was run and nothing was spent")
    runs_dir = settings.place("runs_dir", flag="--runs-dir")
    prepared = replace(prepared, notes=(*prepared.notes, *_looked_before(prepared, runs_dir)))
    folder = create_trigger_run(runs_dir, skill_name=prepared.skill.name)
    folder.write_prompts(prepared.prompts)
    record = _first_record(prepared, settings, folder)
    folder.write_record(record)
    before = replace(client.spent)
    try:
        with storage.only_one_in(folder.path):
            measured = measure_triggering(
                prepared, settings=settings, client=client, folder_of=folder.part, progress=progress
            )
    except BaseException as error:
        status: Status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        with suppress(EngineError):  # what happened matters more than that it could not be recorded
            folder.write_record(replace(record, status=status, finished_at=now()))
        raise
    result = _result(prepared, measured, client, before, folder)
    status = "interrupted" if result.interrupted else "finished"
    folder.write_record(
        replace(record, status=status, finished_at=now(), notes=result.notes, results=trigger_json(result))
    )
    return result


def _looked_before(prepared: PreparedTriggering, runs_dir: Path) -> Iterator[str]:
    """Whoever measures one description after another on the same prompts chooses by them."""
    skill = prepared.skill
    others = described_before(runs_dir, skill_name=skill.name, prompts=prepared.prompts) - {skill.description}
    if others:
        earlier = count(len(others), "earlier description")
        yield (
            f"{earlier} of {skill.name} {'was' if len(others) == 1 else 'were'} measured on these prompts; the 95% CI "
            "does not allow for that: confirm a description that was chosen by them on new prompts"
        )


def _first_record(prepared: PreparedTriggering, settings: ResolvedSettings, folder: TriggerFolder) -> TriggerRecord:
    plan = prepared.parts[0][1].plan
    return TriggerRecord(
        started_at=now(),
        versions=versions(),
        skill_name=prepared.skill.name,
        skill_digest=prepared.skill.digest,
        skill_source=relative(prepared.order.skill, folder.path),
        prompt_source=relative(prepared.source, folder.path),
        harness=plan.harness,
        companies=tuple(company for company, _ in prepared.parts),
        students=tuple(student.name for student in plan.students),
        repeats=plan.repeats,
        settings=settings_record(settings),
        notes=prepared.notes,
    )


def _result(
    prepared: PreparedTriggering, measured: Measured, client: MeteredClient, before: Spending, folder: TriggerFolder
) -> TriggerResult:
    return TriggerResult(
        skill=prepared.skill.name,
        skill_digest=prepared.skill.digest,
        description=prepared.skill.description,
        prompts=prepared.prompts,
        repeats=prepared.order.repeats,
        scores=measured.scores,
        bought=replace(purchase_since(client.spent, before), reused=measured.reused),
        interrupted=measured.end.interrupted,
        run=relative(folder.path, Path.cwd()),
        notes=(*prepared.notes, *measured.notes),
    )
