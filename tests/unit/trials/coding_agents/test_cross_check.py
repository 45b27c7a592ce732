"""What an agent reports is compared with its model traffic."""

from upskill.trials.coding_agents.adapter import AgentEvents
from upskill.trials.coding_agents.cross_check import disagreements


def said(events: AgentEvents, *, skill: str | None = "zebra", loaded: bool = False, forced: bool = False) -> list[str]:
    return list(disagreements(events, final_texts=("Done.",), skill=skill, loaded=loaded, forced=forced))


def test_what_agrees_is_not_mentioned() -> None:
    assert said(AgentEvents(final_text=" Done.\n", loaded=("zebra",)), loaded=True) == []
    assert said(AgentEvents(final_text=""), skill=None) == []
    assert said(AgentEvents(loaded=("other",))) == []


def test_a_forced_load_is_not_reported_by_agents() -> None:
    assert said(AgentEvents(), loaded=True, forced=True) == []


def test_another_text_and_another_load_are_named() -> None:
    (text,) = said(AgentEvents(final_text="Failed."))
    assert "another final text" in text
    (missed,) = said(AgentEvents(), loaded=True)
    assert "does not report a load of the skill zebra" in missed
    (claimed,) = said(AgentEvents(loaded=("zebra",)))
    assert "shows none" in claimed
