"""What a person may want to type next, after a result. Only commands that exist are named."""

from collections.abc import Collection, Iterator
from shlex import quote

from upskill.domain import Evaluation


def next_steps(evaluation: Evaluation, *, commands: Collection[str], skill: str | None = None) -> Iterator[str]:
    """At most two commands, each with what it is for, the most useful first.

    `skill` is the folder as it was typed, where it is known.
    """
    run = quote(evaluation.run)
    if evaluation.interrupted or any(report.verdict == "invalid" for report in evaluation.students):
        kept = "go on where it stopped" if evaluation.interrupted else "put only what errored again"
        yield f"upskill eval --resume {run}   {kept}"
    elif skill is not None and _in_doubt(evaluation) and "cases" in commands:
        yield f"upskill cases check {quote(skill)}   what is wrong with the test cases, and what to change"
    if "report" in commands:
        yield f"upskill report {run} --open   every answer and assertion, with pictures"


def _in_doubt(evaluation: Evaluation) -> bool:
    """Whether the test cases may be to blame: some were left out, or a comparison came to nothing."""
    if any(state.state == "rejected" for state in evaluation.case_states):
        return True
    open_ones = any(report.verdict in ("undecided", "no difference") for report in evaluation.students)
    return open_ones and any(state.state == "unproven" or state.labels for state in evaluation.case_states)
