"""Feeds one student's trials to the engine in planned order, and turns what comes back into trials."""

import re
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from inspect_ai import SampleSource
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSample
from inspect_ai.solver import TaskState

from upskill.domain import PlannedTrial, Student, Trial, Usage
from upskill.models import Door
from upskill.trials.answer import final_text
from upskill.trials.chat import chat_messages
from upskill.trials.outcome import Ending, outcome_of
from upskill.trials.pending import Pending
from upskill.trials.request import Requests

Record = Callable[[Trial], None]


class PlannedSource(SampleSource):
    """The engine asks it for samples. It holds only what is in flight, however long the plan is."""

    def __init__(
        self,
        planned: Iterator[PlannedTrial],
        *,
        student: Student,
        requests: Requests,
        door: Door,
        in_flight: int,
        record: Record,
        close: Callable[[], Awaitable[None]],
    ) -> None:
        self._planned = planned
        self._student = student
        self._requests = requests
        self._door = door
        self._in_flight = in_flight
        self._record = record
        self._close = close
        self._pending: dict[str, Pending] = {}
        self._number = 0
        self.stopped = False

    def find(self, state: TaskState) -> Pending:
        """The trial that a sample of the engine stands for."""
        return self._pending[str(state.sample_id)]

    def initial_samples(self) -> list[Sample]:
        """Enough to keep every connection busy while the first answers come in."""
        return self._next(2 * self._in_flight)

    async def next_samples(self) -> list[Sample] | None:
        """Asked when nothing is left in flight: more, or the end, at which the connections are closed."""
        samples = self._next(self._in_flight)
        if not samples:
            # The engine leaves them open, and a process that runs many evaluations would run out of them.
            await self._close()
        return samples or None

    async def sample_complete(self, sample: EvalSample) -> list[Sample] | None:
        """One trial ended: record it, and let the next one in."""
        pending = self._pending.pop(str(sample.id))
        self._record(self._finished(pending, _ending(pending, sample), seconds=sample.working_time))
        return self._next(1)

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

    def _next(self, count: int) -> list[Sample]:
        samples: list[Sample] = []
        while len(samples) < count and not self.stopped and self._student.model not in self._door.down:
            planned = next(self._planned, None)
            if planned is None:
                break
            samples.append(self._sample(planned))
        return samples

    def _sample(self, planned: PlannedTrial) -> Sample:
        self._number += 1
        pending = Pending(planned=planned, id=self._requests.trial_id(planned, self._student))
        name = re.sub(r"[^\w.-]+", "_", planned.case.id)[:60]
        # The number makes it unique and keeps the engine's log in planned order.
        key = f"{self._number:06d}-{name}-{planned.arm}-{planned.repeat}"
        self._pending[key] = pending
        return Sample(
            id=key,
            input=list(chat_messages(self._requests.render(planned.case, planned.arm))),
            metadata={
                "case": planned.case.id,
                "arm": planned.arm,
                "repeat": planned.repeat,
                "trial": pending.id,
            },
        )

    def _finished(self, pending: Pending, ending: Ending, *, seconds: float | None = None) -> Trial:
        planned, bill = pending.planned, pending.bill
        usage = (
            Usage(input_tokens=bill.input_tokens, output_tokens=bill.output_tokens, cost=bill.cost)
            if bill is not None and bill.answers
            else Usage()
        )
        return Trial(
            id=pending.id,
            student=self._student.name,
            case_id=planned.case.id,
            arm=planned.arm,
            repeat=planned.repeat,
            outcome=outcome_of(ending),
            answer=ending.text,
            usage=usage,
            seconds=seconds,
            calls=bill.calls if bill is not None else 0,
            served_model=bill.served_model if bill is not None else None,
            finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def _ending(pending: Pending, sample: EvalSample) -> Ending:
    output, bill = sample.output, pending.bill
    fault = bill.fault if bill is not None else None
    error = None
    if sample.error is not None:
        error = sample.error.message
        if pending.check_crash is not None:
            fault, error = "check", pending.check_crash
        elif bill is not None and bill.fault is not None:
            error = bill.fault_message
    limit: Any = sample.limit.type if sample.limit is not None else None
    stopped = sample.error is not None and sample.error.message.startswith(("CancelledError(", "Cancelled("))
    return Ending(
        text=final_text(output),
        stop=output.stop_reason if output.choices else None,
        refused=bool(output.choices) and _refused(output.choices[0]),
        limit=limit,
        error=error,
        fault=fault,
        cancelled=stopped,
        grade=pending.grade,
    )


def _refused(choice: Any) -> bool:
    """Whether the provider itself marks the answer as a refusal (a polite no in plain words is an answer)."""
    content = choice.message.content
    parts = [] if isinstance(content, str) else content
    return any(getattr(part, "refusal", None) for part in parts)
