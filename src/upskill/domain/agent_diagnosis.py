"""What `doctor --harness` found: whether a coding agent works here as one whose measurements can be believed."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptResult:
    """What came of one attempt, from inside an agent, to get out or to forge what is measured."""

    name: str
    what: str
    held: bool
    saw: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentDiagnosis:
    """One coding agent on this machine: a scripted model made it load a skill, run a command, and finish."""

    harness: str
    path: str
    version: str
    known: bool
    """Whether the adapter was measured with this version."""
    requests: int
    """Model requests that the agent sent."""
    listed: bool
    loaded_turn: int | None
    """The turn after which the skill had been loaded; `None` where it was not."""
    wrote_file: bool
    finished: bool
    """Whether the model's last words became the answer."""
    outside: tuple[str, ...]
    """Addresses that the agent tried to reach, all refused."""
    home_files: tuple[str, ...]
    """Files that it wrote outside of the workspace; they are gone with the sandbox."""
    attempts: tuple[AttemptResult, ...]
    seconds: float
    faults: tuple[str, ...] = ()
    """What went wrong with a trial as a whole, in words."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that keeps this agent from being measured, in words; empty where it may be."""
        steps = (
            (self.listed, "the skill was not listed"),
            (self.loaded_turn is not None, "the skill was not loaded"),
            (self.wrote_file, "the command did not write its file in the workspace"),
            (self.finished, "the last words of the model did not become the answer"),
        )
        missing = [words for reached, words in steps if not reached]
        broken = [f"an attempt from inside succeeded: {one.what} ({one.saw})" for one in self.attempts if not one.held]
        return (*self.faults, *missing, *broken)

    @property
    def ok(self) -> bool:
        return not self.problems
