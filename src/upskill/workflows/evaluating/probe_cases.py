"""Labels cases saturated or impossible: each is run without the skill until two outcomes differ or five are equal.

The trials are a run of their own, with the baseline arm only. No evaluation reuses its trials.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from upskill import storage, trials
from upskill.domain import Arm, Errored, RunEnd, Scored, Trial, TrialPlan, Turn
from upskill.domain.progress import SILENT, Progress
from upskill.errors import UsageError
from upskill.measuring import tally_baselines
from upskill.measuring.lift import EQUAL_OUTCOMES
from upskill.models import MeteredClient
from upskill.settings import ResolvedSettings
from upskill.storage.runs import Status, now
from upskill.workflows.evaluating.check_cases import CheckedCases, with_baselines
from upskill.workflows.evaluating.estimate import PlanEstimate, estimate_plan
from upskill.workflows.evaluating.execute import clean_logs, execute
from upskill.workflows.evaluating.prepare import EvaluationOrder, PreparedEvaluation, prepare
from upskill.workflows.evaluating.record import first_record
from upskill.workflows.evaluating.schedule import MOST_TRIES, NOT_WORTH_ANOTHER_TRY
from upskill.workflows.evaluating.spending import client_for


class ProbeSchedule:
    """Repeats each case while its outcomes are equal, at most five times."""

    def __init__(self, plan: TrialPlan) -> None:
        self._arms = plan.arms
        self._most = plan.repeats
        self._ready = deque(turn for turn in plan.turns() if turn.repeat == 1)
        self._outcomes: dict[str, list[bool]] = defaultdict(list)
        self._tries: Counter[tuple[str, int]] = Counter()

    def take(self) -> Turn | None:
        """The next case that is still open. A case never runs twice at the same time."""
        return self._ready.popleft() if self._ready else None

    def ended(self, turn: Turn, trials: Mapping[Arm, Trial]) -> None:
        """Queue the case again, unless it has shown both outcomes or five equal ones."""
        outcome = trials["baseline"].outcome
        self._tries[turn.key] += 1
        if isinstance(outcome, Errored):
            if outcome.fault not in NOT_WORTH_ANOTHER_TRY and self._tries[turn.key] < MOST_TRIES:
                self._ready.append(turn)
            return
        seen = self._outcomes[turn.case.id]
        seen.append(outcome.passed)
        if len(set(seen)) == 1 and turn.repeat < self._most:
            self._ready.append(Turn(case=turn.case, repeat=turn.repeat + 1, arms=self._arms))


def probe_cases(
    checked: CheckedCases,
    skill: Path,
    *,
    settings: ResolvedSettings,
    confirm: Callable[[PlanEstimate], bool] = lambda _: True,
    progress: Progress = SILENT,
) -> CheckedCases:
    """Buy baseline trials of every case that can be run, and label the cases by them.

    Raises before any call if none could succeed, or if a person who was asked refused.
    """
    order = EvaluationOrder(skill=skill, case_file=checked.case_file, repeats=EQUAL_OUTCOMES)
    prepared = prepare(order, settings.values, announce=progress.announce)
    plan = replace(prepared.plan, arms=("baseline",))
    requests = trials.Requests(prepared.skill, harness=plan.harness, trial_limits=prepared.trial_limits)
    prepared = replace(prepared, plan=plan, estimate=estimate_plan(plan, requests, trial_limits=prepared.trial_limits))
    if prepared.estimate.is_much and not confirm(prepared.estimate):
        raise UsageError("nothing was run and nothing was spent")
    folder = storage.create_run(settings.place("runs_dir", flag="--runs-dir"), skill_name=prepared.skill.name)
    record = first_record(prepared, settings, folder)
    folder.write_record(record)
    client = client_for(settings.values)
    finished: list[Trial] = []
    try:
        end = _run(prepared, client, folder, finished, progress)
    except BaseException:
        folder.write_record(replace(record, status="failed", finished_at=now()))
        raise
    unread = clean_logs(folder)
    status: Status = "interrupted" if end.interrupted else "finished"
    folder.write_record(replace(record, status=status, finished_at=now(), end=end))
    tallies = tally_baselines(
        (trial.student, trial.case_id, trial.outcome.passed) for trial in finished if isinstance(trial.outcome, Scored)
    )
    errored = sum(isinstance(trial.outcome, Errored) for trial in finished)
    names = ", ".join(student.name for student in prepared.plan.students)
    note = (
        f"probed without the skill on {names}: {client.spent.calls} calls"
        + (f", {errored} errored" if errored else "")
        + (f", stopped at {end.cap}" if end.cap is not None else "")
        + f"; saved in {folder.path.as_posix()}"
    )
    labelled = with_baselines(checked.qualifications, tallies)
    return replace(checked, qualifications=labelled, notes=(*checked.notes, note, *unread))


def _run(
    prepared: PreparedEvaluation,
    client: MeteredClient,
    folder: storage.RunFolder,
    finished: list[Trial],
    progress: Progress,
) -> RunEnd:
    progress.step("answers without the skill", 0, len(prepared.plan))
    with folder.trials.open() as log:

        def write(trial: Trial) -> None:
            log.append(trial)
            finished.append(trial.without_answer())
            progress.step("answers without the skill", len(finished), len(prepared.plan))

        return execute(
            prepared,
            client=client,
            folder=folder,
            schedules={student.name: ProbeSchedule(prepared.plan) for student in prepared.plan.students},
            record=write,
            recall=lambda *_: None,
        )
