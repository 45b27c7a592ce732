"""The harness `chat`: one question, one answer, no tools. The skill is given in the system message."""

from collections.abc import Callable

import anyio.to_thread
from inspect_ai.model import ChatMessageSystem, ChatMessageUser
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from upskill.domain import Answer, Case, CheckResult, Grade
from upskill.models import NotAnswered, Purpose, billing
from upskill.sandbox import SandboxGone, SandboxUnavailable
from upskill.trials.answer import final_text
from upskill.trials.pending import Pending
from upskill.trials.request import Request

Grader = Callable[[Case, Answer], Grade]
Find = Callable[[TaskState], Pending]


def chat_messages(request: Request) -> list[ChatMessageSystem | ChatMessageUser]:
    """The messages of a chat student."""
    return [ChatMessageSystem(content=request.system), ChatMessageUser(content=request.prompt)]


@solver
def ask(find: Find, *, began: Callable[[], None]) -> Solver:
    """Put the question through the metered door. `began` hears of every trial that begins."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        began()
        pending = find(state)
        planned = pending.planned
        purpose = Purpose(role="student", arm=planned.arm, case_id=planned.case.id, repeat=planned.repeat)
        with billing(purpose) as bill:
            pending.bill = bill
            return await generate(state, tool_calls="none")

    return solve


@scorer(metrics=[accuracy()])
def graded(find: Find, grade: Grader) -> Scorer:
    """Grade the final text, never the thinking, and the files, with the function that was handed in."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - the engine's signature
        pending = find(state)
        answer = Answer(text=final_text(state.output), files=pending.files, removed=pending.removed)
        if pending.files_refused is not None:
            # The student's own doing, so it is a failed answer and no fault of a check.
            pending.grade = Grade(results=(CheckResult(kind="files", passed=False, saw=pending.files_refused),))
        else:
            try:
                # Off the event loop: a slow check must not make the calls in flight miss their deadlines.
                pending.grade = await anyio.to_thread.run_sync(grade, pending.planned.case, answer)
            except NotAnswered as error:
                # The judge's endpoint failed, or a cap was reached: no fault of the check.
                pending.check_crash, pending.check_fault = f"the judge: {error}", error.fault
                raise
            except (SandboxUnavailable, SandboxGone) as error:
                pending.check_crash, pending.check_fault = f"{type(error).__name__}: {error}", "sandbox"
                raise
            except Exception as error:
                pending.check_crash = f"{type(error).__name__}: {error}"
                raise
        return Score(
            value=int(pending.grade.passed),
            answer=answer.text,
            explanation="\n".join(f"{result.kind}: {result.saw}" for result in pending.grade.results),
        )

    return score
