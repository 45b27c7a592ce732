"""Which skill of a catalogue has the words of a request. No model: the same answer every time.

A stand-in for the choice of a model. It shows that a description has the words of the requests it is for, and not those
of its neighbours. It does not show that a model would choose the skill.
"""

import re
from collections.abc import Mapping

_ORDINARY_WORDS = (
    "a about after all also an and any are as ask asks asking at be been before but by can could do does "
    "each for from get has have he help helps her his how i if in into is it its let like me my need needs "
    "no not of on one only or other our out please she should skill so some someone such task than that the "
    "their them then there these they this those three to two up us use used user users using via want wants was "
    "we were what when whenever where whether which who why will with would you your"
)
_ORDINARY = frozenset(_ORDINARY_WORDS.split())
_ENDINGS = ("ments", "ment", "ing", "ies", "ed", "es", "s", "e", "y")
_EXCLUDED = re.compile(r"(?i)\b(?:not (?:for|when|to|if)|do not use|don't use|except)\b[^.;]*")
"""A clause that says what the skill is not for. A model understands it, so its words are not counted."""


def stems(text: str) -> frozenset[str]:
    """The words of a text that say something, without their endings."""
    return frozenset(_stem(word) for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _ORDINARY)


def shares(request: str, catalogue: Mapping[str, str]) -> dict[str, int]:
    """How many words of the request each skill has in its name and description. A word that all have counts nothing."""
    words = {name: stems(f"{name} {_EXCLUDED.sub('', description)}") for name, description in catalogue.items()}
    asked = stems(request) - frozenset.intersection(*words.values())
    return {name: len(asked & own) for name, own in words.items()}


def is_prose(description: str) -> bool:
    """Whether two words or more, and a tenth of all, are ordinary ones such as `the`: a list of keywords has fewer."""
    words = re.findall(r"[a-z0-9]+", description.lower())
    ordinary = sum(word in _ORDINARY for word in words)
    return ordinary >= 2 and 10 * ordinary >= len(words)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            left = word.removesuffix(ending)
            doubled = ending in ("ing", "ed") and left[-1] == left[-2] and left[-1] not in "ls"
            return left[:-1] if doubled else left
    return word
