"""What a folder holds besides ordinary files: links, pipes, names that other systems cannot hold."""

from collections.abc import Iterator, Sequence

from upskill.domain.files import name_clashes, shared_path_problem
from upskill.domain.finding import Finding, Severity
from upskill.domain.folder_contents import FolderContents, UnusualEntry, UnusualKind
from upskill.shipping.lint.rule import LintRule


def _rule(id: str, severity: Severity, reason: str, remedy: str) -> LintRule:
    return LintRule(id=id, family="folder", severity=severity, reason=reason, remedy=remedy)


SKILL_MISSING = _rule(
    "skill-file-missing", "error", "Without a readable SKILL.md the folder is no skill.", "Add a SKILL.md."
)
LINK_OUT = _rule(
    "link-out-of-folder",
    "danger",
    "The link leads out of the skill: a program that reads or installs the skill opens a file of the user.",
    "Replace the link with the file.",
)
LINK_TO_CASES = _rule(
    "link-to-cases", "error", "The link leads to the cases, which models must not see.", "Delete the link."
)
LINK_TO_SKIPPED = _rule(
    "link-to-skipped-folder",
    "error",
    "The link leads to a folder that is no part of a skill.",
    "Replace it with the file.",
)
BROKEN_LINK = _rule("broken-link", "error", "The target of the link does not exist.", "Replace it with the file.")
CIRCULAR_LINK = _rule("circular-link", "error", "The link leads to itself or to a folder that holds it.", "Delete it.")
SPECIAL_FILE = _rule(
    "special-file",
    "danger",
    "It is no file: a program that opens it may wait forever, or act on a device.",
    "Delete it.",
)
UNREADABLE = _rule("cannot-be-read", "error", "The file cannot be read, so it was not searched.", "Allow reading it.")
NOT_UTF8 = _rule(
    "file-name-not-utf8", "danger", "The name is not UTF-8, and many programs cannot open it.", "Rename it."
)
TOO_DEEP = _rule(
    "nested-folders", "error", "It is nested more than 20 folders deep and was not searched.", "Move it up."
)
HARD_LINK = _rule(
    "hard-link", "caution", "The file has another name elsewhere: a change there changes the skill.", "Copy the file."
)
SKIPPED = _rule(
    "skipped-folder",
    "caution",
    "This folder is no part of a skill and was not searched.",
    "Delete it before you share it.",
)
CASE_CLASH = _rule(
    "names-differ-by-case",
    "danger",
    "On macOS and Windows both names are one, so one file replaces the other, or hides in its folder.",
    "Rename one of them.",
)
NOT_PORTABLE = _rule(
    "file-name-not-portable", "danger", "Not every system can hold this name, or it looks like another.", "Rename it."
)
_BY_KIND: dict[UnusualKind, LintRule] = {
    "link-out": LINK_OUT,
    "link-to-cases": LINK_TO_CASES,
    "link-to-skipped": LINK_TO_SKIPPED,
    "broken-link": BROKEN_LINK,
    "circular-link": CIRCULAR_LINK,
    "special-file": SPECIAL_FILE,
    "unreadable": UNREADABLE,
    "name-not-utf8": NOT_UTF8,
    "too-deep": TOO_DEEP,
    "hard-link": HARD_LINK,
    "skipped-folder": SKIPPED,
}
RULES = (SKILL_MISSING, *_BY_KIND.values(), CASE_CLASH, NOT_PORTABLE)


def find(contents: FolderContents) -> Iterator[Finding]:
    """What is no ordinary file, and names that not every system can hold."""
    yield from map(_unusual, contents.unusual)
    if problem := shared_path_problem(contents.name):
        yield NOT_PORTABLE.at(1, contents.name, reason=f"The name of the folder {problem}.")
    yield from _names(sorted(contents.files))


def _unusual(entry: UnusualEntry) -> Finding:
    arrow = " -> " if "link" in entry.kind and entry.kind != "hard-link" else ": "
    excerpt = f"{entry.path}{arrow}{entry.detail}" if entry.detail else entry.path
    return _BY_KIND[entry.kind].at(1, excerpt, file=entry.path)


def _names(paths: Sequence[str]) -> Iterator[Finding]:
    for other, path in name_clashes(paths):
        yield CASE_CLASH.at(1, f"{other} and {path}", file=path)
    for path in paths:
        if problem := shared_path_problem(path):
            yield NOT_PORTABLE.at(1, path, file=path, reason=f"This name {problem}.")
