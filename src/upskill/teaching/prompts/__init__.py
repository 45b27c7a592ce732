"""What teachers are told, one Markdown file each. No logic in them: `{{value}}` is filled in, and nothing else."""

import re
from functools import cache
from importlib.resources import files

_PLACE = re.compile(r"\{\{([a-z_]+)\}\}")
_FENCES = re.compile(r"`{3,}")


def prompt(name: str, /, **values: object) -> str:
    """The prompt of that name with its places filled. Values go in as they are and are never scanned for places.

    Raises `KeyError` for a place without a value, or a value without a place: a prompt is never half filled.
    """
    template = _template(name)
    places = set(_PLACE.findall(template))
    if places != set(values):
        raise KeyError(f"{name}: places {sorted(places)}, values {sorted(values)}")
    return _PLACE.sub(lambda place: str(values[place[1]]), template)


def quoted(text: str, *, language: str = "") -> str:
    """Material, set apart by a fence that is longer than any inside it, so that it cannot end it."""
    longest = max((len(fence) for fence in _FENCES.findall(text)), default=3)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


@cache
def _template(name: str) -> str:
    return files("upskill.teaching.prompts").joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
