"""A finding: one place of a skill that a person should read before it is used. No findings does not mean safe."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from upskill.errors import EXIT_NOT_SHOWN, UpskillError

Severity = Literal["danger", "error", "warning", "caution"]
"""`danger`: a person must agree first. `error`: breaks the specification, so agents refuse it. `warning`: works less
well, or some agents ignore or refuse it. `caution`: worth knowing."""
SEVERITIES: tuple[Severity, ...] = ("danger", "error", "warning", "caution")
"""From the worst."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What one rule found in one line of a file."""

    rule: str
    """The id of the rule, such as `pipe-to-shell`."""
    severity: Severity
    file: str
    line: int
    excerpt: str
    """The line, shortened, with every invisible character written as an escape."""
    reason: str
    """Why it matters, in one sentence."""
    remedy: str
    """What to do about it, in one sentence."""
    accepted: bool = False
    """Whether a person agreed to it when the skill was saved."""

    @property
    def place(self) -> str:
        """`SKILL.md:12`."""
        return f"{self.file}:{self.line}"

    @property
    def line_for_people(self) -> str:
        """Where, what and why, on one line."""
        return f"{self.severity}: {self.place}: {self.excerpt} ({self.rule}: {self.reason})"


class FindingsRefused(UpskillError):
    """A draft with dangerous content was not saved because it was not accepted. `findings` lists everything found."""

    exit_code = EXIT_NOT_SHOWN

    def __init__(self, message: str, *, findings: Sequence[Finding], problems: Sequence[str], hint: str) -> None:
        super().__init__(message, hint=hint, problems=problems)
        self.findings = tuple(findings)
