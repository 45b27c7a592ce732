"""What is in a folder that should be a skill, as far as it could be read safely."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from upskill.domain.answer import Files
from upskill.domain.digest import digest_of
from upskill.domain.skill import SKILL_FILE

UnusualKind = Literal[
    "link-out",
    "link-to-cases",
    "link-to-skipped",
    "broken-link",
    "circular-link",
    "special-file",
    "unreadable",
    "name-not-utf8",
    "too-deep",
    "hard-link",
    "skipped-folder",
]
"""`link-out`: leads out of the folder. `link-to-cases`: shows a model what it must not see. `special-file`: a pipe, a
socket or a device. `hard-link`: has another name elsewhere. `skipped-folder`: is no part of a skill, such as `.git`."""
HARMLESS: frozenset[UnusualKind] = frozenset({"hard-link", "skipped-folder"})
"""What does not keep a skill from being used."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnusualEntry:
    """Something in a folder that is not an ordinary file of a skill."""

    path: str
    kind: UnusualKind
    detail: str = ""
    """The target of a link, or why it cannot be read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderContents:
    """The files of a folder by path, with forward slashes, and everything else in it."""

    name: str
    """Of the folder."""
    files: Files
    """What an agent gets."""
    digests: Mapping[str, str]
    """SHA-256 of each of these files."""
    private: Files = field(default_factory=dict)
    """Cases, provenance and evidence, which no agent gets."""
    unusual: tuple[UnusualEntry, ...] = ()

    @property
    def digest(self) -> str | None:
        """The digest of the skill, as `eval` records it; `None` where something in the folder cannot be used."""
        if SKILL_FILE not in self.files or any(entry.kind not in HARMLESS for entry in self.unusual):
            return None
        return digest_of([[path, self.digests[path]] for path in sorted(self.digests)])
