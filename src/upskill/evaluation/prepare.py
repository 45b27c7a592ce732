"""Prepares an evaluation: everything is checked before a run folder exists or a call is made."""

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from upskill.controls.findings import control_skills
from upskill.core import checks, statistics
from upskill.core.cases.family import family_notes
from upskill.core.cases.files import CaseFile
from upskill.core.cases.skill_meta import cases_written_for
from upskill.core.models import Endpoint
from upskill.core.models.endpoint import student_endpoint, untyped_lines
from upskill.core.models.preflight import SERVERS, Servers, fitted, missing_keys
from upskill.core.nouns import Arm, Case, Files, Qualification, Skill, Student, TrialPlan, estimate_tokens, harness_info
from upskill.core.nouns.case import NO_CASE_CHANGES, CaseChanges
from upskill.core.nouns.harness import Ceiling
from upskill.core.nouns.harness import choose_harness as harness_for
from upskill.core.nouns.text import BYTES_PER_TOKEN, count
from upskill.core.nouns.trial import BESIDE, CONTROLS
from upskill.core.progress import SILENT, Progress
from upskill.core.runs.records import RunRecord
from upskill.core.settings import Settings
from upskill.core.settings.trust import unread_above
from upskill.core.skills.skills import read_contents, read_skill
from upskill.core.trials.harness import Requests, agent_limits, load_agent
from upskill.core.trials.judge import judge_for, needed_judge
from upskill.core.trials.measure import Experiment
from upskill.core.trials.trial_run import AgentSetup, TrialLimits
from upskill.errors import UsageError, WindowExceeded
from upskill.evaluation.cases import (
    CountedCases,
    admit,
    cases_that_count,
    changed_cases,
    find_cases,
    half_of,
    is_own_case_file,
    practice_cases,
    typed_cases,
    without_copies,
    without_practised,
)
from upskill.evaluation.estimate import EXPECTED_ANSWER_TOKENS, PlanEstimate, estimate_plan, seconds_per_call
from upskill.evaluation.order import EvaluationOrder, danger_notes, find_others, require_offered_by
from upskill.sandbox import ENGINES, Backend, SandboxFacts, require_sandbox
from upskill.sandbox.contract import MemoryBy

MOST_ESTIMATE_ERROR = 0.67
"""An estimate of tokens may be off by a third: only what cannot fit even then is refused."""
TRIGGER_TURNS = 3
"""Turns of a model of which only is asked whether it loads the skill: who works on without it for so long does not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChosenCases:
    """Cases that a longer run chose by itself: all of them count, whatever their use."""

    cases: tuple[Case, ...]
    path: Path
    """Where they come from."""
    arms: tuple[Arm, ...] | None = None
    """The arms that are run; `None` for those of an evaluation."""
    loads_only: bool = False
    """Whether they are prompts without checks, and an answer ends when the skill is loaded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedEvaluation:
    """An evaluation that was checked and planned, with everything it needs."""

    order: EvaluationOrder
    settings: Settings
    """As the servers have room for them."""
    experiment: Experiment
    case_file: Path
    merged_cases: tuple[Case, ...]
    """All cases, where they are of several files; else none."""
    estimate: PlanEstimate
    notes: tuple[str, ...]
    qualifications: tuple[Qualification, ...] = ()
    """What is known of every case of the file; the rejected ones are not in the plan."""
    rejected: tuple[Case, ...] = ()
    """Cases of the file that cannot tell right from wrong, and are not in the plan."""
    case_changes: CaseChanges = NO_CASE_CHANGES
    """How the cases differ from those of the older version in git."""
    untyped: tuple[str, ...] = ()
    """The notes that were announced: servers and aliases that were not typed, and who names them."""
    advice: tuple[str, ...] = ()
    """What a person who chose the cases could do better, while nothing is spent."""

    @property
    def missing_keys(self) -> tuple[str, ...]:
        """Variables that must hold a key before this can be run."""
        return missing_keys(self.experiment.served.values())

    @property
    def lines(self) -> tuple[str, ...]:
        """What it takes, for a person: calls, price and time, then the detectable lift."""
        return self.estimate.words, self.estimate.detectable

    @property
    def note_lines(self) -> tuple[str, ...]:
        """What a person may want to know before it runs; most of it is said with the result too."""
        notes = (*(note for note in self.notes if note not in self.untyped), *self.advice)
        return tuple(f"note: {note}" for note in notes)


