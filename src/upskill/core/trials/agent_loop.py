"""How a student of the harness `agent` works: with a shell and file tools, in a sandbox of its own.

The loop is ours and three lines long, so that a student gets exactly its turns: the engine's own turn limit bites one
call later. Its tokens are those that the metered client counted, estimated ones included. Its time is the engine's
working limit, which does not count waiting for a busy provider. Running out of any of them ends the trial scored and
failed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import anyio
from inspect_ai.solver import Generate, Solver, TaskState, solver

from upskill.core.nouns import Arm, Files, Skill
from upskill.core.trials.harness import Requests
from upskill.core.trials.sample_source import Find, PendingTrial, put_next
from upskill.core.trials.sandbox_tools import (
    OpenSandbox,
    OpenSandboxes,
    SandboxLost,
    SandboxTools,
    Threads,
    mounted_skills,
)
from upskill.core.trials.trajectory import (
    KNOWN_TOOLS,
    SKILL_FILE,
    TOOLS,
    Marks,
    OtherMark,
    OtherMarks,
    SkillWatch,
    marks_of,
    trajectory_of,
)
from upskill.core.trials.trial_run import SKILLS, TrialLimits, skill_folder
from upskill.sandbox import FileRefused, SandboxSpec

_TOOL_NAMES = frozenset(tool.name for tool in TOOLS)
MOST_CLEARING_SECONDS = 10
"""A sandbox that does not hand out its files by then is ended without them: nobody waits long after Ctrl-C."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillMounts:
    """The skills as they lie in the sandboxes of one arm: files by absolute path, and how they are recognised."""

    folder: str = ""
    """Where the measured skill lies; empty where it does not."""
    called: str = ""
    """How the student is told where that is."""
    files: Files
    executable: frozenset[str]
    marks: Marks
    """Those of the measured skill."""
    others: OtherMarks


class SandboxSetup:
    """Opens the sandbox of a trial. Which skill is mounted depends on the arm, and nothing else does."""

    def __init__(
        self,
        requests: Requests,
        *,
        contents: Mapping[str, Files],
        trial_limits: TrialLimits,
        open_sandbox: OpenSandbox,
        in_flight: int,
    ) -> None:
        """`contents` are the files of each skill, by the skill's digest."""
        self._requests = requests
        self._contents = contents
        self._sandboxes = OpenSandboxes(open_sandbox)
        self._threads = Threads(in_flight)
        self._mounts: dict[Arm, SkillMounts | None] = {}
        self.trial_limits = trial_limits

    async def open(self, pending: PendingTrial) -> SandboxTools:
        """A sandbox with the case's files in it. Raises `SandboxLost`."""
        planned = pending.planned
        mount = self._mount(planned.arm)
        spec = SandboxSpec(limits=self.trial_limits.place)
        watch = None
        if mount is not None:
            spec = replace(spec, read_only=mount.files, executable=mount.executable)
            request = self._requests.render(planned.case, planned.arm)
            texts = [data.decode("utf-8", "replace") for data in planned.case.files.values()]
            known = "\n".join([request.text, *texts])
            watch = SkillWatch(
                mount.marks,
                folder=mount.folder,
                called=mount.called,
                given=planned.arm == "with_skill",
                known=known,
                others=mount.others,
            )
        try:
            sandbox = await self._threads.call(partial(self._sandboxes.open, spec))
            sandbox_tools = SandboxTools(
                sandbox,
                planned.case,
                trial_limits=self.trial_limits,
                watch=watch,
                threads=self._threads,
                close=self._sandboxes.close,
            )
        except Exception as error:
            raise SandboxLost(f"the sandbox could not be opened: {error}") from error
        return sandbox_tools

    def close(self) -> None:
        """Close every sandbox that is still open, and any that opens from now on. For the end of a run."""
        self._sandboxes.close_all()

    def _mount(self, arm: Arm) -> SkillMounts | None:
        if arm not in self._mounts:
            skill, others = self._requests.skill_in(arm), self.trial_limits.setup.others
            self._mounts[arm] = self._mounted(skill, others) if skill is not None or others else None
        return self._mounts[arm]

    def _mounted(self, skill: Skill | None, others: tuple[Skill, ...]) -> SkillMounts:
        mounted = (*others, *(() if skill is None else (skill,)))
        files, executable = mounted_skills(mounted, self._contents, SKILLS)
        # Over all skills: a line that stands in two of them tells nothing.
        marks = marks_of(files)
        folder = "" if skill is None else f"{SKILLS}/{skill.name}"
        return SkillMounts(
            folder=folder,
            called="" if skill is None else skill_folder(skill, self.trial_limits),
            files=files,
            executable=executable,
            marks={
                path.removeprefix(f"{folder}/"): lines
                for path, lines in marks.items()
                if folder and path.startswith(f"{folder}/")
            },
            others={
                one.name: OtherMark(path, marks.get(path, ()))
                for one in others
                for path in [f"{SKILLS}/{one.name}/{SKILL_FILE}"]
            },
        )


@solver
def work(find: Find, setup: SandboxSetup, *, began: Callable[[], None]) -> Solver:
    """Put the task, let the student work with its tools, and take what it leaves. `began` hears of every trial."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        began()
        pending = find(state)
        try:
            sandbox_tools = await setup.open(pending)
            try:
                await sandbox_tools.lay_out()
                with pending.billed():
                    state.tools = sandbox_tools.tools
                    return await _loop(state, generate, pending, sandbox_tools, setup.trial_limits)
            finally:
                # Also at the end of its time, and after Ctrl-C: no process outlives this block.
                with anyio.CancelScope(shield=True):
                    pending.trajectory = trajectory_of(state.messages, known=KNOWN_TOOLS)
                    await _collect_and_close(sandbox_tools, pending)
        except SandboxLost as error:
            pending.sandbox_lost = str(error)
            raise

    return solve


async def _loop(
    state: TaskState,
    generate: Generate,
    pending: PendingTrial,
    sandbox_tools: SandboxTools,
    trial_limits: TrialLimits,
) -> TaskState:
    """One answer of the model after the other, each with the results of its tool calls, until it calls none and the
    user has nothing more to say."""
    for turn in range(1, trial_limits.turns + 1):
        state = await generate(state, tool_calls="single")
        pending.turns = turn
        sandbox_tools.end_turn(turn)
        calls = state.output.message.tool_calls or []
        readable = [call for call in calls if call.parse_error is None and call.function in _TOOL_NAMES]
        pending.tool_calls = (pending.tool_calls or 0) + len(readable)
        if not calls and not put_next(state, pending):
            return state
        use = sandbox_tools.skill_use if trial_limits.stop_at_load else None
        if use is not None and use.loaded:
            pending.ran_out = "load"
            return state
        if pending.bill is not None and pending.bill.tokens >= trial_limits.tokens:
            pending.ran_out = "token"
            return state
    pending.ran_out = "turn"
    return state


async def _collect_and_close(sandbox_tools: SandboxTools, pending: PendingTrial) -> None:
    try:
        pending.skill_use = sandbox_tools.skill_use
        with anyio.fail_after(MOST_CLEARING_SECONDS):
            pending.files, pending.removed = await sandbox_tools.take()
    except TimeoutError:
        pending.sandbox_lost = "the sandbox did not return its files in time"
    except FileRefused as refusal:
        pending.files_refused = str(refusal)
    except SandboxLost as error:
        pending.sandbox_lost = str(error)
    finally:
        await sandbox_tools.close()
