"""The description of a skill, changed alone: every other character of `SKILL.md` stays as it is.

Other fields, their order and their spelling, comments, line ends and the body are not written anew, but kept.
"""

import re
import shutil
from pathlib import Path

import yaml

from upskill.atomic_file import write_atomically
from upskill.domain import Skill
from upskill.domain.skill import NOT_FOR_STUDENTS, SKILL_FILE
from upskill.domain.text import on_one_line
from upskill.errors import EngineError, SkillInvalid, UsageError
from upskill.storage.frontmatter import FENCE, parse_skill_text, scalar_text
from upskill.storage.skills import copy_skill, read_skill

KEY = "description"
_LINE = re.compile(rf"^{KEY}:[ \t]+(?P<value>\S[^\r\n]*?)[ \t]*(?=\r?$)", re.MULTILINE)
_HEADER_COMMENT = re.compile(r"\A[|>][^\s#]*(?P<comment>[ \t]+#[^\r\n]*)")
"""A comment behind the sign that begins a block of text."""


def with_description(text: str, description: str) -> str:
    """The text of `SKILL.md` with another description. Raises `ValueError` where it cannot be changed alone."""
    before = parse_skill_text(text)
    value = scalar_text(KEY, description)
    start = len(text) - len(text.removeprefix("\ufeff"))
    fence = FENCE.match(text[start:])
    if fence is None or KEY not in before.frontmatter:
        raise ValueError("SKILL.md has no description that could be changed")
    head, offset = fence["head"], start + fence.start("head")
    begin, end, value = _place(head, value)
    changed = text[: offset + begin] + value + text[offset + end :]
    after = parse_skill_text(changed)
    others = {key: one for key, one in before.frontmatter.items() if key != KEY}
    kept = {key: one for key, one in after.frontmatter.items() if key != KEY}
    if (kept, after.body) != (others, before.body) or list(after.frontmatter) != list(before.frontmatter):
        raise ValueError("the description of SKILL.md cannot be changed without changing something else")
    return changed


def _place(head: str, value: str) -> tuple[int, int, str]:
    """Where the description is in the frontmatter, and what is written there."""
    try:
        tree = yaml.compose(head, Loader=yaml.BaseLoader)
    except yaml.YAMLError:
        # A value with a colon and without quotes, which is read as if it had them: it is all on one line.
        lines = list(_LINE.finditer(head))
        if len(lines) != 1:
            raise ValueError("the frontmatter of SKILL.md is not valid YAML; repair it first") from None
        return lines[0].start("value"), lines[0].end("value"), value
    pairs = tree.value if isinstance(tree, yaml.MappingNode) else []
    found = [one for key, one in pairs if isinstance(key, yaml.ScalarNode) and key.value == KEY]
    if not found:
        raise ValueError("SKILL.md has no description that could be changed")
    # Of two with one name, readers take the last.
    begin, end = found[-1].start_mark.index, found[-1].end_mark.index
    old = head[begin:end]
    comment = _HEADER_COMMENT.match(old)
    # A block of text ends behind its line feed, which stays.
    return begin, begin + len(old.rstrip()), value + (comment["comment"].rstrip() if comment is not None else "")


def copy_with_description(skill: Path, target: Path, description: str) -> Skill:
    """Copy what a student may see into a new folder, with another description."""
    copy_skill(skill, target)
    try:
        return write_description(target, description)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise


def copy_unseen(skill: Path, target: Path) -> None:
    """Copy the cases of a skill, and what is known of it, beside a copy of the skill."""
    for child in sorted(skill.iterdir()):
        if child.name.casefold() not in NOT_FOR_STUDENTS or child.is_symlink():
            continue
        try:
            if child.is_dir():
                shutil.copytree(child, target / child.name, symlinks=True)
            else:
                shutil.copy2(child, target / child.name)
        except OSError as error:
            shown = on_one_line(str(target))
            raise EngineError(f"{shown}: {child.name} cannot be copied here ({error.strerror})") from error


def write_description(skill: Path, description: str) -> Skill:
    """Change the description in the folder of a skill, whole or not at all, and nothing else."""
    path, shown = skill / SKILL_FILE, on_one_line(str(skill))
    if path.is_symlink():
        raise UsageError(f"{shown}: {SKILL_FILE} is a link; its target is not overwritten", hint="name the real folder")
    try:
        text = with_description(path.read_bytes().decode("utf-8"), description)
        mode = path.stat().st_mode & 0o777
        write_atomically(path, text, mode=mode)
        path.chmod(mode)
    except OSError as error:
        raise EngineError(f"{shown}: the description cannot be written ({error.strerror})") from error
    except ValueError as error:
        raise SkillInvalid(f"{shown}: the description cannot be changed", problems=[str(error)]) from None
    return read_skill(skill)
