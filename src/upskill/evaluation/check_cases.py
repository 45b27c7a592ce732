"""Checks the cases of a skill: against known answers, against past runs, and by asking models without the skill.

A probe runs each case until two outcomes differ or five are equal. Its trials are a run of their own, with the baseline
arm only. No evaluation reuses its trials.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from upskill.core import checks
from upskill.core.cases.family import family_notes
from upskill.core.cases.states import qualify
from upskill.core.checks import GradingContext
from upskill.core.models.preflight import THE_SERVER
from upskill.core.nouns import Arm, Case, Errored, Qualification, Reason, Scored, Skill, Trial, TrialPlan, Turn
from upskill.core.nouns.text import shortened
from upskill.core.progress import SILENT, Progress, RunProgress
from upskill.core.runs.records import Status, now, read_run
from upskill.core.runs.run_folders import create_run
from upskill.core.runs.run_summaries import runs_in
from upskill.core.settings import ResolvedSettings
from upskill.core.skills.skills import read_skill
from upskill.core.statistics import BaselineTally, label_of, tally_baselines
from upskill.core.statistics.lift import EQUAL_OUTCOMES
from upskill.core.trials.measure import clean_run_logs, measure
from upskill.core.trials.schedule import MOST_TRIES, NOT_WORTH_ANOTHER_TRY
from upskill.errors import UpskillError, UsageError
from upskill.evaluation.cases import find_cases, slow_cases_note
from upskill.evaluation.estimate import PlanEstimate, client_for, estimate_plan
from upskill.evaluation.evaluate import ended_in, first_record
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.past_runs import trials_of
from upskill.evaluation.prepare import prepare
from upskill.sandbox import SandboxUnavailable, open_sandbox, require_sandbox


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedCases:
    """The cases of a skill and what is known of each, in the order of the file."""

    skill: Skill
    case_file: Path
    cases: tuple[Case, ...]
    qualifications: tuple[Qualification, ...]
    notes: tuple[str, ...] = ()


def check_cases(
    skill_folder: Path,
    *,
    case_file: Path | None = None,
    runs_dir: Path | None = None,
    progress: Progress = SILENT,
) -> CheckedCases:
    """Qualify the cases of a skill. Calls no model. Past runs in `runs_dir` show which are saturated or impossible."""
    skill = read_skill(skill_folder)
    found = find_cases(skill_folder, case_file, judge=True)
    if found is None:
        raise UsageError(
            f"{skill.name}: there are no cases to check",
            hint="name a case file with -t FILE, or add cases to skill_meta.json; see docs/how-to/write-cases.md",
        )
    context, notes = _sandbox_context(found.cases)
    if (note := slow_cases_note(found.cases)) is not None:
        progress.note(note)
    qualifications = qualify(found.cases, skill, context=context, progress=progress)
    if runs_dir is not None:
        progress.step("reading past runs", 0, None)
        qualifications = with_baselines(qualifications, tally_baselines(_baseline_trials(runs_dir, found.cases)))
    return CheckedCases(
        skill=skill,
        case_file=found.path,
        cases=found.cases,
        qualifications=qualifications,
        notes=(
            *notes,
            *(problem for case in found.cases if case.turns for problem in checks.case_problems(case)),
            *_doubt_notes(found.cases),
            *family_notes(found.cases),
        ),
    )


def _doubt_notes(cases: Sequence[Case]) -> Iterable[str]:
    found: dict[str, dict[str, None]] = {}
    for case in cases:
        for check in case.checks:
            for doubt in checks.KINDS[check.kind].doubts(check.spec):
                found.setdefault(doubt, {})[case.id] = None
    return (f"{shortened(', '.join(ids), 80)}: {doubt}" for doubt, ids in found.items())


def _sandbox_context(cases: Iterable[Case]) -> tuple[GradingContext, tuple[str, ...]]:
    """A context with a sandbox where a check runs programs and one is available; without a judge."""
    if not any("sandbox" in checks.needs(case) for case in cases):
        return GradingContext(), ()
    try:
        require_sandbox()
    except SandboxUnavailable as error:
        return GradingContext(), (f"{error.message}; checks that run programs were skipped",)
    return GradingContext(open_sandbox=open_sandbox), ()


def _baseline_trials(runs_dir: Path, cases: Sequence[Case]) -> Iterable[tuple[str, str, bool]]:
    """Student, case and whether it passed, of every scored baseline trial of exactly these cases in past runs."""
    known = {case.id: case.digest for case in cases}
    for folder in runs_in(runs_dir):
        try:
            record = read_run(folder)
        except UpskillError:
            continue  # somebody's damaged run is no reason to stop; `upskill runs` names it
        if "baseline" not in record.arms:
            continue
        mine = {case.id for case in record.cases if known.get(case.id) == case.digest}
        if not mine:
            continue
        for trial in trials_of(folder):
            # A trial from the store was bought by another run, which may be in the same folder.
            if trial.arm == "baseline" and trial.case_id in mine and trial.outcome.kind == "scored" and trial.calls:
                yield trial.student, trial.case_id, trial.outcome.passed


def with_baselines(
    qualifications: Sequence[Qualification], tallies: Iterable[BaselineTally]
) -> tuple[Qualification, ...]:
    """Label cases by what students did without the skill. A case on which students differ gets no label."""
    by_case: dict[str, list[BaselineTally]] = {}
    for tally in tallies:
        by_case.setdefault(tally.case_id, []).append(tally)
    return tuple(_with_baseline(one, by_case.get(one.case_id, [])) for one in qualifications)


def _with_baseline(one: Qualification, tallies: Sequence[BaselineTally]) -> Qualification:
    labels = {label_of(tally) for tally in tallies}
    label = labels.pop() if len(labels) == 1 else None
    if label is None:
        return one
    passes = ", ".join(f"{tally.student} passed {tally.passed} of {tally.trials}" for tally in tallies[:3])
    return replace(one, labels=(*one.labels, label), reasons=(*one.reasons, Reason(saw=f"without the skill {passes}")))


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
    prepared = prepare(order, settings.values, unchosen=settings.unchosen, announce=progress.announce)
    settings = settings.following(prepared.settings, THE_SERVER)
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
