"""What a student with tools works under: the same in every arm. Its fields are part of the identity of a trial."""

from dataclasses import asdict, dataclass, field, replace

from upskill.core.nouns import Skill
from upskill.core.trials.agent_setup import AgentSetup
from upskill.sandbox import Limits

SKILLS = "/skills"
"""Where skills lie in a sandbox, for those who have one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialLimits:
    """The limits of one trial. Who runs into one has failed; nothing went wrong."""

    turns: int = 30
    """Answers of the model, those that call tools included."""
    tokens: int = 200_000
    """In and out together, over all its calls."""
    seconds: int = 600
    """Of work: waiting for a provider that is busy is not counted."""
    command_seconds: int = 60
    """One command line."""
    output_characters: int = 16_000
    """Of a tool's result; what is longer loses its middle."""
    files: int = 500
    """New and changed files that a student may leave."""
    file_bytes: int = 5 * 2**20
    """Those files together."""
    confined: bool = True
    """`False` where a person asked for no sandbox."""
    place: Limits = field(default_factory=Limits)
    """What everything in the sandbox may use together."""
    setup: AgentSetup = field(default_factory=AgentSetup)
    """The coding agent and the other skills."""
    stop_at_load: bool = False
    """End an answer as soon as the skill is loaded: for who measures only whether it is."""

    def identity(self) -> dict[str, object]:
        """What of this can change an answer, as plain values."""
        limits = asdict(replace(self, setup=AgentSetup()))
        del limits["setup"]
        if not self.stop_at_load:  # as in trials of before there was one
            del limits["stop_at_load"]
        return {"limits": limits, **self.setup.identity()}


def skill_folder(skill: Skill, trial_limits: TrialLimits) -> str:
    """Where a student finds a skill. Without a sandbox there is no root of its own, so it lies beside its folder."""
    return f"{SKILLS}/{skill.name}" if trial_limits.confined else f"..{SKILLS}/{skill.name}"
