"""The server that records a student and plays it back."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from provider import Behaviour, Provider, ReceivedRequest
from recorded_student import RecordedStudent, digest


def _numbered(asked: ReceivedRequest) -> Behaviour:
    return Behaviour(text=f"answer {asked.number}")


def _ask(student: RecordedStudent, prompt: str = "a long secret prompt", **more: object) -> str:
    body = {"messages": [{"role": "user", "content": prompt}], "model": "any", **more}
    return str(_post(f"{student.url}/chat/completions", body)["choices"][0]["message"]["content"])


def _post(url: str, body: dict[str, Any]) -> Any:
    with urllib.request.urlopen(url, data=json.dumps(body).encode(), timeout=10) as response:
        return json.load(response)


def _recorded(file: Path) -> list[str]:
    with (
        Provider(_numbered) as provider,
        RecordedStudent(file, upstream=provider.url.removesuffix("/v1")) as student,
    ):
        with urllib.request.urlopen(f"{student.url}/models", timeout=10):
            pass
        return [_ask(student), _ask(student), _ask(student, "another")]


def test_the_nth_same_request_gets_the_nth_answer(tmp_path: Path) -> None:
    first, second, other = _recorded(tmp_path / "student.jsonl")
    assert first != second
    with RecordedStudent(tmp_path / "student.jsonl") as student:
        assert _ask(student, "another") == other
        assert [_ask(student), _ask(student)] == [first, second]
        assert student.unknown == []


def test_prompts_are_not_in_the_file(tmp_path: Path) -> None:
    _recorded(tmp_path / "student.jsonl")
    assert "secret" not in (tmp_path / "student.jsonl").read_text()


def test_what_is_not_sampled_is_answered_as_often_as_it_is_asked(tmp_path: Path) -> None:
    _recorded(tmp_path / "student.jsonl")
    with RecordedStudent(tmp_path / "student.jsonl") as student:
        for _ in range(3):
            with urllib.request.urlopen(f"{student.url}/models", timeout=10) as response:
                assert json.load(response)["data"]


def test_a_request_that_was_not_recorded_is_an_error_that_says_so(tmp_path: Path) -> None:
    _recorded(tmp_path / "student.jsonl")
    with RecordedStudent(tmp_path / "student.jsonl") as student:
        _ask(student, "another")
        for prompt, recorded in (("another", "recorded 1 time(s)"), ("never seen", "recorded never")):
            with pytest.raises(urllib.error.HTTPError) as refused:
                _ask(student, prompt)
            assert refused.value.code == 500
            assert recorded in json.load(refused.value)["error"]["message"]
        assert len(student.unknown) == 2


def test_of_tokens_only_their_number_is_kept(tmp_path: Path) -> None:
    real = tmp_path / "real.jsonl"
    answer = {"status": 200, "body": {"tokens": 3}, "request": "POST /tokenize " + digest(b'{"content": "one two"}')}
    real.write_text(json.dumps(answer))
    file = tmp_path / "student.jsonl"
    with RecordedStudent(real) as server, RecordedStudent(file, upstream=server.url.removesuffix("/v1")) as student:
        assert len(_post(f"{student.url.removesuffix('/v1')}/tokenize", {"content": "one two"})["tokens"]) == 3
    assert json.loads(file.read_text()) == answer


def _body(output: str, *, role: str = "tool") -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": "go"}, {"role": role, "content": output}]}).encode()


def test_what_a_program_prints_is_the_same_whenever_it_is_run() -> None:
    evening = "total 4\n-rw-r--r-- 1 agent  800 Nov 20 22:59 a\n/tmp/tmp.ylc5qt\n<o at 0x7fe0b>\nreal 0m1.5s, 900 µs"
    morning = "total 12\n-rw-r--r-- 1 agent 1800 Dec  1 02:09 a\n/tmp/tmp.g4tS0w\n<o at 0x7f0b9>\nreal 0m0.1s, 1.2 ms"
    assert digest(_body(evening)) == digest(_body(morning))
    assert digest(_body(evening)) != digest(_body(evening.replace("agent", "root")))


def test_figures_count_where_no_tool_printed_them() -> None:
    assert digest(_body("at 10:00", role="user")) != digest(_body("at 11:00", role="user"))
    assert digest(_body("at 10:00")) == digest(_body("at 11:00"))
