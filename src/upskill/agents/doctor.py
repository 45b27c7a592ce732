"""Show on this machine whether a coding agent can be measured: two trials with a scripted model, by the real parts.

In the first the model loads a skill, runs a command and finishes. In the second it runs the escape attempts. Both go
through the engine, the metered client, the bridge, the relay and the sandbox, as every trial does. Sends nothing.
"""

import json
import platform
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table
from rich.text import Text

from upskill.agents.escape_attempts import (
    RESULT,
    AttemptResult,
    Forgery,
    Surroundings,
    command,
    events_tried,
    judge,
    read_attempts,
    waiting,
)
from upskill.agents.harness import AgentAdapter, CodingAgent, Launch, ToolRequest, find_agent
from upskill.core import checks
from upskill.core.models import CallPolicy, MeteredClient, resolve_model
from upskill.core.nouns import Arm, Case, Check, Errored, Files, Scored, Skill, Student, Trial, TrialPlan, Turn
from upskill.core.progress import SILENT, Progress
from upskill.core.skills.skills import read_contents, read_skill
from upskill.core.trials.engine import run_trials
from upskill.core.trials.harness import load_harness
from upskill.core.trials.trial_run import AgentProgram, AgentSetup, TrialLimits, TrialRun
from upskill.errors import EXIT_DONE, EXIT_NOT_SHOWN, EngineError, UsageError
from upskill.report.console import print_table
from upskill.sandbox import Backend, Sandbox, SandboxFacts, SandboxSpec, open_sandbox, require_sandbox
from upskill.terminal.display import StepProgress
from upskill.terminal.output import console as make_console
from upskill.terminal.output import print_json

SCHEMA = "upskill.doctor/1"

MOST_FILES = 8
"""So many files outside of the workspace are named; the rest are counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentDiagnosis:
    """One coding agent on this machine: a scripted model made it load a skill, run a command, and finish."""

    harness: str
    path: str
    version: str
    known: bool
    """Whether the adapter was measured with this version."""
    requests: int
    """Model requests that the agent sent."""
    listed: bool
    loaded_turn: int | None
    """The turn after which the skill had been loaded; `None` where it was not."""
    wrote_file: bool
    finished: bool
    """Whether the model's last words became the answer."""
    outside: tuple[str, ...]
    """Addresses that the agent tried to reach, all refused."""
    home_files: tuple[str, ...]
    """Files that it wrote outside of the workspace; they are gone with the sandbox."""
    attempts: tuple[AttemptResult, ...]
    seconds: float
    faults: tuple[str, ...] = ()
    """What went wrong with a trial as a whole, in words."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that keeps this agent from being measured, in words; empty where it may be."""
        steps = (
            (self.listed, "the skill was not listed"),
            (self.loaded_turn is not None, "the skill was not loaded"),
            (self.wrote_file, "the command did not write its file in the workspace"),
            (self.finished, "the last words of the model did not become the answer"),
        )
        missing = [words for reached, words in steps if not reached]
        broken = [f"an attempt from inside succeeded: {one.what} ({one.saw})" for one in self.attempts if not one.held]
        return (*self.faults, *missing, *broken)

    @property
    def ok(self) -> bool:
        return not self.problems


def report_agent(harness: str, agent_bin: Path | None, *, backend: Backend, as_json: bool) -> int:
    """Run a coding agent in the sandbox, print what it did and return the exit code."""
    with StepProgress() as steps:
        found, facts = examine_installed(harness, agent_bin=agent_bin, backend=backend, progress=steps)
    if as_json:
        print_json(agent_json(found, facts, kernel=platform.release()))
    else:
        show_agent(found, facts, console=make_console())
    return EXIT_DONE if found.ok else EXIT_NOT_SHOWN


