"""What a provider sent: whether it is an answer at all, how long it is, and the keys in it.

A server can say 200 and mean nothing, and a small answer can unpack to more than a machine holds. The client hands
every response to its hooks before it reads the body. There the response's class is extended in place, so that whoever
reads the body, whole or in pieces, reads it through the cap. The client unpacks in pieces of at most 1 MiB, so no more
than the cap and one piece is ever held.

A server can send back the key it was given, in an answer as well as in a refusal. Whatever ends this process then, no
file may hold the key: an answer is searched as one text, whatever it is made of. Patterns for other people's keys have
no place here: they could change an answer that is graded.
"""

import json
import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import cache
from typing import TYPE_CHECKING, Any

from upskill.core.models.endpoint import Endpoint
from upskill.core.models.retrying import current_call
from upskill.core.nouns import Fault
from upskill.core.nouns.text import whole_characters
from upskill.redaction import redactor_of_answers

if TYPE_CHECKING:
    from inspect_ai.event import ModelEvent
    from inspect_ai.model import ModelCall, ModelOutput


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


MOST_NAME_CHARACTERS = 200
"""Characters of what a server calls its model; more is a flood."""
MOST_ERROR_CHARACTERS = 2_000
"""Characters of what a server says of a failure. The engine colours errors, for minutes, while calls wait."""
_MOST_CAUSES = 50


def require_an_answer(output: "ModelOutput", response: object) -> None:
    """Raise a transport fault unless there is a choice, of the right shape, with its end marker.

    An answer without its end marker was cut on the way: an error, not a short answer.
    """
    if not output.choices:
        raise TransportFault("the response has no choice")
    first = _first_choice(response)
    end = None
    if first is not None:
        message, end = first.get("message"), first.get("finish_reason")
        if not isinstance(message, dict) or not _is_content(message.get("content")):
            raise MalformedAnswer("the response has no valid message")
        if not isinstance(end, str | None):
            raise MalformedAnswer("the response's end marker (finish_reason) is not a word")
    if output.stop_reason == "unknown" and not end:
        raise TransportFault("the response has no end marker (finish_reason)")


def fit_for_the_log(output: "ModelOutput") -> None:
    """Names are cut, a lone surrogate in the arguments of a tool call becomes a question mark, and probabilities go.

    A surrogate has no UTF-8: no tool could be handed it, and the engine's log, which cannot hold it, would end the run.
    Nobody asks for probabilities, and they spell the whole answer again, in pieces.
    """
    output.model = output.model[:MOST_NAME_CHARACTERS]
    for choice in output.choices:
        choice.message.model = (choice.message.model or "")[:MOST_NAME_CHARACTERS] or None
        choice.logprobs = choice.prompt_logprobs = None
        for call in choice.message.tool_calls or ():
            call.arguments = _whole(call.arguments)


def cut_message(error: Exception) -> None:
    """Leave no more of what an error says than a person would read."""
    error.args = tuple(one[:MOST_ERROR_CHARACTERS] if isinstance(one, str) else one for one in error.args)


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, dict):
        return {_whole(key): _whole(inner) for key, inner in value.items()}
    return [_whole(inner) for inner in value] if isinstance(value, list) else value


def _is_content(content: object) -> bool:
    """Text, nothing, or a list of parts that say what they are."""
    if isinstance(content, list):
        return all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in content)
    return isinstance(content, str | None)


