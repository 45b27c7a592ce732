"""A model that decides by the list of skills whether to load one, with probabilities that a test knows.

It answers like any OpenAI-compatible server. What it decided is the truth that a measurement must recover.
"""

import random
import re
from dataclasses import dataclass, field

from provider import Behaviour, ReceivedRequest
from tool_students import is_first, tool_call

_ENTRY = re.compile(r"^- (?P<name>[\w-]+): (?P<description>.*) \((?P<path>[^()]*SKILL\.md)\)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Chances:
    """With which probability a prompt loads the skill: one that should, and a near miss."""

    should: float
    near: float


@dataclass
class TriggerRouter:
    """`chances` by a phrase in the description; the first that is listed with the skill counts."""

    skill: str
    chances: dict[str, Chances]
    should: frozenset[str]
    """The prompts that should load the skill."""
    rivals: float = 0.0
    """The share of prompts that load another skill first, where there are others."""
    loaded: dict[tuple[str, int], bool] = field(default_factory=dict)
    """What it decided, by the prompt and the number of skills that were listed."""

    def __call__(self, asked: ReceivedRequest) -> Behaviour:
        listed = {entry["name"]: entry for entry in _ENTRY.finditer(asked.system)}
        prompt = str(asked.body["messages"][1]["content"])
        mine = listed[self.skill]
        draw = random.Random(f"{prompt}/{mine['description']}/{len(listed)}")
        chances = next(one for phrase, one in self.chances.items() if phrase in mine["description"])
        loads = draw.random() < (chances.should if prompt in self.should else chances.near)
        rival = len(listed) > 1 and draw.random() < self.rivals
        self.loaded[prompt, len(listed)] = loads
        turn = sum(message["role"] == "assistant" for message in asked.body["messages"])
        if rival and turn == 0:
            other = next(entry for name, entry in listed.items() if name != self.skill)
            return tool_call(asked, "read_file", path=other["path"])
        if loads and turn == rival:
            return tool_call(asked, "shell", command=f"cat {mine['path']}")
        if is_first(asked):
            return tool_call(asked, "shell", command="ls -la")
        return Behaviour(text="Done without it.")
