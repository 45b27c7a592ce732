"""Make the report of a run: from what its folder holds, without calling a model."""

import os
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from upskill import disk
from upskill.core import checks, statistics
from upskill.core.cases.files import read_case_file
from upskill.core.cases.prompts import TRIGGERS_FILE
from upskill.core.models.teachers import has_teacher
from upskill.core.nouns import Case, Evaluation, Purchase, RunEnd, Skill, Trial, TrialPlan, harness_info
from upskill.core.nouns.case import by_turns
from upskill.core.nouns.plan import Again
from upskill.core.nouns.trial import TrialKey
from upskill.core.runs.engine_logs import LogSamples, StepReader
from upskill.core.runs.own_runs import is_inside, typed_again
from upskill.core.runs.records import CaseReference, RunRecord, SettingRecord, read_run
from upskill.core.runs.run_folders import RunFolder, name_of_run
from upskill.core.runs.skill_copy import SkillText
from upskill.core.runs.trial_log import collector_paused, emptied
from upskill.core.settings import resolve_settings
from upskill.core.trials.schedule import Schedule
from upskill.errors import EngineError, UpskillError
from upskill.evaluation.conclude import by_student, summarise
from upskill.evaluation.replay import (
    measured_skill,
    planned_only,
    recorded_evaluation,
    recorded_plan,
    replay_trials,
    skill_of,
)
from upskill.redaction import redactor_from
from upskill.report.facts import ENOUGH, CaseText, LoggedTrial, RunFacts, TokenRatio
from upskill.report.glance import Glance
from upskill.report.json_report import UnreadableResult

if TYPE_CHECKING:
    from upskill.report.html.page import Story

