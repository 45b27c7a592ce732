"""A coding agent as a harness: what is the same for all of them. Each has an adapter in a module of this folder."""

import hashlib
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from upskill import disk, processes
from upskill.core.nouns import Arm, Case, Files, Skill, digest_of, harness_info
from upskill.core.progress import Progress
from upskill.core.trials.harness import ArmRequest, CaseRequest, Effort, Requests
from upskill.core.trials.trajectory import KnownTools
from upskill.core.trials.trial_run import AgentProgram, TrialLimits
from upskill.errors import UsageError
from upskill.sandbox import Backend, Limits

if TYPE_CHECKING:
    from inspect_ai.solver import Solver

    from upskill.core.trials.sample_source import Find
    from upskill.core.trials.trial_run import TrialRun


VERSION_SECONDS = 120


def find_agent(adapter: "AgentAdapter", *, named: Path | None = None) -> AgentProgram:
    """The agent that `named` is, or the one on the search path. Raises `UsageError`."""
    if named is not None:
        if not named.is_file():
            raise UsageError(f"{named}: there is no such file")
        return adapter.program(named.absolute())
    info = harness_info(adapter.name)
    found = processes.find_program(info.program)
    if found is None:
        raise UsageError(
            f"the harness {adapter.name} needs the program `{info.program}`, which is not installed",
            hint=f"install it with `npm install -g {info.package}`, or name it with UPSKILL_AGENT_BIN",
        )
    return adapter.program(Path(found))


