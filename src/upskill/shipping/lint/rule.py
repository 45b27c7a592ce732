"""What a rule of `lint` is, and how it becomes a finding."""

from dataclasses import dataclass
from typing import Literal

from upskill.domain.finding import Finding, Severity
from upskill.domain.skill import SKILL_FILE
from upskill.domain.text import on_one_line, shortened

Family = Literal["specification", "folder", "agents", "quality", "overlap"]
MOST_PER_RULE = 20
"""Findings of one rule: more would hide the others."""
_LONGEST_EXCERPT = 240


@dataclass(frozen=True, kw_only=True, slots=True)
class LintRule:
    """An id, why it matters and what to do."""

    id: str
    family: Family
    severity: Severity
    reason: str
    remedy: str

    def at(
        self,
        line: int,
        excerpt: str,
        *,
        file: str = SKILL_FILE,
        reason: str | None = None,
        remedy: str | None = None,
    ) -> Finding:
        """A finding of this rule. `reason` and `remedy` say more than the rule where they are given."""
        return Finding(
            rule=self.id,
            severity=self.severity,
            file=on_one_line(file),
            line=line,
            excerpt=on_one_line(shortened(excerpt, _LONGEST_EXCERPT)),
            reason=reason or self.reason,
            remedy=remedy or self.remedy,
        )
