"""The host's end of an agent's only way out: an HTTP server on a unix socket that knows model requests and no others.

Whatever is addressed elsewhere is refused and noted. Runs in the task of its trial, so that bills, limits and logs of
the trial hold for every request.
"""

import json
import os
import sys
import tempfile
import zlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import h11

from upskill import disk
from upskill.agents.engine_bridge import RequestRefused
from upskill.agents.streams import Dialect, failure, pulse, stream

PORT = 8799
"""Where agents find their model, on loopback inside the sandbox."""
BASE_URL = f"http://127.0.0.1:{PORT}"
MOST_BODY_BYTES = 16 * 2**20
"""Bytes of all requests of one agent that are under way, together: read as JSON they take many times as much."""
MOST_CONNECTIONS = 16
"""At a time. Others wait to be accepted: until then they take no descriptor of this process."""
MOST_REFUSED = 200
"""Addresses outside that are noted. A program inside can ask for as many as it likes."""
PULSE_SECONDS = 2.0
"""A sign of life that cannot be sent within this time is to somebody who does not read."""
CHUNK = 1 << 16
QUIET_SECONDS = 20.0
"""After so long without an answer, an agent hears that it is still to come: Claude Code and opencode give up, or ask
again, after five minutes of silence."""

ROUTES: dict[str, Dialect] = {
    "/responses": "responses",
    "/messages": "messages",
    "/chat/completions": "completions",
}
"""What a path ends with, and the dialect spoken there."""

STREAM = "text/event-stream"
Answer = Callable[[Dialect, dict[str, Any]], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reply:
    status: int
    body: bytes = b""
    kind: str = "application/json"


class SocketFolder:
    """A private folder with one socket in it, whatever the length of its path. Only who is given the socket has it."""

    def __init__(self, parent: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="b", dir=parent))
        self._handle: int | None = None
        self.path = self._folder / "model.sock"

    async def listen(self) -> anyio.abc.SocketListener:
        """Listen there. Everybody may write to the socket, because an unprivileged user must; few can reach it."""
        short: Path = self.path
        if sys.platform == "linux":
            # A socket's address has at most 108 bytes, and run folders are deep.
            self._handle = disk.folder_descriptor(self._folder)
            short = Path(f"/proc/self/fd/{self._handle}/{self.path.name}")
        return await anyio.create_unix_listener(short, mode=0o666)

    def remove(self) -> None:
        """Nothing is left of it."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
        disk.remove_folder(self._folder)


@dataclass(slots=True)
class ModelBridge:
    """Serves one agent. `answer` calls the model; what it raises goes to `failed`, and the agent is told no more."""

    answer: Answer
    failed: Callable[[Exception], None]
    refused: list[str] = field(default_factory=list)
    """What the agent tried to reach outside, in that order, each once."""
    _room: "_Room" = field(default_factory=lambda: _Room(MOST_BODY_BYTES))
    _places: anyio.Semaphore = field(default_factory=lambda: anyio.Semaphore(MOST_CONNECTIONS))

    async def serve_all(self, listener: anyio.abc.SocketListener) -> None:
        """Every connection, so many at a time, until cancelled."""
        async with anyio.create_task_group() as group:
            while True:
                # First a place: what is accepted takes a descriptor, and the whole process has few of them.
                await self._places.acquire()
                group.start_soon(self._serve_in_its_place, await listener.accept())

    async def _serve_in_its_place(self, connection: anyio.abc.SocketStream) -> None:
        try:
            await self.serve(connection)
        finally:
            self._places.release()

    async def serve(self, connection: anyio.abc.SocketStream) -> None:
        """One connection, one request after the other, until either side has had enough."""
        async with connection:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
                await self._converse(connection)

    async def _converse(self, connection: anyio.abc.SocketStream) -> None:
        http = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
        while True:
            with self._room.share() as share:
                try:
                    request, body = await _receive(http, connection, share)
                except h11.RemoteProtocolError:
                    return
                if request is None:
                    return
                line = _Line(http, connection)
                reply = await self._reply(request, body, line, share)
            if not await line.send(reply, head_only=request.method == b"HEAD"):
                return
            if http.our_state is not h11.DONE or http.their_state is not h11.DONE:
                return
            http.start_next_cycle()

    async def _reply(self, request: h11.Request, body: bytes | None, line: "_Line", share: "_Share") -> _Reply:
        method, target = request.method.decode("ascii", "replace"), request.target.decode("utf-8", "replace")
        if method == "CONNECT":
            return self._refuse(target)
        if "://" in target:
            if not target.startswith(BASE_URL):
                return self._refuse(target.partition("?")[0])
            target = target.removeprefix(BASE_URL)
        path = target.partition("?")[0].rstrip("/")
        if method == "HEAD" or (method == "GET" and not path):
            return _Reply(status=200)
        if method == "GET" and path.endswith("/models"):
            return _Reply(status=200, body=b'{"object": "list", "data": [{"id": "inspect", "object": "model"}]}')
        if method == "POST" and path.endswith("/count_tokens"):
            return _Reply(status=200, body=json.dumps({"input_tokens": len(body or b"") // 4}).encode())
        dialect = next((spoken for ending, spoken in ROUTES.items() if path.endswith(ending)), None)
        if method != "POST" or dialect is None:
            return _Reply(status=404, body=b'{"error": {"message": "there is nothing here"}}')
        return await self._ask(dialect, request, body, line, share)

    async def _ask(
        self, dialect: Dialect, request: h11.Request, body: bytes | None, line: "_Line", share: "_Share"
    ) -> _Reply:
        try:
            asked = json.loads(_plain(request, body, share))
            if not isinstance(asked, dict):
                raise TypeError("a request is a JSON object")
        except (ValueError, TypeError, zlib.error, OSError, EOFError, RecursionError) as error:
            return _Reply(status=400, body=failure(dialect, f"the request cannot be read: {error}"))
        answer = await self._answer(dialect, asked, line)
        if isinstance(answer, RequestRefused):
            return _Reply(status=400, body=failure(dialect, str(answer)))
        if isinstance(answer, Exception):
            self.failed(answer)
            # Never a status that agents try again: retries were made, and belong to the metered client.
            return _Reply(status=400, body=failure(dialect, "the model gave no answer"))
        if asked.get("stream"):
            return _Reply(status=200, body=stream(dialect, answer), kind=STREAM)
        return _Reply(status=200, body=json.dumps(answer).encode())

    async def _answer(self, dialect: Dialect, asked: dict[str, Any], line: "_Line") -> dict[str, Any] | Exception:
        """The model's answer, or what went wrong; while it is waited for, an agent that streams is kept waiting."""
        answer: dict[str, Any] | Exception
        async with anyio.create_task_group() as group:
            if asked.get("stream"):
                group.start_soon(line.keep_alive, pulse(dialect))
            try:
                answer = await self.answer(dialect, asked)
            except Exception as error:  # noqa: BLE001 - the boundary of a trial: raised again in the trial's own task
                answer = error
            group.cancel_scope.cancel()
        return answer

    def _refuse(self, target: str) -> _Reply:
        if target[:200] not in self.refused and len(self.refused) < MOST_REFUSED:
            self.refused.append(target[:200])
        return _Reply(status=403, body=b'{"error": {"message": "there is no network here"}}')


