"""The harness `chat`: questions and answers without tools, mostly one of each. The skill is in the system message."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from upskill.core.nouns import Arm, Case, Skill
from upskill.core.trials.harness import ArmRequest, CaseRequest, Effort, Harness, Requests, read_words, skill_block
from upskill.core.trials.trial_run import TrialLimits

if TYPE_CHECKING:
    from inspect_ai.solver import Generate, Solver, TaskState

    from upskill.core.trials.sample_source import Find
    from upskill.core.trials.trial_run import TrialRun


def with_files(case: Case) -> str:
    """The first prompt, and after it every file in a fence with its path; the prompt alone where there are no files."""
    return "\n\n".join([case.first_prompt, *(_fenced(path, data) for path, data in sorted(case.files.items()))])


def _fenced(path: str, data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return f"The file {path} holds {len(data):,} bytes that are no text."
    # A fence that is longer than any in the text cannot be closed by it.
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{path}:\n{fence}\n{text.removesuffix(chr(10))}\n{fence}"


class Chat:
    """Students answer once to each turn of the user, and see the files of a case in the first prompt."""

    version = "chat/2"
    frame = read_words("frame.md")

    def arms(self, skill: Skill, *, previous: Skill | None, trial_limits: TrialLimits) -> dict[Arm, ArmRequest]:
        """The skill stands in the system message, or it does not. Other skills stand there in all arms, all by name."""
        arms: dict[Arm, ArmRequest] = {
            "baseline": self._given(trial_limits),
            "with_skill": self._given(trial_limits, skill),
        }
        return arms if previous is None else {**arms, "previous": self._given(trial_limits, previous)}

    def _given(self, trial_limits: TrialLimits, *skills: Skill) -> ArmRequest:
        given = sorted((*trial_limits.setup.others, *skills), key=lambda one: one.name)
        return ArmRequest(system="\n\n".join([self.frame, *map(skill_block, given)]))

    def show(self, case: Case) -> CaseRequest:
        """Its files follow the prompt."""
        return CaseRequest(with_files(case), later=case.later_prompts)

    def identity(self, trial_limits: TrialLimits, *, files: str) -> dict[str, object]:
        """Nothing but the request."""
        return {"tools": [], "limits": {}}

    @contextmanager
    def solving(
        self, run: "TrialRun", requests: Requests, *, began: Callable[[], None]
    ) -> "Iterator[Callable[[Find], Solver]]":
        """Put the questions through the metered client, each with the conversation up to it."""
        from inspect_ai.solver import solver

        from upskill.core.trials.sample_source import put_next

        @solver
        def ask(find: "Find") -> "Solver":
            async def solve(state: "TaskState", generate: "Generate") -> "TaskState":
                began()
                pending = find(state)
                with pending.billed():
                    state = await generate(state, tool_calls="none")
                    while put_next(state, pending):
                        state = await generate(state, tool_calls="none")
                return state

            return solve

        yield ask

    def expected(self, trials: int, *, prompt_tokens: int, answer_tokens: int, trial_limits: TrialLimits) -> Effort:
        """One answer each."""
        return Effort(turns=1, input_tokens=prompt_tokens, output_tokens=trials * answer_tokens)

    at_most = expected


HARNESS: Harness = Chat()
