"""Asks once, when a model is replaced: does the skill still help the new one, and is it still needed.

It is an ordinary evaluation of the new model with a fixed number of answers, with one more question to its lift.
"""

from typing import Literal

from upskill.core.nouns.lift import Lift, Verdict

Need = Literal["still helps", "no longer needed", "hurts now", "undecided"]
"""What is concluded of a skill for the model that replaces another."""
MARGIN = 0.10
"""The new model without the skill may be worse than with it by less than this for the skill not to be needed."""
ANSWERS = 5
"""Answers per case and arm."""


def need_of(verdict: Verdict | None, lift: Lift | None) -> Need:
    """Whether the skill is needed. A lift that is shown is never called unnecessary, however small it is."""
    if verdict == "helps":
        return "still helps"
    if verdict == "hurts":
        return "hurts now"
    if verdict == "invalid" or lift is None or lift.cases_like_these is None:
        return "undecided"
    return "no longer needed" if lift.cases_like_these.high < MARGIN else "undecided"
