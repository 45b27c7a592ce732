"""Prompts for teachers, one Markdown file each. They hold no logic: `{{value}}` is filled in, and nothing else."""

import re
from functools import cache

from upskill import disk

_PLACE = re.compile(r"\{\{([a-z_]+)\}\}")
_FENCES = re.compile(r"`{3,}")


def prompt(name: str, /, **values: object) -> str:
    """The prompt of that name, filled in. Values are inserted as they are and never scanned for placeholders.

    Raises `KeyError` for a placeholder without a value, or a value without a placeholder.
    """
    template = _template(name)
    places = set(_PLACE.findall(template))
    if places != set(values):
        raise KeyError(f"{name}: places {sorted(places)}, values {sorted(values)}")
    return _PLACE.sub(lambda place: str(values[place[1]]), template)


def quoted(text: str, *, language: str = "") -> str:
    """The text in a code block whose fence is longer than any inside it, so that the text cannot end it."""
    longest = max((len(fence) for fence in _FENCES.findall(text)), default=3)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


@cache
def _template(name: str) -> str:
    return disk.packaged("upskill.generation.prompts", f"{name}.md").strip()