@dataclass(slots=True)
class _Room:
    """The bytes that all requests of one agent may still take."""

    left: int

    def share(self) -> "_Share":
        return _Share(self)


@dataclass(slots=True)
class _Share:
    """What one request has taken of them. Given back at the end of a `with` block."""

    room: _Room
    taken: int = 0

    def __enter__(self) -> "_Share":
        return self

    def __exit__(self, *_: object) -> None:
        self.room.left += self.taken
        self.taken = 0

    @property
    def left(self) -> int:
        return self.room.left

    def take(self, size: int) -> bool:
        """False where there is not as much."""
        if size > self.room.left:
            return False
        self.room.left -= size
        self.taken += size
        return True


async def _receive(
    http: h11.Connection, connection: anyio.abc.SocketStream, share: _Share
) -> tuple[h11.Request | None, bytes | None]:
    """A request and its body, `None` for a body that is too large; no request at the end of the connection."""
    request: h11.Request | None = None
    body = bytearray()
    large = False
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            if http.they_are_waiting_for_100_continue:
                await _write(connection, http.send(h11.InformationalResponse(status_code=100, headers=[])))
            try:
                http.receive_data(await connection.receive(CHUNK))
            except anyio.EndOfStream:
                http.receive_data(b"")
        elif isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.Data):
            large = large or not share.take(len(event.data))
            if not large:
                body += event.data
        elif isinstance(event, h11.EndOfMessage):
            return request, None if large else bytes(body)
        else:
            # Closed, or paused after a CONNECT, which has no body.
            return (request, b"") if event is h11.PAUSED and request is not None else (None, None)


def _plain(request: h11.Request, body: bytes | None, share: _Share) -> bytes:
    if body is None:
        raise ValueError("it is too large")
    coding = next((value for name, value in request.headers if name == b"content-encoding"), b"identity")
    match coding.lower():
        case b"identity" | b"":
            return body
        case b"gzip" | b"deflate":
            # A few bytes can unpack to more than this machine has.
            unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
            plain = unpacking.decompress(body, share.left + 1)
            if not share.take(len(plain)):
                raise ValueError("it is too large")
            return plain
        case _:
            raise ValueError(f"the coding {coding.decode('ascii', 'replace')} is not known here")


@dataclass(slots=True)
class _Line:
    """The way back to the agent for one reply."""

    http: h11.Connection
    connection: anyio.abc.SocketStream
    _begun: bool = False

    async def keep_alive(self, sign: bytes) -> None:
        """Send this sign again and again, until cancelled. An agent that is gone is noticed by others."""
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            while True:
                await anyio.sleep(QUIET_SECONDS)
                # Half of a sign would spoil what follows; but nobody may be waited for who does not read.
                with anyio.move_on_after(PULSE_SECONDS, shield=True) as sending:
                    if not self._begun:
                        self._begun = True
                        await self._write(h11.Response(status_code=200, headers=[("content-type", STREAM)]))
                    await self._write(h11.Data(data=sign))
                if sending.cancelled_caught:
                    return

    async def send(self, reply: _Reply, *, head_only: bool) -> bool:
        """Send the reply. False where the connection is of no more use."""
        if self._begun and reply.status != 200:
            return False  # it was promised, and did not come
        if not self._begun:
            headers = [("content-type", reply.kind), ("content-length", str(len(reply.body)))]
            await self._write(h11.Response(status_code=reply.status, headers=headers))
        if reply.body and not head_only:
            await self._write(h11.Data(data=reply.body))
        await self._write(h11.EndOfMessage())
        return True

    async def _write(self, event: h11.Response | h11.Data | h11.EndOfMessage) -> None:
        await _write(self.connection, self.http.send(event))


async def _write(connection: anyio.abc.SocketStream, data: bytes | None) -> None:
    if data:
        await connection.send(data)
