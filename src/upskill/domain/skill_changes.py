"""What differs between two versions of a skill, by part. Arithmetic only."""

from collections.abc import Iterator

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
