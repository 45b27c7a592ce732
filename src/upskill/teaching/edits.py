"""Itemised edits of a draft: each names a place by exact words or by a heading, and applies there or not at all.

A skill that is written anew at every revision loses what it knew; one that is edited keeps all that nobody touched.
Applying is deterministic: the same edits on the same draft give the same draft.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from upskill.domain import Draft
from upskill.domain.files import path_problem
from upskill.domain.text import readable_text
from upskill.teaching.edit_targets import (
    EditRefused,
    find_quote,
    find_section,
    headings,
    insert_between,
    is_open,
    plain,
)

BODY = "SKILL.md"
DESCRIPTION = "description"
REFERENCES = "references/"

MOST_EDITS = 12
MOST_NEW_FILE = 20_000
LEAST_KEPT = 0.5
"""Edits that leave less than this share of a text's lines are a new text."""
FEW_LINES = 8
"""A text of so few lines may be changed throughout: there is no other way to change it."""

Action = Literal["replace", "insert", "delete"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """One change in one place.

    `quote` is text that stands exactly once in the file; `heading` names a section, up to the next heading of its
    rank. Replacing and deleting take the quoted text, or the section with its heading; inserting puts text behind it.
    """

    file: str
    """`SKILL.md` for the body, `description` for the description, or the path of a file beside it."""
    action: Action
    quote: str | None = None
    heading: str | None = None
    text: str = ""
    why: str = ""

    def __str__(self) -> str:
        """The edit in one line, for records and for a teacher that is told what was tried."""
        place = self.heading or self.quote or "the end"
        line = " ".join(place.split())
        return f"{self.action} in {self.file} at “{line[:60]}{'…' if len(line) > 60 else ''}”"


@dataclass(frozen=True, kw_only=True, slots=True)
class EditedDraft:
    """A draft after its edits, and what was wrong with those that did not apply."""

    draft: Draft
    applied: tuple[Edit, ...]
    problems: tuple[str, ...]


def apply_edits(draft: Draft, edits: Sequence[Edit], *, may_add: bool = True) -> EditedDraft:
    """Apply edits one after the other; each sees what those before it left. One that does not apply changes nothing."""
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
        changed = _apply(texts, edit, draft, may_add=may_add)
        if isinstance(changed, EditRefused):
            problems.append(f"edit {number} ({edit}) does not apply: {changed.why}")
        elif (share := _kept(before.get(edit.file, ""), changed)) < LEAST_KEPT:
            problems.append(
                f"edit {number} ({edit}) is refused: with it only {share:.0%} of the lines of {edit.file} are left; "
                "change what must change and leave the rest as it is"
            )
        else:
            texts[edit.file] = changed
            applied.append(edit)
    return EditedDraft(draft=with_texts(draft, texts), applied=tuple(applied), problems=tuple(problems))


def texts_of(draft: Draft) -> dict[str, str]:
    """All that can be edited, by name: the description, the body, and the text files beside it."""
    texts = {DESCRIPTION: draft.description, BODY: draft.body}
    for path, data in sorted(draft.files.items()):
        text = readable_text(data)
        if text is not None:
            texts[path] = text
    return texts


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
    kept = {heading for _, _, heading in headings(body.splitlines())}
    return replace(
        draft,
        description=texts.get(DESCRIPTION, draft.description).strip(),
        body=body,
        files=files,
        executable=draft.executable & files.keys(),
        sources=tuple(source for source in draft.sources if plain(source.heading) in kept or not kept),
    )


def _apply(texts: Mapping[str, str], edit: Edit, draft: Draft, *, may_add: bool) -> str | EditRefused:
    if edit.file in draft.executable or edit.file.startswith("scripts/"):
        return EditRefused("programs were run as they are and are not edited; change what SKILL.md says about them")
    if edit.action == "insert" and not edit.text.strip():
        return EditRefused("there is no text to insert")
    if edit.file not in texts:
        return _add(texts, edit, draft, may_add=may_add)
    text = texts[edit.file].replace("\r\n", "\n")
    if edit.file == DESCRIPTION and edit.heading is not None:
        return EditRefused("the description has no headings; quote the words to change")
    place = _find(text, edit)
    if isinstance(place, EditRefused):
        return place
    start, end = place
    if edit.action == "insert":
        return _closed(text, insert_between(text[:end], edit.text, text[end:], inline=edit.file == DESCRIPTION))
    new = edit.text if edit.action == "replace" else ""
    if edit.action == "replace" and not new.strip():
        return EditRefused("there is no text to put in its place; to remove it, delete it")
    if edit.heading is not None and new:
        new = new.strip("\n") + "\n" + ("\n" if text[end:].strip() else "")
    changed = text[:start] + new + text[end:]
    if edit.file in (BODY, DESCRIPTION) and not changed.strip():
        return EditRefused(f"nothing would be left of {edit.file}")
    return _closed(text, changed)


def _add(texts: Mapping[str, str], edit: Edit, draft: Draft, *, may_add: bool) -> str | EditRefused:
    named = ", ".join(texts)
    if edit.file in draft.files:
        return EditRefused("it is no text file")
    if not may_add or edit.action != "insert" or edit.quote or edit.heading:
        return EditRefused(f"there is no such file; there are {named}")
    if problem := path_problem(edit.file):
        return EditRefused(f"the name {problem}")
    if not edit.file.startswith(REFERENCES) or not edit.file.endswith(".md"):
        return EditRefused("a new file can only be a Markdown file in references/")
    if len(edit.text) > MOST_NEW_FILE:
        return EditRefused(f"it has {len(edit.text):,} characters; a new file may have {MOST_NEW_FILE:,}")
    return edit.text.strip("\n") + "\n"


def _find(text: str, edit: Edit) -> tuple[int, int] | EditRefused:
    if edit.quote:
        return find_quote(text, edit.quote.replace("\r\n", "\n"))
    if edit.heading:
        return find_section(text, edit.heading)
    if edit.action == "insert":
        return len(text), len(text)
    return EditRefused("it names no place; quote the words to change, or name a heading")


def _closed(before: str, after: str) -> str | EditRefused:
    if is_open(after) and not is_open(before):
        return EditRefused("it leaves a code block open, which would swallow what follows")
    return after


def _kept(before: str, after: str) -> float:
    """The share of the lines of a text that are still there."""
    old = Counter(line.strip() for line in before.splitlines() if line.strip())
    count = old.total()
    if count <= FEW_LINES:
        return 1.0
    new = Counter(line.strip() for line in after.splitlines() if line.strip())
    return (old & new).total() / count
