"""A provider on loopback that can be sick: an OpenAI-compatible server for tests and measurements.

In a test: `with Provider(behave) as provider: … provider.url … provider.requests`.
As a process of its own, so that its CPU is not counted with ours: `python -m provider PORT --latency 0.05`.
"""

import argparse
import asyncio
import fcntl
import gzip
import json
import math
import random
import struct
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET
from typing import Any, Self, TextIO

BOMB_BYTES = 200_000_000
BULK_BYTES = 50_000_000


@dataclass(frozen=True, kw_only=True)
class ReceivedRequest:
    number: int
    body: dict[str, Any]
    headers: dict[str, str]
    at: float = 0.0
    """When it came, on the monotonic clock."""

    @property
    def prompt(self) -> str:
        return str(self.body["messages"][-1]["content"])

    @property
    def system(self) -> str:
        return str(self.body["messages"][0]["content"])

    @property
    def has_skill(self) -> bool:
        return "<skill" in self.system


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    text: str = "ok"
    latency: float = 0.0
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    finish_reason: str | None = "stop"
    model: str | None = None
    """What it calls itself; by default what it was asked for."""
    refusal: str | None = None
    usage: bool = True
    fault: str | None = None
    """`reset`, `stall`, `truncated`, `drip`, `keep-alive`, `empty`, `html`, `cut`, `list`, `bomb`, `flood`, `bulk`"""
    error: dict[str, Any] | None = None
    raw: bytes | None = None
    """Sent as the body instead of an answer."""
    body: dict[str, Any] = field(default_factory=dict)
    """Laid over the answer: what a provider says that a healthy one would not."""


Behave = Callable[[ReceivedRequest], Behaviour]


def answer_ok(asked: ReceivedRequest) -> Behaviour:
    return Behaviour(text=f"answer {asked.number}")


_READY = {"id": "c", "type": "function", "function": {"name": "ready", "arguments": '{"word": "yes"}'}}
MADE = Behaviour(
    body={
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {"role": "assistant", "content": None, "tool_calls": [_READY]},
            }
        ]
    }
)
"""The tool call for which a model is asked before its trials."""


