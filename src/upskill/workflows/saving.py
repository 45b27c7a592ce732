"""What is kept of a `generate` in the end: the skill in its folder, with its cases and all that is known of it.

Nothing worse ever takes the place of what is better, and nothing is overwritten that somebody changed meanwhile.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from upskill import storage
from upskill.domain import Case, Skill
from upskill.domain.draft import Draft
from upskill.errors import UsageError
from upskill.storage.drafts import replace_skill, write_draft
from upskill.storage.skill_files import META_FILE
from upskill.storage.skill_meta import SkillMeta, meta_text, read_meta, write_meta


def save_new(folder: Path, draft: Draft, meta: SkillMeta, cases: Sequence[Case], *, kept: Path) -> Skill:
    """Save a skill that is new. A folder that is there already is only touched if the same run made it."""
    if folder.exists() or folder.is_symlink():
        _require_ours(folder, meta, kept)
        skill = replace_skill(folder, draft)
        write_meta(folder, meta, cases)
        return skill
    folder.parent.mkdir(parents=True, exist_ok=True)
    return write_draft(folder, draft, beside={META_FILE: meta_text(meta, cases)})


def _require_ours(folder: Path, meta: SkillMeta, kept: Path) -> None:
    try:
        provenance = read_meta(folder).provenance
        ours = provenance is not None and meta.provenance is not None and provenance.run == meta.provenance.run
    except UsageError:
        ours = False
    if not ours:
        raise UsageError(
            f"{shown_path(folder)}: has come into being meanwhile, and is not overwritten",
            hint=f"the skill is in {shown_path(kept)}; copy it from there",
        )


def save_revision(
    folder: Path, draft: Draft, meta: SkillMeta, cases: Sequence[Case], *, before: str, kept: Path
) -> Skill:
    """Put a better version in the place of an older one, whose digest was `before`."""
    now = storage.read_skill(folder).digest
    begun = meta.provenance is not None and _is_partly_ours(folder, draft)
    if now != before and not begun:
        raise UsageError(
            f"{shown_path(folder)}: was changed while it was being improved, and is not overwritten",
            hint=f"the better version is in {shown_path(kept)}; compare them",
        )
    skill = replace_skill(folder, draft)
    write_meta(folder, meta, cases)
    return skill


def _is_partly_ours(folder: Path, draft: Draft) -> bool:
    """Whether a run that was killed in the middle of replacing it had begun with this skill: then it is gone on with."""
    return all((folder / path).is_file() and (folder / path).read_bytes() == data for path, data in draft.files.items())


def shown_path(path: Path) -> str:
    """A path as a person typed it or would type it: `./skills/x` where it lies below."""
    try:
        below = path.resolve().relative_to(Path.cwd().resolve())
    except ValueError:
        try:
            return Path(os.path.relpath(path.resolve(), Path.cwd().resolve())).as_posix()
        except ValueError:
            return path.as_posix()
    return f"./{below.as_posix()}"
