"""Tool calls that a model wrote as text, where its server found none.

Many local models write a call as a fenced or tagged JSON object instead of the tokens that their template asks for, and
the server leaves it in the text. Such an object is a call if the model is done with it: it is the whole answer or its
end, alone or after others of its kind. What is meant as a call and cannot be carried out is one too, with what is
wrong with it, so that the model hears of it as it would from a coding agent. Only the model's own text is read; whether
it repeats what somebody wrote into its task or its files is not asked, and what it calls runs in the sandbox.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

_NAME_KEYS = ("name", "tool", "tool_name", "function")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "tool_input")
_MARK = re.compile(
    r"```(?:[\w.+-]*(?=\s|[{\[]|$))?"  # a fence, which opens or closes
    r"|</?\|?(?:tool_calls?|function_calls?|tools?|functions?)\|?>"  # tags of several templates
    r"|\[/?TOOL_CALLS?\]|<\|/?\w+\|>"
)
_MARKS_AT_THE_END = re.compile(rf"(?:\s*(?:{_MARK.pattern}))*\s*\Z")
_NAMED = re.compile(rf'"(?:{"|".join(_NAME_KEYS)})"\s*:\s*[{{"]')
_GIVEN_ARGUMENTS = re.compile(rf'"(?:{"|".join(_ARGUMENT_KEYS)})"\s*:')
_SPACE = re.compile(r"[ \t\r\n,;]*")
_DECODER = json.JSONDecoder(strict=False)  # a line break inside a string is what the model meant
MOST_CHARACTERS = 100_000
MOST_MARKS = 500
"""In an answer that is searched for calls: a server decides how long and how odd it is."""
MOST_CALLS = 32
"""Calls in one answer; a model that repeats itself writes more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TextCall:
    """A call that a model wrote."""

    name: str
    arguments: dict[str, Any]
    error: str | None = None
    """Why it cannot be carried out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """A part of a text between two marks: calls, or anything else."""

    start: int
    end: int
    calls: tuple[TextCall, ...] = ()


def text_calls(text: str, schemas: Mapping[str, Mapping[str, Any]]) -> tuple[str, tuple[TextCall, ...]]:
    """The text before the calls at the end of an answer, and these calls; no calls where the answer is final.

    `schemas` are those of the arguments of each listed tool.
    """
    if len(text) > MOST_CHARACTERS or len(_MARK.findall(text)) > MOST_MARKS:
        return text, ()
    parts = _parts(text, schemas)
    holding = [number for number, part in enumerate(parts) if part.calls]
    if not holding:
        return text, ()
    first = holding[0]
    calls = tuple(call for part in parts for call in part.calls)
    if not parts[-1].calls:
        return text, _refused(calls, "nothing may follow a call: it has to be the end of the message")
    if len(holding) < len(parts) - first:
        return text, _refused(calls, "write one call, or several with no text between them")
    if len(calls) > MOST_CALLS:
        return text, _refused(calls, f"these are {len(calls)} calls in one message; write at most {MOST_CALLS}")
    return _MARKS_AT_THE_END.sub("", text[: parts[first].start]), calls


def looks_like_a_call(text: str) -> bool:
    """Whether a text holds anything of the form of a call, readable or not, to whatever tool."""
    return _is_meant(text, 0) or re.search(r"<function=\w+>", text) is not None


def _is_meant(text: str, start: int) -> bool:
    """Whether a name and, after it, arguments stand in the text from here on."""
    named = _NAMED.search(text, start)
    return named is not None and _GIVEN_ARGUMENTS.search(text, named.end()) is not None


def _refused(calls: tuple[TextCall, ...], why: str) -> tuple[TextCall, ...]:
    """The first of these calls, to be answered with why none was carried out."""
    return (TextCall(name=calls[0].name, arguments={}, error=why),)


def _parts(text: str, schemas: Mapping[str, Mapping[str, Any]]) -> list[_Part]:
    """What stands between the marks of a text, but for white space. Calls begin at a mark, or with the answer."""
    parts: list[_Part] = []
    at, marked = _skip_space(text, 0), True
    while at < len(text):
        if mark := _MARK.match(text, at):
            at, marked = _skip_space(text, mark.end()), True
            continue
        part = _part(text, at, schemas) if marked else None
        if part is None:
            mark = _MARK.search(text, at)
            part = _Part(start=at, end=mark.start() if mark else len(text))
        parts.append(part)
        at, marked = _skip_space(text, part.end), False
    return parts


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _part(text: str, start: int, schemas: Mapping[str, Mapping[str, Any]]) -> _Part | None:
    """The calls that stand here, one after another; `None` where anything else does."""
    calls: list[TextCall] = []
    at = start
    while text.startswith(("{", "["), at):
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            return _broken(text, start, error, schemas)
        read = [_call(one, schemas) for one in (value if isinstance(value, list) else [value])]
        if not read or None in read:
            return None
        calls += [one for one in read if one is not None]
        at = _skip_space(text, end)
    return _Part(start=start, end=at, calls=tuple(calls)) if calls else None


def _broken(text: str, start: int, error: Exception, schemas: Mapping[str, Mapping[str, Any]]) -> _Part | None:
    """A call whose JSON cannot be read, if it names a listed tool: it takes the rest of the text."""
    named = next((name for name in schemas if text.find(f'"{name}"', start) >= 0), None)
    if named is None or not _is_meant(text, start):
        return None
    where = (
        f"line {error.lineno}, column {error.colno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else error
    )
    call = TextCall(name=named, arguments={}, error=f"the call is not valid JSON ({where})")
    return _Part(start=start, end=len(text), calls=(call,))


def _call(value: object, schemas: Mapping[str, Mapping[str, Any]]) -> TextCall | None:
    """An object as a call, or `None` where it has not the form of one."""
    if not isinstance(value, dict):
        return None
    if isinstance(nested := value.get("function"), dict):
        value = nested
    name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), None)
    held = next((value[key] for key in _ARGUMENT_KEYS if key in value), None)
    if isinstance(held, str):
        with suppress(ValueError, RecursionError):
            held = _DECODER.decode(held)
    if name is None or (held is None and not (name in schemas and _takes_nothing(schemas[name], value))):
        return None
    if name not in schemas:
        return TextCall(name=name, arguments={}, error=f"there is no tool {name}; there are {', '.join(schemas)}")
    arguments = {} if held is None else held
    if not isinstance(arguments, dict):
        return TextCall(name=name, arguments={}, error="its arguments are no object")
    return TextCall(name=name, arguments=arguments, error=_misfit(arguments, schemas[name]))


def _takes_nothing(schema: Mapping[str, Any], value: dict[str, Any]) -> bool:
    return not schema.get("required") and set(value) <= {*_NAME_KEYS, "id", "type"}


def _misfit(arguments: dict[str, Any], schema: Mapping[str, Any]) -> str | None:
    """What of the arguments does not fit the schema."""
    from jsonschema import Draft202012Validator

    wrong = next(Draft202012Validator(schema).iter_errors(arguments), None)
    if wrong is None:
        return None
    place = ".".join(map(str, wrong.path))
    return f"{place}: {wrong.message}" if place else wrong.message
