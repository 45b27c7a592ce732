"""Compares what an agent says of its work with its model traffic, which is believed where the agent shows its end."""

from collections.abc import Iterable, Iterator
from typing import Any

from upskill.trials.coding_agents.adapter import AgentEvents
from upskill.trials.coding_agents.event_lines import event_lines


def is_printed(stdout: bytes, forms: Iterable[Iterable[str]]) -> bool:
    """Whether the agent printed the model's last answer, in one of the forms that it may have: its parts, each in one
    string of an event. An answer that a program asked for in the agent's name never comes to the agent."""
    printed = [" ".join(text.split()) for event in event_lines(stdout) for text in _strings(event)]
    return any(all(any(" ".join(part.split()) in text for text in ("", *printed)) for part in form) for form in forms)


def _strings(event: dict[str, Any]) -> Iterator[str]:
    open_values: list[Any] = [event]
    while open_values:
        value = open_values.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            open_values += value.values() if isinstance(value, dict) else value


def disagreements(events: AgentEvents, *, skill: str | None, loaded: bool, forced: bool) -> Iterator[str]:
    """Where the agent reports another load than its model traffic shows: a sign that one of them is read wrongly.

    A forced load is not reported.
    """
    if skill is not None and not forced and (skill in events.loaded) != loaded:
        reported = "reports" if skill in events.loaded else "does not report"
        seen = "shows one" if loaded else "shows none"
        yield f"the agent {reported} a load of the skill {skill}, and its model traffic {seen}"
