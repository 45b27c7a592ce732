"""What differs between two versions of a skill, by part. Arithmetic only."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from upskill.domain.case import Case
from upskill.domain.skill import SKILL_FILE, Skill


def changed_parts(before: Skill, after: Skill) -> tuple[str, ...]:
    """The parts that differ: `description`, `body`, `frontmatter`, and the paths of other files."""
    parts = []
    if before.description != after.description:
        parts.append("description")
    if before.body != after.body:
        parts.append("body")
    if not parts and _content(before).get(SKILL_FILE) != _content(after).get(SKILL_FILE):
        parts.append("frontmatter")
    return (*parts, *_changed_files(before, after))


def _changed_files(before: Skill, after: Skill) -> Iterator[str]:
    old, new = _content(before), _content(after)
    for path in sorted({*old, *new} - {SKILL_FILE}):
        if path not in old:
            yield f"{path} (added)"
        elif path not in new:
            yield f"{path} (deleted)"
        elif old[path] != new[path]:
            yield path


def _content(skill: Skill) -> dict[str, tuple[str, bool]]:
    return {file.path: (file.sha256, file.executable) for file in skill.files}


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseChanges:
    """The ids of cases that differ between two versions of a skill."""

    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    accepted: bool = False
    """Whether a person accepts that: then cases are measured as they are now, else as they were in the old version."""

    @property
    def refused(self) -> tuple[str, ...]:
        """The old cases that were changed or removed while nobody accepts it: no requirement is met then."""
        return () if self.accepted else (*self.changed, *self.removed)

    @property
    def by_kind(self) -> dict[str, tuple[str, ...]]:
        return {"changed": self.changed, "removed": self.removed, "added": self.added}

    @property
    def words(self) -> str:
        """How many were changed, removed and added, with some ids; empty where none was."""
        return ", ".join(
            f"{len(ids)} {kind} ({', '.join(ids[:3])}{', …' if len(ids) > 3 else ''})"
            for kind, ids in self.by_kind.items()
            if ids
        )


NO_CASE_CHANGES = CaseChanges()


def case_changes(before: Sequence[Case], after: Sequence[Case], *, accepted: bool) -> CaseChanges:
    """What differs in any part, also in what a case is for: a case that no longer counts is a changed one."""
    old, new = {case.id: case for case in before}, {case.id: case for case in after}
    return CaseChanges(
        changed=tuple(id for id in old if id in new and old[id] != new[id]),
        removed=tuple(id for id in old if id not in new),
        added=tuple(id for id in new if id not in old),
        accepted=accepted,
    )
