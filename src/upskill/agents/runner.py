"""Runs one coding agent in one sandbox for one trial: opens it, starts the agent, serves its model, takes what is left.

How a trial ends is decided here as far as the agent is concerned: an agent that crashed, hung, never asked or did not
list the skill has measured nothing; a model that ran out of turns, tokens or time has failed.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import anyio
import anyio.abc
from inspect_ai.model import ChatMessage, ContentText, ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolInfo
from inspect_ai.util import suspend_working_limit

from upskill import disk
from upskill.agents.bridge import BASE_URL, PORT, ModelBridge, SocketFolder
from upskill.agents.engine_bridge import EngineBridge
from upskill.agents.harness import AgentAdapter, Launch
from upskill.agents.streams import Dialect, disagreements, is_printed
from upskill.agents.traffic import AgentFailed, SkillMarks, Traffic, marks_for, was_cut
from upskill.core.nouns import Files
from upskill.core.trials.harness import Requests
from upskill.core.trials.sample_source import Find, PendingTrial, final_text
from upskill.core.trials.sandbox_tools import OpenSandboxes, SandboxLost, Threads, mounted_skills, take_files
from upskill.core.trials.trajectory import SkillWatch, marks_of
from upskill.core.trials.trial_run import AgentProgram, TrialLimits, TrialRun
from upskill.sandbox import CommandResult, FileRefused, Mount, Sandbox, SandboxGone, SandboxSpec, SandboxSpent
from upskill.sandbox.profile import PATH

logger = logging.getLogger(__name__)

RELAY = "/opt/upskill/relay.py"
SOCKET = "/opt/upskill/model.sock"
MOST_CLEARING_SECONDS = 10
"""A sandbox that does not hand out its files by then is ended without them."""
LONGEST_SECONDS = 1_000_000.0
"""Nothing waits so long: the engine ends a trial when its working time has passed."""
MOST_STDERR = 400
MOST_OUTSIDE = 20
"""Addresses that are kept: what a program inside can make us write is bounded."""


class _Enough(Exception):
    """Nothing else is to be measured: the skill was loaded, or the last turn that could load it is over."""

    def __init__(self, why: Literal["load", "turn"]) -> None:
        super().__init__(why)
        self.why = why


class AgentRuns:
    """What all trials of a run with one agent share."""

    def __init__(self, adapter: AgentAdapter, run: TrialRun, requests: Requests) -> None:
        program = run.trial_limits.setup.program
        if program is None:
            raise ValueError(f"{adapter.name}: no program was found for it")
        self.adapter = adapter
        self.program: AgentProgram = program
        self.requests = requests
        self.trial_limits: TrialLimits = run.trial_limits
        self.contents: Mapping[str, Files] = run.contents
        self.folder = run.engine_data.resolve()
        self.sandboxes = OpenSandboxes(run.open_sandbox)
        self.threads = Threads(run.client.policy.concurrency)
        self.relay = disk.packaged("upskill.agents", "relay.py").encode()

    def close(self) -> None:
        """Close every sandbox that is still open."""
        self.sandboxes.close_all()


@solver
def run_agent(find: Find, runs: AgentRuns, *, began: Callable[[], None]) -> Solver:
    """Let the agent work on the case, and take what it leaves. `began` hears of every trial."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001 - the engine's signature
        began()
        pending = find(state)
        with pending.billed():
            try:
                return await _AgentTrial(runs, pending, state).solve()
            except SandboxLost as error:
                pending.sandbox_lost = str(error)
                raise
            except AgentFailed as error:
                pending.agent_failed = str(error)
                raise

    return solve


