"""A server sends back the key it was given, and the process is killed: no file holds the key, in any encoding."""

import base64
import json
import signal
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from forking import Done, Forker
from provider import Behaviour, Provider, ReceivedRequest
from typed import make_port_skill, wait

KEY = "canary/7Qz+4Kx9" + "LmW2=vT8pR"
CASES = 70
FLUSHED = 100
"""Samples that the engine writes together."""
_ZSTD = 93
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")


def _echo(asked: ReceivedRequest) -> Behaviour:
    """The key in every place of an answer or a refusal that the engine could write down, in turn."""
    key = asked.headers["authorization"].removeprefix("Bearer ")
    coded = base64.b64encode(key.encode()).decode()
    message: dict[str, Any] = {"role": "assistant", "content": f"7413 {key} {coded}", "reasoning_content": f"so {key}"}
    tokens = [{"token": key, "logprob": -0.1, "bytes": list(key.encode()), "top_logprobs": []}]
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": {"content": tokens}}
    tool = {"id": f"call {key}", "type": "function", "function": {"name": key, "arguments": json.dumps({key: [key]})}}
    refusal = {"role": "assistant", "content": None, "refusal": f"not {key}"}
    error = {"message": f"Incorrect API key provided: {key}", "type": key, "code": key, "param": coded}
    headers = {"x-request-id": f"request-{key}"}
    match asked.number % 9:
        case 0:
            return Behaviour(status=400, error=error, headers=headers)
        case 1:
            return Behaviour(status=401, error=error, headers=headers)
        case 2:
            return Behaviour(status=500, error=error, headers=headers)
        case 3:
            return Behaviour(body={"choices": [{**choice, "message": {**message, "tool_calls": [tool]}}]})
        case 4:
            return Behaviour(body={"choices": [{"index": 0, "message": refusal, "finish_reason": "content_filter"}]})
        case 5:
            return Behaviour(body={"choices": [{"index": key, "message": {"content": {key: key}}}]})
        case 6:
            # Spelt in escapes that no list of encodings has: read as JSON it is the key.
            spelt = "".join(f"\\u{ord(c):04x}" for c in key)
            answer = {"choices": [{**choice, "message": {"role": "assistant", "content": "SPELT"}}]}
            return Behaviour(raw=json.dumps(answer).replace("SPELT", spelt).encode())
        case _:
            return Behaviour(model=f"served {key}", body={"id": key, "choices": [choice]}, headers=headers)


@pytest.fixture
def skill(here: Path) -> Path:
    return make_port_skill(here, cases=CASES)


def _end_with(number: int, here: Path, environment: dict[str, str], forker: Forker) -> Done:
    """What is left of an evaluation that is ended by a signal once the engine has written samples."""
    variables = {
        **environment,
        "UPSKILL_ENDPOINT_KEY": KEY,
        "UPSKILL_MAX_RETRIES": "0",
        "TMPDIR": str(here),
        "XDG_DATA_HOME": str(here / "data"),
    }
    with Provider(_echo) as provider:
        words = ("eval", "skills/port", "-m", "any", "--base-url", provider.url, "--runs", "3", "--yes")
        with forker.started(variables, *words, cwd=here) as command:
            wait(lambda: len(_samples(here)) >= FLUSHED, seconds=90)
            command.send(number)
            return command.wait()


def _samples(folder: Path) -> list[str]:
    return [
        name
        for path in folder.glob("runs/*/logs/*.eval")
        for name, _ in _members(path.read_bytes())
        if "samples/" in name
    ]


def _members(archive: bytes) -> Iterator[tuple[str, bytes]]:
    """The members of a zip file that may lack its end, which is where others look for them."""
    at = archive.find(b"PK\3\4")
    while at >= 0:
        fields = _LOCAL_HEADER.unpack_from(archive, at)
        method, name_length, extra_length = fields[3], *fields[9:11]
        start = at + _LOCAL_HEADER.size + name_length + extra_length
        if method == _ZSTD:
            try:
                content = zstandard.ZstdDecompressor().decompressobj().decompress(archive[start:])
            except zstandard.ZstdError:
                return  # being written
            yield archive[at + _LOCAL_HEADER.size :][:name_length].decode(), content
        at = archive.find(b"PK\3\4", start)


def _holding_the_key(folder: Path) -> list[str]:
    coded = [base64.b64encode(b"." * before + KEY.encode())[8:-4] for before in (3, 4, 5)]
    forms = [KEY.encode(), json.dumps(KEY)[1:-1].replace("/", "\\/").encode(), KEY.encode().hex().encode(), *coded]
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            parts = {path.name: data, **dict(_members(data))}
            found += [f"{path.name}: {name}" for name, part in parts.items() if any(form in part for form in forms)]
    return found


def _modes(folder: Path, *patterns: str) -> list[int]:
    return [stat.S_IMODE(path.stat().st_mode) for pattern in patterns for path in folder.glob(pattern)]


def test_a_key_that_a_server_sends_back_is_in_no_file_after_a_kill(
    skill: Path, here: Path, home: Path, environment: dict[str, str], forker: Forker
) -> None:
    done = _end_with(signal.SIGKILL, here, environment, forker)
    assert done.returncode == -signal.SIGKILL
    assert len(_samples(here)) >= FLUSHED
    assert _holding_the_key(here.parent) == []
    assert KEY not in done.stdout + done.stderr
    (run,) = (here / "runs").glob("*-port-*")
    assert _modes(run.parent, f"{run.name}", "*/trials.jsonl", "*/logs", "*/logs/*.eval") == [
        0o700,
        0o600,
        0o700,
        0o600,
    ]
    (trials,) = here.glob("runs/*/trials.jsonl")
    assert "[redacted: UPSKILL_ENDPOINT_KEY]" in trials.read_text()
