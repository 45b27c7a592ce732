"""What `lint` found in one skill. No findings does not mean safe."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from upskill.domain.finding import SEVERITIES, Finding, Severity

LIMITS = (
    "Static rules only: instructions in ordinary words and programs that are fetched later are not judged. "
    "Read a skill before you use it."
)
"""What no finding and no lack of one can say."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LintResult:
    """One skill folder: its findings, or why it was not searched."""

    folder: str
    """As it was named."""
    name: str
    """In its frontmatter; the name of the folder where it has none."""
    digest: str | None = None
    """As `eval` records it; `None` where a file could not be read."""
    findings: tuple[Finding, ...] = ()
    """The worst first, then by file and line."""
    refused: str | None = None
    """Why nothing was searched, such as a file that is too large; `None` where it was."""

    @property
    def dangers(self) -> tuple[Finding, ...]:
        """What a person must agree to."""
        return tuple(one for one in self.findings if one.severity == "danger")

    @property
    def counts(self) -> Mapping[Severity, int]:
        """Findings by severity, every severity named."""
        return counted(self.findings)

    def fails(self, *, strict: bool = False) -> bool:
        """Whether it was refused, or has a danger or an error; when strict, also a warning."""
        return self.refused is not None or any(
            one.severity != "caution" and (strict or one.severity != "warning") for one in self.findings
        )


def counted(findings: Iterable[Finding]) -> Mapping[Severity, int]:
    """How many there are of each severity, from the worst."""
    numbers = Counter(one.severity for one in findings)
    return {severity: numbers[severity] for severity in SEVERITIES}


@dataclass(frozen=True, kw_only=True, slots=True)
class OtherSkill:
    """A skill that an agent lists beside others: what it chooses by, and where it is."""

    name: str
    description: str
    folder: str
    """Its real path: two with one folder are one skill."""
    shown: str
    """Its folder as it was named."""
