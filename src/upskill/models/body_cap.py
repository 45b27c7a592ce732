"""A cap on the body of an answer, after decompression: a small answer can unpack to more than a machine holds.

The client hands every response to its hooks before it reads the body. There the response's class is extended in
place, so that whoever reads the body, whole or in pieces, reads it through the cap. The client unpacks in pieces of
at most 1 MiB, so no more than the cap and one piece is ever held.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from functools import cache
from typing import Any


def cap_bodies(client: Any, *, most: int, refuse: Callable[[int], Exception], heard: Callable[[], None]) -> None:
    """Make an HTTP client raise `refuse(bytes)` where a body goes over `most` bytes; `heard` is told of each response.

    Asking again for a client that has its cap already changes nothing.
    """
    hooks = getattr(client, "event_hooks", None)
    if not isinstance(hooks, dict) or "response" not in hooks:
        return  # not a client of this family: its provider is not promised a cap
    if any(isinstance(hook, _Hook) for hook in hooks["response"]):
        return
    hooks["response"].append(_Hook(most, refuse, heard))


class _Hook:
    def __init__(self, most: int, refuse: Callable[[int], Exception], heard: Callable[[], None]) -> None:
        self._most = most
        self._refuse = refuse
        self._heard = heard

    async def __call__(self, response: Any) -> None:
        self._heard()
        declared = response.headers.get("content-length", "")
        # A declared length is that of the packed body, and unpacked it is hardly ever shorter.
        if declared.isdecimal() and int(declared[:20]) > self._most:
            raise self._refuse(int(declared[:20]))
        response.__class__ = _capped(response.__class__)
        response.most, response.refuse = self._most, self._refuse


@cache
def _capped(kind: Any) -> Any:
    class Capped(kind):  # type: ignore[misc]  # the client's own class, whichever it is
        async def aiter_bytes(self, chunk_size: int | None = None) -> AsyncIterator[bytes]:
            read = 0
            async with aclosing(super().aiter_bytes(chunk_size)) as pieces:
                async for piece in pieces:
                    read += len(piece)
                    if read > self.most:
                        raise self.refuse(read)
                    yield piece

    return Capped
