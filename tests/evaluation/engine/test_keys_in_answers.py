"""The user's own keys are taken out of answers that are graded afterwards, and nothing else is."""

from typing import Any

import pytest
from inspect_ai.model import ChatMessageAssistant, ContentReasoning, ContentText, ModelOutput
from inspect_ai.model._model_output import ChatCompletionChoice
from inspect_ai.tool import ToolCall

from upskill.core.models import resolve_model
from upskill.core.models.responses import OwnKeys

SENT = "gateway-2024-north"
RANDOM = "x9Kq3vB7" + "mZ2pLw8R"


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> OwnKeys:
    monkeypatch.setenv("UPSKILL_ENDPOINT_KEY", SENT)
    monkeypatch.setenv("SOME_TOKEN", RANDOM)
    monkeypatch.setenv("COOKIE_DOMAIN", "example.com")
    monkeypatch.setenv("DB_PASSWORD", "localhost1")
    return OwnKeys(resolve_model("any", base_url="http://127.0.0.1:1/v1"))


def test_every_text_of_an_answer_is_searched(keys: OwnKeys) -> None:
    call = ToolCall(id="1", function="bash", arguments={RANDOM: [{"deep": f"echo {SENT}"}]}, parse_error=RANDOM)
    content: Any = [ContentReasoning(reasoning=f"it is {SENT}"), ContentText(text=f"use {RANDOM}")]
    message = ChatMessageAssistant(content=content, tool_calls=[call], metadata={"raw": (RANDOM,)[0]})
    output = ModelOutput(model=RANDOM, choices=[ChatCompletionChoice(message=message)], error=SENT)
    keys.remove_from(output)
    text = output.model_dump_json()
    assert SENT not in text
    assert RANDOM not in text
    assert output.model == "[redacted: SOME_TOKEN]"
    assert output.choices[0].message.text == "use [redacted: SOME_TOKEN]"
    assert list(call.arguments) == ["[redacted: SOME_TOKEN]"]


def test_an_error_is_searched_with_what_it_carries_and_what_caused_it(keys: OwnKeys) -> None:
    error = ValueError(f"no {SENT}", {"message": RANDOM})
    error.body = {"error": [RANDOM]}  # type: ignore[attr-defined]
    error.__cause__ = KeyError(RANDOM)
    keys.remove_from(error)
    assert SENT not in str(error)
    assert RANDOM not in f"{error} {vars(error)} {error.__cause__}"


def test_words_that_merely_stand_in_a_secret_variable_stay(keys: OwnKeys) -> None:
    output = ModelOutput.from_content("any", "the cookie is for example.com, the host is localhost1")
    keys.remove_from(output)
    assert output.completion == "the cookie is for example.com, the host is localhost1"


@pytest.mark.parametrize(
    "key", ["test", "1234", "dummy", "local", "placeholder", "not-needed", "dummy-key-1", "your-key-1"]
)
def test_a_stand_in_for_a_key_leaves_answers_alone(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UPSKILL_ENDPOINT_KEY", key)
    output = ModelOutput.from_content("any", f"a {key} b")
    OwnKeys(resolve_model("any", base_url="http://127.0.0.1:1/v1")).remove_from(output)
    assert output.completion == f"a {key} b"


def test_an_answer_nested_without_end_is_searched(keys: OwnKeys) -> None:
    inner: list[Any] = [RANDOM]
    outer = inner
    for _ in range(100_000):
        outer = [outer]
    keys.remove_from(outer)
    assert inner == ["[redacted: SOME_TOKEN]"]
    while outer is not inner:  # freed level by level: a list that deep is not freed at once
        outer = outer.pop()
