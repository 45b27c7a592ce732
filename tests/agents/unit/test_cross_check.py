"""What an agent reports is compared with its model traffic."""

from upskill.agents.streams import disagreements, is_printed


def said(*reported: str, skill: str | None = "zebra", loaded: bool = False, forced: bool = False) -> list[str]:
    return list(disagreements(reported, skill=skill, loaded=loaded, forced=forced))


def test_what_agrees_is_not_mentioned() -> None:
    assert said("zebra", loaded=True) == []
    assert said(skill=None) == []
    assert said("other") == []


def test_a_forced_load_is_not_reported_by_agents() -> None:
    assert said(loaded=True, forced=True) == []


def test_another_load_is_named() -> None:
    (missed,) = said(loaded=True)
    assert "does not report a load of the skill zebra" in missed
    (claimed,) = said("zebra")
    assert "shows none" in claimed


def test_an_answer_is_printed_in_one_of_its_forms_however_json_writes_it() -> None:
    stdout = b'no event\n{"item": [{"text": " \\u00dcber \\"it\\"\\n is done. "}, {"part": {"text": "Second."}}]}\n'
    assert is_printed(stdout, [["other"], ['\u00dcber "it"\n is done.']])
    assert is_printed(stdout, [['\u00dcber "it"\n is done.', "Second."]])
    assert is_printed(b"", [[" \n"]]), "an answer without text needs no event"
    assert not is_printed(stdout, [["Second.", "Third."], ["no event"]])
