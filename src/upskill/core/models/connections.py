"""Connections: the rule of the origin, for all requests of ours, and the requests that ask no model for an answer.

An origin is a scheme, a host and a port. A client follows redirects by itself and sends the prompt and the key along,
and the server it ends at answers as if it were the one that was named. So nothing is sent but to the origin that a
person named, or to the provider's own: `keep_at_origin` holds the engine's clients to it, and `send` its own requests.
A redirect from http to https at the same host is followed where both have their usual ports: whoever could have read
the first request has read it already. This machine is reached without a proxy. Does not know what an answer means.
"""

import http.client
import ipaddress
import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, NamedTuple
from urllib.parse import urlsplit

MOST_BYTES = 10_000_000
_USUAL_PORTS = {"http": 80, "https": 443}
_Origin = tuple[str, str, int | None]


class OtherOrigin(Exception):
    """A request or a redirect led to another origin; nothing was sent there."""


def require_same_origin(first: str, then: str) -> None:
    """Raise `OtherOrigin`, which names both, unless what is meant for one URL may be sent to another."""
    asked, named = _origin(first), _origin(then)
    if named != asked and not (asked[0] == "http" and named == ("https", asked[1], 443) and asked[2] == 80):
        raise OtherOrigin(
            f"{_shown(asked)} redirects to {_shown(named)}, another origin; nothing was sent there "
            "(to use that server, name it as the base URL)"
        )


def _origin(url: str) -> _Origin:
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    # A user name is no part of an origin. But what a server puts before a host is there to deceive, or to be sent.
    host = ("…@" if "@" in parts.netloc else "") + (parts.hostname or "").rstrip(".")
    return parts.scheme, host, _USUAL_PORTS.get(parts.scheme) if port is None else port


def _shown(origin: _Origin) -> str:
    scheme, host, port = origin
    host = f"[{host}]" if ":" in host else host
    return f"{scheme}://{host}" + ("" if port == _USUAL_PORTS.get(scheme) else f":{port}")


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine, by a name or an address that never leaves it."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def keep_at_origin(client: Any, *, base_url: str) -> None:
    """Make an HTTP client raise `OtherOrigin` before it sends a request elsewhere than to the origin of a URL.

    Where the client does not say its base URL, that of its first request counts.
    """
    hooks = getattr(client, "event_hooks", None)
    if not isinstance(hooks, dict) or "request" not in hooks:
        return  # not a client of this family
    if not any(isinstance(hook, _Guard) for hook in hooks["request"]):
        hooks["request"].append(_Guard(base_url))
    if is_loopback(base_url):
        client._mounts.clear()  # what the client made of HTTP_PROXY and its like


class _Guard:
    def __init__(self, base_url: str) -> None:
        self._base_url = base_url

    async def __call__(self, request: Any) -> None:
        self._base_url = self._base_url or str(request.url)
        require_same_origin(self._base_url, str(request.url))


class Reply(NamedTuple):
    """What a server said to one request."""

    status: int
    body: bytes
    """Its first 10 MB."""


class NotHttp(OSError):
    """What came is no HTTP."""


def send(url: str, *, base_url: str, key: str | None, body: object = None, seconds: float) -> Reply:
    """Send one request, with a body a POST of JSON. The key goes to the origin of `base_url` only, whatever `url` is.

    Raises `OtherOrigin` before anything is sent elsewhere, `TimeoutError` where the reply is not whole in time, and
    `OSError` for all else.
    """
    require_same_origin(base_url, url)
    request = urllib.request.Request(url, data=None if body is None else json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    handlers: list[urllib.request.BaseHandler] = [_Redirects(base_url)]
    if is_loopback(url):
        handlers.append(urllib.request.ProxyHandler({}))
    opener = urllib.request.build_opener(*handlers)

    def read() -> Reply:
        try:
            with opener.open(request, timeout=seconds) as response:
                return Reply(response.status, response.read(MOST_BYTES))
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, error.read(MOST_BYTES))
        except urllib.error.URLError as error:
            raise error.reason if isinstance(error.reason, OSError) else OSError(error.reason) from None
        except OSError:
            raise
        except http.client.HTTPException as error:
            raise NotHttp(str(error)) from None

    return _in_time(read, seconds)


class _Redirects(urllib.request.HTTPRedirectHandler):
    def __init__(self, base_url: str) -> None:
        self._base_url = base_url

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        fp.close()  # else all of its body is read, however long
        require_same_origin(self._base_url, newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _in_time(read: Callable[[], Reply], seconds: float) -> Reply:
    """What it returns or raises; `TimeoutError` after one deadline. The thread that is left ends with the process.

    A server can send a byte in time for every read, and never come to an end.
    """
    ended: Future[Reply] = Future()

    def body() -> None:
        try:
            ended.set_result(read())
        except BaseException as error:  # noqa: BLE001 - the boundary of a thread: raised again by whoever waits
            ended.set_exception(error)

    threading.Thread(target=body, name="upskill-request", daemon=True).start()
    if wait((ended,), timeout=seconds).not_done:
        raise TimeoutError(f"no complete reply within {seconds:g} seconds")
    return ended.result()


def listens(url: str, *, seconds: float) -> bool:
    """Whether anything takes a connection at the address."""
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or _USUAL_PORTS[parts.scheme]), seconds).close()
    except OSError:
        return False
    return True
