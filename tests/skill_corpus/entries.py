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
        "secret",
        "network-in-script",
        "link-out-of-folder",
        "binary",
        "name-squatting",
    }
)
_BINARY = "base64:"
_LINK = "link:"


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusSkill:
    """One skill of the corpus. `kinds` is empty for a good one."""

    name: str
    why: str
    files: dict[str, bytes]
    links: dict[str, str]
    """Symbolic links: their paths, and what they lead to."""
    kinds: tuple[str, ...] = ()

    def write(self, parent: Path) -> Path:
        """The skill as a folder of its own name below `parent`."""
        folder = parent / self.name
        for path, data in self.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        for path, target in self.links.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).symlink_to(target)
        return folder


@cache
def bad_skills() -> tuple[CorpusSkill, ...]:
    """The dangerous skills."""
    return (*_read("bad.yaml"), *_read("bad_second.yaml"))


@cache
def good_skills() -> tuple[CorpusSkill, ...]:
    """The ordinary skills."""
    return (*_read("good.yaml"), *_read("good_second.yaml"))


def _read(name: str) -> tuple[CorpusSkill, ...]:
    entries = yaml.safe_load((Path(__file__).parent / name).read_text(encoding="utf-8"))
    return tuple(
        CorpusSkill(
            name=entry["name"],
            why=entry["why"],
            kinds=tuple(entry.get("kinds", ())),
            files={path: _bytes(text) for path, text in entry["files"].items() if not text.startswith(_LINK)},
            links={path: text.removeprefix(_LINK) for path, text in entry["files"].items() if text.startswith(_LINK)},
        )
        for entry in entries
    )


def _bytes(text: str) -> bytes:
    if text.startswith(_BINARY):
        return base64.b64decode(text.removeprefix(_BINARY), validate=True)
    return text.encode()
