"""Show on this machine whether a coding agent can be measured: a trial with a scripted model, by the real parts.

The model loads a skill, runs a command that also tries to get out of the sandbox, and finishes. All of it goes through
the engine, the metered client, the bridge, the relay and the sandbox, as every trial does. Sends nothing. Whether
results can be forged from inside is tried by the tests, with the versions that upskill knows.
"""

import json
import platform
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

from upskill import disk
from upskill.agents.harness import AgentAdapter, CodingAgent, Launch, ToolRequest, find_agent
from upskill.core import checks
from upskill.core.models import CallPolicy, MeteredClient, resolve_model
from upskill.core.nouns import Arm, Case, Check, Errored, Files, Skill, Student, Trial, TrialPlan, Turn
from upskill.core.progress import SILENT, Progress
from upskill.core.skills.skills import read_contents, read_skill
from upskill.core.trials.engine import run_trials
from upskill.core.trials.harness import load_harness
from upskill.core.trials.trial_run import AgentProgram, AgentSetup, TrialLimits, TrialRun
from upskill.errors import EXIT_DONE, EXIT_NOT_SHOWN, EngineError, UsageError
from upskill.report.console import show_probes
from upskill.sandbox import WORKSPACE, Backend, Sandbox, SandboxFacts, SandboxSpec, open_sandbox, require_sandbox
from upskill.sandbox.probes import Bait
from upskill.sandbox.profile import INIT_PROGRAM
from upskill.terminal.display import StepProgress
from upskill.terminal.output import console as make_console
from upskill.terminal.output import print_json

SCHEMA = "upskill.doctor/1"

MOST_FILES = 8
"""So many files outside of the workspace are named; the rest are counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptResult:
    """What came of one attempt, from inside an agent, to get out."""

    name: str
    what: str
    held: bool
    saw: str


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
    probes = [(number, one.what, one.held, one.saw) for number, one in enumerate(found.attempts, 1)]
    show_probes("a program in the agent tried to", probes, console)
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
    lines.append(f"{held} of {len(found.attempts)} attempts to get out held")
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
"""The slowest agent needs ten on an idle machine."""

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
    """Run the trial. Raises `SandboxUnavailable` where there is no sandbox to run it in."""
    began = time.monotonic()
    with TemporaryDirectory(prefix="upskill-doctor-") as folder, Bait() as bait:
        check = AgentCheck(adapter, program, Path(folder).resolve())
        # A prompt that no other text holds: the bridge tells the agent's requests from others by it.
        prompt = f"Do the doctor's check number {secrets.token_hex(8)}, and then say that it is done."
        trial = check.run(check.moves(), prompt=prompt, open_one=partial(_open_with_probe, open_one, bait))
        attempts, left = _judged(trial.files.get(REPORT, b""), bait)
    progress.step("trials run", 1, 1)
    faults = [trial.outcome.message] if isinstance(trial.outcome, Errored) else []
    if not attempts:
        faults.append("the attempts to get out did not run to their end")
    use = trial.skill_use
    return AgentDiagnosis(
        harness=adapter.name,
        path=str(program.path),
        version=program.version,
        known=program.version in adapter.known_versions,
        requests=trial.calls,
        listed=use is not None and use.listed,
        loaded_turn=None if use is None else use.turn,
        wrote_file=trial.files.get(FILE, b"").strip() == b"hello",
        finished=trial.answer.strip() == check.last_words,
        outside=trial.outside,
        home_files=check.own_files(left),
        attempts=attempts,
        seconds=time.monotonic() - began,
        faults=tuple(faults),
    )


PROBE = "/tmp/doctor-probe"
REPORT = "doctor-probe.json"
"""In the workspace."""
WHAT = {
    "home": "read a key of the host, its home and /etc/shadow",
    "files": "write into a folder of the host, change the skill and the agent's program",
    "network": "reach the network and the host's sockets",
}
_PROGRAM = """
import json, os, socket
through = {"home": [], "files": [], "network": []}
def tried(name, what, attempt):
    try:
        attempt()
        through[name].append(what)
    except OSError:
        pass
def change(path):
    open(path + "/doctor" if os.path.isdir(path) else path, "ab").close()
for path in plan["read"]:
    tried("home", path, lambda: os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(1))
tried("files", plan["folder"], lambda: change(plan["folder"]))
for path in plan["read_only"]:
    tried("files", path, lambda: change(path) if os.path.exists(path) else None)
for address in plan["addresses"]:
    tried("network", ":".join(map(str, address)), lambda: socket.create_connection(tuple(address), 3).close())
