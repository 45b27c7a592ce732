"""Asks the prompts of a prepared measurement, and scores what came back. Writes no record of the whole."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from upskill import measuring
from upskill.domain import Errored, RunEnd, Scored, Trial
from upskill.domain.progress import Progress
from upskill.domain.text import count
from upskill.domain.trigger import Company, TriggerScore
from upskill.errors import EngineError
from upskill.models import MeteredClient
from upskill.redaction import redactor_from
from upskill.reporting.wording import faults_words
from upskill.settings import ResolvedSettings
from upskill.storage.runs import RunFolder, Status, now
from upskill.workflows.evaluating.conclude import by_student, students_end
from upskill.workflows.evaluating.evaluate import EvaluationRun, ParentRun, run_missing_trials
from upskill.workflows.evaluating.execute import clean_logs
from upskill.workflows.evaluating.notes import cut_listing_notes, end_notes
from upskill.workflows.evaluating.prepare import PreparedEvaluation
from upskill.workflows.evaluating.record import first_record
from upskill.workflows.evaluating.replay import planned_only
from upskill.workflows.progress import RunProgress
from upskill.workflows.triggering.prepare import PreparedTriggering

_ANSWERS = "answers"


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """The scores of all models in all companies, and how the asking ended."""

    scores: tuple[TriggerScore, ...]
    end: RunEnd = RunEnd()  # noqa: RUF009 - frozen
    reused: int = 0
    notes: tuple[str, ...] = ()


class _Counting(RunProgress):
    """Counts the answers of all parts together."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def note(self, line: str) -> None:
        self._progress.note(line)

    def trial_finished(self, trial: Trial) -> None:
        self._done += 1
        self._progress.step(_ANSWERS, min(self._done, self._total), self._total)


def measure_triggering(
    prepared: PreparedTriggering,
    *,
    settings: ResolvedSettings,
    client: MeteredClient,
    folder_of: Callable[[Company], RunFolder],
    progress: Progress,
) -> Measured:
    """Ask every prompt in every company, and score the answers. What errored is never counted as an answer.

    An interruption or a cap ends it with the scores of what was there; an answer that was bought before, by any run, is
    taken from the trial store.
    """
    counting = _Counting(progress, prepared.answers)
    progress.step(_ANSWERS, 0, prepared.answers)
    parts: list[Measured] = []
    for company, part in prepared.parts:
        parts.append(_measure(prepared, company, part, settings, client, folder_of(company), counting))
        if parts[-1].end.interrupted or parts[-1].end.cap is not None:
            break
    # A company that was not measured has not shown that the skill triggers well in it.
    parts += [
        replace(parts[-1], scores=_scores(prepared, company, part, {}), reused=0, notes=())
        for company, part in prepared.parts[len(parts) :]
    ]
    order = {student: place for place, student in enumerate(_students(prepared))}
    scores = sorted((score for part in parts for score in part.scores), key=lambda score: order[score.student])
    return Measured(
        scores=tuple(scores),
        end=parts[-1].end,
        reused=sum(part.reused for part in parts),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def _students(prepared: PreparedTriggering) -> tuple[str, ...]:
    return tuple(student.name for student in prepared.parts[0][1].plan.students)


def _measure(
    whole: PreparedTriggering,
    company: Company,
    part: PreparedEvaluation,
    settings: ResolvedSettings,
    client: MeteredClient,
    folder: RunFolder,
    progress: RunProgress,
) -> Measured:
    record = first_record(part, settings, folder)
    folder.write_record(record)
    parent = ParentRun(client=client, folder=folder)
    run = EvaluationRun(part, settings.values, folder, record, progress, client, parent)
    try:
        # There are some where a longer run is resumed.
        execution = run_missing_trials(run, list(planned_only(folder.trials.load(), record)))
    except BaseException as error:
        status: Status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        with suppress(EngineError):  # what happened matters more than that it could not be recorded
            folder.write_record(replace(record, status=status, finished_at=now()))
        clean_logs(folder)
        raise
    unread = clean_logs(folder)
    clean = redactor_from(os.environ).clean_own
    end = students_end(execution.end, part.endpoints.values(), clean)
    mine = by_student(execution.trials)
    seen = (*cut_listing_notes(part.plan, mine, part.others), *_fault_notes(mine), *_no_tools_notes(mine))
    notes = tuple(map(clean, (*end_notes(end, part.endpoints.values()), *seen, *execution.notes, *unread)))
    status = "interrupted" if end.interrupted else "finished"
    folder.write_record(replace(record, status=status, finished_at=now(), end=end, notes=notes))
    return Measured(
        scores=_scores(whole, company, part, mine),
        end=end,
        reused=execution.reused,
        notes=notes,
    )


def _scores(
    whole: PreparedTriggering, company: Company, part: PreparedEvaluation, trials: Mapping[str, list[Trial]]
) -> tuple[TriggerScore, ...]:
    return tuple(
        measuring.score_triggering(
            measuring.tally_prompts(whole.prompts, trials.get(student.name, ())),
            student=student.name,
            harness=part.plan.harness,
            company=company,
            others=_others(part),
        )
        for student in part.plan.students
    )


def _fault_notes(trials: Mapping[str, list[Trial]]) -> Iterator[str]:
    """Why answers were not counted."""
    for name, mine in trials.items():
        last = measuring.last_tries(mine)
        faults = Counter(trial.outcome.fault for trial in last if isinstance(trial.outcome, Errored))
        if faults:
            errored = count(faults.total(), "answer")
            yield f"{name}: {errored} errored and not counted: {faults_words(faults.most_common())}"


def _no_tools_notes(trials: Mapping[str, list[Trial]]) -> Iterator[str]:
    """Who never calls a tool cannot load a skill: perhaps its server does not support tools."""
    for name, mine in trials.items():
        scored = [trial for trial in mine if isinstance(trial.outcome, Scored)]
        if scored and all(trial.tool_calls == 0 for trial in scored):
            answers = count(len(scored), "answer")
            yield f"{name}: called no tool in {answers}, so it could not load a skill; does its server support tools?"


def _others(part: PreparedEvaluation) -> int | None:
    """How many other skills were offered; `None` where the agent brings some of its own."""
    if part.others is None:
        return 0
    return None if part.others.bundled else len(part.others.skills)
