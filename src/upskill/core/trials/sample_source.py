"""Feeds one student's trials to the engine in planned order, and turns what comes back into trials.

A trial waits while another evaluation buys the same one. What a student left is graded by a function that is handed in,
whatever the harness."""

import re
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

import anyio
import anyio.to_thread
from inspect_ai import SampleSource
from inspect_ai._util.working import report_sample_waiting_time
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from upskill.core.models import Bill, MeteredClient, NoAnswer, Purpose, billing
from upskill.core.models.text_calls import looks_like_a_call
from upskill.core.nouns import (
    Answer,
    Arm,
    Case,
    CheckResult,
    Errored,
    Fault,
    Files,
    Grade,
    PlannedTrial,
    SkillUse,
    Student,
    Trial,
    Turn,
    Usage,
)
from upskill.core.nouns.answer import Trajectory
from upskill.core.nouns.answer_schemas import without_thinking
from upskill.core.nouns.text import on_one_line, shortened, whole_characters
from upskill.core.trials.harness import Requests
from upskill.core.trials.outcome import Ending, StopReason, outcome_of
from upskill.core.trials.trial_run import Schedule, TrialRun
from upskill.sandbox import SandboxGone, SandboxUnavailable


@dataclass(slots=True)
class OpenTurn:
    """A turn that has begun, with the trials of it that have ended."""

    turn: Turn
    trials: dict[Arm, Trial] = field(default_factory=dict)

    @property
    def has_ended(self) -> bool:
        """Whether every arm has its trial."""
        return len(self.trials) == len(self.turn.arms)


@dataclass(slots=True)
class PendingTrial:
    """Filled in by the harness and the grader, read when the engine says that the trial has ended."""

    planned: PlannedTrial
    id: str
    turn: OpenTurn
    found: Trial | None = None
    """The trial as another evaluation bought it, while this one waited."""
    bill: Bill | None = None
    grade: Grade | None = None
    check_crash: str | None = None
    check_fault: Fault = "check"
    earlier: tuple[str, ...] = ()
    """The answers to the turns of the user before the last that was put."""
    was_cut: bool = False
    """Whether one of them was cut at its limit."""
    files: Files = field(default_factory=dict)
    """What a student with tools left in its working folder."""
    removed: tuple[str, ...] = ()
    """Files of the case that are gone from there."""
    files_refused: str | None = None
    """Why nothing was taken from there: too many files, or too large ones."""
    skill_use: SkillUse | None = None
    turns: int = 0
    tool_calls: int | None = None
    trajectory: Trajectory | None = None
    """What a student with tools did; `None` where it has none."""
    ran_out: Literal["turn", "token", "load", "memory"] | None = None
    """What ended it; `load`: the skill was loaded, and nothing more was to be measured."""
    sandbox_lost: str | None = None
    outside: tuple[str, ...] = ()
    """Addresses that a coding agent tried to reach, and was refused."""
    agent_failed: str | None = None
    """Why a coding agent measured nothing: it crashed, was killed, or did not list the skill."""
    agent_hung: str | None = None
    """Set where the trial was ended while it was the coding agent's turn to act, and not its model's."""

    @property
    def usage(self) -> Usage:
        """What its calls consumed; nothing is known before the first answer."""
        bill = self.bill
        if bill is None or not bill.answers:
            return Usage()
        return Usage(input_tokens=bill.input_tokens, output_tokens=bill.output_tokens, cost=bill.cost)

    @contextmanager
    def billed(self) -> Iterator[None]:
        """Every call within is on the bill of this trial."""
        one = self.planned
        with billing(Purpose(role="student", arm=one.arm, case_id=one.case.id, repeat=one.repeat)) as self.bill:
            yield


Grader = Callable[[Case, Answer], Grade]
Find = Callable[[TaskState], PendingTrial]


def final_text(output: ModelOutput) -> str:
    """What checks look at: the answer without the thinking. Text that is still thinking at its end is no answer."""
    text = without_thinking(output.choices[0].message.text) if output.choices else ""
    # A lone surrogate cannot be stored: what is graded is what is kept.
    return whole_characters(text)


def put_next(state: TaskState, pending: PendingTrial) -> bool:
    """Put the next turn of the user after an answer. False where that was the last one, or where the answer has failed
    by the way it ended: the conversation ends with it."""
    later, output = pending.planned.case.later_prompts, state.output
    text = final_text(output)
    if len(pending.earlier) == len(later) or not output.choices:
        return False
    # With tools, work may be all that there is of an answer.
    silent = not text.strip() and pending.tool_calls is None
    if silent or _refused(output.choices[0]) or output.stop_reason in ("content_filter", "model_length"):
        return False
    state.messages.append(ChatMessageUser(content=later[len(pending.earlier)]))
    state.output = ModelOutput()  # nothing has been said to it yet, should this be the end
    pending.earlier = (*pending.earlier, text)
    pending.was_cut = pending.was_cut or output.stop_reason == "max_tokens"
    return True


