"""Whether a judge is the student, whatever it is called."""

import pytest

from upskill.core.models import resolve_model
from upskill.core.trials.judge import is_same_model

DATED = "anthropic/claude-haiku-5-5-20260901"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("haiku", "anthropic/claude-haiku-5-5", True),
        ("mine", "haiku", True),
        ("haiku", DATED, True),
        ("anthropic/claude-haiku-5-5-20260301", DATED, False),
        ("haiku", "sonnet", False),
        ("haiku", "openrouter/anthropic/claude-haiku-5-5", False),
    ],
)
def test_an_alias_and_a_dated_name_are_the_model_they_stand_for(one: str, other: str, same: bool) -> None:
    aliases = {"mine": "anthropic/claude-haiku-5-5"}
    found = [resolve_model(name, aliases=aliases) for name in (one, other)]
    assert is_same_model(*found) is same
    assert is_same_model(*reversed(found)) is same


def test_a_name_at_this_machine_is_one_place_however_the_machine_is_called() -> None:
    here = resolve_model("llama", base_url="http://127.0.0.1:11434/v1/")
    assert is_same_model(here, resolve_model("ollama/llama"))
    assert not is_same_model(here, resolve_model("llama", base_url="http://127.0.0.1:8080/v1"))
