"""What can go wrong with a request, as errors, and which fault of a trial each of them is."""

import json

from upskill.domain import Fault


class TransportFault(Exception):
    """The request was lost on the way; sending it again does not draw a second answer."""


class AttemptTimeout(TransportFault):
    """One request took longer than it may."""


class BodyTooLarge(TransportFault):
    """An answer went over the byte cap and was not read to its end."""


class MalformedAnswer(TransportFault):
    """What came back is not an answer, whatever its status says."""


class CallTimeout(Exception):
    """The deadline of a whole call leaves no time for another request."""


class EndpointDown(Exception):
    """Too many failures in a row: nothing more is sent to this endpoint."""


_NEVER_SENT = frozenset(
    {
        *("ConnectError", "ConnectTimeout", "PoolTimeout"),  # httpx and httpcore
        *("ConnectionRefusedError", "gaierror"),
        "OtherOrigin",  # ours
        *("EndpointConnectionError", "ConnectTimeoutError", "ClientConnectorError"),  # botocore and aiohttp
    }
)
"""Names of errors of clients that could not connect; the clients are not imported for this."""
_GAVE_UP_WAITING = frozenset({408, 499, 504, 524})
"""Statuses by which a proxy says that an answer took too long."""


def was_lost(error: BaseException) -> bool:
    """Whether an answer may have begun before the request failed; where that cannot be told, it may have.

    A status other than success says that the server turned the request away, unless it says that somebody stopped
    waiting for the answer. Without a status the request is lost, unless no connection was made.
    """
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return 200 <= status < 300 or status in _GAVE_UP_WAITING
    cause: BaseException | None = error
    while cause is not None:
        if type(cause).__name__ in _NEVER_SENT:
            return False
        cause = cause.__cause__
    return True


def fault_of(error: BaseException) -> Fault:
    """Which kind of fault an exception is, by its status where it has one."""
    if isinstance(error, AttemptTimeout | CallTimeout):
        return "timeout"
    if isinstance(error, TransportFault | json.JSONDecodeError):
        return "transport"
    status = getattr(error, "status_code", None)
    if status == 429:
        # An empty account answers with the same status, and no patience fills it.
        return "provider" if getattr(error, "code", None) == "insufficient_quota" else "rate limit"
    if isinstance(status, int):
        return "provider"
    if type(error).__module__ == "builtins" and not isinstance(error, OSError):
        return "crash"
    name = type(error).__name__
    if "Timeout" in name:
        return "timeout"
    if "Connection" in name or "Protocol" in name or "Decode" in name:
        return "transport"
    return "provider"
