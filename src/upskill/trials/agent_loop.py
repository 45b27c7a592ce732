"""How a student of the harness `agent` works: with a shell and file tools, in a sandbox of its own.

The loop is ours and three lines long, so that a student gets exactly its turns: the engine's own turn limit bites one
call later. Its tokens are those that the door counted, estimated ones included. Its time is the engine's working
limit, which does not count waiting for a busy provider. Running out of any of them ends the trial scored and failed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import anyio
from inspect_ai.solver import Generate, Solver, TaskState, solver

from upskill.domain import Arm, Files
from upskill.sandbox import FileRefused, Furnishing
from upskill.trials.harness import ArmRequests
from upskill.trials.pending import Pending
from upskill.trials.scorer import Find
from upskill.trials.skill_use import Marks, SkillWatch, marks_of
from upskill.trials.terms import SKILLS, Terms, skill_folder
from upskill.trials.workshop import OpenSandbox, Places, SandboxLost, Threads, Workshop

MOST_CLEARING_SECONDS = 10
"""A sandbox that does not hand out its files by then is ended without them: nobody waits long after Ctrl-C."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shelf:
    """A skill as it lies in a sandbox: its files by absolute path, and how they are recognised."""

    folder: str
    called: str
    """How the student is told where that is."""
    files: Files
    executable: frozenset[str]
    marks: Marks


class Furnisher:
    """Opens the workshop of a trial. What lies on the shelf depends on the arm, and nothing else does."""

    def __init__(
        self,
        requests: ArmRequests,
        *,
        contents: Mapping[str, Files],
        terms: Terms,
        open_sandbox: OpenSandbox,
        in_flight: int,
    ) -> None:
        """`contents` are the files of each skill, by the skill's digest."""
        self._requests = requests
        self._contents = contents
        self._places = Places(open_sandbox)
        self._threads = Threads(in_flight)
        self._shelves: dict[Arm, Shelf | None] = {}
        self.terms = terms

    async def open(self, pending: Pending) -> Workshop:
        """A workshop with the case's files in it. Raises `SandboxLost`."""
        planned = pending.planned
        shelf = self._shelf(planned.arm)
        furnishing = Furnishing(limits=self.terms.place)
        watch = None
        if shelf is not None:
            furnishing = replace(furnishing, read_only=shelf.files, executable=shelf.executable)
            request = self._requests.render(planned.case, planned.arm)
            known = [data.decode("utf-8", "replace") for data in planned.case.files.values()]
            told = "\n".join([request.system, request.prompt, *known])
            watch = SkillWatch(
                shelf.marks,
                folder=shelf.folder,
                called=shelf.called,
                given=planned.arm == "with_skill",
                told=told,
            )
        try:
            place = await self._threads.call(partial(self._places.open, furnishing))
            workshop = Workshop(
                place, planned.case, terms=self.terms, watch=watch, threads=self._threads, close=self._places.close
            )
        except Exception as error:
            raise SandboxLost(f"the sandbox did not open: {error}") from error
        return workshop

    def close(self) -> None:
        """Close every sandbox that is still open, and any that opens from now on. For the end of a run."""
        self._places.close_all()

    def _shelf(self, arm: Arm) -> Shelf | None:
        if arm not in self._shelves:
            skill = self._requests.skill_in(arm)
            self._shelves[arm] = None
            if skill is not None:
                folder, contents = f"{SKILLS}/{skill.name}", self._contents[skill.digest]
                self._shelves[arm] = Shelf(
                    folder=folder,
                    called=skill_folder(skill, self.terms),
                    files={f"{folder}/{path}": data for path, data in contents.items()},
                    executable=frozenset(f"{folder}/{file.path}" for file in skill.files if file.executable),
                    marks=marks_of(contents),
                )
        return self._shelves[arm]


@solver
def work(find: Find, furnisher: Furnisher, *, began: Callable[[], None]) -> Solver:
    """Put the task, let the student work with its tools, and take what it leaves. `began` hears of every trial."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        began()
        pending = find(state)
        try:
            workshop = await furnisher.open(pending)
            try:
                await workshop.lay_out()
                with pending.billed():
                    state.tools = workshop.tools
                    return await _loop(state, generate, pending, furnisher.terms)
            finally:
                # Also at the end of its time, and after Ctrl-C: no process outlives this block.
                with anyio.CancelScope(shield=True):
                    await _clear_up(workshop, pending)
        except SandboxLost as error:
            pending.sandbox_lost = str(error)
            raise

    return solve


async def _loop(state: TaskState, generate: Generate, pending: Pending, terms: Terms) -> TaskState:
    """One answer of the model after the other, each with the results of its tool calls, until it calls none."""
    for turn in range(1, terms.turns + 1):
        state = await generate(state, tool_calls="single")
        pending.turns = turn
        if not state.output.message.tool_calls:
            return state
        if pending.bill is not None and pending.bill.tokens >= terms.tokens:
            pending.ran_out = "token"
            return state
    pending.ran_out = "turn"
    return state


async def _clear_up(workshop: Workshop, pending: Pending) -> None:
    try:
        pending.skill_use = workshop.skill_use
        with anyio.fail_after(MOST_CLEARING_SECONDS):
            pending.files, pending.removed = await workshop.take()
    except TimeoutError:
        pending.sandbox_lost = "the sandbox did not hand out its files in time"
    except FileRefused as refusal:
        pending.files_refused = str(refusal)
    except SandboxLost as error:
        pending.sandbox_lost = str(error)
    finally:
        await workshop.close()
