"""Compares what an agent says of its work with its model traffic, which is believed where the agent shows its end."""

import json
from collections.abc import Iterable, Iterator

from upskill.trials.coding_agents.event_lines import event_lines


def is_printed(stdout: bytes, forms: Iterable[Iterable[str]]) -> bool:
    """Whether the agent printed the model's last answer, in one of the forms that it may have: its parts, each in one
    string of an event. An answer that a program asked for in the agent's name never comes to the agent."""
    printed = "\n".join(_written(event) for event in event_lines(stdout))
    return any(all(_written(part.strip())[1:-1] in printed for part in form) for form in forms)


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def disagreements(reported: tuple[str, ...], *, skill: str | None, loaded: bool, forced: bool) -> Iterator[str]:
    """Where the agent reports another load than its model traffic shows: a sign that one of them is read wrongly.

    A forced load is not reported.
    """
    if skill is not None and not forced and (skill in reported) != loaded:
        reports = "reports" if skill in reported else "does not report"
        seen = "shows one" if loaded else "shows none"
        yield f"the agent {reports} a load of the skill {skill}, and its model traffic {seen}"
