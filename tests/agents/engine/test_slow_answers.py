"""An agent that waits for a slow model hears that the answer is still to come, in every dialect."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from upskill.agents import bridge
from upskill.agents.bridge import ModelBridge, SocketFolder
from upskill.agents.streams import Dialect, pulse

PATHS: dict[Dialect, str] = {
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "completions": "/v1/chat/completions",
}
ANSWERS: dict[Dialect, dict[str, Any]] = {
    "responses": {"id": "r", "output": [], "status": "completed"},
    "messages": {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": {}, "stop_reason": "x"},
    "completions": {
        "id": "c",
        "created": 1,
        "model": "any",
        "choices": [{"index": 0, "message": {"content": "late"}, "finish_reason": "stop"}],
    },
}
SLOW_SECONDS = 0.3


async def _exchange(folder: Path, *, path: str, body: dict[str, Any], model: ModelBridge) -> bytes:
    """What comes back for one request, over a real socket."""
    socket = SocketFolder(folder)
    payload = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: model\r\ncontent-length: {len(payload)}\r\nconnection: close\r\n\r\n"
    came = bytearray()
    try:
        async with await socket.listen() as listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, model.serve)
            async with await anyio.connect_unix(socket.path) as client:
                await client.send(head.encode() + payload)
                while True:
                    try:
                        came += await client.receive()
                    except anyio.EndOfStream:
                        break
            group.cancel_scope.cancel()
    finally:
        socket.remove()
    return bytes(came)


@pytest.mark.parametrize("dialect", PATHS)
def test_signs_come_before_a_late_answer_and_none_before_a_quick_one(
    dialect: Dialect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge, "QUIET_SECONDS", SLOW_SECONDS / 10)

    async def late(spoken: Dialect, asked: dict[str, Any]) -> dict[str, Any]:
        await anyio.sleep(asked["seconds"])
        return ANSWERS[spoken]

    def ask(*, seconds: float, streams: bool) -> bytes:
        asked = {"stream": streams, "seconds": seconds}
        model = ModelBridge(answer=late, failed=_unexpected)
        return anyio.run(lambda: _exchange(tmp_path, path=PATHS[dialect], body=asked, model=model))

    came = ask(seconds=SLOW_SECONDS, streams=True)
    assert came.startswith(b"HTTP/1.1 200")
    assert came.count(pulse(dialect)) > 2
    assert b"transfer-encoding: chunked" in came.lower()
    assert came.rindex(pulse(dialect)) < came.index(b"data: {" if dialect != "messages" else b"message_start")
    assert came.endswith(b"0\r\n\r\n"), "the answer is whole"
    assert pulse(dialect) not in ask(seconds=0, streams=True)
    assert pulse(dialect) not in ask(seconds=SLOW_SECONDS / 2, streams=False)


def test_an_answer_that_was_promised_and_did_not_come_ends_the_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge, "QUIET_SECONDS", SLOW_SECONDS / 10)
    failed: list[Exception] = []

    async def fail(_: Dialect, __: dict[str, Any]) -> dict[str, Any]:
        await anyio.sleep(SLOW_SECONDS)
        raise OSError("the provider is down")

    model = ModelBridge(answer=fail, failed=failed.append)
    body = {"stream": True}
    came = anyio.run(lambda: _exchange(tmp_path, path=PATHS["completions"], body=body, model=model))
    assert came.startswith(b"HTTP/1.1 200")
    assert not came.endswith(b"0\r\n\r\n"), "no agent can take it for an answer"
    assert [str(error) for error in failed] == ["the provider is down"]


def _unexpected(error: Exception) -> None:
    raise error