def prepare(
    order: EvaluationOrder,
    settings: Settings,
    *,
    chosen: ChosenCases | None = None,
    begun: RunRecord | None = None,
    known: tuple[Qualification, ...] = (),
    unchosen: Collection[str] = (),
    search: bool = True,
    progress: Progress = SILENT,
    announce: Callable[[str], None] = lambda _: None,
    needs_keys: bool = True,
    servers: Servers = SERVERS,
) -> PreparedEvaluation:
    """Read, resolve, probe and plan. Raises, with what to do, if no call could succeed.

    `chosen` are the cases of a longer run, in place of those of the skill. `begun` is the record of a run that is
    resumed: its cases stay, as they were looked at then. `known` is what is known of cases, which are looked at
    otherwise. Settings that are `unchosen` follow what the servers have room for. Without `search`, dangers are neither
    noted nor refused: somebody else searches the skill. `announce` gets a line for every server and alias that was not
    typed, before anything is sent, and for a server that is busy. Without `needs_keys` a missing key is a note: the
    plan is shown and not run. `servers` are asked what they say of themselves.
    """
    skill = read_skill(order.skill)
    if chosen is None and not skill.body.strip():
        where = f"{order.skill}: SKILL.md has nothing below its frontmatter"
        raise UsageError(f"{where}, so it teaches nothing", hint="write the instructions there; nothing was asked")
    if chosen is None:
        case_file, case_changes = cases_of(order, judge=settings.judge is not None)
    else:
        case_file, case_changes = CaseFile(path=chosen.path, cases=chosen.cases), NO_CASE_CHANGES
    if case_file is None:
        raise UsageError(
            f"{skill.name}: there are no cases",
            hint=f"let a teacher write them with `upskill cases write {order.skill}`, name a case file with -t FILE, "
            "or add cases to skill_meta.json; see docs/how-to/write-cases.md",
        )
    names = students_named(settings)
    only = None if begun is None else frozenset(case.id for case in begun.cases)
    loads_only = chosen is not None and chosen.loads_only
    if order.practice:
        counted = practice_cases(case_file.cases, typed=typed_cases(order.skill, order.case_file))
    elif chosen is None:
        # Cases that were written for this version of the skill came after it: it holds nothing that was learned from
        # them. A version that is compared with one in git does not say so of itself.
        judged = order.previous_revision is not None and not order.accept_changed_cases
        learned = order.case_file is not None or judged or cases_written_for(order.skill) != skill.digest
        counted = _counted(case_file.cases, learned=learned, only=only)
    elif loads_only or only is not None:
        counted = CountedCases(cases=chosen.cases)
    else:
        counted = without_copies(chosen.cases)
    _ceiling_cases(order.ceiling, counted.cases, case_file.path)
    harness = choose_harness(settings.harness, counted.cases, loads=bool(order.among))
    with_tools = harness_info(harness).with_tools
    require_offered_by(harness, order.among)
    if order.controls and with_tools:
        raise UsageError(
            f"--controls exchange the text of a skill, and with the harness {harness} a model also has its files",
            hint="add --harness chat, or remove --controls",
        )
    controls, control_notes = control_skills(skill) if order.controls else ({}, ())
    sandbox = require_sandbox_for(counted.cases, harness=harness, backend=order.sandbox, where=str(case_file.path))
    backend = None if sandbox is None else sandbox.backend
    previous = None if order.previous is None else read_skill(order.previous)
    if previous is not None and previous.digest == skill.digest:
        raise UsageError(f"{order.previous}: is the same as {order.skill}, so there is nothing to compare")
    dangers: tuple[str, ...] = ()
    if search:
        refuse = backend == "none" and with_tools and not order.accept_findings
        dangers = danger_notes(order.skill, previous=order.previous, refuse=refuse)
    others = find_others(order.among, measured=[skill] if previous is None else [skill, previous])
    setup = AgentSetup(others=others.skills, bundled=order.among.bundled)
    limits = _trial_limits(settings, setup, confined=order.sandbox != "none", loads_only=loads_only)
    trial_limits = agent_limits(limits, harness, agent_bin=order.agent_bin)
    unknown_version = _agent_notes(harness, trial_limits, backend=order.sandbox, run=needs_keys, progress=progress)
    endpoints = {name: student_endpoint(name, settings) for name in names}
    untyped = _untyped(endpoints, needed_judge(settings, endpoints, counted.cases))
    for line in untyped:
        announce(line)
    served = {
        name: servers.probe(endpoint, needs_key=needs_keys, announce=announce) for name, endpoint in endpoints.items()
    }
    settings, room = fitted(settings, served.values(), unchosen=unchosen)
    if room:
        announce(room)
    judge, judge_notes = judge_for(settings, endpoints, counted.cases, needs_key=needs_keys, servers=servers)
    # Last, because it can take a minute where checks run programs: a wrong name is reported at once.
    admitted = CountedCases(cases=counted.cases)
    if not loads_only:
        known = known if begun is None else begun.case_states
        admitted = admit(counted.cases, skill, backend=backend, only=only, known=known, progress=progress)
    planned = _ceiling_cases(order.ceiling, admitted.cases, case_file.path)
    if order.half is not None:
        planned = replace(planned, cases=half_of(planned.cases, order.half))
    arms = None if chosen is None else chosen.arms
    compared = harness_info(harness).planned_arms(
        baseline=order.baseline, previous=order.previous is not None, ceiling=order.ceiling, controls=order.controls
    )
    compared = tuple(arm for arm in compared if arm not in CONTROLS or arm in controls)
    plan = _plan(
        planned.cases,
        tuple(student_of(endpoint, settings) for endpoint in endpoints.values()),
        arms=arms or compared,
        repeats=order.repeats,
        gate=order.is_gate,
        seed=settings.seed,
        harness=harness,
    )
    contents: dict[str, Files] = {}
    if with_tools:
        contents = {**others.contents, skill.digest: read_contents(order.skill, skill)}
        if previous is not None and order.previous is not None:
            contents[previous.digest] = read_contents(order.previous, previous)
    experiment = Experiment(
        plan=plan,
        skill=skill,
        previous=previous,
        endpoints=endpoints,
        served=served,
        trial_limits=trial_limits,
        contents=contents,
        controls=controls,
        others=others.record,
        sandbox=sandbox,
        judge=judge,
    )
    unread = _require_windows(experiment, servers)
    advice: tuple[str, ...] = ()
    if chosen is None and plan.design == "fixed" and plan.repeats > 1 and plan.is_deterministic:
        advice = ("at temperature 0 answers repeat themselves: --runs 1 is enough, and more cases say more",)
    return PreparedEvaluation(
        order=order,
        settings=settings,
        experiment=experiment,
        case_file=case_file.path,
        merged_cases=case_file.cases if order.more_case_files else (),
        estimate=estimate_plan(
            plan,
            experiment.requests,
            trial_limits=trial_limits,
            judge=judge,
            pace=seconds_per_call(plan.students, harness, Path(settings.runs_dir)),
            most_minutes=settings.max_time_minutes,
        ),
        notes=(
            *unconfined_notes(backend, memory_by=None if sandbox is None else sandbox.memory_by),
            *dangers,
            *_commit_notes(order.previous_revision if order.previous is not None else None),
            *_case_notes(case_changes),
            *skill.notes,
            *unknown_version,
            *untyped,
            *counted.notes,
            *admitted.notes,
            *planned.notes,
            *control_notes,
            *unread,
            *(family_notes(admitted.cases) if chosen is None else ()),
            *others.notes,
            *_unseen_notes(skill, harness),
            *(note for one in served.values() for note in one.notes),
            *judge_notes,
        ),
        qualifications=admitted.qualifications,
        rejected=tuple(case for case in counted.cases if case not in admitted.cases),
        case_changes=case_changes,
        untyped=untyped,
        advice=advice,
    )


