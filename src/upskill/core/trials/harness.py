"""What a harness is: how students are asked and work. What it sees and who it is identify a trial."""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from upskill import disk, plugin
from upskill.core.nouns import (
    DEFAULT_HARNESS,
    Arm,
    Case,
    PlannedTrial,
    Price,
    Skill,
    Student,
    digest_of,
    harness_info,
)
from upskill.core.nouns.harness import harness_names, known_harness
from upskill.core.progress import Progress
from upskill.core.trials.trial_run import AgentProgram, TrialLimits
from upskill.errors import UsageError
from upskill.sandbox import Backend

if TYPE_CHECKING:
    from inspect_ai.solver import Solver

    from upskill.core.trials.sample_source import Find
    from upskill.core.trials.trial_run import TrialRun


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmRequest:
    """What an arm adds to a case."""

    system: str
    """What the student is told first."""
    skill: Skill | None = None
    """The skill whose files lie in its sandbox; `None` where none does."""
    forced: bool = False
    """Whether the student is made to load it by means of its own, where it could otherwise choose."""


class CaseRequest(NamedTuple):
    """A case as its student meets it, in every arm."""

    prompt: str
    files: str = ""
    """The digest of the files that lie in its folder."""
    later: tuple[str, ...] = ()
    """What the user says after the first answer, one after the other."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """The rendered first request of a student: all that it is told before it acts."""

    system: str
    prompt: str
    later: tuple[str, ...] = ()
    """What the user says after the first answer, one after the other."""

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join([self.system, self.prompt, *self.later])


class Effort(NamedTuple):
    """What trials take: answers of the model in each, and tokens of all of them."""

    turns: int
    input_tokens: int
    output_tokens: int

    def cost(self, price: Price) -> float:
        """In dollars."""
        return price.of(input_tokens=self.input_tokens, output_tokens=self.output_tokens)


class Harness(Protocol):
    """How students are asked and work. The arms may differ by the skill and by nothing else.

    Its name, its arms and what it needs stand in `core/nouns/harness.py`.
    """

    @property
    def version(self) -> str:
        """Its name and a number, `chat/1`. It is part of every trial's identity: one that asks in another way, or takes
        another answer, is another version."""

    @property
    def frame(self) -> str:
        """What every student is told first, in every arm. It is kept in the run."""

    def arms(self, skill: Skill, *, previous: Skill | None, trial_limits: TrialLimits) -> Mapping[Arm, ArmRequest]:
        """What each arm adds, an older version's too where there is one. A baseline depends on no skill."""

    def show(self, case: Case) -> CaseRequest:
        """The case as every arm shows it."""

    def identity(self, trial_limits: TrialLimits, *, files: str) -> dict[str, object]:
        """What else can change an answer, as plain values: tools, limits, files of the case by their digest."""

    def solving(
        self, run: "TrialRun", requests: "Requests", *, began: Callable[[], None]
    ) -> "AbstractContextManager[Callable[[Find], Solver]]":
        """What makes the engine's solver for a student, as long as it lasts; what it opened is closed at the end.

        A solver calls `began` first, finds its trial, and fills in the bill and whatever the student left. What
        measured nothing raises.
        """

    def expected(self, trials: int, *, prompt_tokens: int, answer_tokens: int, trial_limits: TrialLimits) -> Effort:
        """What so many trials take that see so many tokens in all, if answers are as long as is usual."""

    def at_most(self, trials: int, *, prompt_tokens: int, answer_tokens: int, trial_limits: TrialLimits) -> Effort:
        """The most that they can take, if answers are as long as they may be."""


def load_harness(name: str) -> Harness:
    """The harness of this name. Raises where there is none."""
    info = known_harness(name)
    if info is None:
        raise UsageError(f"there is no harness {name}", hint=f"one of {', '.join(harness_names())}")
    harness: Harness = import_module(info.module).HARNESS
    return harness


class AgentHarness(Harness, Protocol):
    """A harness that runs a coding agent which the user has installed."""

    def limits(self, trial_limits: TrialLimits, *, agent_bin: Path | None) -> TrialLimits:
        """The limits of a trial with this agent, as it is installed here. Raises `UsageError` where it is not."""

    def require_fit(self, program: AgentProgram, *, backend: Backend, run: bool, progress: Progress) -> tuple[str, ...]:
        """Notes on an agent whose version was never tested: it is examined first, once per process and sandbox.

        Without `run`, where only the plan is shown, the note says that it will be. Raises where the examination fails.
        """


def load_agent(name: str) -> AgentHarness | None:
    """The harness of this name where it runs a coding agent; `None` for one of ours."""
    if not harness_info(name).program:
        return None
    agent: AgentHarness = import_module(harness_info(name).module).HARNESS
    return agent


def agent_limits(trial_limits: TrialLimits, harness: str, *, agent_bin: Path | None) -> TrialLimits:
    """The limits of a trial with this harness, and in them the coding agent that it runs. Raises `UsageError`."""
    agent = load_agent(harness)
    if agent is not None:
        if not trial_limits.confined:
            raise UsageError(f"the harness {harness} runs in a sandbox only", hint="remove --sandbox none")
        return agent.limits(trial_limits, agent_bin=agent_bin)
    if agent_bin is not None:
        raise UsageError(
            f"`agent_bin` names a coding agent, and the harness {harness} runs none",
            hint=f"add --harness with one of {', '.join(plugin.names('harnesses'))}",
        )
    return trial_limits


