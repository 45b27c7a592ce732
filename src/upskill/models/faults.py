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
