"""JSON Schemas and values of strangers: nothing is fetched, and comparing them has a time limit.

A few lines can mean a day of work: forty definitions that each name the next one twice. The limit is looked at before
every keyword, on the clock of this thread, so that a busy machine changes no result.
"""

import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any

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
