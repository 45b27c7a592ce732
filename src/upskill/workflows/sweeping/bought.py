"""What attempts at one job have bought: read back as one run would have it, and kept while an attempt runs."""

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from upskill.domain import PlannedTrial, Scored, Trial
from upskill.domain.trial import TrialKey
from upskill.errors import EngineError
from upskill.workflows.evaluating.prepare import PreparedEvaluation
from upskill.workflows.evaluating.reuse import requests_of
from upskill.workflows.progress import RunProgress

if TYPE_CHECKING:
    from upskill.measuring import Decision, DroppedPair, Pair
    from upskill.models import MeteredClient

PAUSES = (0.5, 2.0, 8.0, 30.0)
"""Seconds before answers that could not be kept are tried again; then nothing more is bought."""


def as_one_run(trials: Iterable[Trial]) -> list[Trial]:
    """The trials of several attempts, oldest attempt first, as if they were of one run.

    Two attempts may have bought the same answer: the first that was scored counts. What the other one lost is not
    forgotten, because lost answers decide whether a result is valid.
    """
    found: list[Trial] = []
    scored: dict[TrialKey, int] = {}
    for trial in trials:
        if (known := scored.get(trial.key)) is not None:
            first = found[known]
            found[known] = replace(first, lost=first.lost + trial.lost_answers)
            continue
        if isinstance(trial.outcome, Scored):
            scored[trial.key] = len(found)
        found.append(trial)
    return found


def asked_for(trials: Iterable[Trial], prepared: PreparedEvaluation) -> Iterator[Trial]:
    """Those of the trials that answer what would be asked now, word for word."""
    requests = requests_of(prepared)
    cases = {case.id: case for case in prepared.plan.cases}
    students = {student.name: student for student in prepared.plan.students}
    for trial in trials:
        case, student = cases.get(trial.case_id), students.get(trial.student)
        if case is None or student is None or trial.arm not in prepared.plan.arms_of(case):
            continue
        planned = PlannedTrial(case=case, arm=trial.arm, repeat=trial.repeat)
        if requests.trial_id(planned, student) == trial.id:
            yield trial


class AttemptProgress(RunProgress):
    """Keeps new lines of the trial log as they come, by a thread of its own; knows which answers count.

    While it keeps some, more come: those are kept together the next time.
    """

    def __init__(
        self, log: Path, *, keep: Callable[[int, bytes], None], begin: Callable[[], None], counts_all: bool
    ) -> None:
        """`keep` is given a number, one more each time, and whole lines; `begin` is called before the first request.

        `counts_all`: in a fixed design no answer comes too late.
        """
        self._log = log
        self._keep = keep
        self._begin = begin
        self._counts_all = counts_all
        self._fed: set[tuple[str, str, int]] = set()
        self._offset = 0
        self._number = 0
        self._woken = threading.Event()
        self._closing = threading.Event()
        self._failed: EngineError | None = None
        self._thread: threading.Thread | None = None

    def begin_after_these(self) -> None:
        """The lines that are in the log now were kept before."""
        self._offset = self._log.stat().st_size

    def counts(self, trial: Trial) -> bool:
        """Whether the verdict rests on an answer: those that came after the decision change nothing."""
        return self._counts_all or (trial.student, trial.case_id, trial.repeat) in self._fed

    def evaluation_begun(self, client: "MeteredClient") -> None:
        self._begin()
        self._thread = threading.Thread(target=self._work, name="sweep-trials", daemon=True)
        self._thread.start()

    def trial_finished(self, trial: Trial) -> None:
        if self._failed is not None:
            raise self._failed  # whatever is bought now would be lost
        self._woken.set()

    def pair_finished(self, student: str, pair: "Pair | DroppedPair", *, decision: "Decision | None") -> None:
        self._fed.add((student, pair.case_id, pair.repeat))

    @property
    def is_at_work(self) -> bool:
        """Whether answers are being kept; no more once that failed."""
        return self._thread is not None and self._thread.is_alive()

    def close(self) -> None:
        """Keep what is left. Raises `EngineError` where that cannot be kept."""
        if self._thread is None:
            return
        self._closing.set()
        self._woken.set()
        self._thread.join()
        self._thread = None
        if self._failed is not None:
            raise self._failed

    def _work(self) -> None:
        while self._failed is None:
            self._woken.wait()
            self._woken.clear()
            # Looked at before the log is read: what was written before closing is then certainly in it.
            closing = self._closing.is_set()
            self._keep_new_lines()
            if closing:
                return

    def _keep_new_lines(self) -> None:
        with self._log.open("rb") as file:
            file.seek(self._offset)
            lines = file.read()
        lines = lines[: lines.rfind(b"\n") + 1]
        if not lines:
            return
        for pause in (*PAUSES, None):
            try:
                self._keep(self._number + 1, lines)
            except EngineError as error:
                if pause is None:
                    self._failed = error
                    return
                self._closing.wait(pause)
            else:
                self._number += 1
                self._offset += len(lines)
                return
