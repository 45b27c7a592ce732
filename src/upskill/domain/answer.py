"""What a student left behind: its last words, its files and its tool calls; and the identity of words and files."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from upskill.domain.digest import digest_of
from upskill.domain.trajectory import Trajectory

Files = Mapping[str, bytes]
"""Content by relative path, with forward slashes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What checks can read of an answer. In chat, the files are its fenced blocks."""

    text: str = ""
    files: Files = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    """Files of the case that were removed."""
    trajectory: Trajectory | None = None
    """The tool calls; `None` where none were recorded: without tools, and in runs of earlier versions."""
    turns: int | None = None
    """Turns of the model; `None` without tools."""
    tokens: int | None = None
    """Input and output together; `None` where the provider did not report them."""


def answer_digest(answer: Answer) -> str:
    """Equal for two answers exactly when their texts and files are."""
    return digest_of(
        {
            "text": answer.text,
            "files": {path: hashlib.sha256(data).hexdigest() for path, data in answer.files.items()},
        }
    )
