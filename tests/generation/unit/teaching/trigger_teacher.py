"""A teacher that writes trigger prompts for a skill about tide gauges, and labels prompts by what they ask."""

import json
import re

from upskill.core.models import Question
from upskill.core.nouns import Skill

SKILL = Skill(
    name="gauge-care",
    description="Calibrates tide gauges with the brass screw after a storm.",
    body="Turn the brass screw by a quarter for every two centimetres that the gauge is off. Log it in gauge.jot.",
    digest="0" * 64,
)
_TROUBLES = (
    "reads two centimetres high since the storm",
    "lags behind after somebody knocked the float",
    "disagrees with the staff on the quay wall",
    "jumps whenever a ferry passes",
    "was moved to another pile and is off",
    "shows low water as zero all night",
    "needs to be put right before the survey",
    "drifts by an inch each week",
    "went wrong when the clamp was replaced",
    "is off, and the log must say so",
    "reports nonsense since the cable was cut",
    "must agree with the bubbler beside it",
)
_NEIGHBOURS = (
    "explain how a storm surge forms",
    "which gauge of railway track does Spain use",
    "write a poem about brass instruments",
    "what screw fits an M6 thread",
    "convert twelve centimetres into inches",
    "plot these tide tables as a chart",
    "which needle gauge suits wool",
    "how do I polish brass without scratches",
    "name every storm of last winter",
    "is a quarter turn valve better than a gate valve",
    "how many centimetres does the sea rise by the year",
    "write a log function in Rust",
)


def should_load(number: int) -> str:
    return f"Our instrument by pier {number} {_TROUBLES[number % 12]}; what do I turn, and how far?"


def near_miss(number: int) -> str:
    return f"{_NEIGHBOURS[number % 12].capitalize()}, with a gauge or a screw as the example?"


def reply(question: Question) -> str:
    """What a good teacher says to either question."""
    return answer(question.purpose == "trigger review", question.messages[-1].text)


def answer(is_review: bool, text: str) -> str:
    if is_review:
        return labels(text)
    kind = near_miss if "near misses:" in text else should_load
    wanted = int(re.search(r"Write (\d+) ", text)[1])  # type: ignore[index]
    return json.dumps({"prompts": [{"prompt": kind(n), "why": "because"} for n in range(wanted)]})


def labels(text: str) -> str:
    """Labels by what a request asks; the labels that were meant are not in the text."""
    requests = re.findall(r"^(\d+)\.\n````?\n(.*?)\n````?$", text, re.MULTILINE | re.DOTALL)
    entries = [{"number": int(number), "needed": "what do I turn" in asked} for number, asked in requests]
    return json.dumps({"labels": entries})
