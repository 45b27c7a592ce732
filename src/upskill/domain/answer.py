"""What a student left behind: its last words, and its files."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Files = Mapping[str, bytes]
"""Content by relative path, with forward slashes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """All that checks may look at. A chat student's fenced files and an agent's real ones arrive here alike."""

    text: str = ""
    files: Files = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    """Files of the case that are gone."""
