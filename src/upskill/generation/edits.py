"""Edits of a draft: each names a place by exact words or by a heading, and applies there or not at all.

A skill that is rewritten at every revision loses what it knew; one that is edited keeps all that no edit names.
Applying is deterministic: the same edits on the same draft give the same draft. The description of a skill can be
changed alone, in its file: every other character of `SKILL.md` stays as it is.
"""

import difflib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import yaml

from upskill import disk
from upskill.core.nouns import Skill
from upskill.core.nouns.skill import NOT_FOR_STUDENTS, SKILL_FILE, path_problem
from upskill.core.nouns.text import on_one_line, readable_text
from upskill.core.skills.markdown import FENCE, has_open_block, headings, parse_skill_text, plain_heading, scalar_text
from upskill.core.skills.skills import copy_skill, read_skill
from upskill.errors import EngineError, SkillInvalid, UsageError
from upskill.generation.draft import Draft

BODY = "SKILL.md"
DESCRIPTION = "description"
REFERENCES = "references/"

MOST_EDITS = 12
MOST_NEW_FILE = 20_000
LEAST_KEPT = 0.5
"""The share of a text's lines that edits must leave: with less it is a new text."""
FEW_LINES = 8
"""A text with no more lines than this may be changed throughout."""
_MOST_COMPARED = 200
"""Characters of a line that are compared with a quote that was not found."""

