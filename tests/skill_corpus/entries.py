"""Reads the corpus: skills that a search for danger must find, and skills that it must leave alone."""

import base64
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

KINDS = frozenset(
    {
        "pipe-to-shell",
        "credential-read",
        "encoded-blob",
        "hidden-text",
        "against-the-user",
        "exfiltration",
        "persistence",
        "url",
        "disables-safety",
        "destructive",
        "foreign-package",
    }
)
_BINARY = "base64:"


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusSkill:
    """One skill of the corpus. `kinds` is empty for a good one."""

    name: str
    why: str
    files: dict[str, bytes]
    kinds: tuple[str, ...] = ()

    def write(self, parent: Path) -> Path:
        """The skill as a folder of its own name below `parent`."""
        folder = parent / self.name
        for path, data in self.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        return folder


@cache
def bad_skills() -> tuple[CorpusSkill, ...]:
    """The dangerous skills."""
    return _read("bad.yaml")


@cache
def good_skills() -> tuple[CorpusSkill, ...]:
    """The ordinary skills."""
    return _read("good.yaml")


def _read(name: str) -> tuple[CorpusSkill, ...]:
    entries = yaml.safe_load((Path(__file__).parent / name).read_text(encoding="utf-8"))
    return tuple(
        CorpusSkill(
            name=entry["name"],
            why=entry["why"],
            kinds=tuple(entry.get("kinds", ())),
            files={path: _bytes(text) for path, text in entry["files"].items()},
        )
        for entry in entries
    )


def _bytes(text: str) -> bytes:
    if text.startswith(_BINARY):
        return base64.b64decode(text.removeprefix(_BINARY), validate=True)
    return text.encode()
