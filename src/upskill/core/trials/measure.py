"""Runs the trials of a plan that are missing, and takes the user's own keys out of what is kept of them.

Knows neither looks nor records nor pages, and asks no person: `evaluation/` does that.
"""

import math
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from upskill.core import checks
from upskill.core.models import Endpoint, MeteredClient, ServedModel
from upskill.core.nouns import Arm, Case, Files, Grade, PlannedTrial, RunEnd, Scored, Skill, Student, Trial, TrialPlan
from upskill.core.nouns.look import INSTANCE_PREFIX, instance_of
from upskill.core.nouns.skill import OtherSkills
from upskill.core.nouns.text import count
from upskill.core.progress import SILENT, SILENT_RUN, Progress, RunProgress
from upskill.core.runs.engine_logs import clean_logs
from upskill.core.runs.run_folders import RunFolder
from upskill.core.runs.sqlite_file import StoredTrial
from upskill.core.runs.trial_log import collector_paused
from upskill.core.runs.trial_store import ONE_TIME, SqliteStore, default_store_path
from upskill.core.settings import Settings
from upskill.core.trials.engine import run_trials
from upskill.core.trials.harness import Requests
from upskill.core.trials.judge import grade_without_asking, grading_context, identity, with_judge
from upskill.core.trials.schedule import ResumedSchedule
from upskill.core.trials.trial_run import Schedule, TrialLimits, TrialRun
from upskill.redaction import redactor_from
from upskill.sandbox import Sandbox, SandboxFacts, SandboxSpec, SandboxUnavailable

Key = tuple[str, str, str, int]
SECONDS_BEFORE_SAID = 1.0
"""A shorter wait is not reported."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """A plan with all that its trials need."""

    plan: TrialPlan
    skill: Skill
    previous: Skill | None
    """The older version that the skill is compared with."""
    endpoints: Mapping[str, Endpoint]
    """By the name of the student."""
    served: Mapping[str, ServedModel]
    """What each server says of its model."""
    trial_limits: TrialLimits = field(default_factory=TrialLimits)
    """Limits of students with tools."""
    contents: Mapping[str, Files] = field(default_factory=dict)
    """For students with tools, the files of each skill by its digest, other skills included."""
    others: OtherSkills | None = None
    """The skills beside the measured one; `None` where none was asked for."""
    sandbox: SandboxFacts | None = None
    """What confines executed programs; `None` where nothing is executed."""
    judge: Endpoint | None = None
    """The model that judges; `None` where no case asks for one."""
    texts: Mapping[str, Skill] = field(default_factory=dict)
    """By the case's id: the version of the skill that is given with it, where it is another."""
    controls: Mapping[Arm, Skill] = field(default_factory=dict)
    """By the arm: what is given in the place of the skill."""

    @property
    def requests(self) -> Requests:
        """What students are asked, as trials are named by it."""
        return Requests(
            self.skill,
            previous=self.previous,
            harness=self.plan.harness,
            trial_limits=self.trial_limits,
            texts=self.texts,
            controls=self.controls,
        )

    @property
    def is_scripted(self) -> bool:
        """Whether no student is a model."""
        return all(endpoint.is_scripted for endpoint in self.endpoints.values())


@dataclass(kw_only=True, slots=True)
class Measured:
    """The trials of a run so far, and how it ended."""

    trials: list[Trial]
    """Without answers and files, which are on disk: memory need not grow with them."""
    reused: int = 0
    oldest_reused_days: float | None = None
    end: RunEnd = RunEnd()  # noqa: RUF009 - frozen
    notes: tuple[str, ...] = ()


