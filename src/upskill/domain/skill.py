"""A skill: what its folder says, which files it holds, and what the specification allows. Knows nothing about where the
folder is."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from upskill.domain.text import estimate_tokens, estimated_tokens

SKILL_FILE = "SKILL.md"
META_FILE = "skill_meta.json"
CASE_FILES = (META_FILE, "evals/evals.json")
"""Where the cases of a skill are, the first of them that has some."""
META_FORMAT = "upskill.skill/1"
EVIDENCE_FILE = "evidence.json"
CARD_FILE = "evidence.md"
SIGNATURE_FILE = f"{EVIDENCE_FILE}.sigstore.json"
EVIDENCE_FILES = frozenset({EVIDENCE_FILE, CARD_FILE, SIGNATURE_FILE})
"""What travels beside a skill to show what it was measured to do."""
NOT_FOR_STUDENTS = frozenset({META_FILE, "evals"}) | EVIDENCE_FILES
"""Cases, answers and results: in any spelling, these never reach a student and never change the digest."""
INSTALL_RECORD = ".upskill-install.json"
"""In an installed copy: what `upskill install` wrote, so that it can be undone."""
NEVER_PART_OF_A_SKILL = frozenset({".git", "__pycache__", ".DS_Store", "node_modules", INSTALL_RECORD})
SPECIFIED_FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
MOST_CHARACTERS = {"name": 64, "description": 1024, "compatibility": 500}
NAME_RULE = "use up to 64 letters a-z, digits and single hyphens, as in pdf-merge"
MOST_HANDED_FILES = 400
MOST_HANDED_BYTES = 20_000_000
"""A skill is copied into every sandbox of a student with tools."""
MOST_SHARED_FILES = 1_000
MOST_SHARED_BYTES = 25 * 2**20
"""A skill that is installed or published. `skills` from npm takes no larger archive."""
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def is_skill_name(name: str) -> bool:
    """Whether the specification allows this name."""
    return len(name) <= MOST_CHARACTERS["name"] and _NAME.fullmatch(name) is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillFile:
    """One file of a skill. The path is relative, with forward slashes."""

    path: str
    size: int
    sha256: str
    executable: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Skill:
    """A skill as a model can see it, without cases and provenance."""

    name: str
    description: str
    body: str
    digest: str
    frontmatter: Mapping[str, object] = field(default_factory=dict)
    files: tuple[SkillFile, ...] = ()
    notes: tuple[str, ...] = ()
    """Deviations from the format that were accepted, in words."""

    @property
    def other_files(self) -> tuple[SkillFile, ...]:
        """The files beside `SKILL.md`, which a model without tools cannot open."""
        return tuple(file for file in self.files if file.path != SKILL_FILE)

    @property
    def tokens(self) -> int:
        """Estimated tokens of `SKILL.md` with its frontmatter."""
        size = next((file.size for file in self.files if file.path == SKILL_FILE), None)
        return estimate_tokens(self.body) if size is None else estimated_tokens(size)
