"""Which skill of a catalogue fits a request, by the words that both share. No model: the same answer every time.

A stand-in for the choice of a model. It shows that a description has the words of the requests and does not have
those of its neighbours. It does not show that a model would choose the skill.
"""

import math
import re
from collections.abc import Mapping

_ORDINARY_WORDS = (
    "a about after all also an and any are as ask asks asking at be been before but by can could do does "
    "for from get has have he help how i if in into is it its let like me my need needs no not of on one "
    "only or our out please she should skill so some someone such task than that the their them then "
    "there these they this those to up use used user users using via want wants was we were what when "
    "whenever where whether which who why will with would you your"
)
_ORDINARY = frozenset(_ORDINARY_WORDS.split())
_ENDINGS = ("ing", "ies", "ed", "es", "s", "e", "y")


def stems(text: str) -> frozenset[str]:
    """The words of a text that say something, without their endings."""
    return frozenset(_stem(word) for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _ORDINARY)


def chosen(request: str, catalogue: Mapping[str, str]) -> str | None:
    """The name of the skill that fits best, or `None`. A tie goes to nobody.

    Every shared word counts once, divided by the number of skills that have it; the sum is divided by the square root
    of the number of words in the description. So words that every skill has say little, and a long list of words does
    not win.
    """
    words = {name: stems(f"{name} {description}") for name, description in catalogue.items()}
    asked = stems(request)
    scores = {
        name: sum(1 / sum(word in other for other in words.values()) for word in asked & own) / math.sqrt(len(own))
        for name, own in words.items()
        if own
    }
    best = max(scores.values(), default=0.0)
    winners = [name for name, score in scores.items() if math.isclose(score, best)]
    return winners[0] if best > 0 and len(winners) == 1 else None


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
