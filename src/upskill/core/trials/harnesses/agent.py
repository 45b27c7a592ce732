"""The harness `agent`: a student with a shell and file tools, in a sandbox of its own.

`agent_loop.py` has the loop itself.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from upskill.core.nouns import Arm, Case, Skill, digest_of
from upskill.core.trials.harness import ArmRequest, CaseRequest, Effort, Harness, Requests, read_words, skill_block
from upskill.core.trials.trajectory import TOOLS
from upskill.core.trials.trial_run import TrialLimits, skill_folder

if TYPE_CHECKING:
    from inspect_ai.solver import Solver

    from upskill.core.trials.sample_source import Find
    from upskill.core.trials.trial_run import TrialRun

EXPECTED_TURNS = 6
"""How many answers a student is taken to give in a trial."""
EXPECTED_RESULT_TOKENS = 300
"""How long a tool's result is taken to be: it is sent again with every later answer."""
OFFERED = read_words("offered.md")
"""How skills are listed for a student that may load them, in neutral words."""
ENTRY = next(line for line in OFFERED.splitlines() if line.startswith("- "))
"""The line of one skill in that list."""


class Agent:
    """Students work with tools until they answer each turn of the user without calling one, or run out of something."""

    version = "agent/3"
    frame = read_words("agent_frame.md")

    def arms(self, skill: Skill, *, previous: Skill | None, trial_limits: TrialLimits) -> dict[Arm, ArmRequest]:
        """The skill's files lie in the sandbox; it is listed, or given as well. Other skills are listed in all arms."""
        block = skill_block(skill, folder=skill_folder(skill, trial_limits))
        others = self._listed(None, trial_limits)
        arms: dict[Arm, ArmRequest] = {
            "baseline": others,
            "offered": self._listed(skill, trial_limits),
            "with_skill": ArmRequest(system=f"{others.system}\n\n{block}", skill=skill),
        }
        return arms if previous is None else {**arms, "previous": self._listed(previous, trial_limits)}

    def _listed(self, skill: Skill | None, trial_limits: TrialLimits) -> ArmRequest:
        """The list of the other skills, and of this one at its place among them: all by name, as agents do."""
        offered = sorted([*trial_limits.setup.others, *([] if skill is None else [skill])], key=lambda one: one.name)
        if not offered:
            return ArmRequest(system=self.frame)
        entries = (
            ENTRY.format(name=one.name, description=one.description, path=f"{skill_folder(one, trial_limits)}/SKILL.md")
            for one in offered
        )
        return ArmRequest(system=f"{self.frame}\n\n{OFFERED.replace(ENTRY, chr(10).join(entries))}", skill=skill)

    def show(self, case: Case) -> CaseRequest:
        """Its files lie in the working folder."""
        digests = {path: hashlib.sha256(data).hexdigest() for path, data in case.files.items()}
        return CaseRequest(case.first_prompt, digest_of(digests) if digests else "", case.later_prompts)

    def identity(self, trial_limits: TrialLimits, *, files: str) -> dict[str, object]:
        """Tools, limits and the files of the case."""
        return {"tools": [tool.as_json() for tool in TOOLS], **trial_limits.identity(), "files": files}

    @contextmanager
    def solving(
        self, run: "TrialRun", requests: Requests, *, began: Callable[[], None]
    ) -> "Iterator[Callable[[Find], Solver]]":
        """Students work in sandboxes; none is left open at the end."""
        from upskill.core.trials.agent_loop import SandboxSetup, work

        setup = SandboxSetup(
            requests,
            contents=run.contents,
            trial_limits=run.trial_limits,
            open_sandbox=run.open_sandbox,
            in_flight=run.client.policy.concurrency,
        )
        try:
            yield partial(work, setup=setup, began=began)
        finally:
            setup.close()

    def expected(self, trials: int, *, prompt_tokens: int, answer_tokens: int, trial_limits: TrialLimits) -> Effort:
        """Every turn sends again what was said and seen in those before it."""
        turns = min(EXPECTED_TURNS, trial_limits.turns)
        growth = trials * (answer_tokens + EXPECTED_RESULT_TOKENS) * turns * (turns - 1) // 2
        return Effort(turns, prompt_tokens * turns + growth, trials * answer_tokens * turns)

    def at_most(self, trials: int, *, prompt_tokens: int, answer_tokens: int, trial_limits: TrialLimits) -> Effort:
        """The last call may go over a trial's tokens."""
        written = min(trial_limits.turns * answer_tokens, trial_limits.tokens + answer_tokens)
        return Effort(trial_limits.turns, trials * max(0, 2 * trial_limits.tokens - written), trials * written)


HARNESS: Harness = Agent()
