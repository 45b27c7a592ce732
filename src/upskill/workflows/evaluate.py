"""Evaluate a skill: read it, put it on trial, measure, and keep everything in one run folder."""

import importlib.metadata
import platform
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol

from upskill import __version__, checks, measuring, reporting, storage, trials
from upskill.domain import (
    Arm,
    Case,
    Evaluation,
    Skill,
    Student,
    StudentReport,
    Trial,
    TrialPlan,
)
from upskill.errors import ProviderError, UsageError
from upskill.measuring.verdict import CutShort
from upskill.models import Door, Endpoint, Policy, Served, probe, resolve_model
from upskill.models.preflight import count_tokens
from upskill.settings import Resolved, Settings
from upskill.storage.runs import CaseReference, RunFolder, RunRecord, SettingRecord, now
from upskill.workflows.price import PriceEstimate, estimate_price

ASK_ABOVE_DOLLARS = 1.0


class Progress(Protocol):
    """Hears what happens, as it happens. Called on the engine's thread: it must return at once."""

    def planned(self, plan: TrialPlan, *, skill: Skill, price: PriceEstimate, notes: tuple[str, ...]) -> None:
        """Everything was checked and nothing has been spent yet."""

    def finished(self, trial: Trial) -> None:
        """A trial ended and is on disk."""