def measure(
    experiment: Experiment,
    schedules: Mapping[str, Schedule],
    *,
    client: MeteredClient,
    folder: RunFolder,
    settings: Settings,
    before: Sequence[Trial] = (),
    recall_bought: Callable[[str], Trial | None] = lambda _: None,
    with_errored: bool = False,
    days: float | None = None,
    progress: RunProgress = SILENT_RUN,
) -> Measured:
    """Run what is missing of the schedules of all students; every trial is in the log of the folder before it counts.

    `before` are the trials that lie in the folder, of which errored ones are run again unless `with_errored`.
    `recall_bought` finds a trial that was bought a moment ago, by its id; the settings say which store is asked then,
    and how old an answer may be, unless `days` does.
    An interrupt ends it at any moment, and what there is by then is returned.
    """
    measured = Measured(trials=list(before))
    store = None
    try:
        for trial in before:
            progress.trial_finished(trial)
        with open_store(settings, scripted=experiment.is_scripted) as store, folder.trials.open() as log:

            def write(trial: Trial) -> None:
                log.append(trial)
                measured.trials.append(trial.without_answer())
                progress.trial_finished(trial)

            def note(text: str) -> None:
                measured.notes += (text,)
                progress.note(text)

            reuse = Reuse(
                experiment,
                before,
                store=store,
                days=settings.store_days if days is None else days,
                record=write,
                scratch=folder.engine_data,
                recall_bought=recall_bought,
                with_errored=with_errored,
                progress=progress,
            )
            try:
                with collector_paused():
                    resumed = {
                        student.name: ResumedSchedule(schedules[student.name], partial(reuse.without_asking, student))
                        for student in experiment.plan.students
                    }
                if not all(schedule.is_over for schedule in resumed.values()):
                    # A client may be older than what is known of the servers.
                    client.policy = replace(client.policy, concurrency=settings.concurrency)
                    progress.evaluation_begun(client)
                    clean = redactor_from(os.environ).clean_own
                    grading = grading_context(experiment.sandbox, folder.engine_data)
                    context, judge_client = with_judge(grading, experiment.judge, client)
                    measured.end = run_trials(
                        TrialRun(
                            plan=experiment.plan,
                            skill=experiment.skill,
                            previous=experiment.previous,
                            endpoints=experiment.endpoints,
                            client=client,
                            grade=partial(checks.grade, context=context),
                            schedules=resumed,
                            record=lambda trial: write(reuse.keep(trial.cleaned(clean))),
                            recall=reuse.recall,
                            claims=reuse,
                            logs=folder.logs,
                            engine_data=folder.engine_data,
                            trial_limits=experiment.trial_limits,
                            texts=experiment.texts,
                            controls=experiment.controls,
                            contents=experiment.contents,
                            open_sandbox=context.open_sandbox or _no_sandbox,
                            close=None if judge_client is None else judge_client.close,
                            note=note,
                        )
                    )
            finally:
                measured.reused, measured.oldest_reused_days = reuse.reused, reuse.oldest_days
    except KeyboardInterrupt:  # before or after the engine ran, which ends in good order by itself
        measured.end = RunEnd(interrupted=True)
    finally:
        measured.notes += () if store is None else store.notes
    return measured


def _no_sandbox(spec: SandboxSpec) -> Sandbox:  # noqa: ARG001 - the signature of what opens one
    raise SandboxUnavailable("this run was prepared without a sandbox, so it cannot run programs")


def clean_run_logs(folder: RunFolder) -> tuple[str, ...]:
    """Take the user's own keys out of the engine's logs. Returns a note for each log that cannot be read."""
    redactor = redactor_from(os.environ)
    return clean_logs(folder.logs, redactor.clean_own) if redactor.knows_any else ()


def open_store(settings: Settings, *, scripted: bool) -> AbstractContextManager[SqliteStore | None]:
    """The user's store; nothing if it is switched off, or if only scripts are asked."""
    if not settings.store or scripted:
        return nullcontext(None)
    return SqliteStore(default_store_path())


def stored_trials(
    experiment: Experiment, settings: Settings, student: Student, *, newest_after: datetime
) -> Iterator[Trial]:
    """The trials of a plan that the user's store has since a moment, as they were bought."""
    requests = experiment.requests
    with open_store(settings, scripted=experiment.is_scripted) as store:
        if store is None:
            return
        for planned in experiment.plan.trials():
            stored = _find_stored(store, experiment, requests, student, planned, newest_after=newest_after)
            if stored is not None:
                yield stored.trial


def known_instances(answers: Mapping[str, Collection[str]], settings: Settings) -> frozenset[str]:
    """The names under which only instances of answers stand that the user's store has."""
    if not answers:
        return frozenset()
    with open_store(settings, scripted=False) as store:
        if store is None:
            return frozenset()
        return frozenset(name for name, instances in answers.items() if all(map(partial(_is_known, store), instances)))


def _is_known(store: SqliteStore, instance: str) -> bool:
    return any(instance_of(trial) == instance for trial in store.named_like(instance[:INSTANCE_PREFIX]))


