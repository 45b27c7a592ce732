"""Checks whether the cases of a skill can tell right from wrong, for `upskill cases check` and before evaluations."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from upskill import checks, storage
from upskill.checks import GradingContext
from upskill.checks.qualifying import qualify
from upskill.domain import Case, Qualification, Reason, Skill
from upskill.domain.family import family_notes
from upskill.domain.progress import SILENT, Progress
from upskill.domain.skill import CASE_FILES, SKILL_FILE
from upskill.domain.skill_changes import CaseChanges, case_changes
from upskill.domain.text import count, shortened
from upskill.errors import UpskillError, UsageError
from upskill.measuring import BaselineTally, label_of, tally_baselines
from upskill.sandbox import Backend, SandboxUnavailable, open_sandbox, require_sandbox
from upskill.workflows.list_runs import list_runs, trials_of


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
    skill = storage.read_skill(skill_folder)
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
        notes=(*notes, *_doubt_notes(found.cases), *family_notes(found.cases)),
    )


def find_cases(skill_folder: Path, case_file: Path | None, *, judge: bool) -> storage.CaseFile | None:
    """The cases of a file, or those of a skill; `None` where it has none. `judge`: whether there is one to ask."""
    problems = partial(checks.check_problems, judge=judge)
    if case_file is not None:
        return storage.read_case_file(case_file, check_problems=problems)
    return storage.read_skill_cases(skill_folder, check_problems=problems)


def is_own_case_file(skill: Path, path: Path) -> bool:
    """Whether these are the cases that travel with a skill, not those of a file that was named."""
    folder = skill.parent if skill.name == SKILL_FILE else skill
    return path.resolve() in [(folder / part).resolve() for part in CASE_FILES]


def changed_cases(before: Path, cases: Sequence[Case], *, accepted: bool) -> tuple[tuple[Case, ...], CaseChanges]:
    """The cases to measure, and how they differ from those in the folder of the older version.

    Unless a person accepts the difference, the older version's cases alone are measured, as they were there: a change
    that could bend or dilute the cases by which it is judged would always pass. Where it had none, the new ones are.
    """
    try:
        found = find_cases(before, None, judge=True)
    except UpskillError:
        if not accepted:
            raise
        found = None
    old = () if found is None else found.cases
    changes = case_changes(old, cases, accepted=accepted)
    return tuple(cases) if accepted or not old else tuple(old), changes


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
    for listed in list_runs(runs_dir):
        record = listed.record
        if record is None or "baseline" not in record.arms:
            continue
        mine = {case.id for case in record.cases if known.get(case.id) == case.digest}
        if not mine:
            continue
        for trial in trials_of(listed.folder):
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


def slow_cases_note(cases: Iterable[Case]) -> str | None:
    """A note that checking these cases takes long: a check that runs a program is run some dozens of times."""
    slow = sum("sandbox" in checks.needs(case) for case in cases)
    if not slow:
        return None
    return f"checking {count(slow, 'case')} with checks that run programs..."


def qualify_within(
    cases: Sequence[Case], skill: Skill, *, backend: Backend | None, progress: Progress = SILENT
) -> tuple[Qualification, ...]:
    """Qualify cases. Without a sandbox that confines, no check runs a program."""
    context = GradingContext()
    if backend is not None and backend != "none":
        context = GradingContext(open_sandbox=partial(open_sandbox, backend=backend))
    return qualify(cases, skill, context=context, progress=progress)


def has_cases(folder: Path) -> bool:
    """Whether a skill has cases. Raises where they cannot be read."""
    return storage.read_skill_cases(folder, check_problems=lambda _: []) is not None