@cache
def version_of(program: Path) -> str:
    """The version that a program reports, asked once per process. Raises `UsageError` where it reports none."""
    try:
        # It runs outside of any sandbox: without keys, and where it finds no configuration of a project or a person.
        with tempfile.TemporaryDirectory(prefix="upskill-version-", ignore_cleanup_errors=True) as home:
            variables = {"PATH": os.defpath, "HOME": home, "LANG": "C.UTF-8"}
            ran = processes.run(
                "agent_version", [program, "--version"], cwd=home, seconds=VERSION_SECONDS, variables=variables
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{program}: cannot be run ({error})") from None
    found = re.search(r"\d+\.\d+[\w.+-]*", ran.stdout.decode("utf-8", "replace"))
    if ran.returncode != 0 or found is None:
        raise UsageError(f"{program}: did not report its version")
    return found.group()


def package_version(found: Path, package: Path, *, name: str, install: str) -> str:
    """The version in the `package.json` of the folder behind a program that npm installed. Raises `UsageError`."""
    try:
        return str(json.loads(disk.read(package / "package.json"))["version"])
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(
            f"{found}: there is no package of {name} behind it", hint=f"install it again: `{install}`"
        ) from None


def node_on_path(name: str, *, oldest: int) -> Path:
    """The Node on the search path that an agent of this name needs. Raises `UsageError` where it is older."""
    found = processes.find_program("node")
    version = "" if found is None else version_of(Path(found).resolve())
    if found is None or int(version.partition(".")[0]) < oldest:
        raise UsageError(
            f"{name} needs Node {oldest} or newer on the search path"
            + (f"; {found} is {version}" if found is not None else ""),
            hint="install a newer Node, or put its folder first in PATH",
        )
    return Path(found).resolve()


Json = Mapping[str, Any]

AGENT_LIMITS = Limits(
    memory_mb=1024,
    processes=256,
    address_space_mb=None,
    cpu_seconds=600,
    open_files=1024,
    file_mb=256,
    tmp_mb=256,
    home_mb=64,
    output_bytes=16 * 2**20,
)
"""What the sandbox of a coding agent may use, unless its adapter says otherwise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """One start of an agent, the same in every arm but for the skill that is forced."""

    base_url: str
    """Where its model is served, inside the sandbox; without `/v1`."""
    prompt: str
    forced: str | None = None
    """The name of the skill that it must load before it begins; `None` where it may choose."""
    bundled: bool = False
    """Whether the skills that come with the agent are listed too."""

    @property
    def with_slash(self) -> str:
        """What is said to an agent whose commands begin with a slash. A prompt that does gets a space before it."""
        if self.forced is not None:
            return f"/{self.forced} {self.prompt}"
        return f" {self.prompt}" if self.prompt.startswith("/") else self.prompt


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolRequest:
    """A tool call as this agent's model makes it: for scripted models, in `doctor` and in tests."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


class AgentAdapter(Protocol):
    """One coding agent."""

    name: str
    """The harness, as people type it."""
    version: str
    """The version of this adapter, `codex/1`: what changes a request changes it."""
    known_versions: tuple[str, ...]
    """Versions of the agent that were measured; any other must pass `doctor --harness` first."""
    limits: Limits
    """What its sandbox may use."""
    request_tokens: int
    """How large its first request is without the case, for estimates."""
    skills_folder: str
    """Where it looks for skills, by an absolute path inside; outside of the workspace where it allows that."""
    tools: KnownTools
    """What the tools of its models are for."""
    own_files: tuple[str, ...]
    """Patterns of paths in the workspace that the agent writes for itself: they are no part of an answer."""

    def program(self, found: Path) -> AgentProgram:
        """The program that is really started, without a wrapper that needs an interpreter. Raises `UsageError`."""

    def files(self, launch: Launch) -> Files:
        """Its configuration, by absolute paths inside: nobody there can change it."""

    def environment(self, launch: Launch) -> dict[str, str]:
        """Its environment variables, without the proxy, which the runner sets."""

    def argv(self, program: AgentProgram, launch: Launch) -> Sequence[str]:
        """How it is started. A prompt that begins with a dash, a slash or a dollar stays a prompt."""

    def listing(self, request: Json) -> str:
        """The part of a model request in which it lists skills; empty where there is none."""

    def loads(self, stdout: bytes) -> tuple[str, ...]:
        """The names of the skills that it reports as loaded. Model traffic is the truth; this is compared with it."""

    def load(self, skill: str) -> ToolRequest:
        """How its model loads a skill."""

    def shell(self, command: str) -> ToolRequest:
        """How its model runs a command line."""


EXPECTED_TURNS = 8
"""How many answers a model is taken to give in a trial."""
EXPECTED_RESULT_TOKENS = 500
"""How long a tool's result is taken to be: it is sent again with every later answer."""


@dataclass(frozen=True, slots=True)
class CodingAgent:
    """An agent works until it exits, with its own tools and its own words to the model."""

    adapter: AgentAdapter

    @property
    def version(self) -> str:
        """That of the adapter. Which version of the agent it was is part of the trial's limits."""
        return self.adapter.version

    @property
    def frame(self) -> str:
        """Nothing: the agent has words of its own."""
        return ""

    def arms(self, skill: Skill, *, previous: Skill | None, trial_limits: TrialLimits) -> dict[Arm, ArmRequest]:
        """The skill lies where the agent looks for skills, or it does not; or the agent is made to load it."""
        arms: dict[Arm, ArmRequest] = {
            "baseline": ArmRequest(system=""),
            "offered": ArmRequest(system="", skill=skill),
            "with_skill": ArmRequest(system="", skill=skill, forced=True),
        }
        return arms if previous is None else {**arms, "previous": ArmRequest(system="", skill=previous)}

    def limits(self, trial_limits: TrialLimits, *, agent_bin: Path | None) -> TrialLimits:
        """The limits of a trial with this agent, as it is installed here. Raises `UsageError` where it is not."""
        program = find_agent(self.adapter, named=agent_bin)
        return replace(
            trial_limits,
            # What the agent itself says is sent with every turn, and is not the model's to save.
            tokens=trial_limits.tokens + trial_limits.turns * self.adapter.request_tokens,
            place=self.adapter.limits,
            setup=replace(trial_limits.setup, program=program),
        )

    def require_fit(self, program: AgentProgram, *, backend: Backend, run: bool, progress: Progress) -> tuple[str, ...]:
        """As the protocol says."""
        if program.version in self.adapter.known_versions:
            return ()
        from upskill.agents.doctor import require_fit_agent

        return require_fit_agent(self.adapter, program, backend=backend, run=run, progress=progress)

    def show(self, case: Case) -> CaseRequest:
        """Its files lie in the working folder."""
        digests = {path: hashlib.sha256(data).hexdigest() for path, data in case.files.items()}
        return CaseRequest(case.prompt, digest_of(digests) if digests else "")

    def identity(self, trial_limits: TrialLimits, *, files: str) -> dict[str, object]:
        """Limits, the agent with its version, the other skills, and the files of the case."""
        return {"tools": [], **trial_limits.identity(), "files": files}

    @contextmanager
    def solving(
        self, run: "TrialRun", requests: Requests, *, began: Callable[[], None]
    ) -> "Iterator[Callable[[Find], Solver]]":
        """Agents work in sandboxes; none is left open at the end."""
        from upskill.agents.runner import AgentRuns, run_agent

        runs = AgentRuns(self.adapter, run, requests)
        try:
            yield partial(run_agent, runs=runs, began=began)
        finally:
            runs.close()

    def expected(self, trials: int, *, prompt_tokens: int, answer_tokens: int, trial_limits: TrialLimits) -> Effort:
        """Every turn sends again what was said and seen in those before it, and what the agent says first."""
        turns = min(EXPECTED_TURNS, trial_limits.turns)
        growth = trials * (answer_tokens + EXPECTED_RESULT_TOKENS) * turns * (turns - 1) // 2
        each = prompt_tokens + trials * (self.adapter.request_tokens + trial_limits.setup.listing_tokens)
        return Effort(turns, each * turns + growth, trials * answer_tokens * turns)

    def at_most(self, trials: int, *, prompt_tokens: int, answer_tokens: int, trial_limits: TrialLimits) -> Effort:
        """The last call may go over a trial's tokens."""
        written = min(trial_limits.turns * answer_tokens, trial_limits.tokens + answer_tokens)
        return Effort(trial_limits.turns, trials * max(0, 2 * trial_limits.tokens - written), trials * written)
