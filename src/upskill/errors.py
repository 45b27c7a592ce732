"""The errors people see. Each says what happened, to which thing, and what to do next.

The subclass says who can fix it, and carries the exit code, so that "the skill does not help"
and "the tool broke" never share one.
"""

from collections.abc import Sequence

EXIT_DONE = 0
EXIT_NOT_SHOWN = 1
EXIT_USAGE = 2
EXIT_FAILED = 3
EXIT_INTERRUPTED = 130


class UpskillError(Exception):
    """Base class of all errors that upskill explains."""

    exit_code = EXIT_FAILED

    def __init__(self, message: str, *, hint: str | None = None, problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.problems = tuple(problems)

    def __str__(self) -> str:
        lines = [*(f"  {problem}" for problem in self.problems), self.message]
        return "\n".join(lines)


class UsageError(UpskillError):
    """The command or the arguments cannot be used."""

    exit_code = EXIT_USAGE


class SkillInvalid(UpskillError):
    """A skill folder or a case file cannot be used; `problems` lists everything found."""

    exit_code = EXIT_USAGE


class SettingsError(UpskillError):
    """A setting has a wrong name or value."""


class ProviderError(UpskillError):
    """A model cannot be reached as configured."""


class StudentCannotProfit(UpskillError):
    """The models gain so little from the material itself that no skill can help them."""


class WindowExceeded(ProviderError):
    """A skill and the longest case do not fit into a model's context window."""


class EngineError(UpskillError):
    """The engine or the run folder failed: a fault of upskill or of the machine."""
