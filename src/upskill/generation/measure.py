"""Measures a draft: the protocol that refining and proving use, and its implementation over `evaluate`."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from upskill.core.cases.files import write_case_file
from upskill.core.models import MeteredClient
from upskill.core.nouns import Arm, Case, Evaluation, Scored, Trial
from upskill.core.nouns.look import LookTerms
from upskill.core.nouns.skill import RUN_FILE
from upskill.core.progress import SILENT_RUN, RunProgress
from upskill.core.runs.records import RunRecord, read_run
from upskill.core.runs.run_folders import run_folder_at
from upskill.core.settings import ResolvedSettings, Settings
from upskill.core.skills.skills import read_skill
from upskill.errors import UsageError
from upskill.evaluation.cases import find_cases
from upskill.evaluation.evaluate import first_record, run_evaluation
from upskill.evaluation.looks import looks_of
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.prepare import ChosenCases, choose_harness, prepare
from upskill.evaluation.resume import as_begun
from upskill.generation.draft import Draft
from upskill.generation.files import TeachingFolder
from upskill.report.wording import unique_names
from upskill.sandbox import Backend


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """The evaluation of one draft, with its trials."""

    evaluation: Evaluation
    """As `evaluate` reports it: one report per student, with the arms that were compared."""
    trials: tuple[Trial, ...]
    """All trials of all students, with answers and files, which the teacher is shown."""
    cut_short: str | None = None
    """Why it ended before its plan did, in words (`stopped at the cap of $10.00`); nothing more can be bought then."""

    def of(self, student: str) -> tuple[Trial, ...]:
        return tuple(trial for trial in self.trials if trial.student == student)

    def compared(self, student: str) -> tuple[Arm, Arm]:
        """The arm that is measured, and the one it is measured against."""
        return next(one.compared for one in self.evaluation.students if one.student.name == student)


class Measure(Protocol):
    """Measures a draft with every student; returns the evaluation and its trials."""

    def __call__(
        self,
        stage: str,
        draft: Draft,
        cases: Sequence[Case],
        *,
        against: Draft | None = None,
        repeats: int | None = None,
        level: float | None = None,
        gate: bool = False,
    ) -> Measurement:
        """Measure `draft` on these cases against an older draft, or against no skill at all (`None`).

        `stage` names the evaluation within one `generate`, in letters, digits and hyphens: `learn-1`, `held-out`,
        `guard`. The same stage is asked for once only; a resumed command asks for it again and is
        given what it had. `repeats` fixes the design; `None` is the design that suits the comparison. `level` is
        the one-sided error of its verdicts; `None` for that of a first look. `gate`: cases that look broken are asked
        again until that is known.

        A trial of the same request and the same repeat that was bought before, in whichever stage, is not bought again
        (so the baseline of the learn cases is bought once).

        Raises what `evaluate` raises where nothing can be run, and `KeyboardInterrupt` where a person stopped it: what
        had ended is saved by then. An outage during the run, or a cap that was reached, is in what is returned.
        """
        ...


OLD_VERSION = "old-version"
"""The stage that asks whether a skill leaves anything to fix."""


def report_stage(stage: str, *, names: Sequence[str], progress: RunProgress) -> None:
    """Tell a person which stage begins, and with which students."""
    who = unique_names(names)[0] if len(names) == 1 else f"{len(names)} models"  # the plan has their full names
    evaluating = f"Evaluating on {who}..."
    what, _, number = stage.rpartition("-")
    if what.startswith("aptitude"):
        progress.stage_begun(f"Measuring what {who} can do without a skill... (repeat {number})")
    elif stage == OLD_VERSION:
        progress.stage_begun(f"{evaluating} (the skill as it is)")
    elif stage.startswith("learn-"):
        progress.stage_begun(f"{evaluating} (attempt {stage.split('-')[1]})")
    elif stage == "held-out":
        progress.stage_begun(f"{evaluating} (held-out cases, once)")
    elif stage.startswith("search"):
        progress.note(f"search: proposal {number}")
    else:
        progress.stage_begun(f"{evaluating} (held-out and unrelated cases, checked for harm)")


CASE_FILE = "cases.json"
"""In the folder of a stage."""
LEAST_MEASURED = 0.5
"""An endpoint that went down before this share of the trials had ended has measured nothing of use."""


class StageMeasurer:
    """Implements `Measure` over `evaluate` and `resume`, in the run folder of a `generate`."""

    def __init__(
        self,
        folder: TeachingFolder,
        *,
        settings: ResolvedSettings,
        client: MeteredClient,
        all_cases: Sequence[Case],
        sandbox: Backend = "bubblewrap",
        progress: RunProgress = SILENT_RUN,
        on_stage: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`all_cases` decide how students are asked, for every stage alike. `on_stage` gets the name of each stage."""
        harness = choose_harness(settings.values.harness, all_cases)
        self._settings = replace(settings, values=replace(settings.values, harness=harness))
        self._folder = folder
        self._client = client
        self._sandbox = sandbox
        self._progress = progress
        self._on_stage = on_stage
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
        level: float | None = None,
        gate: bool = False,
    ) -> Measurement:
        """As the protocol says."""
        order = EvaluationOrder(
            skill=self._folder.keep_draft(draft),
            repeats=repeats,
            previous=None if against is None else self._folder.keep_draft(against),
            required="no-harm" if gate else None,
            sandbox=self._sandbox,
        )
        return self._measure(stage, order, cases, self._settings.values, level=level)

    def with_skill(self, stage: str, draft: Draft, cases: Sequence[Case]) -> Measurement:
        """Measure a draft once on each case and nothing beside it: whether it passes, not what it adds."""
        order = EvaluationOrder(skill=self._folder.keep_draft(draft), repeats=1, baseline=False, sandbox=self._sandbox)
        return self._measure(stage, order, cases, self._settings.values)

    def without_skill(self, stage: str, cases: Sequence[Case], *, repeats: int, students: Sequence[str]) -> Measurement:
        """Measure some of the students without any skill, in the arms baseline and ceiling.

        Cases without a passage have no ceiling; where some name one, only those are asked. Earlier repeats come from
        earlier stages, and the baseline is used again by learn stages; none of it comes from the trial store or goes
        there.
        """
        named = any(case.passage is not None for case in cases)
        order = EvaluationOrder(
            skill=self._folder.no_skill(),
            repeats=repeats,
            ceiling="alone" if named else None,
            sandbox=self._sandbox,
        )
        values = replace(self._settings.values, models=tuple(students), store=False)
        return self._measure(stage, order, cases, values, arms=None if named else ("baseline",))

    @property
    def harness(self) -> str:
        """How students are asked, in every stage from now on."""
        return self._settings.values.harness

    def use_harness(self, harness: str) -> None:
        """Ask students in another way from now on. What was measured in the old way is not used again."""
        self._settings = replace(self._settings, values=replace(self._settings.values, harness=harness))
        self.down = None

    def _measure(
        self,
        stage: str,
        order: EvaluationOrder,
        cases: Sequence[Case],
        values: Settings,
        *,
        arms: tuple[Arm, ...] | None = None,
        level: float | None = None,
    ) -> Measurement:
        self._on_stage(stage)
        folder = self._folder.stage(stage)
        self._client.down.clear()  # what was down a stage ago may be up again
        begun = read_run(folder.path) if (folder.path / RUN_FILE).exists() else None
        case_file = folder.path / CASE_FILE
        if begun is None:
            write_case_file(run_folder_at(folder.path).path / CASE_FILE, cases)
        else:
            self._require_same(stage, begun, order)
        found = find_cases(order.skill, case_file, judge=values.judge is not None)
        assert found is not None  # it was just written
        chosen = ChosenCases(cases=found.cases, path=case_file, arms=arms)
        settings = replace(self._settings, values=values)
        prepared = prepare(order, values, chosen=chosen, begun=begun, search=False, progress=self._progress)
        # What a claim rests on is a look; practice is none.
        looks = None if level is None else looks_of(prepared, values)
        if begun is None:
            terms: dict[str, LookTerms] = {}
            if level is not None:
                terms = {one.name: LookTerms(level=level) for one in prepared.experiment.plan.students}
                terms |= {} if looks is None else looks.opened(folder.path, level=level)
            record = folder.sealed(replace(first_record(prepared, settings, folder), looks=terms))
        else:
            record, prepared = begun, as_begun(prepared, begun, folder.path)
        self._progress.evaluation_planned(
            prepared.experiment.plan, skill=prepared.experiment.skill, lines=prepared.lines, notes=prepared.note_lines
        )
        evaluation = run_evaluation(
            prepared,
            values,
            folder,
            record,
            client=self._client,
            looks=looks,
            resumed=begun is not None,
            recall_bought=self._bought.get,
            # If errored trials were run again, the teacher would see other failures and answer something else than
            # what everything after it was measured with.
            with_errored=begun is not None
            and begun.status == "finished"
            and begun.end is not None
            and begun.end.is_complete,
            progress=self._progress,
        )
        if evaluation.interrupted:
            raise KeyboardInterrupt
        trials = tuple(folder.trials.read())
        lost: Counter[str] = Counter()
        for trial in trials:
            lost[trial.id] += trial.lost_answers
        for trial in trials:
            if isinstance(trial.outcome, Scored):
                self._bought.setdefault(trial.id, replace(trial, lost=lost[trial.id]))
        return Measurement(evaluation=evaluation, trials=trials, cut_short=self._cut_short(evaluation))

    def _require_same(self, stage: str, record: RunRecord, order: EvaluationOrder) -> None:
        """Raise where the stage measured another draft."""
        now = (read_skill(order.skill).digest, None if order.previous is None else read_skill(order.previous).digest)
        if now != (record.skill_digest, record.previous_digest):
            raise UsageError(
                f"{self._folder.path}: cannot be resumed: {stage} was started with another draft, "
                "so this version of upskill or its environment asks the teacher something else",
                hint="start a new run",
            )

    def _cut_short(self, evaluation: Evaluation) -> str | None:
        if self._client.exhausted is not None:
            return f"stopped at {self._client.exhausted}"
        for report in evaluation.students:
            ended = sum(arm.trials for arm in report.arms)
            planned = evaluation.planned // len(evaluation.students)
            # A design that ends early needs few trials; with a verdict it has had enough as well.
            decided = report.verdict not in (None, "invalid", "undecided") or report.end in ("futile", "copies")
            if report.student.model in self._client.down and not decided and ended < LEAST_MEASURED * planned:
                self.down = f"{report.student.name} went down: {self._client.down[report.student.model]}"
                return self.down
        return None
