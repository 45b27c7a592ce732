"""What the report of the escape program is taken for."""

import json

import pytest

from agents.escapes.attempts import WHAT, events_tried, judge, read_attempts
from agents.escapes.program import ATTEMPTS


def test_every_attempt_is_made_in_the_order_in_which_people_read_them() -> None:
    assert list(ATTEMPTS) == list(WHAT)


def test_what_was_not_tried_has_not_held() -> None:
    reported = read_attempts(json.dumps({"through": {"network": []}, "outside": ["/home/agent/x"]}).encode())
    assert reported is not None
    assert reported.outside == ("/home/agent/x",)
    results = {one.name: one for one in judge(reported, elsewhere={})}
    assert [name for name, one in results.items() if one.held] == ["network"]
    assert results["proxy"].saw == "was not tried"


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"through": 7, "outside": []}', b'{"through": {}}', b"\xff"])
def test_a_report_that_cannot_be_read_is_none(data: bytes) -> None:
    assert read_attempts(data) is None
    assert events_tried({"forged-events.json": data}) == 0