tried("network", "an abstract socket", lambda: socket.socket(socket.AF_UNIX).connect("\\0" + plan["name"]))
left = [os.path.join(at, name) for top in ("/home", "/tmp") for at, _, names in os.walk(top) for name in names]
open(report, "w").write(json.dumps({"through": through, "left": sorted(left)[:500]}))
"""
"""A change of what is not there is reported too: it proves nothing."""


def _open_with_probe(open_one: OpenSandbox, bait: Bait, spec: SandboxSpec) -> Sandbox:
    """The agent's sandbox, with what tries to get out of it."""
    sandbox = open_one(spec)
    plan = {
        "read": [*map(str, (bait.key, bait.victim / "secret", Path.home() / ".ssh")), "/etc/shadow"],
        "folder": str(bait.victim),
        "read_only": [*spec.read_only, *(mount.target for mount in spec.mounts), INIT_PROGRAM],
        "addresses": [("127.0.0.1", bait.port), ("192.0.2.1", 443)],
        "name": bait.abstract_name[1:],
    }
    code = f"plan = {plan!r}\nreport = {f'{WORKSPACE}/{REPORT}'!r}\n{_PROGRAM}"
    sandbox.put({PROBE: f"exec {sandbox.python} -I -B - <<'END'\n{code}END\n".encode()})
    return sandbox


def _judged(reported: bytes, bait: Bait) -> tuple[tuple[AttemptResult, ...], tuple[str, ...]]:
    """What came of each attempt, as it shows inside and on the host, and the files that the agent left; nothing where
    the report cannot be read."""
    try:
        value = json.loads(reported)
        through = {name: [str(line) for line in value["through"][name]] for name in WHAT}
        left = tuple(str(path) for path in value["left"] if path != PROBE)
    except (ValueError, LookupError, TypeError):
        return (), ()
    if bait.was_called():
        through["network"].append("a listener of the host was called")
    if (names := bait.victims()) != ["secret"]:
        through["files"].append(f"in a folder of the host: {', '.join(names)}")
    return tuple(
        AttemptResult(name=name, what=what, held=not seen, saw="; ".join(seen)[:500] or "nothing got through")
        for (name, what), seen in zip(WHAT.items(), through.values(), strict=True)
    ), left


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


class AgentCheck:
    """One agent, a skill to load, and scripts for its model."""

    def __init__(self, adapter: AgentAdapter, program: AgentProgram, folder: Path) -> None:
        self._adapter = adapter
        self._program = program
        self._folder = folder
        self.last_words = f"It is done: {secrets.token_hex(8)}."
        home = folder / NAME
        home.mkdir()
        disk.write_new(home / "SKILL.md", SKILL)
        self._skill: Skill = read_skill(home)
        self._contents: Mapping[str, Files] = {self._skill.digest: read_contents(home, self._skill)}

    def moves(self) -> list[Move]:
        """Load the skill, run a command that writes a file and tries to get out, finish."""
        shell = self._adapter.shell(f"echo hello > {FILE}; sh {PROBE}")
        return [(None, self._adapter.load(NAME)), (None, shell), (None, None)]

    def own_files(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Those that the agent wrote by itself: without the skill, and without the configuration that it was given."""
        given = self._adapter.files(Launch(base_url="", prompt=""))
        skills = f"{self._adapter.skills_folder}/"
        return tuple(path for path in paths if path not in given and not path.startswith(skills))

    def script(self, name: str, rules: Sequence[Mapping[str, object]]) -> Path:
        """A scripted model that answers by these rules."""
        path = self._folder / f"{name}.json"
        disk.write(path, json.dumps({"rules": rules}))
        return path

    def run(
        self,
        moves: Sequence[Move],
        *,
        prompt: str,
        open_one: OpenSandbox,
        others: Sequence[Mapping[str, object]] = (),
    ) -> Trial:
        """One trial of the agent, with the skill offered. `others` are rules for requests that are not the agent's."""
        rules = [*others, *(self._rule(turn, text, tool) for turn, (text, tool) in enumerate(moves, 1))]
        endpoint = resolve_model(f"scripted/{self.script('script', rules)}")
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
        if not recorded:
            raise EngineError("the engine recorded no trial")
        if isinstance(recorded[-1].outcome, Errored) and recorded[-1].outcome.fault == "cancelled":
            raise KeyboardInterrupt  # whoever stopped it learns nothing about the agent
        return recorded[-1]

    def _rule(self, turn: int, text: str | None, tool: ToolRequest | None) -> dict[str, object]:
        said: dict[str, object] = {"text": text or ("" if tool else self.last_words)}
        called = {} if tool is None else {"tool": tool.tool, "arguments": tool.arguments}
        return {"turn": turn, "replies": [{**said, **called}]}