Action = Literal["replace", "insert", "delete"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """One change in one place.

    `quote` is text that occurs exactly once in the file; `heading` names a section, up to the next heading of its
    level. Replacing and deleting apply to the quoted text, or to the section with its heading; inserting adds after it.
    """

    file: str
    """`SKILL.md` for the body, `description` for the description, or the path of a file beside it."""
    action: Action
    quote: str | None = None
    heading: str | None = None
    text: str = ""

    def __str__(self) -> str:
        """The edit in one line, for records and for teachers, who read what was tried before."""
        place = self.heading or self.quote or "the end"
        line = " ".join(place.split())
        return f"{self.action} in {self.file} at “{line[:60]}{'…' if len(line) > 60 else ''}”"


class EditRefused(Exception):
    """Why an edit does not apply, in words for the teacher."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EditedDraft:
    """A draft after its edits: those that applied, and what was wrong with the others."""

    draft: Draft
    edits: tuple[Edit, ...]
    problems: tuple[str, ...]


def apply_edits(draft: Draft, edits: Sequence[Edit], *, may_add: bool = True) -> EditedDraft:
    """Apply edits in order, each to the result of those before it. Those that do not apply change nothing."""
    texts = texts_of(draft)
    before = dict(texts)
    applied: list[Edit] = []
    problems: list[str] = []
    for number, edit in enumerate(edits, start=1):
        if number > MOST_EDITS:
            problems.append(
                f"there are {len(edits)} edits; at most {MOST_EDITS} are taken: keep those that matter most"
            )
            break
        try:
            changed = _edited(texts, edit, draft, may_add=may_add)
        except EditRefused as refused:
            problems.append(f"edit {number} ({edit}) does not apply: {refused}")
            continue
        if (share := _kept(before.get(edit.file, ""), changed)) < LEAST_KEPT:
            problems.append(
                f"edit {number} ({edit}) is refused: with it only {share:.0%} of the lines of {edit.file} are left; "
                "change what must change and leave the rest as it is"
            )
        else:
            texts[edit.file] = changed
            applied.append(edit)
    return EditedDraft(draft=with_texts(draft, texts), edits=tuple(applied), problems=tuple(problems))


def texts_of(draft: Draft) -> dict[str, str]:
    """All that can be edited, by name: the description, the body, and the text files beside it."""
    texts = {DESCRIPTION: draft.description, BODY: draft.body}
    readable = {path: readable_text(data) for path, data in sorted(draft.files.items())}
    return texts | {path: text for path, text in readable.items() if text is not None}


def with_texts(draft: Draft, texts: Mapping[str, str]) -> Draft:
    """The draft with these texts in place of its own; a file that was emptied is gone."""
    files = dict(draft.files)
    for path, text in texts.items():
        if path in (BODY, DESCRIPTION):
            continue
        if text.strip():
            files[path] = text.encode("utf-8")
        else:
            files.pop(path, None)
    body = texts.get(BODY, draft.body)
    kept = {heading.plain for heading in headings(body.splitlines())}
    named = {plain_heading(path) for path in files} | kept
    return replace(
        draft,
        description=texts.get(DESCRIPTION, draft.description).strip(),
        body=body,
        files=files,
        executable=draft.executable & files.keys(),
        sources=tuple(source for source in draft.sources if plain_heading(source.heading) in named or not kept),
    )


def _edited(texts: Mapping[str, str], edit: Edit, draft: Draft, *, may_add: bool) -> str:
    """The new text of the file that the edit names. Raises `EditRefused`."""
    if edit.file in draft.executable or edit.file.startswith("scripts/"):
        raise EditRefused("programs were run as they are and are not edited; change what SKILL.md says about them")
    if edit.action == "insert" and not edit.text.strip():
        raise EditRefused("there is no text to insert")
    if edit.file not in texts:
        return _new_file(texts, edit, draft, may_add=may_add)
    text = texts[edit.file].replace("\r\n", "\n")
    if edit.file == DESCRIPTION and edit.heading is not None:
        raise EditRefused("the description has no headings; quote the words to change")
    start, end = _find(text, edit)
    if edit.action == "insert":
        changed = _inserted(text[:end], edit.text, text[end:], inline=edit.file == DESCRIPTION)
    else:
        new = edit.text if edit.action == "replace" else ""
        if edit.action == "replace" and not new.strip():
            raise EditRefused("there is no text to put in its place; to remove it, delete it")
        if edit.heading is not None and new:
            new = new.strip("\n") + "\n" + ("\n" if text[end:].strip() else "")
        changed = text[:start] + new + text[end:]
    if edit.file in (BODY, DESCRIPTION) and not changed.strip():
        raise EditRefused(f"nothing would be left of {edit.file}")
    if has_open_block(changed) and not has_open_block(text):
        raise EditRefused("it leaves a code block open, which would swallow what follows")
    return changed


def _new_file(texts: Mapping[str, str], edit: Edit, draft: Draft, *, may_add: bool) -> str:
    if edit.file in draft.files:
        raise EditRefused("it is no text file")
    if not may_add or edit.action != "insert" or edit.quote or edit.heading:
        raise EditRefused(f"there is no such file; there are {', '.join(texts)}")
    if problem := path_problem(edit.file):
        raise EditRefused(f"the name {problem}")
    if not edit.file.startswith(REFERENCES) or not edit.file.endswith(".md"):
        raise EditRefused("a new file can only be a Markdown file in references/")
    if len(edit.text) > MOST_NEW_FILE:
        raise EditRefused(f"it has {len(edit.text):,} characters; a new file may have {MOST_NEW_FILE:,}")
    return edit.text.strip("\n") + "\n"


def _find(text: str, edit: Edit) -> tuple[int, int]:
    """Where the text that an edit names begins and ends."""
    if edit.quote:
        return _find_quote(text, edit.quote.replace("\r\n", "\n"))
    if edit.heading:
        return _find_section(text, edit.heading)
    if edit.action == "insert":
        return len(text), len(text)
    raise EditRefused("it names no place; quote the words to change, or name a heading")


def _find_quote(text: str, quote: str) -> tuple[int, int]:
    for wanted in dict.fromkeys((quote, quote.strip("\n"), quote.strip())):
        count = text.count(wanted) if wanted else 0
        if count == 1:
            start = text.index(wanted)
            return start, start + len(wanted)
        if count > 1:
            raise EditRefused(f"the quoted text stands there {count} times; quote more of it")
    first = next((line.strip() for line in quote.splitlines() if line.strip()), "")[:_MOST_COMPARED]
    lines = [line.strip()[:_MOST_COMPARED] for line in text.splitlines() if line.strip()]
    near = difflib.get_close_matches(first, lines, n=1, cutoff=0.6)
    raise EditRefused("the quoted text is not there" + (f"; the nearest line is “{near[0][:160]}”" if near else ""))


def _find_section(text: str, words: str) -> tuple[int, int]:
    """Where a section begins, with its heading, and where the next heading of its level or above does."""
    lines = text.splitlines(keepends=True)
    found = headings(lines)
    matching = [heading for heading in found if heading.plain == plain_heading(words)]
    if len(matching) > 1:
        raise EditRefused(f"that heading stands there {len(matching)} times; quote text instead")
    if not matching:
        there = ", ".join(f"“{heading.plain}”" for heading in found) or "none"
        raise EditRefused(f"there is no such heading; there are {there}")
    (wanted,) = matching
    end = next((other.row for other in found if other.row > wanted.row and other.level <= wanted.level), len(lines))
    return sum(map(len, lines[: wanted.row])), sum(map(len, lines[:end]))


def _inserted(before: str, text: str, after: str, *, inline: bool) -> str:
    """Inserted text stands on lines of its own, so that it cannot fall into the middle of a list item or a sentence."""
    if inline:
        return f"{before.rstrip()} {text.strip()} {after.strip()}".strip()
    if before and not before.endswith("\n"):
        rest_of_line, _, after = after.partition("\n")
        before = f"{before}{rest_of_line}\n"
    gap = before[len(before.rstrip("\n")) + 1 :]
    before = before[: len(before) - len(gap)]
    block = text.strip("\n") + "\n"
    if before.strip() and headings([block.splitlines()[0]]):
        before += "\n"
        gap = gap or ("" if after.startswith("\n") else "\n")
    return before + block + (gap if after.strip() else "") + after


def _kept(before: str, after: str) -> float:
    """The share of the lines of a text that are still there."""
    old = Counter(line.strip() for line in before.splitlines() if line.strip())
    count = old.total()
    if count <= FEW_LINES:
        return 1.0
    new = Counter(line.strip() for line in after.splitlines() if line.strip())
    return (old & new).total() / count


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
        disk.remove_folder(target)
        raise


def copy_unseen(skill: Path, target: Path) -> None:
    """Copy the cases of a skill, and what is known of it, beside a copy of the skill."""
    for child in disk.listed(skill):
        if child.name.casefold() not in NOT_FOR_STUDENTS or child.is_symlink():
            continue
        try:
            disk.copy_whole(child, target / child.name)
        except OSError as error:
            shown = on_one_line(str(target))
            raise EngineError(f"{shown}: {child.name} cannot be copied here ({error.strerror})") from error


def write_description(skill: Path, description: str) -> Skill:
    """Change the description in the folder of a skill, whole or not at all, and nothing else."""
    path, shown = skill / SKILL_FILE, on_one_line(str(skill))
    if path.is_symlink():
        raise UsageError(f"{shown}: {SKILL_FILE} is a link; its target is not overwritten", hint="name the real folder")
    try:
        text = with_description(disk.read(path).decode("utf-8"), description)
        mode = path.stat().st_mode & 0o777
        disk.write(path, text, mode=mode)
        path.chmod(mode)
    except OSError as error:
        raise EngineError(f"{shown}: the description cannot be written ({error.strerror})") from error
    except ValueError as error:
        raise SkillInvalid(f"{shown}: the description cannot be changed", problems=[str(error)]) from None
    return read_skill(skill)
