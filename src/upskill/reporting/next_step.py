"""What a person may want to type next, after a result."""

from collections.abc import Iterator
from shlex import quote
from typing import NamedTuple

from upskill.domain import Evaluation, StudentReport
from upskill.domain.generated import GenerateResult


class NextStep(NamedTuple):
    """A command and what it is for."""

    what: str
    command: str


def next_steps(evaluation: Evaluation, *, skill: str | None = None, resume: str | None = None) -> Iterator[NextStep]:
    """At most two commands, the most useful first.

    `skill` is the folder as it was typed, where it is known; `resume` the command that resumes the run, where more must
    be typed than the run.
    """
    run = quote(evaluation.run)
    if (why := _why_resume(evaluation)) is not None:
        yield NextStep(why, resume or f"upskill eval --resume {run}")
    elif any(map(_lost_too_much, evaluation.students)):
        yield NextStep("ask anew, with a sound server or a longer attempt_timeout_seconds", "upskill eval … --fresh")
    elif skill is not None and _in_doubt(evaluation):
        yield NextStep("what to change in the test cases", f"upskill cases check {quote(skill)}")
    yield _report(run)


def steps_after_generate(generated: GenerateResult) -> Iterator[NextStep]:
    """How to look at what was measured, where something was."""
    if generated.evaluation is not None:
        yield _report(quote(generated.run))


def _report(run: str) -> NextStep:
    return NextStep("every answer and assertion, with pictures", f"upskill report {run} --open")


def _why_resume(evaluation: Evaluation) -> str | None:
    """What a resumed run would do, where one would do something."""
    if evaluation.interrupted:
        return "go on where it stopped"
    if any(report.stopped == "budget" for report in evaluation.students):
        return "go on where it stopped, for as much again"
    if any(report.verdict == "invalid" and not _lost_too_much(report) for report in evaluation.students):
        return "put again what errored, and only that"
    return None


def _lost_too_much(report: StudentReport) -> bool:
    """Whether answers were lost, and to run again what errored would not bring back a verdict."""
    return report.verdict == "invalid" and report.end != "endpoint down" and any(arm.lost for arm in report.arms)


def _in_doubt(evaluation: Evaluation) -> bool:
    """Whether the test cases may be to blame: some were left out, or a comparison came to nothing."""
    if any(state.state == "rejected" for state in evaluation.case_states):
        return True
    open_ones = any(report.verdict in ("undecided", "no difference") for report in evaluation.students)
    return open_ones and any(state.state == "unproven" or state.labels for state in evaluation.case_states)
