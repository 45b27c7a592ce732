"""Answers of teachers and judges: building blocks of their JSON Schemas, limits for schemas and values of strangers,
and the thinking that a server left in the text.

The building blocks use no keyword that providers refuse in a schema. Of strangers' schemas nothing is fetched, and
comparing them has a time limit: forty definitions that each name the next one twice mean a day of work. The limit is
looked at before every keyword, on the clock of this thread, so that a busy machine changes no result. Thinking is at
the beginning: in a tag such as `<think>`, or in messages of Harmony (`<|channel|>analysis`), which gpt-oss speaks. Tags
and markers that an answer talks about later are part of it. Time is linear in the text.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any

Schema = dict[str, Any]

MOST_PARTS = 400
"""Four times as many as the largest schema of an answer has."""
_TYPES = ("object", "array", "string", "number", "boolean")

TEXT: Schema = {"type": "string"}


def list_of(items: Mapping[str, Any]) -> Schema:
    """A list of any number of these items."""
    return {"type": "array", "items": items}


def one_of(*words: str) -> Schema:
    """One of these words."""
    return {"type": "string", "enum": [*words]}


def object_of(needed: Sequence[str] | None = None, /, **properties: Mapping[str, Any]) -> Schema:
    """An object with these keys and no others; all are required, unless `needed` lists those that are."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*(properties if needed is None else needed)],
        "additionalProperties": False,
    }


TEXTS = list_of(TEXT)
FILES = list_of(object_of(path=TEXT, text=TEXT))


def is_answer_schema(schema: object) -> bool:
    """Whether a schema is small and has no other keywords than these blocks: no address, no pattern, no reference."""
    waiting, parts = [schema], 0
    while waiting:
        part = waiting.pop()
        parts += 1
        if not isinstance(part, dict) or not all(_is_keyword(key, value) for key, value in part.items()):
            return False
        parts += len(part.get("enum", ())) + len(part.get("required", ()))
        waiting += [*part.get("properties", {}).values(), *part.get("anyOf", ())]
        if "items" in part:
            waiting.append(part["items"])
        if parts + len(waiting) > MOST_PARTS:
            return False
    return True


def _is_keyword(key: str, value: object) -> bool:
    match key:
        case "type":
            return value in _TYPES
        case "properties" | "items":
            return isinstance(value, dict)
        case "anyOf":
            return isinstance(value, list)
        case "enum" | "required":
            return isinstance(value, list) and all(isinstance(word, str) for word in value)
        case "additionalProperties":
            return isinstance(value, bool)
        case "minItems" | "maxItems":
            return isinstance(value, int)
        case _:
            return key == "description" and isinstance(value, str)


_DEADLINE: ContextVar[float] = ContextVar("upskill_schema_deadline")


def allow_seconds(seconds: float) -> None:
    """Give the comparisons that follow in this context so much processor time together."""
    _DEADLINE.set(time.thread_time() + seconds)


def require_time() -> None:
    """Raise `TimeoutError` once the time is used up."""
    if time.thread_time() > _DEADLINE.get():
        raise TimeoutError("comparing with the schema took too long")


def errors_of(schema: Any, value: Any, **keywords: Callable[..., Any]) -> Iterator[Any]:
    """Each error of a value, as the library reports it; `keywords` take the place of those of the standard.

    Raises `TimeoutError` once the time is used up that `allow_seconds` gave.
    """
    from referencing import Registry

    # A registry that knows the standard only: the library's own would fetch what a `$ref` names.
    return iter(_validator_class(**keywords)(schema, registry=Registry()).iter_errors(value))


@cache
def _validator_class(**keywords: Callable[..., Any]) -> Any:
    import attrs
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    known = {**Draft202012Validator.VALIDATORS, **keywords}
    bounded = extend(Draft202012Validator, {name: _in_time(keyword) for name, keyword in known.items()})
    # The library's own would hand a part that names a `$schema` to a class without these bounds.
    bounded.evolve = attrs.evolve
    return bounded


def _in_time(keyword: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(keyword)
    def check(*words: Any) -> Any:
        require_time()
        return keyword(*words)

    return check


_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis"
_OPENED = re.compile(rf"<({_NAMES})(?:[\s/][^<>]*)?>", re.IGNORECASE)
_LEADING = re.compile(rf"\s*{_OPENED.pattern}", re.IGNORECASE)
_CLOSED = re.compile(rf"</({_NAMES})\s*>", re.IGNORECASE)
_CLOSED_BY_NAME = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in _NAMES.split("|")}
_QUOTES = frozenset("`\"'")

_MARKER = re.compile(r"<\|(start|end|return|call|channel|message)\|>")
_END_OF_MESSAGE = re.compile(r"<\|(?:start|end|return|call)\|>")


def without_thinking(text: str) -> str:
    """The answer, without white space around it; empty where the text holds nothing but thinking."""
    answer = _final_message(text)
    if answer is None:
        return ""
    answer = _after_leading_thoughts(answer)
    if answer is None:
        return ""
    return _after_the_end_of_a_thought(answer).strip()


def _final_message(text: str) -> str | None:
    """The last message for the reader, where a text is Harmony; the text itself where it is not; `None` of no message.

    A template may open the first message, or its thinking: then the first marker closes what nothing opened.
    """
    first = _MARKER.search(text)
    if first is None:
        return text
    begins = not text[: first.start()].strip() and first[1] in ("start", "channel", "message")
    if not begins and not (first[1] == "end" and text.startswith("<|start|>", first.end())):
        return text
    final: str | None = None
    channel, position = "final" if begins else "analysis", 0
    while (marker := _MARKER.search(text, position)) is not None:
        position = marker.end()
        if marker[1] == "start":  # an assistant speaks to the reader until a channel is named
            channel = "final" if _first_word(text, position) in ("assistant", "") else "of somebody else"
        elif marker[1] == "channel":
            channel = _first_word(text, position)
        elif marker[1] == "message" and channel == "final":
            end = _END_OF_MESSAGE.search(text, position)
            final, position = (
                (text[position:], len(text)) if end is None else (text[position : end.start()], end.start())
            )
    return final


def _first_word(text: str, position: int) -> str:
    """What a header names first: `final` of `final <|constrain|>json<|message|>`."""
    return (text[position : position + 40].split("<", 1)[0].split() or [""])[0]


def _after_leading_thoughts(text: str) -> str | None:
    """What follows the thoughts at the beginning; `None` where one of them does not end."""
    start = 0
    while (opened := _LEADING.match(text, start)) is not None:
        if opened[0].endswith("/>"):
            start = opened.end()
            continue
        closed = _CLOSED_BY_NAME[opened[1].lower()].search(text, opened.end())
        if closed is None:
            return None
        start = closed.end()
    return text[start:]


def _after_the_end_of_a_thought(text: str) -> str:
    """What follows a closing tag that nothing opened: a template that opens the thought leaves only its end.

    A tag in quotes, in a code block or inside braces, as in a JSON value, is quoted and ends nothing.
    """
    opened: dict[str, int] = {}
    for tag in _OPENED.finditer(text):
        opened.setdefault(tag[1].lower(), tag.start())
    braces = fences = position = 0
    for closed in _CLOSED.finditer(text):
        start, end = closed.span()
        quoted = text[start - 1 : start] in _QUOTES and text[end : end + 1] == text[start - 1 : start]
        if quoted or opened.get(closed[1].lower(), start) < start:
            continue
        braces += text.count("{", position, start) - text.count("}", position, start)
        fences += text.count("```", position, start)
        position = start
        if braces <= 0 and fences % 2 == 0:
            return text[end:]
    return text
