"""A harness that upskill does not have: each student may look at its answer again, and the second one counts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from upskill.core.nouns import Arm, Case, Skill
from upskill.core.trials.harness import ArmRequest, CaseRequest, Effort, Harness, Requests
from upskill.core.trials.trial_run import TrialLimits, TrialRun

if TYPE_CHECKING:
    from inspect_ai.solver import Generate, Solver, TaskState

    from upskill.core.trials.sample_source import Find


class Twice:
    version = "twice/7"
    frame = "Answer; you will be asked again."

    def arms(self, skill: Skill, *, previous: Skill | None, trial_limits: TrialLimits) -> dict[Arm, ArmRequest]:
        told = ArmRequest(system=f"{self.frame}\n\n{skill.body}")
        return {"baseline": ArmRequest(system=self.frame), "with_skill": told}

    def show(self, case: Case) -> CaseRequest:
        return CaseRequest(case.prompt)

    def identity(self, trial_limits: TrialLimits, *, files: str) -> dict[str, object]:
        return {"asked": 2}

    @contextmanager
    def solving(
        self, run: TrialRun, requests: Requests, *, began: Callable[[], None]
    ) -> "Iterator[Callable[[Find], Solver]]":
        from inspect_ai.model import ChatMessageUser
        from inspect_ai.solver import solver

        @solver
        def ask_twice(find: "Find") -> "Solver":
            async def solve(state: "TaskState", generate: "Generate") -> "TaskState":
                began()
                pending = find(state)
                with pending.billed():
                    state = await generate(state)
                    state.messages.append(ChatMessageUser(content="Are you sure?"))
                    return await generate(state)

            return solve

        yield ask_twice

    def expected(self, trials: int, *, prompt_tokens: int, answer_tokens: int, trial_limits: TrialLimits) -> Effort:
        return Effort(turns=2, input_tokens=2 * prompt_tokens, output_tokens=2 * trials * answer_tokens)

    at_most = expected


HARNESS: Harness = Twice()
