"""The user's own keys are taken out of answers that are graded afterwards, and nothing else is."""

import time
from typing import Any

import pytest
from inspect_ai.event import ModelEvent
from inspect_ai.model import (
    ChatMessageAssistant,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelCall,
    ModelOutput,
)
from inspect_ai.model._model_call import ModelRequestId
from inspect_ai.model._model_output import ChatCompletionChoice
from inspect_ai.tool import ToolCall

from upskill.core.models import resolve_model
from upskill.core.models.responses import MalformedAnswer, OwnKeys

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
    (made,) = output.choices[0].message.tool_calls or [call]
    assert made.arguments == {"[redacted: SOME_TOKEN]": [{"deep": "echo [redacted: UPSKILL_ENDPOINT_KEY]"}]}


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


def _nested(text: str, levels: int) -> list[Any]:
    inner: list[Any] = [text]
    for _ in range(levels):
        inner = [inner]
    return inner


def test_an_answer_that_is_nested_too_deeply_to_be_searched_is_none(keys: OwnKeys) -> None:
    call = ToolCall(id="1", function="bash", arguments={"deep": _nested(RANDOM, 2_000)})
    output = ModelOutput(choices=[ChatCompletionChoice(message=ChatMessageAssistant(content="", tool_calls=[call]))])
    with pytest.raises(MalformedAnswer, match="cannot be searched for keys of yours"):
        keys.remove_from(output)


def test_what_the_engine_noted_is_searched_and_forgotten_where_that_cannot_be_done(keys: OwnKeys) -> None:
    call = ModelCall(request={}, response={"said": [{"by": f"it is {SENT}"}], RANDOM: 1})
    event = ModelEvent(
        model="any", input=[], tools=[], tool_choice="auto", config=GenerateConfig(), output=ModelOutput()
    )
    event.call = ModelCall(request={}, response={"bytes": list(RANDOM.encode())})
    event.request_ids = [ModelRequestId(id=f"request {SENT}", header="x-request-id", status=200)]
    keys.remove_from_notes(event, call)
    assert call.response == {"said": [{"by": "it is [redacted: UPSKILL_ENDPOINT_KEY]"}], "[redacted: SOME_TOKEN]": 1}
    assert event.call.response is None
    assert event.request_ids[0].id == "request [redacted: UPSKILL_ENDPOINT_KEY]"


def test_an_answer_of_many_parts_is_searched_as_one_text(keys: OwnKeys) -> None:
    parts: Any = [ContentText(text=f"part {number}: {SENT}") for number in range(20_000)]
    output = ModelOutput(choices=[ChatCompletionChoice(message=ChatMessageAssistant(content=parts))])
    began = time.process_time()
    keys.remove_from(output)
    assert time.process_time() - began < 10
    assert SENT not in output.model_dump_json()
