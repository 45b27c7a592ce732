"""What happens to a skill before it is saved or shared: it is searched. Reads no file, calls no model."""

from upskill.shipping.dangers.rules import ALL_RULES, new_findings, search_skill, search_text
from upskill.shipping.lint.rules import lint_skill

__all__ = ["ALL_RULES", "lint_skill", "new_findings", "search_skill", "search_text"]
