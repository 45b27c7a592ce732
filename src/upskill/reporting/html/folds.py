"""A part of the page that stays folded until somebody asks for it."""

from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True, kw_only=True, slots=True)
class Fold:
    """A title, what is found inside in a few words, and the inside."""

    name: str
    title: str
    finding: str
    body: Markup
