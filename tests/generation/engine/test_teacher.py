"""A teacher is asked through the metered client: clean, side by side, held to a form where it can be, never twice."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from calling import endpoint_at
from forking import run_program
from provider import Behaviour, Provider, ReceivedRequest
from upskill.core.models import Budget, CallPolicy, Message, MeteredClient, NoAnswer, Question, Teacher
from upskill.core.models.client import can_be_held
from upskill.core.runs.journal import Journal
from upskill.generation.teaching import ask_function
from upskill.redaction import redactor_from

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "lessons": {"type": "array", "items": {"type": "string"}}},
    "required": ["name"],
}


def question(text: str = "Write.", **more: Any) -> Question:
    return Question(purpose="draft", system="You teach.", messages=(Message(role="user", text=text),), **more)


def test_several_questions_go_side_by_side_and_come_back_in_order() -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(text=f"to {asked.prompt}", latency=0.5 if asked.prompt == "0" else 0.2)

    with Provider(behave) as provider:
        client = MeteredClient(policy=CallPolicy(concurrency=8))
        teacher = Teacher(client, endpoint_at(provider.url))
        replies = teacher.ask([question(str(number)) for number in range(8)])
        assert [reply.text for reply in replies] == [f"to {number}" for number in range(8)]
        assert max(asked.at for asked in provider.requests) - min(asked.at for asked in provider.requests) < 0.5
        assert teacher.ask([question("again")])[0].text == "to again", "a second time, on a new event loop"
    assert client.spent_by["teacher", None].calls == 9
    assert all("temperature" not in asked.body for asked in provider.requests)


def test_a_schema_is_sent_and_asked_for_in_words_alone_where_the_server_refuses_it() -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        if "response_format" in asked.body:
            return Behaviour(status=400, error={"message": "response_format is not supported", "type": "x"})
        return Behaviour(text="{}")

    with Provider(behave) as provider:
        teacher = Teacher(MeteredClient(), endpoint_at(provider.url))
        for _ in range(2):
            assert teacher.ask([question(schema=SCHEMA)])[0].text == "{}"
    with_schema = ["response_format" in asked.body for asked in provider.requests]
    assert with_schema == [True, False, False], "refused once, it is not tried again"


def test_a_schema_with_free_values_is_left_to_words() -> None:
    assert can_be_held(SCHEMA)
    assert not can_be_held({"type": "object", "additionalProperties": {"type": "string"}})
    assert not can_be_held({"type": "object", "properties": {"spec": {}}})
    assert not can_be_held({"type": "array"})


def test_an_answer_that_was_cut_says_so_and_a_small_window_leaves_room_for_the_question() -> None:
    with Provider(lambda _: Behaviour(text="half", finish_reason="length")) as provider:
        teacher = Teacher(MeteredClient(), endpoint_at(provider.url), window=4_096)
        assert teacher.ask([question("x" * 4_000)])[0].cut
    assert provider.requests[0].body["max_tokens"] < 4_096 - 1_000


def test_an_error_of_one_question_loses_no_answer_of_another() -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(status=401) if asked.prompt == "bad" else Behaviour(text="good", latency=0.2)

    heard: list[str] = []
    with Provider(behave) as provider:
        teacher = Teacher(MeteredClient(), endpoint_at(provider.url))
        with pytest.raises(NoAnswer, match="401") as raised:
            teacher.ask([question("bad"), question("good")], on_reply=lambda one: heard.append(one.reply.text))
    assert raised.value.fault == "provider"
    assert heard == ["good"]


def test_a_cap_is_held_and_named() -> None:
    with Provider() as provider:
        teacher = Teacher(MeteredClient(budget=Budget(max_calls=1)), endpoint_at(provider.url))
        teacher.ask([question("one")])
        with pytest.raises(NoAnswer, match="the cap of 1 call was reached") as raised:
            teacher.ask([question("two")])
    assert raised.value.fault == "budget"
    assert len(provider.requests) == 1


def test_what_was_answered_is_never_bought_again(tmp_path: Path) -> None:
    with Provider() as provider:

        def all_asked() -> list[str]:
            teacher = Teacher(MeteredClient(), endpoint_at(provider.url))
            ask = ask_function(teacher, Journal(tmp_path / "teacher.jsonl"), redactor_from({}))
            said = [reply.text for reply in ask([question("one"), question("two")])]
            return [*said, *(reply.text for reply in ask([question("one")]))]

        first = all_asked()
        assert len(set(first)) == 3, "the same question asked again is a question of its own"
        assert all_asked() == first
        assert len(provider.requests) == 3
        # A kill in the middle of a line loses that line and nothing else.
        journal = tmp_path / "teacher.jsonl"
        journal.write_bytes(journal.read_bytes()[:-5])
        assert all_asked()[:2] == first[:2]
        assert len(provider.requests) == 4
    assert {line["calls"] for line in map(json.loads, journal.read_text().splitlines())} == {1}


def test_two_teachers_do_not_share_answers(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "teacher.jsonl")
    with Provider() as one, Provider(lambda _: Behaviour(text="other")) as other:
        ask_function(Teacher(MeteredClient(), endpoint_at(one.url)), journal, redactor_from({}))([question()])
        replies = ask_function(Teacher(MeteredClient(), endpoint_at(other.url)), journal, redactor_from({}))(
            [question()]
        )
    assert replies[0].text == "other"


def test_secrets_are_neither_sent_nor_kept(tmp_path: Path) -> None:
    secret, own = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2, "my-very-own-key-1234567890"
    with Provider(lambda _: Behaviour(text=f"you said {own}")) as provider:
        ask = ask_function(
            Teacher(MeteredClient(), endpoint_at(provider.url)),
            Journal(tmp_path / "teacher.jsonl"),
            redactor_from({"SOME_API_KEY": own}),
        )
        reply = ask([question(f"token {secret} and {own}")])[0]
    sent = json.dumps(provider.requests[0].body)
    kept = (tmp_path / "teacher.jsonl").read_text()
    for text in (sent, kept, reply.text):
        assert secret not in text
        assert own not in text


def test_asking_writes_nothing_into_the_home_folder(tmp_path: Path) -> None:
    program = """
import sys
from upskill.core.models import MeteredClient, Message, Question, Teacher, resolve_model
teacher = Teacher(MeteredClient(), resolve_model("any", base_url=sys.argv[1]))
question = Question(purpose="draft", system="s", messages=(Message(role="user", text="u"),))
print(teacher.ask([question])[0].text)
"""
    home = tmp_path / "home"
    home.mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    with Provider() as provider:
        done = run_program([sys.executable, "-c", program, provider.url], env=environment, cwd=tmp_path, timeout=60)
    assert done.stdout == "answer 1\n", done.stderr
    assert list(home.rglob("*")) == []
