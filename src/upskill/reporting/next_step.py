"""What a person may want to type next, after a result. Only commands that exist are named."""

from collections.abc import Collection, Iterator
from shlex import quote
from typing import NamedTuple

from upskill.domain import Evaluation


class NextStep(NamedTuple):
    """A command and what it is for."""

    what: str
    command: str


def next_steps(evaluation: Evaluation, *, commands: Collection[str], skill: str | None = None) -> Iterator[NextStep]:
    """At most two commands, the most useful first.

    `skill` is the folder as it was typed, where it is known.
    """
    run = quote(evaluation.run)
    if evaluation.interrupted or any(report.verdict == "invalid" for report in evaluation.students):
        what = "go on where it stopped" if evaluation.interrupted else "put again what errored, and only that"
        yield NextStep(what, f"upskill eval --resume {run}")
    elif skill is not None and _in_doubt(evaluation) and "cases" in commands:
        yield NextStep("what to change in the test cases", f"upskill cases check {quote(skill)}")
    if "report" in commands:
        yield NextStep("every answer and assertion, with pictures", f"upskill report {run} --open")


def _in_doubt(evaluation: Evaluation) -> bool:
    """Whether the test cases may be to blame: some were left out, or a comparison came to nothing."""
    if any(state.state == "rejected" for state in evaluation.case_states):
        return True
    open_ones = any(report.verdict in ("undecided", "no difference") for report in evaluation.students)
    return open_ones and any(state.state == "unproven" or state.labels for state in evaluation.case_states)
