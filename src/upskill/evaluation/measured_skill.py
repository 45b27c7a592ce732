"""The skill of a run, for its report: the text that the run kept, or the skill as it is now if it is still the same."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from upskill.core.nouns import Skill
from upskill.core.nouns.skill import SKILL_FILE, SkillFile
from upskill.core.runs.own_runs import is_inside
from upskill.core.runs.records import RunRecord
from upskill.core.runs.skill_copy import read_skill_text, skill_text
from upskill.core.skills.frontmatter import parse_skill_text
from upskill.core.skills.skill_text import SkillText
from upskill.core.skills.skills import read_skill
from upskill.errors import UpskillError

CHANGED = "The skill has changed since this run. This is the version that was measured."
CHANGED_AND_LOST = "The skill has changed since this run, which has no copy of its text."
LOST = "This run has no copy of the skill's text, and the skill is missing or outside the working folder."


def measured_skill(run: Path, record: RunRecord, problems: list[str]) -> SkillText:
    """The text of what was measured, or a note on why it is missing."""
    now = _skill_now(run, record)
    changed = now is not None and now.digest != record.skill_digest
    kept = _kept(run, record, problems)
    if kept is not None:
        return replace(kept, note=CHANGED if changed else None)
    if now is not None and not changed:
        with suppress(UpskillError, OSError):
            return skill_text(run / record.skill_source, now)
    return SkillText(
        name=record.skill_name,
        description="",
        digest=record.skill_digest,
        text=None,
        note=CHANGED_AND_LOST if changed else LOST,
    )


def _kept(run: Path, record: RunRecord, problems: list[str]) -> SkillText | None:
    try:
        kept = read_skill_text(run)
    except UpskillError as error:
        problems.append(error.message)
        return None
    return kept if kept is not None and kept.digest == record.skill_digest else None


def _skill_now(run: Path, record: RunRecord) -> Skill | None:
    """The skill where the record says it is; only from the run folder and the working folder is it read."""
    with suppress(UpskillError):
        if is_inside(run, run / record.skill_source):
            return read_skill(run / record.skill_source)
    return None


def skill_of(text: SkillText) -> Skill:
    """The skill that a text is of, as far as it is known."""
    body = ""
    with suppress(ValueError):
        body = "" if text.text is None else parse_skill_text(text.text).body
    # Only how long it is counts here; the digest is that of the whole skill.
    files = (SkillFile(path=SKILL_FILE, size=text.size, sha256=""),) if text.size else ()
    return Skill(name=text.name, description=text.description, body=body, digest=text.digest, files=files)