REPORT_FILE = "report.html"
MOST_TRIALS = 30_000
"""With more trials the report takes too long at the end of an evaluation; `upskill report` makes it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """A run, read and ready to be shown in any form."""

    run: Path
    evaluation: Evaluation
    facts: RunFacts
    cases: tuple[CaseText, ...]
    ratios: tuple[TokenRatio, ...]
    enough: float
    """The pass rate at which a student is good enough."""
    record: RunRecord
    counted: frozenset[tuple[str, str, int]]
    """Student, case and repeat of what the verdict rests on."""
    shown: Mapping[int, int]
    """Lines of the trials that the page shows, and how often each was tried."""
    skill: SkillText | None
    story: "Story | None" = None
    """How a `generate` came to the skill; `None` for an evaluation of its own."""

    def page(self) -> str:
        """The page. Reads the answers one at a time."""
        clean = redactor_from(os.environ).clean_own
        from upskill.report.html import report_page  # pages are loaded where one is made

        page = report_page(
            self.evaluation,
            self.facts,
            cases=self.cases,
            trials=self.logged(),
            skill=self.skill,
            story=self.story,
            ratios=self.ratios,
            enough=self.enough,
        )
        return clean(page)

    def glance(self) -> Glance:
        """The answer, as the page has it at its top."""
        from upskill.report.html import report_glance

        return report_glance(self.evaluation, self.facts, self.story)

    def trials(self) -> Iterator[tuple[int, Trial]]:
        """The trials that are shown, each after its line in the log. They are read one at a time."""
        for line, trial in enumerate(_readable(RunFolder(path=self.run).trials.read()), 1):
            if line in self.shown:
                yield line, trial

    def counts(self, trial: Trial) -> bool:
        """Whether the verdict rests on this trial."""
        return (trial.student, trial.case_id, trial.repeat) in self.counted

    def logged(self) -> Iterator[LoggedTrial]:
        """The trials that are shown, each with its line, its place in the logs and, of agents, its steps."""
        logs = RunFolder(path=self.run).logs
        redactor = redactor_from(os.environ)
        samples = LogSamples(logs, [case.id for case in self.cases])
        number = {student.name: place for place, student in enumerate(self.record.students, 1)}
        from upskill.report.html import steps_for

        most_steps = steps_for(len(self.shown)) if harness_info(self.record.harness).with_tools else 0
        with StepReader(logs, most_steps=most_steps) as reader:
            for line, trial in self.trials():
                place = samples.find(number.get(trial.student, 0), trial.case_id, trial.arm, trial.repeat)
                log, sample = (None, None) if place is None or trial.stored_at else place
                steps = reader.read(log, sample, trial.trajectory)
                yield LoggedTrial(
                    trial=trial.cleaned(redactor.clean_own) if redactor.knows_any else trial,
                    line=line,
                    counted=self.counts(trial),
                    log=log,
                    sample=sample,
                    tries=self.shown[line],
                    steps=steps.cleaned(redactor.clean_own) if steps is not None and redactor.knows_any else steps,
                )


def _readable(trials: Iterator[Trial]) -> Iterator[Trial]:
    """The trials up to the first damaged one, which was noted when they were read first."""
    try:
        yield from trials
    except UpskillError:
        return


def read_report(
    run: Path,
    *,
    evaluation: Evaluation | None = None,
    cases: Sequence[Case] | None = None,
    enough: float = ENOUGH,
) -> Report:
    """Read a run. `evaluation` and `cases` are read from its folder where they are not given."""
    record = read_run(run)
    problems: list[str] = []
    trials = _trials(run, record, problems)
    known = _known_cases(run, record, cases, problems)
    stubs = tuple(Case(id=reference.id, prompt="", checks=()) for reference in record.cases)
    plan = recorded_plan(record, stubs)
    mine = by_student(trials)
    with collector_paused():
        schedules = {
            student.name: replay_trials(
                plan, mine[student.name], terms=record.looks.get(student.name, statistics.FIRST_LOOK)
            )
            for student in plan.students
        }
    skill = measured_skill(run, record, problems)
    if evaluation is None:
        evaluation = _evaluation(run, record, plan, trials, schedules, skill_of(skill), problems)
    clean = redactor_from(os.environ).clean_own
    return Report(
        run=run,
        evaluation=evaluation,
        facts=_facts(run, record, problems),
        cases=tuple(_case_text(reference, known.get(reference.id), clean) for reference in record.cases),
        ratios=tuple(_ratios(plan, mine, schedules)),
        enough=enough,
        record=record,
        counted=frozenset(
            (trial.student, trial.case_id, trial.repeat)
            for trial in trials
            if trial.student in schedules and schedules[trial.student].counts(trial)
        ),
        shown=_shown(trials),
        skill=skill,
    )


def _shown(trials: Sequence[Trial]) -> dict[int, int]:
    """The line of the try that is shown of each answer, and how many tries there were."""
    tries = Counter(trial.key for trial in trials)
    shown: dict[TrialKey, Trial] = {}
    lines: dict[TrialKey, int] = {}
    for line, trial in enumerate(trials, 1):
        if trial.supersedes(shown.get(trial.key)):
            shown[trial.key], lines[trial.key] = trial, line
    return {line: tries[key] for key, line in lines.items()}


def _trials(run: Path, record: RunRecord, problems: list[str]) -> list[Trial]:
    trials = []
    try:
        with collector_paused():
            for trial in planned_only(RunFolder(path=run).trials.read(), record):
                trials.append(emptied(trial))
    except UpskillError as error:
        problems.append(f"{error.message}; the rest is not shown")
    return trials


def _known_cases(run: Path, record: RunRecord, cases: Sequence[Case] | None, problems: list[str]) -> dict[str, Case]:
    """The cases that have not changed since the run."""
    if cases is None:
        cases = ()
        with suppress(UpskillError):
            if is_inside(run, run / record.case_source):
                cases = read_case_file(run / record.case_source, check_problems=lambda _: []).cases
    digests = {reference.id: reference.digest for reference in record.cases}
    found = {case.id: case for case in cases if digests.get(case.id) == case.digest}
    if len(found) < len(digests):
        problems.append(
            f"{len(digests) - len(found)} of {len(digests)} cases have changed since this run, are missing, "
            "or are outside the working folder; their prompts are only in the Inspect logs"
        )
    return found


def prompts_of(run: Path) -> dict[str, str]:
    """What each case asks, by its id: of the cases that have not changed since the run."""
    clean = redactor_from(os.environ).clean_own
    return {id: clean(case.prompt) for id, case in _known_cases(run, read_run(run), None, []).items()}


def _case_text(reference: CaseReference, case: Case | None, clean: Callable[[str], str]) -> CaseText:
    if case is None:
        return CaseText(id=reference.id, digest=reference.digest, prompt=None)
    return CaseText(
        id=reference.id,
        digest=reference.digest,
        prompt=clean(by_turns(turn.prompt for turn in case.turns) or case.prompt),
        use=case.use,
        # latin-1 decodes any bytes and gives the same bytes back.
        files={path: clean(data.decode("latin-1")).encode("latin-1", "replace") for path, data in case.files.items()},
        checks=tuple(
            (check.kind, clean(f"turn {number}: {checks.describe(check)}" if case.turns else checks.describe(check)))
            for number, part in enumerate(case.parts, 1)
            for check in part.checks
        ),
    )


def _evaluation(
    run: Path,
    record: RunRecord,
    plan: TrialPlan,
    trials: list[Trial],
    schedules: Mapping[str, Schedule],
    skill: Skill,
    problems: list[str],
) -> Evaluation:
    """The recorded evaluation; for a run that was killed, one made from its trials."""
    try:
        if (recorded := recorded_evaluation(run, record, name=run.as_posix(), skill=skill)) is not None:
            return recorded
    except UnreadableResult as error:
        problems.append(f"the recorded result cannot be read ({error}); it was computed again")
    return summarise(
        plan,
        trials,
        skill=skill,
        run=run.as_posix(),
        schedules=schedules,
        cut_short=lambda _: "interrupted",
        min_lift=record.min_lift,
        looks=record.looks,
        case_states=record.case_states,
        bought=Purchase(
            calls=sum(trial.calls for trial in trials),
            failed_calls=0,
            tokens=sum(trial.usage.tokens or 0 for trial in trials),
            cost=None,
        ),
        notes=record.notes,
        end=RunEnd(interrupted=True),
    )


def skill_folder_of(run: Path) -> str | None:
    """The folder of the skill that a run measured, as it is typed from here; `None` where that is not known."""
    with suppress(UpskillError, OSError):
        return _skill_folder(run, read_run(run))
    return None


def case_file_of(run: Path) -> str | None:
    """The file of the cases of a run, as it is typed from here; `None` where they are the skill's own, or elsewhere."""
    with suppress(UpskillError, OSError):
        return _case_file(run, read_run(run))
    return None


