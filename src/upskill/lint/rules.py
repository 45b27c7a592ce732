"""Every rule of `lint`, as `rules.toml` has it, and what a finding of it says. Searches nothing itself."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from upskill import disk
from upskill.core.nouns.finding import Finding, Severity
from upskill.core.nouns.skill import SKILL_FILE
from upskill.core.nouns.text import on_one_line, shortened

Family = Literal["danger", "specification", "folder", "agents", "quality", "overlap"]
MOST_PER_RULE = 20
"""Findings of one rule: more would hide the others."""
MOST_HEAD_CHARACTERS = 20_000
MOST_BODY_LINES = 500
MOST_BODY_TOKENS = 5_000
BODY_TOKENS = 1_200
"""What `generate` allows a body; see docs/explanation/how-a-skill-is-made.md."""
_LONGEST_EXCERPT = 240


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One rule: how bad a finding of it is, why it matters, and what to do."""

    id: str
    family: Family
    severity: Severity
    reason: str
    remedy: str
    patterns: Sequence[Sequence[str]]
    """What is searched for, where patterns are enough."""
    consent: bool = False
    """Whether what the user is asked about first is a caution."""


TABLE: dict[str, Any] = tomllib.loads(disk.packaged("upskill.lint", "rules.toml"))
"""`rules.toml`; its head says what is in it."""
RULES = {
    id: Rule(id=id, family=family, **{"patterns": (), **rule})
    for family, rules in TABLE["rules"].items()
    for id, rule in rules.items()
}
"""Every rule by its id, dangers first."""


def finding(
    rule: str,
    line: int,
    excerpt: str,
    *,
    file: str = SKILL_FILE,
    reason: str | None = None,
    remedy: str | None = None,
    is_example: bool = False,
) -> Finding:
    """A finding of a rule. `reason` and `remedy` say more than the rule where they are given; a danger that is only
    named, as an example or as advice against it, is a caution."""
    known = RULES[rule]
    return Finding(
        rule=rule,
        severity="caution" if is_example else known.severity,
        file=on_one_line(file),
        line=line,
        excerpt=on_one_line(shortened(excerpt, _LONGEST_EXCERPT)),
        reason=reason or known.reason,
        remedy=remedy or known.remedy,
    )