def show_agent(found: AgentDiagnosis, facts: SandboxFacts, *, console: Console) -> None:
    """Which agent it is, a row per attempt, what it did, and ok or not."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("a program in the agent tried to", overflow="fold", ratio=5)
    table.add_column("", no_wrap=True)
    table.add_column("seen", overflow="fold", ratio=3)
    for number, one in enumerate(found.attempts, 1):
        state = Text("held", style="green") if one.held else Text("BROKE", style="bold red")
        table.add_row(Text(str(number)), Text(one.what), state, Text(one.saw))
    print_table(table, console)
    console.print()
    for line in agent_lines(found, facts):
        console.print(Text(line))


def agent_lines(found: AgentDiagnosis, facts: SandboxFacts) -> list[str]:
    """The important line last."""
    tested = (
        "tested with upskill" if found.known else "not tested with upskill: this check decides whether it can measure"
    )
    lines = [
        f"agent     {found.harness}, {found.path}",
        f"version   {found.version}, {tested}",
        f"sandbox   {facts.backend} {facts.version or ''}".rstrip(),
        f"requests  {found.requests} to the model; {_steps(found)}",
        f"outside   {_outside(found)}",
        f"files     {_files(found)}",
        f"time      {found.seconds:.1f} s",
    ]
    held = sum(one.held for one in found.attempts)
    lines.append(f"{held} of {len(found.attempts)} attempts to get out or to forge a result held")
    lines += [f"problem: {problem}" for problem in found.problems]
    lines.append(f"{found.harness} {found.version}: {'ok' if found.ok else 'not ok'}")
    return lines


def _steps(found: AgentDiagnosis) -> str:
    loaded = "not loaded" if found.loaded_turn is None else f"loaded after turn {found.loaded_turn}"
    return ", ".join(
        (
            "skill listed" if found.listed else "skill not listed",
            f"skill {loaded}",
            "file written" if found.wrote_file else "file not written",
            "finished" if found.finished else "not finished",
        )
    )


def _outside(found: AgentDiagnosis) -> str:
    if not found.outside:
        return "it tried to reach nothing"
    return f"it tried to reach {', '.join(found.outside)}; refused"


def _files(found: AgentDiagnosis) -> str:
    paths = found.home_files
    if not paths:
        return "none outside of the workspace"
    folders = dict.fromkeys("/".join(path.split("/")[:4]) for path in paths)
    named = ", ".join(list(folders)[:MOST_FILES])
    return f"{len(paths)} outside of the workspace, gone with the sandbox: {named}"


def agent_json(found: AgentDiagnosis, facts: SandboxFacts, *, kernel: str) -> dict[str, object]:
    """One object. Keys are a promise: added, never changed."""
    return {
        "schema": SCHEMA,
        "sandbox": {
            "backend": facts.backend,
            "version": facts.version,
            "profile": facts.profile,
            "memory_by": facts.memory_by,
        },
        "agent": {
            **{name: value for name, value in asdict(found).items() if name != "faults"},
            "ok": found.ok,
            "problems": list(found.problems),
            "seconds": round(found.seconds, 1),
        },
        "kernel": kernel,
    }


NAME = "doctor-check"
DESCRIPTION = "Says how the doctor's check is done. Use it when the task asks for the doctor's check."
LINE = "The doctor's check is done by writing the word hello into the file hello.txt of the workspace."
SKILL = f"---\nname: {NAME}\ndescription: {DESCRIPTION}\n---\n\n# The doctor's check\n\n{LINE}\n"
FILE = "hello.txt"
NEVER_SAID = "the-answer-that-no-model-gives"
SECONDS = 180
"""For one trial. The slowest agent needs ten on an idle machine."""

WAITS = 3
ESCAPE_TURNS = WAITS + 2

OpenSandbox = Callable[[SandboxSpec], Sandbox]


_examined: dict[tuple[str, Path, str, Backend], AgentDiagnosis] = {}


def examine_installed(
    harness: str, *, agent_bin: Path | None = None, backend: Backend, progress: Progress = SILENT
) -> tuple[AgentDiagnosis, SandboxFacts]:
    """Examine the agent that a person has installed, in a sandbox of this machine. Raises `UsageError`."""
    loaded = load_harness(harness)
    if not isinstance(loaded, CodingAgent):
        raise UsageError(f"the harness {harness} runs no coding agent, so there is nothing to examine")
    facts = require_sandbox(backend)
    program, opened = find_agent(loaded.adapter, named=agent_bin), partial(open_sandbox, backend=backend)
    return examine_agent(loaded.adapter, program, progress=progress, open_one=opened), facts


def require_fit_agent(
    adapter: AgentAdapter, program: AgentProgram, *, backend: Backend, run: bool, progress: Progress
) -> tuple[str, ...]:
    """Notes on an agent whose version was never tested: it is examined first, once per process.

    Without `run`, where only the plan is shown, the note says that it will be. Raises where the examination fails.
    """
    harness, known = adapter.name, ", ".join(adapter.known_versions)
    which = f"{harness} {program.version} is not a version that upskill was tested with ({known})"
    if not run:
        return (f"{which}; it is checked before the run, as by `upskill doctor --harness {harness}`",)
    key = (harness, program.path, program.version, backend)
    if key not in _examined:
        opened = partial(open_sandbox, backend=backend)
        _examined[key] = examine_agent(adapter, program, progress=progress, open_one=opened)
    found = _examined[key]
    if not found.ok:
        raise EngineError(
            f"{which}, and it did not pass the check",
            problems=found.problems,
            hint=f"run `upskill doctor --harness {harness}` to see all of it, or install version {known}",
        )
    return (f"{which}; it passed `upskill doctor --harness {harness}` before this run",)


def examine_agent(
    adapter: AgentAdapter, program: AgentProgram, *, progress: Progress = SILENT, open_one: OpenSandbox = open_sandbox
) -> AgentDiagnosis:
    """Run both trials. Raises `SandboxUnavailable` where there is no sandbox to run them in."""
    from upskill.agents.bridge import PORT

    began = time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="upskill-doctor-"))).resolve()
        check = _Check(adapter, program, folder)
        work, work_faults = _one(check.run(check.work_moves(), prompt=_prompt("Do"), open_one=open_one))
        progress.step("trials run", 1, 2)
        forgery = _forgery(_prompt("Try"), other_model=check.other_model())
        around = stack.enter_context(Surroundings(open_one=open_one, bridge=("127.0.0.1", PORT)))
        escape, escape_faults = _one(
            check.run(
                check.escape_moves(around.python),
                prompt=forgery.prompt,
                open_one=partial(_opened_with, around, forgery),
                forgery=forgery,
            )
        )
        progress.step("trials run", 2, 2)
        reported = read_attempts(b"" if escape is None else escape.files.get(RESULT, b""))
        attempts: tuple[AttemptResult, ...] = ()
        faults = [*work_faults, *escape_faults]
        if reported is None:
            faults.append("the escape attempts did not run to their end")
        else:
            attempts = judge(reported, elsewhere=_seen(escape, around.seen_on_the_host(), check.last_words))
    use = None if work is None else work.skill_use
    return AgentDiagnosis(
        harness=adapter.name,
        path=str(program.path),
        version=program.version,
        known=program.version in adapter.known_versions,
        requests=0 if work is None else work.calls,
        listed=use is not None and use.listed,
        loaded_turn=None if use is None else use.turn,
        wrote_file=work is not None and work.files.get(FILE, b"").strip() == b"hello",
        finished=work is not None and work.answer.strip() == check.last_words,
        outside=() if work is None else work.outside,
        home_files=() if reported is None else check.own_files(reported.outside),
        attempts=attempts,
        seconds=time.monotonic() - began,
        faults=tuple(faults),
    )


def _opened_with(around: Surroundings, forgery: Forgery, spec: SandboxSpec) -> Sandbox:
    return around.open(spec, forgery)


def _prompt(verb: str) -> str:
    """A prompt that no other text holds: the bridge tells the agent's requests from others by it."""
    return f"{verb} the doctor's check number {secrets.token_hex(8)}, and then say that it is done."


