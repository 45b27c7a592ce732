"""Grades what a student left, whatever the harness. Knows no kind of check."""

from collections.abc import Callable

import anyio.to_thread
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import TaskState

from upskill.core.models import NoAnswer
from upskill.core.nouns import Answer, Case, CheckResult, Grade
from upskill.core.nouns.answer_schemas import without_thinking
from upskill.core.nouns.text import whole_characters
from upskill.core.trials.pending_trial import PendingTrial
from upskill.sandbox import SandboxGone, SandboxUnavailable

Grader = Callable[[Case, Answer], Grade]
Find = Callable[[TaskState], PendingTrial]


def final_text(output: ModelOutput) -> str:
    """What checks look at: the answer without the thinking. Text that is still thinking at its end is no answer."""
    text = without_thinking(output.choices[0].message.text) if output.choices else ""
    # A lone surrogate cannot be stored: what is graded is what is kept.
    return whole_characters(text)


@scorer(metrics=[accuracy()])
def graded(find: Find, grade: Grader) -> Scorer:
    """Grade the final text, never the thinking, and the files, with the function that was handed in."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - the engine's signature
        pending = find(state)
        if pending.found is not None:
            return Score(value=0, explanation="asked and graded by another evaluation")
        answer = Answer(
            text=final_text(state.output),
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