def _untyped(students: Mapping[str, Endpoint], judge: Endpoint | None) -> tuple[str, ...]:
    judges = [] if judge is None or judge.name in students else [judge]
    return (*untyped_lines("models are", students.values()), *untyped_lines("the judge is", judges))


def _counted(cases: Sequence[Case], *, learned: bool, only: frozenset[str] | None) -> CountedCases:
    counted = cases_that_count(cases, only=only, learned=learned)
    if only is not None:
        return counted
    once = without_copies(counted.cases)
    proving = without_practised(once.cases)
    return replace(proving, notes=(*counted.notes, *once.notes, *proving.notes))


def _ceiling_cases(ceiling: Ceiling | None, cases: tuple[Case, ...], path: Path) -> CountedCases:
    """The cases that are run: where the ceiling is measured alone, those with a passage. Raises where none has one."""
    if ceiling is None:
        return CountedCases(cases=cases)
    named = tuple(case for case in cases if case.passage is not None)
    if not named:
        raise UsageError(
            f"{path}: no case names a passage, so the ceiling has nothing to measure",
            hint='add a "passage" to cases: the part of the material with the answer; see docs/how-to/write-cases.md',
        )
    missing = len(cases) - len(named)
    without = f"{missing} of {len(cases)} cases have no passage; the ceiling is measured on the other {len(named)}"
    notes = (without,) if missing else ()
    return CountedCases(cases=named if ceiling == "alone" else cases, notes=notes)