def typed_for(run: Path) -> Again | None:
    """What else was typed for a run of the user's own, typed here; `None` where it is not."""
    again = typed_again(run, read_run(run))
    return None if again is None else typed_here(again, skill_folder_of(run))


def typed_here(again: Again, skill: str | None) -> Again:
    """The same with what is there to go on with: a teacher, and trigger prompts of the skill."""
    try:
        by_hand = not has_teacher(resolve_settings().values)
    except UpskillError:  # settings that need trust, or are wrong: whoever types says which teacher
        by_hand = True
    return replace(again, by_hand=by_hand, has_prompts=skill is None or disk.is_file(Path(skill) / TRIGGERS_FILE))


def _case_file(run: Path, record: RunRecord) -> str | None:
    file, skill = (Path(os.path.normpath(run / source)) for source in (record.case_source, record.skill_source))
    if file.is_relative_to(skill) or not is_inside(run, file) or not file.is_file():
        return None
    return Path(os.path.relpath(file)).as_posix()


def _skill_folder(run: Path, record: RunRecord) -> str | None:
    """The folder of the skill, as it is typed from here."""
    folder = run / record.skill_source
    if not is_inside(run, folder) or not folder.is_dir():
        return None
    return Path(os.path.relpath(folder)).as_posix()


def _ratios(plan: TrialPlan, trials: Mapping[str, list[Trial]], schedules: Mapping[str, Schedule]) -> list[TokenRatio]:
    if plan.against is None:
        return []
    ratios = []
    for student, mine in trials.items():
        if student not in schedules:
            continue
        schedule = schedules[student]
        counted = [trial for trial in mine if schedule.counts(trial)]
        ratio = statistics.measure_tokens(
            counted, arm=plan.measured, against=plan.against, families=plan.families, level=schedule.level
        )
        if ratio is not None:
            ratios.append(TokenRatio(student=student, typical=ratio.typical, interval=ratio.interval))
    return ratios


def _facts(run: Path, record: RunRecord, problems: list[str]) -> RunFacts:
    logs = RunFolder(path=run).logs.absolute()
    here = logs.is_relative_to(Path.cwd())
    return RunFacts(
        skill=record.skill_name,
        skill_folder=_skill_folder(run, record),
        case_file=_case_file(run, record),
        again=typed_for(run),
        folder=name_of_run(run),
        logs=shlex.quote(str(logs.relative_to(Path.cwd()) if here else logs)) if logs.is_dir() else None,
        logs_from="from the folder where this report was written" if here else "from any folder",
        status=record.status,
        started_at=record.started_at,
        finished_at=record.finished_at,
        harness=record.harness,
        seed=record.seed,
        skill_digest=record.skill_digest,
        versions=record.versions,
        settings=settings_shown(record.settings),
        problems=tuple(problems),
    )


def settings_shown(settings: Mapping[str, SettingRecord]) -> tuple[tuple[str, str, str], ...]:
    """Name, value and origin of what is not the default."""
    return tuple(
        (name, _plain(setting.value), setting.origin)
        for name, setting in settings.items()
        if setting.origin != "default"
    )


def _plain(value: object) -> str:
    """A setting in words."""
    return ", ".join(str(one) for one in value) if isinstance(value, list | tuple) else str(value)


def keep_report(run: Path, evaluation: Evaluation, *, cases: Sequence[Case]) -> Evaluation:
    """Write `report.html` into the run folder. A failure becomes a note: the result does not change."""
    trials = sum(arm.trials + arm.errored for report in evaluation.students for arm in report.arms)
    if trials > MOST_TRIALS:
        later = f"{REPORT_FILE} was not written, since {trials:,} answers take a while; `upskill report` writes it"
        return replace(evaluation, notes=(*evaluation.notes, later))
    problem = keep_page(run, lambda: read_report(run, evaluation=evaluation, cases=cases).page())
    return evaluation if problem is None else replace(evaluation, notes=(*evaluation.notes, problem))


def keep_page(run: Path, make: Callable[[], str]) -> str | None:
    """Write `report.html` into the run folder. What went wrong is returned, in words: the result does not change."""
    try:
        write_page(make(), run / REPORT_FILE)
    except KeyboardInterrupt:
        return f"{REPORT_FILE} was not written: interrupted; `upskill report` writes it"
    except Exception as error:  # noqa: BLE001 - a fault in the page must not take the result with it
        return f"{REPORT_FILE} could not be written ({type(error).__name__}: {error})"
    return None


def write_page(page: str, target: Path) -> None:
    """Write the page atomically. Raises `EngineError` where that is not possible."""
    try:
        disk.write(target, page)
    except OSError as error:
        raise EngineError(
            f"{target}: cannot be written ({error.strerror})", hint="name another file with -o FILE"
        ) from None
