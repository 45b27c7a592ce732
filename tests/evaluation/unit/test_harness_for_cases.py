"""Which harness cases need: those that ask what a model did need tools."""

import pytest

from core.unit.checks.cases import case
from upskill.core.nouns.case import Json
from upskill.errors import UsageError
from upskill.evaluation.prepare import choose_harness, require_sandbox_for

WAYS: list[tuple[str, Json]] = [("tools", "shell"), ("commands", "make"), ("files_read", "a"), ("turns", 3)]


@pytest.mark.parametrize(("kind", "spec"), WAYS)
def test_a_case_that_asks_what_was_done_gets_tools(kind: str, spec: Json) -> None:
    asked = case("Which port?", {kind: spec})
    assert choose_harness("auto", [asked]) == "agent"
    with pytest.raises(
        UsageError, match="checks of what the model did need a harness with tools, and chat has none: one"
    ):
        require_sandbox_for([asked], harness="chat", backend="bubblewrap", where="cases.json")


def test_tokens_can_be_counted_without_tools() -> None:
    asked = case("Which port?", {"tokens": 500, "contains": "8472"})
    assert choose_harness("auto", [asked]) == "chat"
    assert require_sandbox_for([asked], harness="chat", backend="bubblewrap", where="cases.json") is None
