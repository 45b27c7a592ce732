"""Grade stored answers again, with the checks as they are now. No model is called and the run is not changed."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from upskill.core import checks
from upskill.core.cases.files import read_case_file
from upskill.core.nouns import (
    Arm,
    Case,
    Errored,
    Evaluation,
    Qualification,
    Scored,
    Skill,
    Trial,
    harness_info,
)
from upskill.core.nouns.text import count
from upskill.core.progress import SILENT, Progress
from upskill.core.runs.own_runs import is_inside, is_own_run, not_own
from upskill.core.runs.records import CaseReference, RunRecord, read_run
from upskill.core.runs.run_folders import RunFolder
from upskill.core.runs.trial_log import collector_paused, emptied
from upskill.core.skills.skills import read_skill
from upskill.core.statistics import FIRST_LOOK
from upskill.core.trials.judge import (
    grade_without_asking,
    grading_context,
    judge_report,
    own_judge_note,
    own_judges,
)
from upskill.errors import UsageError
from upskill.evaluation.cases import qualify_within
from upskill.evaluation.prepare import unconfined_notes
from upskill.evaluation.replay import (
    changed_families,
    conclude_again,
    planned_only,
    recorded_plan,
)
from upskill.evaluation.resume import recorded_backend
from upskill.sandbox import Backend, require_sandbox


def regrade(
    run: Path,
    *,
    case_file: Path | None = None,
    sandbox: Backend = "bubblewrap",
    progress: Progress = SILENT,
    graded: Callable[[Trial], None] | None = None,
) -> Evaluation:
    """Apply changed checks to every answer of a run. Cases that the run did not have cannot be graded.

    `graded` is handed every trial with its new grade and its answer. `sandbox` is what was typed: a record that asks
    for less confinement, or for cases that lie elsewhere, is refused unless the run is one's own.
    """
    record = read_run(run)
    own = is_own_run(run)
    source = case_file or run / record.case_source
    if case_file is None and not own and not is_inside(run, source):
        raise not_own(run, ["its cases are outside the working folder, and were not typed (--tests)"])
    check_problems = partial(checks.check_problems, judge=record.judge is not None)
    cases = read_case_file(source, check_problems=check_problems).cases
    skill, skill_notes = _recorded_skill(run, record)
    known = _match(record.cases, cases, source)
    graded_cases = tuple(known.values())
    plan = recorded_plan(record, graded_cases)
    recorded = recorded_backend(record)
    executes = any("sandbox" in checks.needs(case) for case in plan.cases)
    if executes and recorded == "none" and sandbox != "none":
        if not own:
            raise not_own(run, ["it ran programs of models unconfined, on this machine with your rights (--sandbox)"])
        sandbox = "none"
    confined = require_sandbox(sandbox) if executes else None
    backend = sandbox if executes else recorded
    with collector_paused(), TemporaryDirectory() as scratch:
        context = grading_context(confined, Path(scratch))
        regraded, flipped, unknown = _grade_again(
            _reported(planned_only(RunFolder(path=run).trials.read(), record), progress),
            known,
            context,
            judge=record.judge,
            graded=graded,
        )
    states = _states(plan.cases, skill, record, backend=confined.backend if confined else None)
    digests = {reference.id: reference.digest for reference in record.cases}
    rewritten = sum(case.digest != digests[name] for name, case in known.items())
    looks = {
        student.name: replace(record.looks.get(student.name, FIRST_LOOK), regraded=rewritten)
        for student in record.students
    }
    found = conclude_again(run, record, plan, regraded, skill=skill, looks=looks, case_states=states)
    return replace(
        found,
        bought=replace(found.bought, cost=0.0),
        notes=(
            f"regraded from stored answers, without a call: {sum(flipped.values())} of {len(regraded)} grades changed"
            + _by_arm(flipped, record.harness),
            *_rewritten_notes(rewritten),
            *_unknown_notes(unknown),
            *skill_notes,
            *changed_families(graded_cases, record),
            *map(own_judge_note, own_judges(record.judge, plan.students)),
            *unconfined_notes(backend),
            *found.notes,
        ),
        end=replace(found.end, interrupted=False),
        sandbox=backend,
        judge=judge_report(record.judge, regraded, None),
    )


def _rewritten_notes(rewritten: int) -> tuple[str, ...]:
    if not rewritten:
        return ()
    cases = count(rewritten, "case")
    return (f"{cases} changed after the answers were seen, so nothing is claimed: `upskill eval --fresh` asks anew",)


def _by_arm(flipped: Counter[tuple[Arm, bool]], harness: str) -> str:
    """How many grades changed in each arm, and which way."""
    info = harness_info(harness)
    parts = [
        f"{info.arm_name(arm)} {number} {'now pass' if passes else 'now fail'}"
        for (arm, passes), number in sorted(flipped.items())
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _match(asked: Sequence[CaseReference], cases: Sequence[Case], source: Path) -> dict[str, Case]:
    """The cases of the run, by the ids that they have there, with the checks of today.

    Cases are matched by their id. A case without one is named by its content, and changed checks change that name: such
    a case is matched by its prompt and its files.
    """
    by_id = {case.id: case for case in cases}
    by_prompt: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        if case.id not in {reference.id for reference in asked}:
            by_prompt[case.prompt_digest].append(case)
    found: dict[str, Case] = {}
    for reference in asked:
        if reference.id in by_id:
            found[reference.id] = by_id[reference.id]
        elif same := by_prompt[reference.prompt_digest]:
            found[reference.id] = replace(same.pop(0), id=reference.id)
    if missing := [reference.id for reference in asked if reference.id not in found]:
        raise UsageError(
            f"{source}: has no case {', '.join(missing[:5])}{' …' if len(missing) > 5 else ''}",
            hint="cases are matched by id, or by prompt and files if they have none; the run has "
            + ", ".join(reference.id for reference in asked[:5]),
        )
    return found


def _reported(trials: Iterable[Trial], progress: Progress) -> Iterator[Trial]:
    for number, trial in enumerate(trials):
        progress.step("answers regraded", number, None)
        yield trial


def _states(
    cases: tuple[Case, ...], skill: Skill, record: RunRecord, *, backend: Backend | None
) -> tuple[Qualification, ...]:
    """The recorded states of the cases, or new ones where the skill or the cases have changed."""
    unchanged = [case.digest for case in cases] == [case.digest for case in record.cases]
    if record.case_states and unchanged and skill.digest == record.skill_digest:
        return record.case_states
    return qualify_within(cases, skill, backend=backend)


def _recorded_skill(run: Path, record: RunRecord) -> tuple[Skill, tuple[str, ...]]:
    """The skill as it is now, and a note where it is not the one that was measured. One that lies elsewhere is not
    read: only its name is needed."""
    if not is_inside(run, run / record.skill_source):
        known = Skill(name=record.skill_name, description="", body="", digest=record.skill_digest)
        return known, ("the skill is outside the working folder and was not read",)
    skill = read_skill(run / record.skill_source)
    if skill.digest == record.skill_digest:
        return skill, ()
    return skill, ("the skill has changed since this run; the answers are from the old version",)


def _grade_again(
    trials: Iterable[Trial],
    cases: dict[str, Case],
    context: checks.GradingContext,
    *,
    judge: str | None,
    graded: Callable[[Trial], None] | None,
) -> tuple[list[Trial], Counter[tuple[Arm, bool]], int]:
    """Every scored trial with its new grade, without its answer, how many grades differ in each arm, by whether they
    pass now, and how many are unknown.

    A judgement is taken from the run while the judge check and the answer are as they were. Another one would have to
    be bought, and nothing is bought here. An answer that lacks what a check asks for, because it was
    not recorded, is errored.
    """
    regraded, unknown = [], 0
    flipped: Counter[tuple[Arm, bool]] = Counter()
    unjudged: set[str] = set()
    for trial in trials:
        outcome = trial.outcome
        if isinstance(outcome, Scored):
            try:
                grade = grade_without_asking(cases[trial.case_id], trial, context, judge=judge)
            except checks.NotRecorded as error:
                unknown += 1
                trial = replace(trial, outcome=Errored(fault="check", message=str(error)))
                grade = outcome.grade
            if grade is None:
                unjudged.add(trial.case_id)
                continue
            if grade != outcome.grade:
                anew = replace(outcome, grade=grade)
                flipped[trial.arm, anew.passed] += anew.passed != outcome.passed
                trial = replace(trial, outcome=anew)
        if graded is not None:
            graded(replace(trial))  # a copy: this one is emptied
        regraded.append(emptied(trial))
    if unjudged:
        shown = ", ".join(sorted(unjudged)[:5]) + (" …" if len(unjudged) > 5 else "")
        raise UsageError(
            f"{len(unjudged)} of {len(cases)} cases need a new judgement, and regrading calls no model: {shown}",
            hint="restore the `judge` checks, or measure again with `upskill eval … --judge MODEL`",
        )
    return regraded, +flipped, unknown


def _unknown_notes(unknown: int) -> tuple[str, ...]:
    if not unknown:
        return ()
    return (
        f"{count(unknown, 'answer')} cannot be graded: a check asks what the model did, and that was not recorded; "
        "`upskill eval` measures them again",
    )
