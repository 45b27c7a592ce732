"""Takes the thinking that a server left in the text out of a model's answer. One rule for every role.

Thinking is at the beginning: in a tag such as `<think>`, or in messages of Harmony (`<|channel|>analysis`), which
gpt-oss speaks. Tags and markers that an answer talks about later are part of it. Time is linear in the text.
"""

import re

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