class Silence:
    """A progress that says nothing."""

    def planned(self, plan: TrialPlan, *, skill: Skill, price: PriceEstimate, notes: tuple[str, ...]) -> None:
        """Says nothing."""

    def finished(self, trial: Trial) -> None:
        """Says nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationOrder:
    """What a person asked for."""

    skill: Path
    case_file: Path | None = None
    repeats: int = 1
    baseline: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class _Prepared:
    """Everything that was checked before a run folder exists or a call is made."""

    skill: Skill
    case_file: Path
    plan: TrialPlan
    endpoints: dict[str, Endpoint]
    price: PriceEstimate
    notes: tuple[str, ...]


def evaluate(
    order: EvaluationOrder,
    *,
    settings: Resolved,
    progress: Progress | None = None,
    confirm: Callable[[PriceEstimate], bool] = lambda _: True,
) -> Evaluation:
    """Put a skill on trial. Raises before any call if it could not succeed; afterwards always returns a result."""
    progress = progress or Silence()
    prepared = _prepare(order, settings.values)
    progress.planned(prepared.plan, skill=prepared.skill, price=prepared.price, notes=prepared.notes)
    if prepared.price.known > ASK_ABOVE_DOLLARS and not confirm(prepared.price):
        raise UsageError("nothing was run, nothing was spent")
    folder = storage.create_run(Path(settings.values.runs_dir), skill_name=prepared.skill.name)
    record = _first_record(prepared, settings)
    folder.write_record(record)
    finished: list[Trial] = []
    try:
        end = _run(prepared, settings.values, folder, finished, progress)
    except BaseException:
        folder.write_record(replace(record, status="failed", finished_at=now()))
        raise
    notes = (*prepared.notes, *_down_notes(end, prepared))
    evaluation = Evaluation(
        skill=prepared.skill,
        run=_relative(folder.path),
        cases=len(prepared.plan.cases),
        repeats=prepared.plan.repeats,
        planned=len(prepared.plan),
        students=tuple(
            _report(
                student,
                prepared.plan,
                [trial for trial in finished if trial.student == student.name],
                cut_short="interrupted" if end.interrupted else "down" if student.model in end.down else None,
            )
            for student in prepared.plan.students
        ),
        notes=notes,
        interrupted=end.interrupted,
    )
    folder.write_record(
        replace(
            record,
            status="interrupted" if end.interrupted else "finished",
            finished_at=now(),
            notes=notes,
            results=reporting.evaluation_json(evaluation),
        )
    )
    return evaluation


def _prepare(order: EvaluationOrder, settings: Settings) -> _Prepared:
    skill = storage.read_skill(order.skill)
    case_file = _cases(order, skill)
    if order.repeats < 1:
        raise UsageError(f"--runs must be at least 1, not {order.repeats}")
    names = tuple(dict.fromkeys(settings.models))
    if not names:
        raise UsageError(
            "which model? none was named",
            hint="add -m NAME, for example -m haiku, or -m local --base-url http://localhost:8080/v1",
        )
    endpoints = {name: resolve_model(name, base_url=settings.base_url, aliases=settings.aliases) for name in names}
    served = {name: probe(endpoint) for name, endpoint in endpoints.items()}
    students = tuple(_student(endpoint, settings) for endpoint in endpoints.values())
    arms: tuple[Arm, ...] = ("baseline", "with_skill") if order.baseline else ("with_skill",)
    plan = TrialPlan(cases=case_file.cases, students=students, arms=arms, repeats=order.repeats, seed=settings.seed)
    requests = trials.Requests(skill, harness=plan.harness)
    for name, endpoint in endpoints.items():
        _require_window(endpoint, served[name], skill, requests, plan.cases)
    return _Prepared(
        skill=skill,
        case_file=case_file.path,
        plan=plan,
        endpoints=endpoints,
        price=estimate_price(plan, requests),
        notes=(*skill.notes, *_unseen_notes(skill), *(note for one in served.values() for note in one.notes)),
    )


def _cases(order: EvaluationOrder, skill: Skill) -> storage.CaseFile:
    if order.case_file is not None:
        return storage.read_case_file(order.case_file, check_problems=checks.check_problems)
    found = storage.read_skill_cases(order.skill, check_problems=checks.check_problems)
    if found is None:
        raise UsageError(
            f"{skill.name}: there are no cases to put to a student",
            hint="name a case file with -t FILE, or put cases into skill_meta.json; see docs/how-to/write-cases.md",
        )
    return found


def _student(endpoint: Endpoint, settings: Settings) -> Student:
    return Student(
        name=endpoint.name,
        model=endpoint.model,
        endpoint=endpoint.base_url,
        temperature=settings.temperature,
        max_output_tokens=settings.max_output_tokens,
        price=endpoint.price,
    )


def _require_window(
    endpoint: Endpoint, served: Served, skill: Skill, requests: trials.Requests, cases: Iterable[Case]
) -> None:
    """Refuse a skill that cannot fit, before anything is spent on finding out."""
    window = served.window or endpoint.window
    if window is None:
        return
    longest = max((requests.render(case, "with_skill") for case in cases), key=lambda request: len(request.prompt))
    text = f"{longest.system}\n{longest.prompt}"
    tokens = count_tokens(endpoint, text)
    # An estimate may be off by a third: refuse only what cannot fit even then.
    needed = tokens if tokens is not None else int(reporting.estimate_tokens(text) * 0.67)
    if needed > window:
        raise ProviderError(
            f"{endpoint.name}: {skill.name} does not fit; skill and longest case are "
            f"{'' if tokens is not None else '~'}{needed:,} tokens, the model's window is {window:,}",
            hint="shorten the skill, or serve the model with a larger context",
        )


def _unseen_notes(skill: Skill) -> tuple[str, ...]:
    unseen = skill.other_files
    if not unseen:
        return ()
    shown = ", ".join(file.path for file in unseen[:3]) + (" …" if len(unseen) > 3 else "")
    return (f"chat students see SKILL.md only, not the {len(unseen)} other file(s): {shown}",)


def _run(
    prepared: _Prepared, settings: Settings, folder: RunFolder, finished: list[Trial], progress: Progress
) -> trials.RunEnd:
    door = Door(
        policy=Policy(
            attempt_seconds=settings.attempt_timeout_seconds,
            call_seconds=settings.call_timeout_seconds,
            max_retries=settings.max_retries,
            max_wait_seconds=settings.max_retry_wait_seconds,
            concurrency=settings.concurrency,
        )
    )
    with folder.trials.open() as log:

        def record(trial: Trial) -> None:
            log.append(trial)
            finished.append(replace(trial, answer=""))  # the answer is on disk; memory need not grow with it
            progress.finished(trial)

        return trials.run_trials(
            trials.TrialRun(
                plan=prepared.plan,
                skill=prepared.skill,
                endpoints=prepared.endpoints,
                door=door,
                grade=checks.grade,
                record=record,
                logs=folder.logs,
                engine_data=folder.engine_data,
            )
        )


def _report(student: Student, plan: TrialPlan, finished: list[Trial], *, cut_short: CutShort | None) -> StudentReport:
    arms = tuple(measuring.summarise_arm(finished, arm=arm, cases=len(plan.cases)) for arm in plan.arms)
    costs = [trial.usage.cost for trial in finished if trial.calls]
    spent = sum(cost or 0.0 for cost in costs) if student.price is not None else None
    if "baseline" not in plan.arms:
        return StudentReport(
            student=student,
            harness=plan.harness,
            verdict=None,
            sentence="no baseline was run, so nothing is said about lift",
            arms=arms,
            lifts=(),
            spent=spent,
        )
    pairing = measuring.pair_trials(finished, arm="with_skill", against="baseline")
    judgement = measuring.judge(pairing, cut_short=cut_short)
    return StudentReport(
        student=student,
        harness=plan.harness,
        verdict=judgement.verdict,
        sentence=judgement.sentence,
        arms=arms,
        lifts=(judgement.lift,) if judgement.lift is not None else (),
        spent=spent,
    )


def _down_notes(end: trials.RunEnd, prepared: _Prepared) -> tuple[str, ...]:
    return tuple(
        f"{endpoint.name}: the endpoint went down and nothing more was sent to it ({end.down[endpoint.model]})"
        for endpoint in prepared.endpoints.values()
        if endpoint.model in end.down
    )


def _first_record(prepared: _Prepared, settings: Resolved) -> RunRecord:
    plan = prepared.plan
    values = asdict(settings.values)
    return RunRecord(
        started_at=now(),
        versions={
            "upskill": __version__,
            "inspect-ai": importlib.metadata.version("inspect-ai"),
            "python": platform.python_version(),
        },
        skill_name=prepared.skill.name,
        skill_digest=prepared.skill.digest,
        case_file=_relative(prepared.case_file),
        cases=tuple(CaseReference(id=case.id, digest=case.digest) for case in plan.cases),
        students=plan.students,
        arms=plan.arms,
        repeats=plan.repeats,
        seed=plan.seed,
        harness=trials.HARNESSES[plan.harness],
        frame=trials.FRAME,
        settings={name: SettingRecord(value=values[name], origin=origin) for name, origin in settings.origins.items()},
        notes=prepared.notes,
    )


def _relative(path: Path) -> str:
    """A path as seen from where the command was typed, with forward slashes."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()