class Provider:
    """Serves until the block ends."""

    def __init__(
        self,
        behave: Behave = answer_ok,
        *,
        port: int = 0,
        window: int | None = None,
        tokenizer: bool = False,
        counts_after: float = 0,
        lists: str = "any",
        weights: str | None = None,
        first_call: Behave = lambda _: MADE,
    ) -> None:
        """The server says that it has this `window` and `lists` this model with these `weights`; with a `tokenizer` a
        token is a word, told `counts_after` so many seconds.

        The tool call for which it is asked before trials is answered by `first_call` and not kept.
        """
        self._first_call = first_call
        self._behave = behave
        self._tokenizer, self._counts_after = tokenizer, counts_after
        self._port = port
        self._window = window
        self._lists = {"id": lists} if weights is None else {"id": lists, "digest": weights}
        self.requests: list[ReceivedRequest] = []
        self.keep_requests = True
        self._count = 0
        self._ready = threading.Event()
        self._turn: TextIO | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.port = port

    @property
    def url(self) -> str:
        """The base URL to hand to `--base-url`."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        if self._port:
            # Commands are typed as the documents show them, with one port: tests that run side by side take turns.
            self._turn = Path(tempfile.gettempdir(), f"upskill-tests-port-{self._port}").open("w")
            fcntl.flock(self._turn, fcntl.LOCK_EX)
        self._thread.start()
        if not self._ready.wait(10):
            if self._turn is not None:
                self._turn.close()
            raise RuntimeError("the loopback provider did not start; is its port taken?")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        if self._turn is not None:
            self._turn.close()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._connection, "127.0.0.1", self._port, backlog=512)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; false when the connection is over."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return False
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if method == "GET":
            known = path.endswith("/models")
            window = {} if self._window is None else {"max_model_len": self._window}
            listed = {"object": "list", "data": [{**self._lists, **window}]}
            await _send(writer, 200 if known else 404, json.dumps(listed if known else {}).encode())
            return True
        if self._tokenizer and path == "/tokenize":
            tokens = json.loads(body)["content"].split()
            await asyncio.sleep(self._counts_after)
            await _send(writer, 200, json.dumps({"tokens": tokens}).encode())
            return True
        if not path.endswith("/chat/completions"):
            await _send(writer, 404, b"{}")
            return True
        asked = ReceivedRequest(number=self._count + 1, body=json.loads(body), headers=headers, at=time.monotonic())
        if asked.prompt == "Say OK.":  # before trials, of a name that it does not list: it answers to all
            return await _behave_towards(writer, Behaviour(text="OK"), asked)
        if [tool["function"]["name"] for tool in asked.body.get("tools", ())] == ["ready"]:
            return await _behave_towards(writer, self._first_call(asked), asked)
        self._count += 1
        if self.keep_requests:
            self.requests.append(asked)
        return await _behave_towards(writer, self._behave(asked), asked)


async def _send(
    writer: asyncio.StreamWriter, status: int, body: bytes, headers: dict[str, str] | None = None, length: int = -1
) -> None:
    size = len(body) if length < 0 else length
    lines = [f"HTTP/1.1 {status} x", "content-type: application/json", f"content-length: {size}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    await writer.drain()


async def _behave_towards(writer: asyncio.StreamWriter, what: Behaviour, asked: ReceivedRequest) -> bool:
    if what.latency:
        await asyncio.sleep(what.latency)
    if what.fault == "reset":
        writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return False
    if what.fault == "stall":
        await asyncio.sleep(3600)
    if what.status != 200:
        error = what.error or {"message": f"status {what.status}", "type": "error"}
        await _send(writer, what.status, json.dumps({"error": error}).encode(), what.headers)
        return True
    if asked.body.get("stream") and what.fault is None and what.raw is None:
        return await _stream(writer, _completion(what, asked))
    body = what.raw if what.raw is not None else json.dumps(_completion(what, asked)).encode()
    if what.fault in ("keep-alive", "flood"):
        return await _pour(writer, what.fault)
    if what.fault == "bomb":
        await _send(writer, 200, _bomb(), {"content-encoding": "gzip"})
    elif what.fault == "bulk":
        await _send(writer, 200, b" " * BULK_BYTES)
    elif what.fault == "truncated":
        await _send(writer, 200, body[: len(body) // 2])
    elif what.fault == "cut":
        await _send(writer, 200, body[: len(body) // 2], length=len(body))
        return False
    elif what.fault == "empty":
        await _send(writer, 200, b"")
    elif what.fault == "html":
        await _send(writer, 200, b"<html><body>Bad gateway</body></html>", {"content-type": "text/html"})
    elif what.fault == "list":
        await _send(writer, 200, b"[1, 2, 3]")
    elif what.fault == "drip":
        writer.write(
            f"HTTP/1.1 200 x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode()
        )
        for byte in body:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.3)
    else:
        await _send(writer, 200, body, what.headers)
    return True


async def _stream(writer: asyncio.StreamWriter, completion: dict[str, Any]) -> bool:
    """The answer as events: everything that is said, then how it ended, then what it used."""
    head = {name: value for name, value in completion.items() if name not in ("choices", "usage")}
    head["object"] = "chat.completion.chunk"
    (choice,) = completion["choices"]
    delta = dict(choice["message"])
    if delta.get("tool_calls"):
        delta["tool_calls"] = [{"index": index, **call} for index, call in enumerate(delta["tool_calls"])]
    chunks = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
        {**head, "choices": [], "usage": completion.get("usage")},
    ]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    lines = ["HTTP/1.1 200 x", "content-type: text/event-stream", f"content-length: {len(body.encode())}"]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body.encode())
    await writer.drain()
    return True


async def _pour(writer: asyncio.StreamWriter, fault: str) -> bool:
    """A body without a length: one comment after another for ever, or megabytes at once."""
    kind = "text/event-stream" if fault == "keep-alive" else "application/json"
    writer.write(f"HTTP/1.1 200 x\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
    piece, count = (b": still here\n\n", 10**9) if fault == "keep-alive" else (b" " * 2**16, BULK_BYTES // 2**16)
    for _ in range(count):
        writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        await writer.drain()
        if fault == "keep-alive":
            await asyncio.sleep(0.1)
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


@cache
def _bomb() -> bytes:
    """200 MB of blanks, packed to about as many kilobytes."""
    return gzip.compress(b" " * BOMB_BYTES, 9)


def _completion(what: Behaviour, asked: ReceivedRequest) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": what.text}
    if what.refusal is not None:
        message = {"role": "assistant", "content": None, "refusal": what.refusal}
    sent = sum(len(str(entry.get("content") or "")) for entry in asked.body["messages"]) // 4
    said = output_tokens(what)
    usage = {"prompt_tokens": sent, "completion_tokens": said, "total_tokens": sent + said}
    return {
        "id": f"c{asked.number}",
        "object": "chat.completion",
        "created": 1,
        "model": what.model or asked.body.get("model", "any"),
        "choices": [{"index": 0, "message": message, "finish_reason": what.finish_reason}],
        **({"usage": usage} if what.usage else {}),
        **what.body,
    }


class RateLimited:
    """Accepts so many requests, or output tokens, within any `seconds` that pass, and refuses all beyond them."""

    def __init__(
        self,
        *,
        seconds: float,
        requests: float = math.inf,
        tokens: float = math.inf,
        answer: Behave = answer_ok,
        headers: dict[str, str] | None = None,
    ) -> None:
        self._seconds, self._requests, self._tokens = seconds, requests, tokens
        self._answer, self._headers = answer, headers or {}
        self.accepted: list[tuple[float, int]] = []
        """When, and with how many output tokens."""
        self.refused: list[float] = []

    def __call__(self, asked: ReceivedRequest) -> Behaviour:
        answer = self._answer(asked)
        recent = [tokens for at, tokens in self.accepted[-5_000:] if at > asked.at - self._seconds]
        if len(recent) + 1 > self._requests or sum(recent) + output_tokens(answer) > self._tokens:
            self.refused.append(asked.at)
            return Behaviour(status=429, headers=self._headers)
        self.accepted.append((asked.at, output_tokens(answer)))
        return answer


def output_tokens(answer: Behaviour) -> int:
    """As this provider counts them."""
    return len(answer.text) // 4 + 1


def failing(share: float, *, seed: int, faults: tuple[str, ...], text: Callable[[ReceivedRequest], str]) -> Behave:
    """A share of requests fails, each in one of the ways named: a number is a status, a word a fault."""
    draw = random.Random(seed)

    def behave(asked: ReceivedRequest) -> Behaviour:
        if draw.random() < share:
            fault = draw.choice(faults)
            return Behaviour(status=int(fault)) if fault.isdigit() else Behaviour(fault=fault)
        return Behaviour(text=text(asked))

    return behave


def failing_evenly(
    share: float, *, seed: int, faults: tuple[str, ...], text: Callable[[ReceivedRequest], str]
) -> Behave:
    """As `failing`, but exactly that share of every ten requests fails: only which ones is drawn."""
    draw = random.Random(seed)
    drawn: list[bool] = []

    def behave(asked: ReceivedRequest) -> Behaviour:
        if not drawn:
            drawn.extend(number < round(10 * share) for number in range(10))
            draw.shuffle(drawn)
        if drawn.pop():
            fault = draw.choice(faults)
            return Behaviour(status=int(fault)) if fault.isdigit() else Behaviour(fault=fault)
        return Behaviour(text=text(asked))

    return behave


def main() -> None:
    """Serve as a process of its own until it is killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--latency", type=float, default=0.0)
    options = parser.parse_args()
    with Provider(
        lambda asked: Behaviour(text=f"answer {asked.number}", latency=options.latency), port=options.port
    ) as it:
        it.keep_requests = False
        threading.Event().wait()


if __name__ == "__main__":
    main()
