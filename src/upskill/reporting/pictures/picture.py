"""A picture before and after it is drawn."""

from dataclasses import dataclass, field

from upskill.domain.case import Json

WIDTHS = {"wide": 470, "narrow": 262}
"""The plotted width in pixels: on a desk, and on a phone."""


class PictureFailed(Exception):
    """The pictures could not be drawn. Says why, in one line."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """What is to be drawn, and the same in words and as a table for whoever does not see it."""

    name: str
    """Which module of this package draws it, and what its files are called."""
    title: str
    says: str
    """What the picture shows, in a sentence or two."""
    marks: list[dict[str, Json]]
    """What is drawn, one row per mark; plain JSON, because it goes to another process."""
    facts: dict[str, Json] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    reading: str = ""
    """How to read it, for whoever does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnPicture:
    """A picture as SVG in light colours, for a desk and for a phone, and as PNG where that was asked for."""

    wide: str
    narrow: str
    png: bytes | None = None
