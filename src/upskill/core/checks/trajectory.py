"""What checks of the way share: the recorded tool calls of an answer, and the error where none were recorded."""

from collections.abc import Mapping

from upskill.core.checks.kind import Need, ObjectKind, Submission, shown
from upskill.core.nouns.answer import MOST_CALLS, MOST_CHARACTERS, ToolCall, Trajectory
from upskill.core.nouns.case import Json

NEEDS_TRAJECTORY: frozenset[Need] = frozenset({"trajectory"})


class NotRecorded(Exception):
    """What a check asks for was not recorded with this answer: nothing is known, and the answer has not failed."""


class TrajectoryKind(ObjectKind):
    """A kind that looks at the tool calls of an answer and not at its words."""

    of_the_way = True

    def asked(self, wanted: Mapping[str, Json]) -> list[str]:
        """What the model must and must not do, each in words that follow "the model"."""
        raise NotImplementedError

    def describe(self, spec: Json) -> str:
        asked = self.asked(self.as_object(spec))
        return f"the model {' and '.join(asked)}" if asked else super().describe(spec)

    def needs(self, spec: Json) -> frozenset[Need]:
        return NEEDS_TRAJECTORY

    def reads_words(self, spec: Json) -> bool:
        return False


def trajectory_of(submission: Submission) -> Trajectory:
    """The tool calls of an answer. Raises `NotRecorded`."""
    if submission.answer.trajectory is None:
        raise NotRecorded("the tool calls of this answer were not recorded (the model had no tools)")
    return submission.answer.trajectory


def unseen_calls(trajectory: Trajectory) -> str | None:
    """Why it cannot be said that something was not done, in words; `None` where every call is known whole.

    Whoever makes so many calls, or so long ones, has not shown that it did nothing else.
    """
    if trajectory.left_out:
        return f"more than {MOST_CALLS:,} tool calls; the {trajectory.left_out:,} after them were not looked at"
    if cut := next((call for call in trajectory.calls if call.cut), None):
        return f"the arguments of {where(cut)} are longer than {MOST_CHARACTERS:,} characters and were cut"
    return None


def where(call: ToolCall) -> str:
    """A call, and when it was made, in words."""
    by = " by a subagent" if call.subagent else ""
    return f"{call.tool} in turn {call.turn}{by}"


def shown_call(call: ToolCall) -> str:
    """The same with its arguments on one line."""
    return f"{where(call)}: {shown(' '.join(call.arguments.split()))}"