def read_words(name: str) -> str:
    """What students are told, from a file beside this one."""
    return disk.packaged("upskill.core.trials", name).strip()


PASSAGE = read_words("passage.md")
"""How a passage is given to a student of the ceiling arm, in neutral words."""


def passage_block(case: Case) -> str:
    """The passage that a case rests on, between two tags. Raises where it names none."""
    if case.passage is None:
        raise ValueError(f"{case.id}: names no passage")
    return PASSAGE.format(passage=case.passage.strip())


def skill_block(skill: Skill, *, folder: str | None = None) -> str:
    """A skill between two tags, with the folder of its files if the student can reach them."""
    attribute = "" if folder is None else f' folder="{folder}"'
    return f'<skill name="{skill.name}"{attribute}>\n{skill.body.strip()}\n</skill>'


class Requests:
    """The requests of an evaluation of one skill. What the arms say is rendered and digested once."""

    def __init__(
        self,
        skill: Skill,
        *,
        previous: Skill | None = None,
        harness: str = DEFAULT_HARNESS,
        trial_limits: TrialLimits | None = None,
        texts: Mapping[str, Skill] | None = None,
        controls: Mapping[Arm, Skill] | None = None,
    ) -> None:
        """`previous` is an older version of the skill, where two versions are compared. Agents work under
        `trial_limits`. `texts` are versions that the cases with these ids are given in place of the skill, `controls`
        those that these arms are given; students with tools would find its files, so they are given none.
        """
        self.harness = load_harness(harness)
        self._trial_limits = trial_limits or TrialLimits()
        self._arms = dict(self.harness.arms(skill, previous=previous, trial_limits=self._trial_limits))
        self._arms |= {arm: self._given(text) for arm, text in (controls or {}).items()}
        self._texts = {case_id: self._given(text).system for case_id, text in (texts or {}).items()}
        self._request_digests: dict[tuple[Arm, CaseRequest, str | None], str] = {}
        self._cases: dict[int, tuple[Case, CaseRequest]] = {}

    def _given(self, skill: Skill) -> ArmRequest:
        return self.harness.arms(skill, previous=None, trial_limits=self._trial_limits)["with_skill"]

    def render(self, case: Case, arm: Arm) -> Request:
        """What the student is told in one trial."""
        shown = self._shown(case)
        return Request(system=self._system(case, arm), prompt=shown.prompt, later=shown.later)

    def _system(self, case: Case, arm: Arm) -> str:
        """What the student is told first. In the ceiling arm the passage stands where a skill would, in any harness."""
        if arm == "with_skill" and case.id in self._texts:
            return self._texts[case.id]
        if arm != "ceiling":
            return self._arms[arm].system
        return f"{self._arms['baseline'].system}\n\n{passage_block(case)}"

    def _shown(self, case: Case) -> CaseRequest:
        if not case.files:
            return self.harness.show(case)
        # Asked for every trial of every plan, and files can be large. The case is kept, so its number stays its own.
        if id(case) not in self._cases:
            self._cases[id(case)] = case, self.harness.show(case)
        return self._cases[id(case)][1]

    def skill_in(self, arm: Arm) -> Skill | None:
        """The skill whose files lie in the sandbox of this arm; `None` where none does."""
        return None if arm == "ceiling" else self._arms[arm].skill

    def forces(self, arm: Arm) -> bool:
        """Whether the student of this arm is made to load its skill."""
        return arm != "ceiling" and self._arms[arm].forced

    def trial_id(self, planned: PlannedTrial, student: Student) -> str:
        """Equal for two trials exactly when student, request and repeat are. Checks are not part of it."""
        case, arm = planned.case, planned.arm
        key = arm, self._shown(case), self._system(case, arm) if arm == "ceiling" or self._texts else None
        request = self._request_digests.get(key)
        if request is None:
            request = digest_of(self._seen(case, arm))
            self._request_digests[key] = request
        # Joined as plain text: this is done for every trial of every plan.
        whole = f"{request}/{_student_digest(student, self.harness.version)}/{planned.repeat}"
        return hashlib.sha256(whole.encode("ascii")).hexdigest()

    def _seen(self, case: Case, arm: Arm) -> dict[str, object]:
        shown = self._shown(case)
        seen = {
            "system": digest_of(self._system(case, arm)),
            "prompt": shown.prompt,
            **self.harness.identity(self._trial_limits, files=shown.files),
        }
        if (skill := self.skill_in(arm)) is not None:
            seen["skill"] = [[file.path, file.sha256, file.executable] for file in skill.files]
            if self._trial_limits.setup.program is not None:
                seen["name"] = skill.name  # of its folder, if its text has none: an agent lists it so
        if shown.later:
            seen["later"] = list(shown.later)
        if self.forces(arm):
            seen["forced"] = True
        return seen


@cache
def _student_digest(student: Student, harness: str) -> str:
    return digest_of(
        {
            "harness": harness,
            "model": student.model,
            "endpoint": student.endpoint,
            "temperature": student.temperature,
            "max_output_tokens": student.max_output_tokens,
        }
    )