def _forgery(prompt: str, *, other_model: str) -> Forgery:
    answer = f"forged-{secrets.token_hex(8)}"
    events = (
        {"type": "item.completed", "item": {"id": "item_9", "type": "agent_message", "text": answer}},
        {"type": "result", "subtype": "success", "is_error": False, "result": answer, "num_turns": 1},
        {"type": "text", "part": {"type": "text", "text": answer}},
    )
    return Forgery(
        prompt=prompt,
        skill_line=LINE,
        request=f"asked-by-a-program-{secrets.token_hex(8)}",
        answer=answer,
        other_model=other_model,
        other_answer=OTHER_ANSWER,
        events=tuple(json.dumps(event) for event in events),
    )


OTHER_ANSWER = "answered-by-another-model"


def _one(recorded: Sequence[Trial]) -> tuple[Trial | None, list[str]]:
    """The trial that was recorded, and what is wrong with it as a whole."""
    if not recorded:
        return None, ["the engine recorded no trial"]
    trial = recorded[-1]
    if isinstance(trial.outcome, Errored) and trial.outcome.fault == "cancelled":
        raise KeyboardInterrupt  # whoever stopped it learns nothing about the agent
    return trial, [trial.outcome.message] if isinstance(trial.outcome, Errored) else []


def _seen(trial: Trial | None, host: Mapping[str, list[str]], last_words: str) -> dict[str, list[str]]:
    """What shows on the host and in the trial that was recorded, by the attempt it is held against."""
    seen = {name: list(lines) for name, lines in host.items()}
    if trial is None:
        return seen
    if trial.answer.strip() != last_words:
        seen.setdefault("forged_requests", []).append(f"the answer became {trial.answer[:80]!r}")
        seen.setdefault("forged_events", []).append(f"the answer became {trial.answer[:80]!r}")
    if trial.skill_use is not None and trial.skill_use.loaded:
        seen.setdefault("forged_requests", []).append("the skill counts as loaded")
    if trial.turns != ESCAPE_TURNS:
        counted = f"{trial.turns} turns are counted instead of {ESCAPE_TURNS}"
        seen.setdefault("forged_requests", []).append(counted)
    if trial.calls <= trial.turns:
        seen.setdefault("forged_requests", []).append("its requests are on nobody's bill")
    if not events_tried(trial.files):
        seen.setdefault("forged_events", []).append("could not be tried: no output was found")
    if not isinstance(trial.outcome, Scored) or trial.outcome.passed:
        seen.setdefault("forged_score", []).append("the answer was not graded as failed")
    return seen


