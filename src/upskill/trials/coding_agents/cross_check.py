"""Compares what an agent says of its work with its model traffic, which is believed."""

from collections.abc import Iterator

from upskill.trials.coding_agents.adapter import AgentEvents


def disagreements(
    events: AgentEvents, *, final_texts: tuple[str, ...], skill: str | None, loaded: bool, forced: bool
) -> Iterator[str]:
    """Where the agent reports something else than its model traffic shows: a sign that one of them is read wrongly.

    `final_texts` are the forms in which the model's last answer may be reported. A forced load is not reported.
    """
    said = events.final_text.strip()
    if said and said not in (text.strip() for text in final_texts):
        yield "the agent reports another final text than its model gave"
    if skill is not None and not forced and (skill in events.loaded) != loaded:
        reported = "reports" if skill in events.loaded else "does not report"
        seen = "shows one" if loaded else "shows none"
        yield f"the agent {reported} a load of the skill {skill}, and its model traffic {seen}"
