"""Search a skill folder for whatever a person should know before an agent reads it. Calls no model."""

from pathlib import Path

from upskill.domain.linted_skill import LintResult
from upskill.errors import SkillInvalid
from upskill.shipping import search_skill
from upskill.storage.linted_folder import read_folder


def lint(folder: Path) -> LintResult:
    """Every finding in one skill folder, whatever is in it."""
    try:
        contents = read_folder(folder)
    except SkillInvalid as error:
        return LintResult(folder=str(folder), name=folder.name, refused=error.message)
    return LintResult(
        folder=str(folder), name=contents.name, digest=contents.digest, findings=search_skill(contents.files)
    )