@scorer(metrics=[accuracy()])
def graded(find: Find, grade: Grader) -> Scorer:
    """Grade the final text, never the thinking, and the files, with the function that was handed in."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - the engine's signature
        pending = find(state)
        if pending.found is not None:
            return Score(value=0, explanation="asked and graded by another evaluation")
        answer = Answer(
            text=final_text(state.output),
            earlier=pending.earlier,
            files=pending.files,
            removed=pending.removed,
            trajectory=pending.trajectory,
            turns=pending.turns or None,
            tokens=pending.usage.tokens,
        )
        if pending.files_refused is not None:
            # The student's own doing, so it is a failed answer and no fault of a check.
            pending.grade = Grade(results=(CheckResult(kind="files", passed=False, saw=pending.files_refused),))
        else:
            try:
                # Off the event loop: a slow check must not make the calls in flight miss their deadlines.
                pending.grade = await anyio.to_thread.run_sync(grade, pending.planned.case, answer)
            except NoAnswer as error:
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


LOOK_SECONDS = 0.25
LONGEST_WAIT_SECONDS = 600.0
"""After that the trial is bought here as well: whoever is buying it may hang."""


@solver
def unless_bought_elsewhere(buy: Solver, find: Find, run: TrialRun, student: Student) -> Solver:
    """Claim a trial, then buy it, unless it was bought elsewhere meanwhile."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        pending = find(state)
        if run.claims is not None:
            trial = student, pending.planned, pending.id
            began = time.monotonic()
            while not run.claims.claim(*trial) and time.monotonic() - began < LONGEST_WAIT_SECONDS:
                await anyio.sleep(LOOK_SECONDS)
            # What a student with tools has of its own time is not spent by waiting.
            report_sample_waiting_time(time.monotonic() - began)
            if await anyio.to_thread.run_sync(partial(run.claims.was_bought_elsewhere, *trial)):
                pending.found = run.recall(*trial)
        return state if pending.found is not None else await buy(state, generate)

    return solve


Record = Callable[[Trial], None]
Recall = Callable[[PlannedTrial, str], Trial | None]
"""A trial that need not be bought, by its plan and its identity; `None` where there is none."""


