"""What happens to a skill before it leaves a run: it is searched for danger. Reads no file, calls no model."""

from upskill.shipping.dangers.rules import ALL_RULES, new_findings, search_skill, search_text

__all__ = ["ALL_RULES", "new_findings", "search_skill", "search_text"]
