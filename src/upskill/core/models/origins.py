"""Keeps requests at the server they were meant for: redirects lead to no other origin, proxies not off this machine.

A client follows redirects by itself and sends the prompt along, and the server it ends at answers as if it were the
one that was named. An origin is a scheme, a host and a port. A redirect from http to https at the same host goes on
where both have their usual ports: whoever could have read the first request has read it already.
"""

import ipaddress
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import SplitResult, urlsplit

_USUAL_PORTS = {"http": 80, "https": 443}
_FIRST = "upskill_origin"


class OtherOrigin(Exception):
    """A server answered with a redirect to another origin; nothing was sent there."""


def require_same_origin(first: str, then: str) -> None:
    """Raise `OtherOrigin`, which names both, unless a redirect from one URL to another may be followed."""
    asked, named = _origin(first), _origin(then)
    if named != asked and not (asked[0] == "http" and named == ("https", asked[1], 443) and asked[2] == 80):
        raise OtherOrigin(
            f"{_shown(asked)} redirects to {_shown(named)}, another origin; nothing was sent there "
            "(to use that server, name it as the base URL)"
        )


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine, by a name or an address that never leaves it."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def keep_at_origin(client: Any, *, base_url: str) -> None:
    """Make an HTTP client raise `OtherOrigin` before it follows a redirect, and reach this machine without a proxy."""
    hooks = getattr(client, "event_hooks", None)
    if not isinstance(hooks, dict) or "request" not in hooks:
        return  # not a client of this family
    if _stay not in hooks["request"]:
        hooks["request"].append(_stay)
    if is_loopback(base_url):
        client._mounts.clear()  # what the client made of HTTP_PROXY and its like


async def _stay(request: Any) -> None:
    """A request that follows a redirect has the extensions of the one before it, and so of the first."""
    require_same_origin(request.extensions.setdefault(_FIRST, str(request.url)), str(request.url))


class _SameOrigin(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        fp.close()  # else all of its body is read, however long
        require_same_origin(req.full_url, newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def opener_for(url: str) -> Callable[..., Any]:
    """What opens a URL at its origin only, as `urllib.request.urlopen` would anywhere."""
    handlers: list[urllib.request.BaseHandler] = [_SameOrigin()]
    if is_loopback(url):
        handlers.append(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(*handlers).open


def _origin(url: str) -> tuple[str, str, int | None]:
    parts: SplitResult = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    return parts.scheme, (parts.hostname or "").rstrip("."), _USUAL_PORTS.get(parts.scheme) if port is None else port


def _shown(origin: tuple[str, str, int | None]) -> str:
    scheme, host, port = origin
    host = f"[{host}]" if ":" in host else host
    return f"{scheme}://{host}" + ("" if port == _USUAL_PORTS.get(scheme) else f":{port}")
