"""Whether what a provider sent is an answer at all. A server can say 200 and mean nothing."""

from typing import TYPE_CHECKING, Any

from upskill.domain.characters import whole_characters
from upskill.models.faults import MalformedAnswer, TransportFault

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput


def require_an_answer(output: "ModelOutput", response: object) -> None:
    """Raise a transport fault unless there is a choice, of the right shape, with its end marker.

    An answer without its end marker was cut on the way: an error, not a short answer.
    """
    if not output.choices:
        raise TransportFault("the answer holds no choice")
    first = _first_choice(response)
    end = None
    if first is not None:
        message, end = first.get("message"), first.get("finish_reason")
        if not isinstance(message, dict) or not _is_content(message.get("content")):
            raise MalformedAnswer("the answer's message is not one")
        if not isinstance(end, str | None):
            raise MalformedAnswer("the answer's end marker (finish_reason) is not a word")
    if output.stop_reason == "unknown" and not end:
        raise TransportFault("the answer has no end marker (finish_reason)")


def mend_tool_calls(output: "ModelOutput") -> None:
    """Half a character (a lone surrogate) in what a tool is called with becomes a question mark.

    It has no UTF-8: no tool could be handed it, and the engine's log, which cannot hold it, would end the run.
    """
    for choice in output.choices:
        for call in choice.message.tool_calls or ():
            call.arguments = _whole(call.arguments)


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
