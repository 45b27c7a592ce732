"""Making skill folders and case files for tests, and looking at what came of them."""

import json
from collections.abc import Mapping
from pathlib import Path

from upskill.errors import SkillInvalid, UpskillError

HEAD = "---\nname: {name}\ndescription: Merges PDF files.\n---\n"
SKILL_TEXT = HEAD.format(name="pdf-merge") + "# Merge\n\nUse `merge`.\n"


def make_skill(
    folder: Path, files: Mapping[str, str | bytes] | None = None, *, text: str | bytes | None = None
) -> Path:
    """A skill folder with a `SKILL.md` and other files."""
    skill = HEAD.format(name=folder.name) + "Body.\n" if text is None else text
    for name, content in {"SKILL.md": skill, **(files or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return folder


def make_file(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def assert_explained(error: UpskillError) -> None:
    """Every line can be printed on any terminal; a skill or case file that cannot be used comes with its problems."""
    assert error.problems or (error.hint and not isinstance(error, SkillInvalid))
    for line in (error.message, *error.problems, *([error.hint] if error.hint else [])):
        assert line.isprintable()
        assert 0 < len(line) < 3_000
        line.encode("utf-8")
