"""The path to a value in a parsed file, written as `general.cuda.capabilities[0]`, and how values are compared."""

import re
from collections.abc import Iterator

from upskill.core.nouns.case import Json

_STEP = re.compile(
    r"""(?:\.|^)(?P<key>[^.\[\]"']+)|\[(?P<index>-?\d{1,9})\]|\[(?:"(?P<quoted>[^"]*)"|'(?P<single>[^']*)')\]"""
)
Step = str | int


def steps_of(place: str) -> list[Step] | None:
    """The steps of a path: keys and indexes; `None` if it is not one. A key with dots is `["a.b"]`."""
    steps: list[Step] = []
    at = 0
    while at < len(place):
        found = _STEP.match(place, at)
        if found is None:
            return None
        if found["index"] is not None:
            steps.append(int(found["index"]))
        else:
            steps.append(next(part for part in (found["key"], found["quoted"], found["single"]) if part is not None))
        at = found.end()
    return steps or None


class ValueMissing(Exception):
    """There is no value at a path; says how much of the path exists."""


def value_at(value: Json, steps: list[Step]) -> Json:
    """The value at the end of the steps. Raises `ValueMissing`."""
    for number, step in enumerate(steps):
        so_far = written(steps[:number]) or "the top"
        if isinstance(step, int):
            if not isinstance(value, list):
                raise ValueMissing(f"{so_far} is not a list")
            if not -len(value) <= step < len(value):
                raise ValueMissing(f"{so_far} has {len(value)} item{'' if len(value) == 1 else 's'}")
            value = value[step]
            continue
        if not isinstance(value, dict):
            raise ValueMissing(f"{so_far} is not an object")
        if step not in value:
            keys = ", ".join(key[:30] for key in list(value)[:6])
            raise ValueMissing(f"{so_far} has no {step!r}; it has {keys or 'no key'}{', …' if len(value) > 6 else ''}")
        value = value[step]
    return value


def written(steps: list[Step]) -> str:
    """Steps as a person writes them."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.search(r"[.\[\]\"']", step) or not step:
            text += f'["{step}"]'
        else:
            text += f".{step}" if text else step
    return text


def same(one: Json, other: Json, *, exact: bool) -> bool:
    """Whether two values are equal. A boolean is no number; with `exact`, an integer is no float."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other and (not exact or type(one) is type(other))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b, exact=exact) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key], exact=exact) for key in one)
    return type(one) is type(other) and one == other


def differences(found: Json, wanted: Json, *, exact: bool, at: tuple[Step, ...] = ()) -> Iterator[str]:
    """What makes two values differ, in words: keys that are missing, keys too many, and other values."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        yield from (f"missing {written([*at, key])}" for key in wanted if key not in found)
        yield from (f"extra {written([*at, key])}" for key in found if key not in wanted)
        for key in (key for key in wanted if key in found):
            yield from differences(found[key], wanted[key], exact=exact, at=(*at, key))
    elif isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
            yield from differences(one, other, exact=exact, at=(*at, number))
    elif not same(found, wanted, exact=exact):
        yield f"{written([*at]) or 'the top'} is {shown_value(found)}, not {shown_value(wanted)}"


def shown_value(value: Json) -> str:
    """A value on one line, cut."""
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "…"
