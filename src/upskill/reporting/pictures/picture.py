"""A picture before and after it is drawn."""

from dataclasses import dataclass, field

from upskill.domain.case import Json

WIDTH = 470
"""Of what is plotted, in pixels."""


class PictureFailed(Exception):
    """The pictures could not be drawn. Says why, in one line."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """What is to be drawn."""

    name: str
    """Which module of this package draws it, and what its files are called."""
    title: str
    marks: list[dict[str, Json]]
    """What is drawn, one row per mark; plain JSON, because it goes to another process."""
    facts: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnPicture:
    """A picture as SVG in light colours, and as PNG."""

    svg: str
    png: bytes