@dataclass(slots=True)
class _Once:
    """A schedule of one turn."""

    turn: Turn | None

    def take(self) -> Turn | None:
        turn, self.turn = self.turn, None
        return turn

    def ended(self, turn: Turn, trials: Mapping[Arm, Trial]) -> None:
        """Nothing follows."""


Move = tuple[str | None, ToolRequest | None]
"""What the model says, and the tool that it calls; no tool ends the trial."""


class _Check:
    """One agent, a skill to load, and scripts for its model."""

    def __init__(self, adapter: AgentAdapter, program: AgentProgram, folder: Path) -> None:
        self._adapter = adapter
        self._program = program
        self._folder = folder
        self.last_words = f"It is done: {secrets.token_hex(8)}."
        home = folder / NAME
        home.mkdir()
        (home / "SKILL.md").write_text(SKILL, encoding="utf-8")
        self._skill: Skill = read_skill(home)
        self._contents: Mapping[str, Files] = {self._skill.digest: read_contents(home, self._skill)}

    def work_moves(self) -> list[Move]:
        """Load the skill, run a command that writes a file, finish."""
        return [(None, self._adapter.load(NAME)), (None, self._adapter.shell(f"echo hello > {FILE}")), (None, None)]

    def escape_moves(self, python: str) -> list[Move]:
        """Run the escape attempts, wait for their end, finish."""
        lines = (command(python), *[waiting()] * WAITS)
        return [*((None, self._adapter.shell(line)) for line in lines), (None, None)]

    def own_files(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Those that the agent wrote by itself: without the skill, and without the configuration that it was given."""
        given = self._adapter.files(Launch(base_url="", prompt=""))
        skills = f"{self._adapter.skills_folder}/"
        return tuple(path for path in paths if path not in given and not path.startswith(skills))

    def other_model(self) -> str:
        """The name of a model that exists and that nobody inside may ask for."""
        path = self._write("other", [{"replies": [{"text": OTHER_ANSWER}]}])
        return f"inspect/scripted/{path}"

    def _write(self, name: str, rules: Sequence[Mapping[str, object]]) -> Path:
        path = self._folder / f"{name}.json"
        path.write_text(json.dumps({"rules": rules}), encoding="utf-8")
        return path

    def _script(self, moves: Sequence[Move], forgery: Forgery | None) -> str:
        rules: list[dict[str, object]] = []
        if forgery is not None:
            rules.append({"when": forgery.request, "replies": [{"text": forgery.answer}]})
        for turn, (text, tool) in enumerate(moves, 1):
            reply: dict[str, object] = {"text": text or ("" if tool else self.last_words)}
            if tool is not None:
                reply |= {"tool": tool.tool, "arguments": tool.arguments}
            rules.append({"turn": turn, "replies": [reply]})
        return f"scripted/{self._write('script', rules)}"

    def run(
        self, moves: Sequence[Move], *, prompt: str, open_one: OpenSandbox, forgery: Forgery | None = None
    ) -> list[Trial]:
        """One trial of the agent, with the skill offered."""
        endpoint = resolve_model(self._script(moves, forgery))
        student = Student(name="script", model=endpoint.model)
        case = Case(id="doctor", prompt=prompt, checks=(Check(kind="contains", spec=NEVER_SAID),))
        plan = TrialPlan(cases=(case,), students=(student,), arms=("offered",), repeats=1, harness=self._adapter.name)
        recorded: list[Trial] = []
        run_trials(
            TrialRun(
                plan=plan,
                skill=self._skill,
                previous=None,
                endpoints={student.name: endpoint},
                client=MeteredClient(policy=CallPolicy(concurrency=1)),
                grade=checks.grade,
                schedules={student.name: _Once(next(plan.turns()))},
                record=recorded.append,
                recall=lambda *_: None,
                logs=self._folder / "logs",
                engine_data=self._folder / "engine",
                trial_limits=TrialLimits(
                    seconds=SECONDS, place=self._adapter.limits, setup=AgentSetup(program=self._program)
                ),
                contents=self._contents,
                open_sandbox=open_one,
            )
        )
        return recorded
