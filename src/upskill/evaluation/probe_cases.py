"""Labels cases saturated or impossible: each is run without the skill until two outcomes differ or five are equal.

The trials are a run of their own, with the baseline arm only. No evaluation reuses its trials.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from upskill.core.nouns import Arm, Errored, Scored, Trial, TrialPlan, Turn
from upskill.core.nouns.progress import SILENT, Progress
from upskill.core.progress_words import RunProgress
from upskill.core.runs.records import Status, now
from upskill.core.runs.run_folders import create_run
from upskill.core.settings import ResolvedSettings
from upskill.core.statistics import tally_baselines
from upskill.core.statistics.lift import EQUAL_OUTCOMES
from upskill.core.trials.measure import clean_run_logs, measure
from upskill.core.trials.schedule import MOST_TRIES, NOT_WORTH_ANOTHER_TRY
from upskill.errors import UsageError
from upskill.evaluation.check_cases import CheckedCases, with_baselines
from upskill.evaluation.estimate import PlanEstimate, client_for, estimate_plan
from upskill.evaluation.evaluate import ended_in
from upskill.evaluation.prepare import EvaluationOrder, prepare
from upskill.evaluation.record import first_record

_ANSWERS = "answers without the skill"


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
    plan = replace(prepared.experiment.plan, arms=("baseline",))
    experiment = replace(prepared.experiment, plan=plan)
    estimate = estimate_plan(plan, experiment.requests, trial_limits=experiment.trial_limits)
    if estimate.is_much and not confirm(estimate):
        raise UsageError("nothing was run and nothing was spent")
    folder = create_run(settings.place("runs_dir"), skill_name=experiment.skill.name)
    record = first_record(replace(prepared, experiment=experiment), settings, folder)
    folder.write_record(record)
    client = client_for(settings.values)
    with ended_in(folder, record):
        measured = measure(
            experiment,
            {student.name: ProbeSchedule(plan) for student in plan.students},
            client=client,
            folder=folder,
            settings=replace(settings.values, store=False),
            progress=_ProbeProgress(progress, len(plan)),
        )
    finished, end = measured.trials, measured.end
    unread = clean_run_logs(folder)
    status: Status = "interrupted" if end.interrupted else "finished"
    folder.write_record(replace(record, status=status, finished_at=now(), end=end))
    tallies = tally_baselines(
        (trial.student, trial.case_id, trial.outcome.passed) for trial in finished if isinstance(trial.outcome, Scored)
    )
    errored = sum(isinstance(trial.outcome, Errored) for trial in finished)
    names = ", ".join(student.name for student in plan.students)
    note = (
        f"probed without the skill on {names}: {client.spent.calls} calls"
        + (f", {errored} errored" if errored else "")
        + (f", stopped at {end.cap}" if end.cap is not None else "")
        + f"; saved in {folder.path.as_posix()}"
    )
    labelled = with_baselines(checked.qualifications, tallies)
    return replace(checked, qualifications=labelled, notes=(*checked.notes, note, *unread))


class _ProbeProgress(RunProgress):
    """Counts answers."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0
        progress.step(_ANSWERS, 0, total)

    def trial_finished(self, trial: Trial) -> None:
        self._done += 1
        self._progress.step(_ANSWERS, self._done, self._total)
