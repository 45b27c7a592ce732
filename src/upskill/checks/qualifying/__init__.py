"""Qualifies cases: each is checked against known good and bad answers before a student gets it.

The rule is in docs/explanation/how-cases-are-written.md.
"""

from upskill.checks.qualifying.states import VERSION, qualify

__all__ = ["VERSION", "qualify"]
