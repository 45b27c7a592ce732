"""The texts of a page: each once, and none longer than there is room for."""

from collections.abc import Sequence

from upskill.domain.case import Json
from upskill.reporting.html.elements import plain

ROOM = 1_900_000
"""Bytes for all texts of a page together, where there are few."""
ROOM_PER_TRIAL = 250
"""A page of very many trials may be larger."""
STEPS_ROOM = 2_500_000
"""Bytes for the steps of agents, beside all other texts."""
STEP_BYTES = 300
"""About what a step takes when it is cut as short as can be."""
MOST_STEPS = 40
LONGEST = 8_000
"""No text is shown in more characters, however much room there is."""
SHORTEST = 160


class Texts:
    """Hands out a number for each text; equal texts have the same."""

    def __init__(self, *, longest: int = LONGEST) -> None:
        self._longest = longest
        self._numbers: dict[str, int] = {}
        self._texts: list[str] = []
        self._lengths: list[int] = []

    def add(self, text: str) -> int:
        """Keep a text, at most its beginning; its length is remembered."""
        shown = plain(text[: self._longest])
        # Two long texts with the same beginning are still two.
        key = shown if len(text) <= self._longest else f"{shown}\0{len(text)}"
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._texts)
            self._texts.append(shown)
            self._lengths.append(len(text))
        return number

    def cut_to(self, room: int) -> list[Json]:
        """All texts in so many bytes: as they are, or as `[beginning, length of the whole]` where they are too long."""
        sizes = [written_bytes(text) for text in self._texts]
        level = _level(sizes, room)
        cut: list[Json] = []
        for text, length, size in zip(self._texts, self._lengths, sizes, strict=True):
            most = len(text) if size <= level else max(SHORTEST, int(level * len(text) / size))
            cut.append(text if len(text) == length <= most else [text[:most], length])
        return cut


def room_for(trials: int) -> int:
    """Bytes for the texts of so many trials."""
    return max(ROOM, ROOM_PER_TRIAL * trials)


def longest_for(trials: int) -> int:
    """So long that what is held in memory stays within bounds."""
    return max(SHORTEST, min(LONGEST, 60_000_000 // max(1, trials)))


def steps_for(trials: int) -> int:
    """How many steps of each of so many agents there is room for; 0 where a few would tell nothing."""
    room = min(MOST_STEPS, STEPS_ROOM // (STEP_BYTES * max(1, trials)))
    return room if room >= 4 else 0


def written_bytes(text: str) -> int:
    """What a text takes once it is written: `<` becomes six characters, a line's end two. About right is enough."""
    most = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return most + 5 * sum(text.count(char) for char in "<>&") + sum(text.count(char) for char in '"\\\n\t\r')


def _level(sizes: Sequence[int], room: int) -> float:
    """The size at which to cut so that all together fit: short ones stay whole, long ones share what is left."""
    left = float(room)
    for number, size in enumerate(sorted(sizes)):
        share = left / (len(sizes) - number)
        if size > share:
            return share
        left -= size
    return float(room)
