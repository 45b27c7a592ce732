"""What happens to a skill before it leaves a run: it is searched for danger. Reads no file, calls no model."""

from upskill.shipping.dangers.rules import new_findings, search_skill, search_text

__all__ = ["new_findings", "search_skill", "search_text"]
