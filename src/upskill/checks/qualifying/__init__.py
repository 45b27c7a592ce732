"""Cases that prove themselves: each is put to answers whose worth is known, before a student meets it.

The rule is in docs/explanation/cases-that-prove-themselves.md.
"""

from upskill.checks.qualifying.states import VERSION, qualify

__all__ = ["VERSION", "qualify"]
