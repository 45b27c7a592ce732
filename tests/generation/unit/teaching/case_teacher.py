"""A teacher of cases made of invented facts: it writes as many as it is asked for, as well as it is told to."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from upskill.core.models import Question, Reply

Spoil = Callable[[dict[str, Any], int], dict[str, Any]]
"""Makes something worse of a case, given how many were written before it."""

_ASKED = re.compile(r"Write (?:(\d+) cases? that are not negative)?(?: and )?(?:(\d+) negative cases?)?")
_FAULTY = re.compile(r'^ "id": "([^"]+)"', re.MULTILINE)


def _invented(number: int) -> str:
    """A word for each number, so that no two cases are near-duplicates."""
    return "".join(("ba", "ce", "di", "fo", "gu")[number // 5**place % 5] for place in range(5))


def good_case(number: int, *, negative: bool = False) -> dict[str, Any]:
    """A case that qualifies, unlike every other."""
    name = f"{'other' if negative else 'quay'}-{number}"
    value = f"{7000 + 37 * number}"
    what = f"{_invented(number)} {_invented(7 * number)}"
    return {
        "id": name,
        "topic": f"topic {number % 5}",
        "family": name,
        "wording": "direct",
        "negative": negative,
        "input": f"Which {what} has the berth {name}? Answer with the number only.",
        "files": [],
        "checks": [{"equals": value}],
        "reference": {"text": value, "files": []},
        "wrong": [{"text": "8080", "files": []}, {"text": f"about {value}", "files": []}],
    }


class CaseTeacher:
    """Answers each question with the cases it asks for. `spoil` sees each first draft, `respoil` each rewrite."""

    def __init__(
        self, *, spoil: Spoil = lambda item, _: item, respoil: Spoil = lambda item, _: item, short: int = 0
    ) -> None:
        self.asked: list[Question] = []
        self._spoil, self._respoil, self._short = spoil, respoil, short
        self._written = 0

    def __call__(self, questions: Sequence[Question], /) -> tuple[Reply, ...]:
        return tuple(self._reply(question) for question in questions)

    def _reply(self, question: Question) -> Reply:
        self.asked.append(question)
        text = question.messages[0].text
        again = "cannot be used. Below each" in text
        mended = [self._rewritten(name) for name in _FAULTY.findall(text)] if again else []
        said = _ASKED.search(text)
        positive, negative = (int(count or 0) for count in said.groups()) if said else (0, 0)
        new = [self._new(negative=number >= positive) for number in range(positive + negative)]
        first_round = "only the cases that were asked for here" not in text
        return Reply(text=json.dumps({"cases": [*mended, *(new[self._short :] if first_round else new)]}))

    def _new(self, *, negative: bool) -> dict[str, Any]:
        self._written += 1
        return self._spoil(good_case(self._written, negative=negative), self._written)

    def _rewritten(self, name: str) -> dict[str, Any]:
        self._written += 1
        item = {**good_case(self._written, negative=name.startswith("other")), "id": name}
        return self._respoil(item, self._written)