class PlannedSource(SampleSource):
    """The engine asks it for samples. It holds only what is in flight, however long the plan is."""

    def __init__(
        self,
        schedule: Schedule,
        *,
        student: Student,
        requests: Requests,
        client: MeteredClient,
        at_once: int,
        record: Record,
        recall: Recall,
        before_first: Callable[[], Awaitable[None]] | None,
        close: Callable[[], Awaitable[None]],
    ) -> None:
        """`before_first` is awaited before a trial is bought for the first time."""
        self._schedule = schedule
        self._student = student
        self._requests = requests
        self._client = client
        self._at_once = at_once
        self._record = record
        self._recall = recall
        self._before_first = before_first
        self._close = close
        self._pending: dict[str, PendingTrial] = {}
        self._number = 0
        self.stopped = False
        self.was_capped = False
        """Whether the budget left no room for something that was due. A plan that ends exactly at a cap is complete."""

    def find(self, state: TaskState) -> PendingTrial:
        """The trial that a sample of the engine stands for."""
        return self._pending[str(state.sample_id)]

    def initial_samples(self) -> list[Sample]:
        """Enough to keep every connection busy while the first answers come in; none where something comes first."""
        return self._next() if self._before_first is None else []

    async def next_samples(self) -> list[Sample] | None:
        """Asked when nothing is left in flight: more, or the end, at which the connections are closed."""
        samples = self._next()
        if samples and self._before_first is not None:
            await self._before_first()
            self._before_first = None
            samples = [] if self.stopped else samples
        if not samples:
            # The engine leaves them open, and a process that runs many evaluations would run out of them.
            await self._close()
        return samples or None

    async def sample_complete(self, sample: EvalSample) -> list[Sample] | None:
        """One trial ended: record it, and let the next ones in."""
        pending = self._pending.pop(str(sample.id))
        if pending.found is not None:
            self._settle(pending.turn, pending.found)
            return self._next()
        trial = self._finished(pending, _ending(pending, sample), seconds=sample.working_time)
        self._record(trial)
        if isinstance(trial.outcome, Errored) and trial.outcome.fault == "budget":
            self.was_capped = True
        self._settle(pending.turn, trial)
        return self._next()

    async def sample_abandoned(self, sample: Sample, epoch: int) -> list[Sample] | None:
        """A trial that never began leaves nothing to record."""
        self._pending.pop(str(sample.id), None)
        return None

    def record_what_was_in_flight(self) -> None:
        """After the engine has ended: trials whose call was sent but whose answer nobody waited for."""
        for pending in self._pending.values():
            if pending.bill is not None and pending.bill.calls:
                self._record(self._finished(pending, Ending(cancelled=True)))
        self._pending.clear()

    def _next(self) -> list[Sample]:
        """Begin turns while a connection is free or about to be."""
        samples: list[Sample] = []
        while len(self._pending) <= self._at_once and not self._must_stop:
            turn = self._schedule.take()
            if turn is None:
                break
            if self._client.exhausted is not None:
                self.was_capped = True
                break
            samples += self._begin(turn)
        return samples

    @property
    def _must_stop(self) -> bool:
        return self.stopped or self.was_capped or self._student.model in self._client.down

    def _begin(self, turn: Turn) -> list[Sample]:
        """The samples of a turn; none for trials that are known already."""
        open_turn = OpenTurn(turn)
        samples: list[Sample] = []
        for planned in turn.trials():
            identity = self._requests.trial_id(planned, self._student)
            known = self._recall(planned, identity)
            if known is not None:
                self._settle(open_turn, known)
            else:
                samples.append(self._sample(PendingTrial(planned=planned, id=identity, turn=open_turn)))
        return samples

    def _settle(self, open_turn: OpenTurn, trial: Trial) -> None:
        open_turn.trials[trial.arm] = trial
        if open_turn.has_ended:
            self._schedule.ended(open_turn.turn, open_turn.trials)

    def _sample(self, pending: PendingTrial) -> Sample:
        self._number += 1
        planned = pending.planned
        name = re.sub(r"[^\w.-]+", "_", planned.case.id)[:60]
        # The number makes it unique and keeps the engine's log in planned order.
        key = f"{self._number:06d}-{name}-{planned.arm}-{planned.repeat}"
        self._pending[key] = pending
        request = self._requests.render(planned.case, planned.arm)
        return Sample(
            id=key,
            input=[
                *([ChatMessageSystem(content=request.system)] if request.system else []),
                ChatMessageUser(content=request.prompt),
            ],
            metadata={"case": planned.case.id, "arm": planned.arm, "repeat": planned.repeat, "trial": pending.id},
        )

    def _finished(self, pending: PendingTrial, ending: Ending, *, seconds: float | None = None) -> Trial:
        planned, bill = pending.planned, pending.bill
        return Trial(
            id=pending.id,
            student=self._student.name,
            case_id=planned.case.id,
            arm=planned.arm,
            repeat=planned.repeat,
            outcome=outcome_of(ending),
            answer=ending.text,
            earlier=pending.earlier if planned.case.turns else None,
            files=pending.files,
            removed=pending.removed,
            outside=pending.outside,
            skill_use=pending.skill_use,
            turns=pending.turns,
            tool_calls=pending.tool_calls,
            text_calls=(bill.text_calls or None) if bill is not None else None,
            unread_call=_unread_call(ending.text) if pending.tool_calls is not None else None,
            trajectory=pending.trajectory,
            usage=pending.usage,
            seconds=seconds,
            calls=bill.calls if bill is not None else 0,
            lost=bill.lost if bill is not None else 0,
            refused=bill.refused if bill is not None else 0,
            served_model=bill.served_model if bill is not None else None,
            finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def _unread_call(answer: str) -> str | None:
    return shortened(on_one_line(answer), 120) if looks_like_a_call(answer) else None


def _ending(pending: PendingTrial, sample: EvalSample) -> Ending:
    output, bill = sample.output, pending.bill
    fault = bill.fault if bill is not None else None
    limit: Any = sample.limit.type if sample.limit is not None else pending.ran_out
    error = None
    if pending.agent_hung is not None and limit in ("working", "time"):
        # The model had nothing to do, so the time that ran out was not its own.
        fault, error, limit = "agent", pending.agent_hung, None
    elif pending.agent_failed is not None:
        fault, error = "agent", pending.agent_failed
    # Who ran out has failed, whatever became of the sandbox afterwards.
    elif pending.sandbox_lost is not None and limit is None:
        fault, error = "sandbox", pending.sandbox_lost
    elif sample.error is not None:
        error = sample.error.message
        if pending.check_crash is not None:
            fault, error = pending.check_fault, pending.check_crash
        elif bill is not None and bill.fault is not None:
            error = bill.fault_message
    stopped = sample.error is not None and sample.error.message.startswith(("CancelledError(", "Cancelled("))
    return Ending(
        text=final_text(output),
        stop=_stop_reason(pending, output),
        left_files=bool(pending.files or pending.removed),
        files_refused=pending.files_refused is not None,
        refused=bool(output.choices) and _refused(output.choices[0]),
        limit=limit,
        error=error,
        fault=fault,
        cancelled=stopped,
        grade=pending.grade,
    )


def _stop_reason(pending: PendingTrial, output: ModelOutput) -> StopReason | None:
    """Why the last answer ended. A conversation with an answer that was cut was cut."""
    if not output.choices:
        return None
    return "max_tokens" if pending.was_cut and output.stop_reason == "stop" else output.stop_reason


def _refused(choice: Any) -> bool:
    """Whether the provider itself marks the answer as a refusal (a polite no in plain words is an answer)."""
    content = choice.message.content
    parts = [] if isinstance(content, str) else content
    return any(getattr(part, "refusal", None) for part in parts)
