"""A coding agent as a harness: what is the same for all of them. Each is an adapter in `trials/harnesses/`."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from upskill.domain import Arm, Case, Skill, digest_of
from upskill.errors import UsageError
from upskill.trials.coding_agents.adapter import AgentAdapter
from upskill.trials.coding_agents.program import find_agent
from upskill.trials.harness import ArmRequest, ArmRequests, CaseRequest, Effort, load_harness
from upskill.trials.trial_limits import TrialLimits

if TYPE_CHECKING:
    from inspect_ai.solver import Solver

    from upskill.trials.scorer import Find
    from upskill.trials.trial_run import TrialRun

EXPECTED_TURNS = 8
"""How many answers a model is taken to give in a trial."""
EXPECTED_RESULT_TOKENS = 500
"""How long a tool's result is taken to be: it is sent again with every later answer."""


@dataclass(frozen=True, slots=True)
class CodingAgent:
    """An agent works until it exits, with its own tools and its own words to the model."""

    adapter: AgentAdapter

    @property
    def version(self) -> str:
        """That of the adapter. Which version of the agent it was is part of the trial's limits."""
        return self.adapter.version

    @property
    def resumable(self) -> tuple[str, ...]:
        """None yet."""
        return ()

    @property
    def frame(self) -> str:
        """Nothing: the agent has words of its own."""
        return ""

    def arms(self, skill: Skill, *, previous: Skill | None, trial_limits: TrialLimits) -> dict[Arm, ArmRequest]:
        """The skill lies where the agent looks for skills, or it does not; or the agent is made to load it."""
        arms: dict[Arm, ArmRequest] = {
            "baseline": ArmRequest(system=""),
            "offered": ArmRequest(system="", skill=skill),
            "with_skill": ArmRequest(system="", skill=skill, forced=True),
        }
        return arms if previous is None else {**arms, "previous": ArmRequest(system="", skill=previous)}

    def limits(self, trial_limits: TrialLimits, *, agent_bin: Path | None) -> TrialLimits:
        """The limits of a trial with this agent, as it is installed here. Raises `UsageError` where it is not."""
        program = find_agent(self.adapter, named=agent_bin)
        return replace(
            trial_limits,
            # What the agent itself says is sent with every turn, and is not the model's to save.
            tokens=trial_limits.tokens + trial_limits.turns * self.adapter.request_tokens,
            place=self.adapter.limits,
            setup=replace(trial_limits.setup, program=program),
        )

    def show(self, case: Case) -> CaseRequest:
        """Its files lie in the working folder."""
        digests = {path: hashlib.sha256(data).hexdigest() for path, data in case.files.items()}
        return CaseRequest(case.prompt, digest_of(digests) if digests else "")

    def identity(self, trial_limits: TrialLimits, *, files: str) -> dict[str, object]:
        """Limits, the agent with its version, the other skills, and the files of the case."""
        return {"tools": [], **trial_limits.identity(), "files": files}

    @contextmanager
    def solving(
        self, run: "TrialRun", requests: ArmRequests, *, began: Callable[[], None]
    ) -> "Iterator[Callable[[Find], Solver]]":
        """Agents work in sandboxes; none is left open at the end."""
        from upskill.trials.coding_agents.runner import AgentRuns, run_agent

        runs = AgentRuns(self.adapter, run, requests)
        try:
            yield partial(run_agent, runs=runs, began=began)
        finally:
            runs.close()

    def expected(self, trials: int, *, prompt_tokens: int, answer_tokens: int, trial_limits: TrialLimits) -> Effort:
        """Every turn sends again what was said and seen in those before it, and what the agent says first."""
        turns = min(EXPECTED_TURNS, trial_limits.turns)
        growth = trials * (answer_tokens + EXPECTED_RESULT_TOKENS) * turns * (turns - 1) // 2
        each = prompt_tokens + trials * (self.adapter.request_tokens + trial_limits.setup.listing_tokens)
        return Effort(turns, each * turns + growth, trials * answer_tokens * turns)

    def at_most(self, trials: int, *, prompt_tokens: int, answer_tokens: int, trial_limits: TrialLimits) -> Effort:
        """The last call may go over a trial's tokens."""
        written = min(trial_limits.turns * answer_tokens, trial_limits.tokens + answer_tokens)
        return Effort(trial_limits.turns, trials * max(0, 2 * trial_limits.tokens - written), trials * written)


def agent_limits(trial_limits: TrialLimits, harness: str, *, agent_bin: Path | None) -> TrialLimits:
    """The limits of a trial with this harness, and in them the coding agent that it runs. Raises `UsageError`."""
    loaded = load_harness(harness)
    if isinstance(loaded, CodingAgent):
        if not trial_limits.confined:
            raise UsageError(f"the harness {harness} runs in a sandbox only", hint="remove --sandbox none")
        return loaded.limits(trial_limits, agent_bin=agent_bin)
    if agent_bin is not None:
        raise UsageError(
            f"--agent-bin names a coding agent, and the harness {harness} runs none",
            hint="add --harness codex, claude-code or opencode",
        )
    return trial_limits
