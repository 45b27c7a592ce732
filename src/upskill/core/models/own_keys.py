"""Takes the user's own keys out of what a provider sent, before the engine sees it and logs it.

A server can send back the key it was given, in an answer as well as in a refusal. Whatever ends this process then, no
file may hold the key. Patterns for other people's keys have no place here: they could change an answer that is graded.
"""

import os
from dataclasses import is_dataclass
from typing import Any

from pydantic import BaseModel

from upskill.core.models.endpoint import Endpoint
from upskill.redaction import redactor_of_answers


class OwnKeys:
    """The keys that an endpoint could send back, known from the environment when this is made."""

    def __init__(self, endpoint: Endpoint) -> None:
        redactor = redactor_of_answers(os.environ, sent=endpoint.key_variables)
        self._clean = redactor.clean_own if redactor.knows_any else None

    def remove_from(self, *values: object) -> None:
        """Replace the keys in every text within these values, in place: JSON, objects of the engine, exceptions."""
        if self._clean is None:
            return
        open_values: list[Any] = list(values)
        seen: set[int] = set()
        while open_values:  # not by recursion: a server decides how deep its answer is
            value = open_values.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, dict):
                items = [(self._text(key), self._text(inner)) for key, inner in value.items()]
                if any(
                    key is not old or inner is not value[old] for (key, inner), old in zip(items, value, strict=True)
                ):
                    value.clear()
                    value.update(items)
                open_values += value.values()
            elif isinstance(value, list):
                value[:] = map(self._text, value)
                open_values += value
            elif isinstance(value, BaseException):
                value.args = tuple(map(self._text, value.args))
                open_values += [*value.args, vars(value), value.__cause__, value.__context__]
            elif isinstance(value, BaseModel) or (is_dataclass(value) and hasattr(value, "__dict__")):
                open_values += [vars(value), getattr(value, "__pydantic_extra__", None)]

    def _text(self, value: Any) -> Any:
        return self._clean(value) if self._clean is not None and isinstance(value, str) else value