def students_named(settings: Settings) -> tuple[str, ...]:
    """The students that are measured. Raises if none is named."""
    names = tuple(dict.fromkeys(settings.models))
    if not names:
        raise UsageError(
            "no model was named",
            hint=f"{unread_above(Path.cwd())}add -m NAME, for example -m haiku, "
            "or -m local --base-url http://localhost:8080/v1",
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
    if info.program and backend in ENGINES and sys.platform != "linux":
        raise UsageError(
            f"the harness {harness} runs on Linux only: your agent is no program of a container",
            hint="use --harness agent",
        )
    if info.program and (several := [case.id for case in cases if case.turns]):
        raise UsageError(
            f"{where}: cases with `turns` need a harness that puts one turn after the other, and {harness} takes one "
            f"prompt: {', '.join(several[:5])}{' …' if len(several) > 5 else ''}",
            hint="use --harness agent or --harness chat",
        )
    # Whether anything that a model wrote is run, by a student or by a check.
    executes = info.with_tools or any("sandbox" in checks.needs(case) for case in cases)
    return require_sandbox(backend) if executes else None


def _agent_notes(
    harness: str, trial_limits: TrialLimits, *, backend: Backend, run: bool, progress: Progress
) -> tuple[str, ...]:
    agent, program = load_agent(harness), trial_limits.setup.program
    if agent is None or program is None:
        return ()
    confined: Backend = "bubblewrap" if backend == "none" else backend
    return agent.require_fit(program, backend=confined, run=run, progress=progress)


def _trial_limits(settings: Settings, setup: AgentSetup, *, confined: bool, loads_only: bool) -> TrialLimits:
    return TrialLimits(
        turns=min(settings.max_turns, TRIGGER_TURNS) if loads_only else settings.max_turns,
        # The list of other skills is sent with every turn, and is not the model's to save.
        tokens=settings.max_trial_tokens + settings.max_turns * setup.listing_tokens,
        seconds=max(1, round(settings.max_trial_minutes * 60)),
        command_seconds=settings.command_seconds,
        confined=confined,
        stop_at_load=loads_only,
        text_calls=settings.text_calls,
        setup=setup,
    )


def _plan(
    cases: tuple[Case, ...],
    students: tuple[Student, ...],
    *,
    arms: tuple[Arm, ...],
    repeats: int | None,
    gate: bool,
    seed: int,
    harness: str,
) -> TrialPlan:
    """A number of repeats is a fixed design. At temperature 0, and where nothing is compared, one repeat is enough."""
    plan = TrialPlan(cases=cases, students=students, arms=arms, repeats=repeats or 1, seed=seed, harness=harness)
    if repeats is not None or plan.against is None:
        return plan
    if gate:
        return replace(plan, repeats=statistics.GATE_REPEATS, design="gate")
    if plan.is_deterministic:
        return plan
    return replace(plan, repeats=statistics.most_repeats(len(cases)), design="two looks")


def cases_of(order: EvaluationOrder, *, judge: bool) -> tuple[CaseFile | None, CaseChanges]:
    """The cases that are measured, `None` where there are none, and how they differ from those of the older version."""
    found = find_cases(order.skill, order.case_file, judge=judge, more=order.more_case_files)
    if found is None or order.previous is None or not is_own_case_file(order.skill, found.path):
        return found, NO_CASE_CHANGES
    if order.previous_revision is None and find_cases(order.previous, None, judge=True) is None:
        return found, NO_CASE_CHANGES  # a copy of the text alone: what else changed is not known
    cases, changes = changed_cases(order.previous, found.cases, accepted=order.accept_changed_cases)
    return replace(found, cases=cases), changes


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


def _own_tokens(requests: Requests, trial_limits: TrialLimits) -> int:
    """What a coding agent says in its first request besides the case, estimated; 0 where we say all that is said."""
    once = replace(trial_limits, turns=1)
    return requests.harness.expected(1, prompt_tokens=0, answer_tokens=0, trial_limits=once).input_tokens


def _require_windows(experiment: Experiment, servers: Servers) -> tuple[str, ...]:
    """Raise where the skill and the longest case do not fit into the window of a student; note what else does not."""
    plan, requests, notes = experiment.plan, experiment.requests, list[str]()
    given = next(arm for arm in reversed(plan.arms) if arm not in BESIDE)
    own = _own_tokens(requests, experiment.trial_limits)
    for name, endpoint in experiment.endpoints.items():
        window = experiment.served[name].window or endpoint.window
        if window is None:
            continue
        answer = min(EXPECTED_ANSWER_TOKENS, experiment.plan.students[0].max_output_tokens or EXPECTED_ANSWER_TOKENS)
        longest = partial(_longest, requests, answer=answer, endpoint=endpoint, servers=servers)
        needed, said = longest(given, plan.cases)
        if (most := needed + int(own * MOST_ESTIMATE_ERROR)) > window >= needed:
            raise WindowExceeded(
                f"{name}: the harness {plan.harness} does not fit: its first request has ~{most:,} tokens, "
                f"~{most - needed:,} of them its own, and the model's window is {window:,}",
                hint="serve the model with a larger context, or choose another harness",
            )
        if needed > window and given == "baseline":
            raise WindowExceeded(
                f"{name}: the longest case does not fit: it has {said}, and the model's window is {window:,}",
                hint="shorten the case, or serve the model with a larger context",
            )
        if needed > window:
            raise WindowExceeded(
                f"{name}: {experiment.skill.name} does not fit: the skill and the longest case have {said}, "
                f"and the model's window is {window:,}",
                hint="shorten the skill, or serve the model with a larger context",
            )
        if "ceiling" in plan.arms:
            passages = [case for case in plan.cases if case.passage is not None]
            needed, said = longest("ceiling", passages)
            if needed > window:
                notes.append(
                    f"{name}: the longest case with its passage has {said}, and the model's window is "
                    f"{window:,}; cases that do not fit fail, so the ceiling is too low; shorten the passage"
                )
    return tuple(notes)


def _longest(
    requests: Requests, arm: Arm, cases: Iterable[Case], *, answer: int, endpoint: Endpoint, servers: Servers
) -> tuple[int, str]:
    """The tokens of the longest request of an arm, and the same in words; an estimate is the least that it can be.

    The last request of a conversation has the answers before it, each of so many tokens as is usual.
    """
    shown = [requests.render(case, arm) for case in cases]
    last = max(shown, key=lambda request: len(request.text) + answer * BYTES_PER_TOKEN * len(request.later))
    tokens = servers.count_tokens(endpoint, last.text)
    needed = tokens if tokens is not None else int(estimate_tokens(last.text) * MOST_ESTIMATE_ERROR)
    needed += answer * len(last.later)
    with_answers = f" with {count(len(last.later), 'earlier answer')}" if last.later else ""
    return needed, f"{'' if tokens is not None and not last.later else '~'}{needed:,} tokens{with_answers}"


def unconfined_notes(backend: Backend | None, *, memory_by: MemoryBy | None = None) -> tuple[str, ...]:
    """What every report of a run says where nothing was confined, or by what the tests do not run."""
    if backend == "docker":
        return ("programs ran in containers of docker; upskill is tested with the engine of podman only",)
    if backend == "bubblewrap" and memory_by == "process":
        return ("no control group: memory was limited for each process of an answer, not for all together",)
    if backend != "none":
        return ()
    return ("NOTHING WAS CONFINED: programs that models wrote ran on this machine with your rights (--sandbox none)",)


def _commit_notes(revision: str | None) -> tuple[str, ...]:
    """Which version is the old one, where a branch or `HEAD~1` was typed that will name another one soon."""
    return () if revision is None else (f"the old version is commit {revision.partition(':')[2][:12]}",)


def _case_notes(changes: CaseChanges) -> tuple[str, ...]:
    measured = "" if changes.accepted else "; measured are those that it has, unless --accept-changed-cases is given"
    return (f"cases differ from the older version: {changes.words}{measured}",) if changes.words else ()


def _unseen_notes(skill: Skill, harness: str) -> tuple[str, ...]:
    unseen = skill.other_files
    if not unseen or harness_info(harness).with_tools:
        return ()
    shown = ", ".join(file.path for file in unseen[:3]) + (" …" if len(unseen) > 3 else "")
    return (
        f"with the harness {harness}, models see only SKILL.md, not the {count(len(unseen), 'other file')}: {shown}",
    )