def _first_choice(response: object) -> dict[str, object] | None:
    """The first choice as it came over the wire; `None` where the provider has no choices."""
    choices = response.get("choices") if isinstance(response, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else None


def cap_bodies(client: Any, *, most: int) -> None:
    """Make an HTTP client raise `BodyTooLarge` where a body goes over `most` bytes, and mark calls that are answered.

    A client that has its cap already stays as it is.
    """
    hooks = getattr(client, "event_hooks", None)
    if not isinstance(hooks, dict) or "response" not in hooks:
        return  # not a client of this family: its provider is not promised a cap
    if not any(isinstance(hook, _Hook) for hook in hooks["response"]):
        hooks["response"].append(_Hook(most))


class _Hook:
    def __init__(self, most: int) -> None:
        self._most = most

    async def __call__(self, response: Any) -> None:
        current_call().answered = True
        declared = response.headers.get("content-length", "")
        # A declared length is that of the packed body, and unpacked it is hardly ever shorter.
        if declared.isdecimal():
            _require_within(int(declared[:20]), self._most)
        response.__class__ = _capped(response.__class__)
        response.most = self._most


def require_one_choice(body: bytes) -> None:
    """Raise before a client makes objects of thousands of answers: one was asked for."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return  # whoever reads it will say so
    choices = value.get("choices") if isinstance(value, dict) else None
    if isinstance(choices, list) and len(choices) > 1:
        raise MalformedAnswer(f"the response has {len(choices):,} choices; one was asked for")


def _require_within(size: int, most: int) -> None:
    if size > most:
        raise BodyTooLarge(f"a response of {size:,} bytes or more; the limit is {most:,}")


@cache
def _capped(kind: Any) -> Any:
    class Capped(kind):  # type: ignore[misc]  # the client's own class, whichever it is
        async def aiter_bytes(self, chunk_size: int | None = None) -> AsyncIterator[bytes]:
            read = 0
            async with aclosing(super().aiter_bytes(chunk_size)) as pieces:
                async for piece in pieces:
                    read += len(piece)
                    _require_within(read, self.most)
                    yield piece

        async def aread(self) -> bytes:
            body: bytes = await super().aread()
            require_one_choice(body)
            return body

    return Capped


class OwnKeys:
    """The keys that an endpoint could send back, known from the environment when this is made."""

    def __init__(self, endpoint: Endpoint) -> None:
        redactor = redactor_of_answers(os.environ, sent=endpoint.key_variables)
        self._clean = redactor.clean_own if redactor.knows_any else None

    def remove_from(self, answer: object) -> None:
        """Replace the keys in an answer or a failure, in place. `MalformedAnswer` is one that cannot be searched."""
        from inspect_ai.model import ModelOutput

        if isinstance(answer, BaseException):
            self._remove_from_failure(answer)
        elif isinstance(answer, ModelOutput) and self._clean is not None:
            try:
                # Without probabilities, which nobody asks for: they spell the answer again, as numbers.
                whole = answer.model_dump(exclude={"choices": {"__all__": {"logprobs", "prompt_logprobs"}}})
                cleaned = self._without(whole)
                if cleaned is not whole:
                    vars(answer).update(vars(ModelOutput.model_validate(cleaned)))
            except ValueError:
                raise MalformedAnswer("the answer cannot be searched for keys of yours") from None

    def _remove_from_failure(self, error: BaseException) -> None:
        following: BaseException | None = error
        for _ in range(_MOST_CAUSES):
            if following is None:
                return
            following.args = tuple(map(self._without, following.args))
            about = getattr(following, "__dict__", {})
            about.update({name: self._without(value) for name, value in about.items()})
            following = following.__cause__ or following.__context__

    def remove_from_notes(self, event: "ModelEvent | None", made: "ModelCall | None") -> None:
        """The same in what the engine noted of a request for its log."""
        for call in (made, event.call if event is not None else None):
            if call is not None:
                call.response = self._without(call.response)
        for noted in (event.request_ids if event is not None else None) or ():
            noted.id = self._without(noted.id)

    def _without(self, value: Any) -> Any:
        """A text, or a value of JSON, searched as one text; `None` where that cannot be done. All else as it is."""
        if self._clean is None or not isinstance(value, str | list | dict):
            return value
        try:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            cleaned = self._clean(text)
            return value if cleaned == text else cleaned if isinstance(value, str) else json.loads(cleaned)
        except (ValueError, RecursionError):
            return None
