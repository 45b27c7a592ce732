"""Prepares an evaluation: everything is checked before a run folder exists or a call is made."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from upskill import checks, measuring, storage, trials
from upskill.domain import Arm, Case, Files, Qualification, Skill, Student, TrialPlan, estimate_tokens, harness_info
from upskill.domain.family import family_notes
from upskill.domain.harness import Ceiling
from upskill.domain.harness import choose_harness as harness_for
from upskill.domain.other_skills import Among, OtherSkills
from upskill.domain.progress import SILENT, Progress
from upskill.domain.skill_changes import NO_CASE_CHANGES, CaseChanges
from upskill.domain.text import count
from upskill.errors import UsageError, WindowExceeded
from upskill.models import Endpoint, ServedModel
from upskill.models.endpoint import untyped_lines
from upskill.models.preflight import SERVERS, Servers, missing_keys
from upskill.sandbox import Backend, SandboxFacts, require_sandbox
from upskill.settings import Settings
from upskill.storage.skill_meta import cases_written_for
from upskill.workflows.doctor_agent import require_fit_agent
from upskill.workflows.evaluating.check_cases import changed_cases, find_cases, is_own_case_file
from upskill.workflows.evaluating.estimate import PlanEstimate, estimate_plan, seconds_per_call
from upskill.workflows.evaluating.judge import judge_for, needed_judge
from upskill.workflows.evaluating.other_skills import find_others, require_offered_by
from upskill.workflows.evaluating.select_cases import (
    AdmittedCases,
    CountedCases,
    admit,
    cases_that_count,
    without_copies,
)
from upskill.workflows.evaluating.skill_dangers import danger_notes
from upskill.workflows.models import student_endpoint

MOST_ESTIMATE_ERROR = 0.67
"""An estimate of tokens may be off by a third: only what cannot fit even then is refused."""
TRIGGER_TURNS = 3
"""Turns of a model of which only is asked whether it loads the skill: who works on without it for so long does not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationOrder:
    """What a person asks an evaluation for."""

    skill: Path
    case_file: Path | None = None
    repeats: int | None = None
    """Repeats per case of a fixed design; `None` for the sequential design."""
    turn_cap: int | None = None
    """The most turns of the sequential design; `None` for as many as suit the number of cases."""
    baseline: bool = True
    min_lift: float | None = None
    """Go on until the interval clears this lift, or is wholly below it."""
    previous: Path | None = None
    """An older version of the skill to measure against, instead of no skill."""
    previous_revision: str | None = None
    """Where that is a version in git: `git:REF` as it was typed; once it lies in `previous`, `git:` and the commit."""
    ceiling: Ceiling | None = None
    """Run the ceiling arm too, without a skill and with the passage of each case: beside the others, where it decides
    nothing; or `alone` with the baseline, on the cases that name a passage, and then nothing of the skill is shown."""
    baseline_only: bool = False
    """For a part of a longer run: run the baseline alone, so that nothing is compared."""
    only: frozenset[str] | None = None
    """For a run that is resumed: the ids of the cases it began with."""
    known_states: tuple[Qualification, ...] = ()
    """For a run that is resumed: the recorded states of its cases, so that they are not checked again."""
    every_case: bool = False
    """Whether cases count whatever their use; otherwise held-out ones, where there are any, and never negative ones."""
    harness_version: str | None = None
    """For a part of a longer run: the harness version that the run was begun with; `None` for that of today."""
    level: float | None = None
    """For a part of a longer run: the one-sided level at which it is tested; `None` for that of a first look."""
    fresh: bool = False
    """Ask again even where nothing has changed since it was answered."""
    sandbox: Backend = "bubblewrap"
    """What confines executed programs. `none` is never read from a file: a person typed it."""
    prompts: tuple[Case, ...] = ()
    """For `upskill trigger`: prompts without checks, instead of cases. An answer ends when the skill is loaded."""
    among: Among = field(default_factory=Among)
    """The skills that lie beside the measured one, in every arm."""
    agent_bin: Path | None = None
    """The coding agent that the harness runs, where it is not the one on the search path. Never read from a file."""
    accept_findings: bool = False
    """Run a skill with dangers even where nothing confines programs. Never read from a file: a person typed it."""
    accept_changed_cases: bool = False
    """Measure the cases as they are now, although the older version in git has others. Never read from a file."""
    searched: bool = False
    """For a part of a longer run that searches its drafts itself: dangers are neither noted nor refused here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedEvaluation:
    """An evaluation that was checked and planned, with everything it needs."""

    order: EvaluationOrder
    skill: Skill
    previous: Skill | None
    case_file: Path
    plan: TrialPlan
    endpoints: dict[str, Endpoint]
    served: dict[str, ServedModel]
    estimate: PlanEstimate
    notes: tuple[str, ...]
    trial_limits: trials.TrialLimits = field(default_factory=trials.TrialLimits)
    """Limits of students with tools."""
    contents: Mapping[str, Files] = field(default_factory=dict)
    """For students with tools, the files of each skill by its digest, other skills included."""
    others: OtherSkills | None = None
    """The skills beside the measured one; `None` where none was asked for."""
    qualifications: tuple[Qualification, ...] = ()
    """What is known of every case of the file; the rejected ones are not in the plan."""
    rejected: tuple[Case, ...] = ()
    """Cases of the file that cannot tell right from wrong, and are not in the plan."""
    sandbox: SandboxFacts | None = None
    """What confines executed programs; `None` where nothing is executed."""
    judge: Endpoint | None = None
    """The model that judges; `None` where no case asks for one."""
    case_changes: CaseChanges = NO_CASE_CHANGES
    """How the cases differ from those of the older version in git."""
    untyped: tuple[str, ...] = ()
    """The notes that were announced: servers and aliases that were not typed, and who names them."""

    @property
    def missing_keys(self) -> tuple[str, ...]:
        """Variables that must hold a key before this can be run."""
        return missing_keys(self.served.values())

    @property
    def lines(self) -> tuple[str, ...]:
        """What it takes, for a person: calls, price and time, then the detectable lift."""
        return self.estimate.words, self.estimate.detectable

    @property
    def note_lines(self) -> tuple[str, ...]:
        """What a person may want to know before it runs; most of it is said with the result too."""
        notes = (*(note for note in self.notes if note not in self.untyped), *_few_cases_hint(self.order, self.plan))
        return tuple(f"note: {note}" for note in notes)


def prepare(
    order: EvaluationOrder,
    settings: Settings,
    *,
    progress: Progress = SILENT,
    announce: Callable[[str], None] = lambda _: None,
    needs_keys: bool = True,
    servers: Servers = SERVERS,
) -> PreparedEvaluation:
    """Read, resolve, probe and plan. Raises, with what to do, if no call could succeed.

    `announce` gets a line for every server and alias that was not typed, before anything is sent. Without `needs_keys`
    a missing key is a note: the plan is shown and not run. `servers` are asked what they say of themselves.
    """
    skill = storage.read_skill(order.skill)
    case_file, case_changes = _case_file(order, skill, judge=settings.judge is not None)
    names = students_named(settings)
    _check_order(order)
    counted = _counted(order, skill, case_file.cases)
    _ceiling_cases(order, counted.cases, case_file.path)
    harness = choose_harness(settings.harness, counted.cases, loads=bool(order.among))
    require_offered_by(harness, order.among)
    sandbox = require_sandbox_for(counted.cases, harness=harness, backend=order.sandbox, where=str(case_file.path))
    backend = None if sandbox is None else sandbox.backend
    previous = _previous(order, skill)
    dangers = _dangers(order, unconfined=backend == "none" and harness_info(harness).with_tools)
    others = find_others(order.among, measured=[skill] if previous is None else [skill, previous])
    setup = trials.AgentSetup(others=others.skills, bundled=order.among.bundled)
    limits = _trial_limits(settings, order, setup)
    trial_limits = trials.agent_limits(limits, harness, agent_bin=order.agent_bin)
    unknown_version = require_fit_agent(harness, trial_limits.setup.program, run=needs_keys, progress=progress)
    endpoints = {name: student_endpoint(name, settings) for name in names}
    untyped = _untyped(endpoints, needed_judge(settings, endpoints, counted.cases))
    for line in untyped:
        announce(line)
    served = {name: servers.probe(endpoint, needs_key=needs_keys) for name, endpoint in endpoints.items()}
    judge, judge_notes = judge_for(settings, endpoints, counted.cases, needs_key=needs_keys, servers=servers)
    # Last, because it can take a minute where checks run programs: a wrong name is reported at once.
    admitted = _admitted(order, skill, counted.cases, backend=backend, progress=progress)
    planned = _ceiling_cases(order, admitted.cases, case_file.path)
    plan = _plan(order, settings, planned.cases, endpoints.values(), harness=harness)
    requests = trials.Requests(skill, previous=previous, harness=harness, trial_limits=trial_limits)
    unread: list[str] = []
    for name, endpoint in endpoints.items():
        counting = _Counting(endpoint, served[name], servers)
        _require_window(counting, skill, requests, plan, own=_own_tokens(requests, trial_limits))
        unread += _passage_notes(counting, requests, plan)
    return PreparedEvaluation(
        order=order,
        skill=skill,
        previous=previous,
        case_file=case_file.path,
        plan=plan,
        endpoints=endpoints,
        served=served,
        estimate=estimate_plan(
            plan,
            requests,
            trial_limits=trial_limits,
            judge=judge,
            pace=seconds_per_call(plan, Path(settings.runs_dir)),
            most_minutes=settings.max_time_minutes,
        ),
        notes=(
            *unconfined_notes(backend),
            *dangers,
            *_commit_notes(order),
            *_case_notes(case_changes),
            *unknown_version,
            *untyped,
            *counted.notes,
            *admitted.notes,
            *planned.notes,
            *unread,
            *(() if order.every_case else family_notes(admitted.cases)),
            *skill.notes,
            *others.notes,
            *_unseen_notes(skill, harness),
            *(note for one in served.values() for note in one.notes),
            *judge_notes,
        ),
        trial_limits=trial_limits,
        contents={**others.contents, **_contents(order, skill, previous)} if harness_info(harness).with_tools else {},
        others=others.record,
        qualifications=admitted.qualifications,
        rejected=tuple(case for case in counted.cases if case not in admitted.cases),
        sandbox=sandbox,
        judge=judge,
        case_changes=case_changes,
        untyped=untyped,
    )


def _untyped(students: Mapping[str, Endpoint], judge: Endpoint | None) -> tuple[str, ...]:
    judges = [] if judge is None or judge.name in students else [judge]
    return (*untyped_lines("models are", students.values()), *untyped_lines("the judge is", judges))


def _admitted(
    order: EvaluationOrder, skill: Skill, cases: Sequence[Case], *, backend: Backend | None, progress: Progress
) -> AdmittedCases:
    if order.prompts:
        return AdmittedCases(cases=tuple(cases), qualifications=(), notes=())
    return admit(cases, skill, backend=backend, only=order.only, known=order.known_states, progress=progress)


def _counted(order: EvaluationOrder, skill: Skill, cases: Sequence[Case]) -> CountedCases:
    if order.prompts:
        return CountedCases(cases=order.prompts)
    # Cases that were written for this version of the skill came after it: it holds nothing that was learned from them.
    # A version that is compared with one in git does not say so of itself.
    judged = order.previous_revision is not None and not order.accept_changed_cases
    learned = order.case_file is not None or judged or cases_written_for(order.skill) != skill.digest
    counted = cases_that_count(cases, every_case=order.every_case, only=order.only, learned=learned)
    if order.only is not None:
        return counted
    once = without_copies(counted.cases)
    return replace(once, notes=(*counted.notes, *once.notes))


def _ceiling_cases(order: EvaluationOrder, cases: tuple[Case, ...], path: Path) -> CountedCases:
    """The cases that are run: where the ceiling is measured alone, those with a passage. Raises where none has one."""
    if order.ceiling is None:
        return CountedCases(cases=cases)
    named = tuple(case for case in cases if case.passage is not None)
    if not named:
        raise UsageError(
            f"{path}: no case names a passage, so --ceiling has nothing to measure",
            hint='add a "passage" to cases: the part of the material with the answer; see docs/how-to/write-cases.md',
        )
    missing = len(cases) - len(named)
    without = f"{missing} of {len(cases)} cases have no passage; the ceiling is measured on the other {len(named)}"
    notes = (without,) if missing else ()
    return CountedCases(cases=named if order.ceiling == "alone" else cases, notes=notes)


def _previous(order: EvaluationOrder, skill: Skill) -> Skill | None:
    previous = None if order.previous is None else storage.read_skill(order.previous)
    if previous is not None and previous.digest == skill.digest:
        raise UsageError(f"{order.previous}: is the same as {order.skill}, so there is nothing to compare")
    return previous


def _dangers(order: EvaluationOrder, *, unconfined: bool) -> tuple[str, ...]:
    if order.searched:
        return ()
    return danger_notes(order.skill, previous=order.previous, refuse=unconfined and not order.accept_findings)


def _contents(order: EvaluationOrder, skill: Skill, previous: Skill | None) -> dict[str, Files]:
    """The files of each skill, by its digest."""
    contents = {skill.digest: storage.read_contents(order.skill, skill)}
    if previous is not None and order.previous is not None:
        contents[previous.digest] = storage.read_contents(order.previous, previous)
    return contents


def students_named(settings: Settings) -> tuple[str, ...]:
    """The students that are measured. Raises if none is named."""
    names = tuple(dict.fromkeys(settings.models))
    if not names:
        raise UsageError(
            "no model was named",
            hint="add -m NAME, for example -m haiku, or -m local --base-url http://localhost:8080/v1",
        )
    return names


def choose_harness(wanted: str, cases: Iterable[Case], *, loads: bool = False) -> str:
    """The harness that was asked for; with `auto`, students get tools where a case has files or a check needs some, or
    where they must be able to load skills (`loads`)."""
    asks = {"files", "sandbox", "trajectory"}
    return harness_for(wanted, tools=loads or any(case.files or checks.needs(case) & asks for case in cases))


def require_sandbox_for(cases: Sequence[Case], *, harness: str, backend: Backend, where: str) -> SandboxFacts | None:
    """What confines what these cases execute; `None` where they execute nothing. Raises if they cannot be run."""
    if problems := [problem for case in cases for problem in checks.case_problems(case)]:
        raise UsageError(f"{where}: the checks do not match their cases", problems=problems)
    info = harness_info(harness)
    if not info.with_tools and (of_the_way := [case for case in cases if "trajectory" in checks.needs(case)]):
        shown = ", ".join(case.id for case in of_the_way[:5]) + (" …" if len(of_the_way) > 5 else "")
        raise UsageError(
            f"{where}: checks of what the model did need a harness with tools, and {harness} has none: {shown}",
            hint=f"remove --harness {harness}, or remove the `tools`, `commands`, `files_read` and `turns` checks",
        )
    if info.program and backend == "docker":
        raise UsageError(
            f"the harness {harness} runs with bubblewrap only: a container has another system than your agent",
            hint="remove --sandbox docker, or use --harness agent",
        )
    # Whether anything that a model wrote is run, by a student or by a check.
    executes = info.with_tools or any("sandbox" in checks.needs(case) for case in cases)
    return require_sandbox(backend) if executes else None


def _trial_limits(settings: Settings, order: EvaluationOrder, setup: trials.AgentSetup) -> trials.TrialLimits:
    return trials.TrialLimits(
        turns=min(settings.max_turns, TRIGGER_TURNS) if order.prompts else settings.max_turns,
        # The list of other skills is sent with every turn, and is not the model's to save.
        tokens=settings.max_trial_tokens + settings.max_turns * setup.listing_tokens,
        seconds=max(1, round(settings.max_trial_minutes * 60)),
        command_seconds=settings.command_seconds,
        confined=order.sandbox != "none",
        stop_at_load=bool(order.prompts),
        setup=setup,
    )


def _check_order(order: EvaluationOrder) -> None:
    if order.repeats is not None and order.repeats < 1:
        raise UsageError(f"--runs must be at least 1, or auto, not {order.repeats}")
    if order.min_lift is not None and not -1 <= order.min_lift <= 1:
        raise UsageError(f"--min-lift must be between -1 and 1, not {order.min_lift:g}", hint="write 10 points as 0.1")
    if order.min_lift is not None and not order.baseline and order.previous is None:
        raise UsageError("--min-lift needs answers without the skill", hint="remove --no-baseline")
    if order.ceiling is not None and (not order.baseline or order.previous is not None):
        raise UsageError("--ceiling needs answers without the skill", hint="remove --no-baseline and --compare")


def _plan(
    order: EvaluationOrder,
    settings: Settings,
    cases: tuple[Case, ...],
    endpoints: Iterable[Endpoint],
    *,
    harness: str,
) -> TrialPlan:
    """A number of repeats is a fixed design; without a baseline there is nothing to decide, so one repeat will do."""
    arms: tuple[Arm, ...] = ("baseline",)
    if not order.baseline_only:
        arms = harness_info(harness).planned_arms(
            baseline=order.baseline, previous=order.previous is not None, ceiling=order.ceiling
        )
    sequential = order.repeats is None and len(arms) > 1
    cap = order.turn_cap or measuring.default_cap(len(cases))
    return TrialPlan(
        cases=cases,
        students=tuple(student_of(endpoint, settings) for endpoint in endpoints),
        arms=arms,
        repeats=-(-cap // len(cases)) if sequential else order.repeats or 1,
        turn_cap=cap if sequential and cap % len(cases) else None,
        seed=settings.seed,
        harness=harness,
        harness_version=order.harness_version,
        design="sequential" if sequential else "fixed",
    )


def cases_of(order: EvaluationOrder, *, judge: bool) -> tuple[storage.CaseFile | None, CaseChanges]:
    """The cases that are measured, `None` where there are none, and how they differ from those of the older version."""
    found = find_cases(order.skill, order.case_file, judge=judge)
    if found is None or order.previous is None or order.previous_revision is None:
        return found, NO_CASE_CHANGES
    if not is_own_case_file(order.skill, found.path):
        return found, NO_CASE_CHANGES
    cases, changes = changed_cases(order.previous, found.cases, accepted=order.accept_changed_cases)
    return replace(found, cases=cases), changes


def _case_file(order: EvaluationOrder, skill: Skill, *, judge: bool) -> tuple[storage.CaseFile, CaseChanges]:
    if order.prompts:
        return storage.CaseFile(path=order.case_file or order.skill, cases=order.prompts), NO_CASE_CHANGES
    found, changes = cases_of(order, judge=judge)
    if found is None:
        raise UsageError(
            f"{skill.name}: there are no cases",
            hint=f"let a teacher write them with `upskill cases write {order.skill}`, name a case file with -t FILE, "
            "or add cases to skill_meta.json; see docs/how-to/write-cases.md",
        )
    return found, changes


def student_of(endpoint: Endpoint, settings: Settings) -> Student:
    """A student as it is measured: the model, where it is served, and how it is asked."""
    return Student(
        name=endpoint.name,
        model=endpoint.model,
        endpoint=endpoint.base_url,
        temperature=settings.temperature,
        max_output_tokens=settings.max_output_tokens,
        price=endpoint.price,
    )


def _own_tokens(requests: trials.Requests, trial_limits: trials.TrialLimits) -> int:
    """What a coding agent says in its first request besides the case, estimated; 0 where we say all that is said."""
    once = replace(trial_limits, turns=1)
    return requests.harness.expected(1, prompt_tokens=0, answer_tokens=0, trial_limits=once).input_tokens


@dataclass(frozen=True, slots=True)
class _Counting:
    """How long a request to a student may be, and who counts its tokens."""

    endpoint: Endpoint
    served: ServedModel
    servers: Servers

    @property
    def window(self) -> int | None:
        return self.served.window or self.endpoint.window


def _require_window(counting: _Counting, skill: Skill, requests: trials.Requests, plan: TrialPlan, *, own: int) -> None:
    """Raise where the skill and the longest case do not fit into the context window of a student."""
    endpoint, window = counting.endpoint, counting.window
    if window is None:
        return
    given = next(arm for arm in reversed(plan.arms) if arm != "ceiling")
    needed, said = _longest(counting, requests, given, plan.cases)
    if (most := needed + int(own * MOST_ESTIMATE_ERROR)) > window >= needed:
        raise WindowExceeded(
            f"{endpoint.name}: the harness {plan.harness} does not fit: its first request has ~{most:,} tokens, "
            f"~{most - needed:,} of them its own, and the model's window is {window:,}",
            hint="serve the model with a larger context, or choose another harness",
        )
    if needed > window and given == "baseline":
        raise WindowExceeded(
            f"{endpoint.name}: the longest case does not fit: it has {said}, and the model's window is {window:,}",
            hint="shorten the case, or serve the model with a larger context",
        )
    if needed > window:
        raise WindowExceeded(
            f"{endpoint.name}: {skill.name} does not fit: the skill and the longest case have {said}, "
            f"and the model's window is {window:,}",
            hint="shorten the skill, or serve the model with a larger context",
        )


def _passage_notes(counting: _Counting, requests: trials.Requests, plan: TrialPlan) -> tuple[str, ...]:
    """A note where a case with its passage does not fit into the context window of a student: it fails there."""
    window = counting.window
    if window is None or "ceiling" not in plan.arms:
        return ()
    needed, said = _longest(counting, requests, "ceiling", [case for case in plan.cases if case.passage is not None])
    if needed <= window:
        return ()
    return (
        f"{counting.endpoint.name}: the longest case with its passage has {said}, and the model's window is "
        f"{window:,}; cases that do not fit fail, so the ceiling is too low; shorten the passage",
    )


def _longest(counting: _Counting, requests: trials.Requests, arm: Arm, cases: Iterable[Case]) -> tuple[int, str]:
    """The tokens of the longest request of an arm, and the same in words; an estimate is the least that it can be."""
    shown = (requests.render(case, arm) for case in cases)
    text = max((f"{request.system}\n{request.prompt}" for request in shown), key=len)
    tokens = counting.servers.count_tokens(counting.endpoint, text)
    needed = tokens if tokens is not None else int(estimate_tokens(text) * MOST_ESTIMATE_ERROR)
    return needed, f"{'' if tokens is not None else '~'}{needed:,} tokens"


def unconfined_notes(backend: Backend | None) -> tuple[str, ...]:
    """What every report of a run says where nothing was confined, or by what was never tried for real."""
    if backend == "docker":
        return ("programs ran in containers of docker, which upskill was tested with on a stand-in only",)
    if backend != "none":
        return ()
    return ("NOTHING WAS CONFINED: programs that models wrote ran on this machine with your rights (--sandbox none)",)


def _commit_notes(order: EvaluationOrder) -> tuple[str, ...]:
    """Which version is the old one, where a branch or `HEAD~1` was typed that will name another one soon."""
    if order.previous is None or order.previous_revision is None:
        return ()
    return (f"the old version is commit {order.previous_revision.partition(':')[2][:12]}",)


def _case_notes(changes: CaseChanges) -> tuple[str, ...]:
    measured = "" if changes.accepted else "; measured are those that it has, unless --accept-changed-cases is given"
    return (f"cases differ from the older version: {changes.words}{measured}",) if changes.words else ()


def _few_cases_hint(order: EvaluationOrder, plan: TrialPlan) -> tuple[str, ...]:
    """Advice for who chose the cases, while nothing is spent; the parts of a `generate` have those that they have."""
    if order.every_case or plan.against is None:
        return ()
    hint = measuring.more_cases_hint(cases=len(plan.cases), families=plan.units)
    return () if hint is None else (hint,)


def _unseen_notes(skill: Skill, harness: str) -> tuple[str, ...]:
    unseen = skill.other_files
    if not unseen or harness_info(harness).with_tools:
        return ()
    shown = ", ".join(file.path for file in unseen[:3]) + (" …" if len(unseen) > 3 else "")
    return (
        f"with the harness {harness}, models see only SKILL.md, not the {count(len(unseen), 'other file')}: {shown}",
    )