class _AgentTrial:
    """One trial under way."""

    def __init__(self, runs: AgentRuns, pending: PendingTrial, state: TaskState) -> None:
        self._runs = runs
        self._pending = pending
        self._state = state
        planned = pending.planned
        self._skill = runs.requests.skill_in(planned.arm)
        self._forced = runs.requests.forces(planned.arm)
        request = runs.requests.render(planned.case, planned.arm)
        self._prompt = "\n\n".join(part for part in (request.system.strip(), request.prompt) if part)
        self._traffic = self._watch_traffic()
        self._engine = EngineBridge(state.messages, asked=self._asked, answered=self._answered)
        self._bridge = ModelBridge(answer=self._answer, failed=self._failed)
        self._failure: Exception | None = None
        self._scope = anyio.CancelScope()

    def _watch_traffic(self) -> Traffic:
        runs, planned = self._runs, self._pending.planned
        others = runs.trial_limits.setup.others
        texts = [data.decode("utf-8", "replace") for data in planned.case.files.values()]
        known = "\n".join([self._prompt, *texts])
        watch: SkillWatch | None = None
        skill: SkillMarks | None = None
        if self._skill is not None:
            of_others = "\n".join(f"{other.description}\n{other.body}" for other in others)
            skill = marks_for(self._skill, known=f"{known}\n{self._skill.description}\n{of_others}")
            folder = f"{runs.adapter.skills_folder}/{self._skill.name}"
            marks = marks_of(runs.contents[self._skill.digest])
            watch = SkillWatch(marks, folder=folder, called=self._skill.name, given=False, known=known)
        own_body = "" if self._skill is None else self._skill.body  # an earlier version of it may lie beside it
        return Traffic(
            prompt=self._pending.planned.case.prompt.strip(),
            skill=skill,
            tools=runs.adapter.tools,
            others=tuple(marks_for(other, known=f"{known}\n{other.description}\n{own_body}") for other in others),
            watch=watch,
        )

    async def solve(self) -> TaskState:
        try:
            ran = await self._run_to_its_end()
        except anyio.get_cancelled_exc_class():
            # At the end of its time, or of the run: who was to act decides whose failure that is.
            self._pending.agent_hung = self._skill_problem() if self._traffic.model_owes else self._hung()
            raise
        if self._failure is not None:
            raise self._failure
        if ran is not None and self._pending.ran_out is None:
            self._judge(ran)
        else:
            self._judge_skill()
        return self._state

    async def _run_to_its_end(self) -> CommandResult | None:
        """How the agent ended; `None` where a request ended the trial before."""
        socket = SocketFolder(self._runs.folder)
        try:
            async with await socket.listen() as listener:
                sandbox = await self._open(socket)
                try:
                    return await self._serve_while(partial(self._run, sandbox), listener)
                finally:
                    # Also after Ctrl-C: no process outlives this block.
                    with anyio.CancelScope(shield=True):
                        await self._collect_and_close(sandbox)
        finally:
            socket.remove()

    async def _open(self, socket: SocketFolder) -> Sandbox:
        """The sandbox, with everything in it before the agent starts. Raises `SandboxLost`."""
        runs, launch = self._runs, self._launch
        skills = (*runs.trial_limits.setup.others, *(() if self._skill is None else (self._skill,)))
        mounted, executable = mounted_skills(skills, runs.contents, runs.adapter.skills_folder)
        spec = SandboxSpec(
            limits=runs.trial_limits.place,
            mounts=runs.program.mounts,
            read_only={**mounted, **runs.adapter.files(launch), RELAY: runs.relay},
            executable=executable,
            sockets=(Mount(source=socket.path, target=SOCKET),),
        )
        try:
            # It may wait for memory that other sandboxes use.
            with suspend_working_limit():
                sandbox = await runs.threads.call(partial(runs.sandboxes.open, spec))
        except Exception as error:
            raise SandboxLost(f"the sandbox could not be opened: {error}") from error
        try:
            await runs.threads.call(partial(sandbox.put, self._pending.planned.case.files))
        except (FileRefused, SandboxGone) as error:
            await runs.threads.call(partial(runs.sandboxes.close, sandbox))
            raise SandboxLost(f"files could not be written into the sandbox: {error}") from None
        return sandbox

    @property
    def _launch(self) -> Launch:
        return Launch(
            base_url=BASE_URL,
            prompt=self._prompt,
            forced=self._skill.name if self._forced and self._skill is not None else None,
            bundled=self._runs.trial_limits.setup.bundled,
        )

    def _run(self, sandbox: Sandbox) -> CommandResult:
        """Start the agent behind the relay, and wait for its end. Blocks."""
        runs, launch = self._runs, self._launch
        environment = {
            "PATH": PATH,
            "HTTP_PROXY": BASE_URL,
            "HTTPS_PROXY": BASE_URL,
            "http_proxy": BASE_URL,
            "https_proxy": BASE_URL,
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
            **runs.adapter.environment(launch),
        }
        relay = [sandbox.python, "-I", "-S", "-B", sandbox.where(RELAY), str(PORT), sandbox.where(SOCKET)]
        return sandbox.run(
            [*relay, *runs.adapter.argv(runs.program, launch)], seconds=LONGEST_SECONDS, environment=environment
        )

    async def _serve_while(
        self, work: Callable[[], CommandResult], listener: anyio.abc.SocketListener
    ) -> CommandResult | None:
        """Serve the agent's model until the agent ends, or a request ends the trial; then there is no result."""
        ran: CommandResult | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._bridge.serve_all, listener)
            with self._scope:
                ran = await self._runs.threads.call(work)
            group.cancel_scope.cancel()
        return ran

    async def _answer(self, dialect: Dialect, request: dict[str, Any]) -> dict[str, Any]:
        self._traffic.lists(self._runs.adapter.listing(request))
        self._traffic.in_flight += 1
        try:
            answer = await self._engine.answer(dialect, request)
        except Exception:
            self._traffic.in_flight -= 1
            raise
        # One that is cancelled stays in flight: whose turn it was is asked afterwards.
        self._traffic.in_flight -= 1
        return answer

    def _asked(self, messages: Sequence[ChatMessage], tools: Sequence[ToolInfo]) -> bool:
        traffic, limits = self._traffic, self._runs.trial_limits
        main = traffic.asked(messages, tools)
        if limits.stop_at_load and traffic.loaded_turn is not None:
            raise _Enough("load")
        if limits.stop_at_load and main and traffic.turns >= limits.turns:
            raise _Enough("turn")
        return main

    def _answered(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolInfo], output: ModelOutput, main: bool
    ) -> None:
        traffic, pending, limits = self._traffic, self._pending, self._runs.trial_limits
        traffic.answered(messages, tools, output, main=main)
        pending.turns, pending.tool_calls = traffic.turns, traffic.tool_calls
        if traffic.final is not None or pending.ran_out is not None:
            return
        if pending.bill is not None and pending.bill.tokens >= limits.tokens:
            pending.ran_out = "token"
        elif traffic.turns >= limits.turns and not limits.stop_at_load:  # else its result is still to be seen
            pending.ran_out = "turn"
        if pending.ran_out is not None:
            self._scope.cancel()

    def _failed(self, error: Exception) -> None:
        """A model request failed for good, or no more are needed: the agent is not waited for."""
        if isinstance(error, _Enough):
            self._pending.ran_out = error.why
        else:
            self._failure = self._failure or error
        self._scope.cancel()

    def _hung(self) -> str:
        name = self._runs.adapter.name
        if self._traffic.last is None:
            return f"{name} did not ask its model anything within the time of the trial"
        return f"{name} had the model's final answer and did not exit within the time of the trial"

    def _judge(self, ran: CommandResult) -> None:
        """Raise where the agent did not do its part."""
        name, traffic = self._runs.adapter.name, self._traffic
        if ran.ended == "gone":
            raise SandboxLost(f"the sandbox ended while {name} ran in it")
        if ran.ended == "memory" and traffic.model_owes:
            # What its model had it run took the memory, and the agent went down with that.
            self._pending.ran_out = "memory"
            self._judge_skill()
            return
        printed = traffic.final is not None and is_printed(ran.stdout, _forms(traffic.final))
        cut = traffic.final is not None and was_cut(traffic.final)
        if ran.ended == "exit" and ran.exit_code != 0 and cut and printed:
            # Agents take an answer that is not whole for an error. It is what their model gave, and is scored.
            self._judge_skill()
            return
        if ran.ended != "exit" or ran.exit_code != 0:
            how = f"ended with exit code {ran.exit_code}" if ran.ended == "exit" else _ENDED[ran.ended]
            raise AgentFailed(f"{name} {how}{_tail(ran)}")
        if traffic.last is None:
            raise AgentFailed(f"{name} ended without asking its model anything{_tail(ran)}")
        self._judge_skill()
        if traffic.final is None:
            raise AgentFailed(f"{name} ended while a tool call of its model had no result{_tail(ran)}")
        if not printed:
            raise AgentFailed(
                f"{name} did not print the final answer of its model: a program seems to have asked for it"
            )
        self._compare(self._runs.adapter.loads(ran.stdout))

    def _judge_skill(self) -> None:
        """Raise where the agent did not present the skill to its model as the arm demands."""
        if problem := self._skill_problem():
            raise AgentFailed(problem)

    def _skill_problem(self) -> str | None:
        name, traffic = self._runs.adapter.name, self._traffic
        if self._skill is not None and not self._forced and not traffic.listed:
            why = f"; {traffic.listing_cut}; offer fewer with --among" if traffic.listing_cut and traffic.others else ""
            return f"{name} did not list the skill {self._skill.name}, although it was there{why}"
        recognisable = traffic.skill is not None and bool(traffic.skill.lines)
        if self._skill is not None and self._forced and recognisable and traffic.loaded_turn != 0:
            return f"{name} did not load the skill {self._skill.name}, although it was forced"
        return None

    def _compare(self, reported: tuple[str, ...]) -> None:
        """What the agent says of its work is compared with the traffic, which is believed."""
        for disagreement in disagreements(
            reported,
            skill=None if self._skill is None else self._skill.name,
            loaded=self._traffic.loaded_turn is not None,
            forced=self._forced,
        ):
            logger.warning("trial=%s: %s", self._pending.id[:12], disagreement)

    async def _collect_and_close(self, sandbox: Sandbox) -> None:
        pending, runs = self._pending, self._runs
        traffic = self._traffic
        pending.skill_use = traffic.use
        pending.trajectory = traffic.trajectory.build()
        self._state.messages = traffic.conversation or self._state.messages
        self._state.output = traffic.final or traffic.last or ModelOutput()
        pending.outside = tuple(self._bridge.refused[:MOST_OUTSIDE])
        try:
            with anyio.fail_after(MOST_CLEARING_SECONDS):
                await runs.threads.call(sandbox.stop)
                own, case = runs.adapter.own_files, pending.planned.case
                pending.files, pending.removed = await runs.threads.call(
                    partial(take_files, sandbox, case, runs.trial_limits, own=own)
                )
        except TimeoutError:
            pending.sandbox_lost = "the sandbox did not return its files in time"
        except FileRefused as refusal:
            pending.files_refused = str(refusal)
        except SandboxSpent:
            pending.files = {}  # what ran there used up its memory, and the files went with it
        except SandboxGone as error:
            pending.sandbox_lost = str(error)
        finally:
            await runs.threads.call(partial(runs.sandboxes.close, sandbox))


def _forms(final: ModelOutput) -> list[list[str]]:
    """How an agent may print an answer: whole, without what it thought, or each part of it for itself."""
    content = final.message.content
    parts = [] if isinstance(content, str) else [part.text for part in content if isinstance(part, ContentText)]
    return [[final.message.text], [final_text(final)], *([parts] if parts else [])]


_ENDED = {
    "timeout": "was ended from outside",
    "output": "was ended: it printed too much",
    "memory": "was ended: everything in its sandbox together used too much memory",
}


def _tail(ran: CommandResult) -> str:
    """The end of what it printed as errors, for a person."""
    text = " ".join((ran.stderr or ran.stdout[-MOST_STDERR:]).decode("utf-8", "replace").split())
    return f": {text[-MOST_STDERR:]}" if text else ""
