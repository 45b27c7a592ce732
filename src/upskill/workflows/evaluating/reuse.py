"""Reuses trials of the same request to the same student, from this run or from the trial store."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from upskill import checks, trials
from upskill.domain import Case, Grade, PlannedTrial, Scored, Student, Trial
from upskill.domain.progress import SILENT, Progress
from upskill.domain.text import count
from upskill.settings import Settings
from upskill.storage import SqliteStore, StoredTrial, TrialStore, default_store_path
from upskill.storage.trial_store import Reserving
from upskill.workflows.evaluating.judge import grade_without_asking, grading_context, identity
from upskill.workflows.evaluating.prepare import PreparedEvaluation

Key = tuple[str, str, str, int]
SECONDS_BEFORE_SAID = 1.0
"""Whoever waits for a shorter time than that is not told."""


def open_store(prepared: PreparedEvaluation, settings: Settings) -> AbstractContextManager[TrialStore | None]:
    """The user's store; nothing if it is switched off, or if only scripts are asked."""
    if not settings.store or all(endpoint.is_scripted for endpoint in prepared.endpoints.values()):
        return nullcontext(None)
    return SqliteStore(default_store_path(), age_limit=timedelta(days=settings.store_days))


def requests_of(prepared: PreparedEvaluation) -> trials.Requests:
    """What students are asked, as trials are named by it."""
    return trials.Requests(
        prepared.skill,
        previous=prepared.previous,
        harness=prepared.plan.harness,
        version=prepared.plan.harness_version,
        trial_limits=prepared.trial_limits,
    )


def stored_trials(prepared: PreparedEvaluation, settings: Settings, student: Student) -> Iterator[Trial]:
    """The trials of a plan that will come from the user's store, as they were bought."""
    newest_after = datetime.now(UTC) - timedelta(days=settings.store_days)
    fingerprint = prepared.served[student.name].fingerprint
    requests = requests_of(prepared)
    with open_store(prepared, settings) as store:
        if store is None:
            return
        for planned in prepared.plan.trials():
            stored = store.recall(
                requests.trial_id(planned, student), fingerprint=fingerprint, newest_after=newest_after
            )
            if stored is not None:
                yield stored.trial


class Reuse:
    """Finds trials that need not be bought, and stores those that were."""

    def __init__(
        self,
        prepared: PreparedEvaluation,
        before: list[Trial],
        *,
        store: TrialStore | None,
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
        self._context = grading_context(prepared.sandbox, scratch)
        self._judge = identity(prepared.judge)
        self._prepared = prepared
        self._store = store
        self._newest_after = datetime.now(UTC) - timedelta(days=days)
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
        self._waiting: set[str] = set()
        """Trials that another evaluation is buying."""
        self._waiting_since: float | None = None
        self._grade_slow_cases()

    def of_this_run(self, student: Student, planned: PlannedTrial) -> Trial | None:
        """A trial that had ended when the run was resumed."""
        return self._known.get((student.name, planned.case.id, planned.arm, planned.repeat))

    def recall(self, student: Student, planned: PlannedTrial, trial_id: str) -> Trial | None:
        """A trial of this run, or a recent one from the store, graded with the present checks."""
        known = self.of_this_run(student, planned)
        if known is not None and known.id == trial_id:
            return known
        if (bought := self._recall_bought(trial_id)) is not None and bought.case_id == planned.case.id:
            own = self._lost_before(student.name, trial_id, least=bought.lost)
            trial = replace(bought, student=student.name, arm=planned.arm, calls=0, lost=own, refused=0)
            self._record(trial)
            return trial
        stored = self._stored(student, trial_id)
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

    def _stored(self, student: Student, trial_id: str) -> StoredTrial | None:
        if (store := self._store_of(student.name)) is None:
            return None
        fingerprint = self._prepared.served[student.name].fingerprint
        return store.recall(trial_id, fingerprint=fingerprint, newest_after=self._newest_after)

    def claim(self, student: Student, planned: PlannedTrial, trial_id: str) -> bool:
        """Whether a trial may be bought now; false while another evaluation is buying it."""
        store, fingerprint = self._store_of(student.name), self._prepared.served[student.name].fingerprint
        if not isinstance(store, Reserving) or store.reserve(trial_id, fingerprint=fingerprint):
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
        stored = self._stored(student, trial_id) if isinstance(self._store, Reserving) else None
        if stored is None or (grade := self._grade(planned.case, stored.trial)) is None:
            return False
        self._graded[trial_id, planned.case.id] = grade
        self._release(student.name, trial_id)
        return True

    def _release(self, student: str, trial_id: str) -> None:
        if isinstance(store := self._store_of(student), Reserving):
            store.release(trial_id, fingerprint=self._prepared.served[student].fingerprint)

    def _grade_slow_cases(self) -> None:
        """Grade stored answers whose checks block, before the engine's event loop calls `recall`."""
        prepared = self._prepared
        slow = {case.id for case in prepared.plan.cases if checks.needs(case) & {"sandbox", "judge"}}
        if self._store is None or not slow:
            return
        requests = requests_of(prepared)
        for student in prepared.plan.students:
            for planned in prepared.plan.trials():
                if planned.case.id not in slow:
                    continue
                trial_id = requests.trial_id(planned, student)
                stored = self._stored(student, trial_id)
                if stored is not None and (grade := self._grade(planned.case, stored.trial)) is not None:
                    self._graded[trial_id, planned.case.id] = grade

    def _grade(self, case: Case, trial: Trial) -> Grade | None:
        """`None` where a judgement would have to be bought, or what a check asks for was not recorded by an earlier
        version: then the trial is bought again."""
        try:
            return grade_without_asking(case, trial, self._context, judge=self._judge)
        except checks.NotRecorded:
            return None

    def keep(self, trial: Trial) -> Trial:
        """Put a trial that was bought into the store; returns it with what was lost in earlier runs."""
        earlier = self._lost_before(trial.student, trial.id)
        self._kept.add((trial.student, trial.id))
        if (store := self._store_of(trial.student)) is not None:
            store.keep(trial, fingerprint=self._prepared.served[trial.student].fingerprint)
            self._release(trial.student, trial.id)
        return replace(trial, lost=trial.lost_answers + earlier) if earlier else trial

    def _lost_before(self, student: str, trial_id: str, *, least: int = 0) -> int:
        """Answers that earlier runs lost in this trial, once for each run: its log has the sum."""
        if (student, trial_id) in self._noted:
            return 0
        self._noted.add((student, trial_id))
        if (store := self._store_of(student)) is None:
            return least
        return max(least, store.lost_answers(trial_id, fingerprint=self._prepared.served[student].fingerprint))

    def _store_of(self, student: str) -> TrialStore | None:
        return None if self._prepared.endpoints[student].is_scripted else self._store
