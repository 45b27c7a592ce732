"""Measures drafts for `generate`: each measurement an ordinary evaluation, kept in a run folder of its own.

All of them share one door, so one budget; and a trial that one of them bought is not bought by another.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from upskill.domain import Case, Evaluation, Scored, Trial
from upskill.domain.draft import Draft
from upskill.errors import UpskillError, UsageError
from upskill.models import Door
from upskill.sandbox import Backend
from upskill.settings import Resolved
from upskill.storage import RunFolder, read_run, read_skill, run_folder_at, write_case_file
from upskill.storage.run_folders import RUN_FILE
from upskill.storage.runs import RunRecord
from upskill.storage.teaching_runs import TeachingFolder
from upskill.workflows.evaluate import Progress, Silence, Whole, evaluate, resume
from upskill.workflows.measure import Measured
from upskill.workflows.prepare import EvaluationOrder, choose_harness

LEAST_MEASURED = 0.5
"""An endpoint that went down before so many of the trials had ended has measured nothing worth going on with."""


class MeasuringRuns:
    """Implements `Measure` over `evaluate` and `resume`, in the run folder of a `generate`."""

    def __init__(
        self,
        folder: TeachingFolder,
        *,
        settings: Resolved,
        door: Door,
        all_cases: Sequence[Case],
        sandbox: Backend = "bubblewrap",
        progress: Progress | None = None,
        begins: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`all_cases` decide how students are asked, for every stage alike. `begins` hears of each stage."""
        harness = choose_harness(settings.values.harness, all_cases)
        self._settings = replace(settings, values=replace(settings.values, harness=harness))
        self._folder = folder
        self._door = door
        self._sandbox = sandbox
        self._progress = progress or Silence()
        self._begins = begins
        self._bought: dict[str, Trial] = {}
        self.down: str | None = None
        """Which student's endpoint is down, in words; `None` while all answer."""

    def __call__(
        self,
        stage: str,
        draft: Draft,
        cases: Sequence[Case],
        *,
        against: Draft | None = None,
        repeats: int | None = None,
        fresh: bool = False,
    ) -> Measured:
        """As the protocol says."""
        self._begins(stage)
        folder = self._folder.stage(stage)
        self._door.down.clear()  # what was down a stage ago may be up again
        whole = Whole(door=self._door, folder=folder, recall=(lambda _: None) if fresh else self._bought.get)
        if (folder.path / RUN_FILE).exists():
            record = read_run(folder.path)
            self._require_same(stage, record, draft, against)
            # Were what errored tried again, the teacher would be told of other failures, and would say something else
            # than what everything after it was measured with.
            is_over = record.status == "finished" and record.end is not None and record.end.ran_its_course
            evaluation = resume(folder.path, progress=self._progress, part_of=replace(whole, is_over=is_over))
        else:
            evaluation = self._begin(folder, draft, cases, against=against, repeats=repeats, fresh=fresh, whole=whole)
        if evaluation.interrupted:
            raise KeyboardInterrupt
        trials = tuple(folder.trials.read())
        if not fresh:
            for trial in trials:
                if isinstance(trial.outcome, Scored):
                    self._bought.setdefault(trial.id, trial)
        return Measured(evaluation=evaluation, trials=trials, cut_short=self._cut_short(evaluation))

    def _require_same(self, stage: str, record: RunRecord, draft: Draft, against: Draft | None) -> None:
        """What was measured of one draft says nothing about another."""
        now = (self._digest(draft), None if against is None else self._digest(against))
        if now != (record.skill_digest, record.previous_digest):
            raise UsageError(
                f"{self._folder.path}: cannot be gone on with: {stage} was begun with another draft than there is now, "
                "so this version of upskill, or its environment, asks the teacher something else",
                hint="start a new run instead",
            )

    def _digest(self, draft: Draft) -> str:
        return read_skill(self._folder.keep_draft(draft)).digest

    def _begin(
        self,
        folder: RunFolder,
        draft: Draft,
        cases: Sequence[Case],
        *,
        against: Draft | None,
        repeats: int | None,
        fresh: bool,
        whole: Whole,
    ) -> Evaluation:
        case_file = run_folder_at(folder.path).path / "cases.json"
        write_case_file(case_file, cases)
        settings = self._settings
        if fresh:
            settings = replace(settings, values=replace(settings.values, store=False))
        return evaluate(
            EvaluationOrder(
                skill=self._folder.keep_draft(draft),
                case_file=case_file,
                repeats=repeats,
                previous=None if against is None else self._folder.keep_draft(against),
                sandbox=self._sandbox,
                every_case=True,
            ),
            settings=settings,
            progress=self._progress,
            part_of=whole,
        )

    def _cut_short(self, evaluation: Evaluation) -> str | None:
        if self._door.exhausted is not None:
            return f"stopped at {self._door.exhausted}"
        for report in evaluation.students:
            ended = sum(arm.trials for arm in report.arms)
            planned = evaluation.planned // len(evaluation.students)
            # A sequential design may need few trials; where it came to a verdict it has had enough.
            decided = report.verdict not in (None, "invalid", "undecided")
            if report.student.model in self._door.down and not decided and ended < LEAST_MEASURED * planned:
                self.down = f"{report.student.name} went down: {self._door.down[report.student.model]}"
                return self.down
        return None


def spent_in(folder: RunFolder) -> tuple[int, int, float | None]:
    """Calls, tokens and dollars of all trials that an evaluation bought and that have ended."""
    calls = tokens = 0
    cost: float | None = 0.0
    try:
        for trial in folder.trials.read():
            if not trial.calls:
                continue
            calls += trial.calls
            tokens += trial.usage.tokens or 0
            if trial.usage.cost is not None and cost is not None:
                cost += trial.usage.cost
            elif isinstance(trial.outcome, Scored):
                cost = None
    except UpskillError:
        cost = None
    return calls, tokens, cost