def _find_stored(
    store: SqliteStore,
    experiment: Experiment,
    requests: Requests,
    student: Student,
    planned: PlannedTrial,
    *,
    newest_after: datetime,
) -> StoredTrial | None:
    """The stored answer of a planned trial, if it may count.

    A model that changes behind its name would look like a skill that helps. So where the server does not describe
    the file that it serves, all answers of a pair are of one time, and what is not stored will be asked for now.
    """
    served, plan = experiment.served[student.name], experiment.plan

    def recall(arm: Arm) -> StoredTrial | None:
        identity = requests.trial_id(replace(planned, arm=arm), student)
        return store.recall(identity, fingerprint=served.fingerprint, newest_after=newest_after)

    found = recall(planned.arm)
    if found is None or served.is_known or planned.arm not in plan.deciding:
        return found
    others = [recall(arm) for arm in plan.deciding if arm != planned.arm]
    times = [datetime.now(UTC) if other is None else other.stored_at for other in others]
    return found if all(abs(found.stored_at - time) <= ONE_TIME for time in times) else None


class Reuse:
    """Finds trials that need not be bought, and stores those that were."""

    def __init__(
        self,
        experiment: Experiment,
        before: Sequence[Trial],
        *,
        store: SqliteStore | None,
        days: float,
        record: Callable[[Trial], None],
        scratch: Path,
        recall_bought: Callable[[str], Trial | None],
        with_errored: bool = False,
        progress: Progress = SILENT,
    ) -> None:
        """`before` are the trials of this run, of which errored ones are run again unless `with_errored`; `record` is
        given those found elsewhere.

        `recall_bought` finds a trial that was bought a moment ago, by its id; it is asked before the store. Stored
        answers are graded in `scratch`.
        """
        self._context = grading_context(experiment.sandbox, scratch)
        self._judge = identity(experiment.judge)
        self._experiment = experiment
        self._requests = experiment.requests
        self._store = store
        self._stays = timedelta(days=days)
        self._newest_after = datetime.now(UTC) - self._stays
        self._record = record
        self._noted = {(trial.student, trial.id) for trial in before}
        """Trials of this run: what earlier runs lost in them is in its log."""
        self._known: dict[Key, Trial] = {}
        for trial in before:
            if isinstance(trial.outcome, Scored) or (with_errored and trial.key not in self._known):
                self._known[trial.key] = trial
        self._kept: set[tuple[str, str]] = set()
        """Trials that were bought just now: where a pair is run again, its other half comes from the store."""
        self.reused = 0
        self.oldest_days: float | None = None
        self._graded: dict[tuple[str, str], Grade] = {}
        self._recall_bought = recall_bought
        self._progress = progress
        self._recalled_turn: tuple[str, str, int] | None = None
        self._recalled: dict[str, Trial] = {}
        """What was found of the turn that could not be finished without the engine, by id: it is noted already."""
        self._waiting: set[str] = set()
        """Trials that another evaluation is buying."""
        self._waiting_since: float | None = None
        self._grade_slow_cases()

    def without_asking(self, student: Student, planned: PlannedTrial) -> Trial | None:
        """A trial that had ended when the run was resumed, or that is known from another one."""
        turn = student.name, planned.case.id, planned.repeat
        if turn != self._recalled_turn:
            self._recalled_turn, self._recalled = turn, {}
        trial_id = self._requests.trial_id(planned, student)
        known = self._known.get((student.name, planned.case.id, planned.arm, planned.repeat))
        found = known or self.recall(student, planned, trial_id)
        if found is not None:
            self._recalled[trial_id] = found
        return found

    def recall(self, student: Student, planned: PlannedTrial, trial_id: str) -> Trial | None:
        """A trial of this run, or a recent one from the store, graded with the present checks."""
        if (student.name, planned.case.id, planned.repeat) == self._recalled_turn and trial_id in self._recalled:
            return self._recalled.pop(trial_id)
        known = self._known.get((student.name, planned.case.id, planned.arm, planned.repeat))
        if known is not None and known.id == trial_id:
            return known
        if (bought := self._recall_bought(trial_id)) is not None and bought.case_id == planned.case.id:
            own = self._lost_before(student.name, trial_id, least=bought.lost)
            trial = replace(bought, student=student.name, arm=planned.arm, calls=0, lost=own, refused=0)
            self._record(trial)
            return trial
        stored = self._stored(student, planned)
        if stored is None or not isinstance(stored.trial.outcome, Scored):
            return None
        graded = self._graded.get((trial_id, planned.case.id))
        grade = graded or self._grade(planned.case, stored.trial)
        if grade is None:
            return None
        if (student.name, trial_id) not in self._kept:
            days = (datetime.now(UTC) - stored.stored_at) / timedelta(days=1)
            self.reused += 1
            self.oldest_days = days if self.oldest_days is None else max(self.oldest_days, days)
        trial = replace(
            stored.trial,
            student=student.name,
            case_id=planned.case.id,
            arm=planned.arm,  # what is an older version now may have been the newest then
            outcome=replace(stored.trial.outcome, grade=grade),
            calls=0,
            lost=self._lost_before(student.name, trial_id, least=stored.trial.lost),
            refused=0,
            stored_at=stored.stored_at.isoformat(timespec="seconds"),
        )
        self._record(trial)
        return trial

    def _stored(self, student: Student, planned: PlannedTrial) -> StoredTrial | None:
        if (store := self._store_of(student.name)) is None:
            return None
        after = self._newest_after
        return _find_stored(store, self._experiment, self._requests, student, planned, newest_after=after)

    def claim(self, student: Student, planned: PlannedTrial, trial_id: str) -> bool:
        """Whether a trial may be bought now; false while another evaluation is buying it."""
        store, fingerprint = self._store_of(student.name), self._experiment.served[student.name].fingerprint
        if store is None or store.reserve(trial_id, fingerprint=fingerprint):
            self._waiting.discard(trial_id)
            return True
        self._waiting.add(trial_id)
        now = time.monotonic()
        since, self._waiting_since = self._waiting_since or now, self._waiting_since or now
        if now - since > SECONDS_BEFORE_SAID:
            answers = count(len(self._waiting), "answer")
            self._progress.note(f"waiting for {answers} that another evaluation has asked for")
            self._waiting_since = math.inf  # once is enough
        return False

    def was_bought_elsewhere(self, student: Student, planned: PlannedTrial, trial_id: str) -> bool:
        """Whether the store holds a trial now, graded; one that it holds is let go."""
        stored = self._stored(student, planned)
        if stored is None or (grade := self._grade(planned.case, stored.trial)) is None:
            return False
        self._graded[trial_id, planned.case.id] = grade
        self._release(student.name, trial_id)
        return True

    def _release(self, student: str, trial_id: str) -> None:
        if (store := self._store_of(student)) is not None:
            store.release(trial_id, fingerprint=self._experiment.served[student].fingerprint)

    def _grade_slow_cases(self) -> None:
        """Grade stored answers whose checks block, before the engine's event loop calls `recall`."""
        experiment = self._experiment
        slow = {case.id for case in experiment.plan.cases if checks.needs(case) & {"sandbox", "judge"}}
        if self._store is None or not slow:
            return
        for student in experiment.plan.students:
            for planned in experiment.plan.trials():
                if planned.case.id not in slow:
                    continue
                trial_id = self._requests.trial_id(planned, student)
                stored = self._stored(student, planned)
                if stored is not None and (grade := self._grade(planned.case, stored.trial)) is not None:
                    self._graded[trial_id, planned.case.id] = grade

    def _grade(self, case: Case, trial: Trial) -> Grade | None:
        """`None` where a judgement would have to be bought, or what a check asks for was not recorded: then the trial
        is bought again."""
        try:
            return grade_without_asking(case, trial, self._context, judge=self._judge)
        except checks.NotRecorded:
            return None

    def keep(self, trial: Trial) -> Trial:
        """Put a trial that was bought into the store; returns it with what was lost in earlier runs."""
        earlier = self._lost_before(trial.student, trial.id)
        self._kept.add((trial.student, trial.id))
        if (store := self._store_of(trial.student)) is not None:
            served = self._experiment.served[trial.student]
            store.keep(trial, fingerprint=served.fingerprint, stays=self._stays if served.is_known else ONE_TIME)
            self._release(trial.student, trial.id)
        return replace(trial, lost=trial.lost_answers + earlier) if earlier else trial

    def _lost_before(self, student: str, trial_id: str, *, least: int = 0) -> int:
        """Answers that earlier runs lost in this trial, once for each run: its log has the sum."""
        if (student, trial_id) in self._noted:
            return 0
        self._noted.add((student, trial_id))
        if (store := self._store_of(student)) is None:
            return least
        return max(least, store.lost_answers(trial_id, fingerprint=self._experiment.served[student].fingerprint))

    def _store_of(self, student: str) -> SqliteStore | None:
        return None if self._experiment.endpoints[student].is_scripted else self._store
