"""Which files of a skill the others point to: paths that lead nowhere, and files that nobody would open."""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from upskill.domain.fences import with_fences
from upskill.domain.finding import Finding
from upskill.domain.skill import SKILL_FILE
from upskill.shipping.lint.rule import LintRule

MOST_BYTES = 200_000
"""Of one file that are searched for paths."""
MOST_IN_ALL = 1_000_000
_FOLDERS = ("references", "scripts", "assets")
_LINK = re.compile(r"\]\(\s{0,3}<?(?P<path>[\w./%@+#?=&-]{1,300})[\s)>]")
_CODE = re.compile(r"(`+)[^`]{1,400}\1")
_PATH = re.compile(r"(?<![\w./~$}{\\-])(?:\./)?(?P<path>(?:references|scripts|assets)/[\w./-]{1,200})")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}:|//|#|/|~|\$|\{|%7B", re.IGNORECASE)
_NAME = re.compile(r"[\w.%@+-]+")
_WHOLE_FOLDER = re.compile(r"(?<![\w.-])([\w.-]{1,100})/(?![\w.-])")
_MODULES = ("py", "js", "ts", "mjs", "sh")
_UNREAD = re.compile(
    r"(?i:(?:.*/)?(?:license|licence|notice|copying|readme|changelog|authors|security|contributing)[^/]*|(?:.*/)?\.[^/]+"
    r"|agents/openai\.ya?ml|(?:.*/)?__init__\.py|(?:.*/)?(?:package-lock|package|tsconfig)\.json"
    r"|(?:.*/)?(?:requirements[^/]*\.txt|pyproject\.toml|uv\.lock|makefile))\Z"
)
"""Files that have a reader of their own, such as a licence."""


def _rule(id: str, reason: str, remedy: str) -> LintRule:
    return LintRule(id=id, family="quality", severity="warning", reason=reason, remedy=remedy)


MISSING_FILE = _rule(
    "missing-file",
    "The skill has no such file, so a model that looks for it fails.",
    "Add the file, or correct the path.",
)
LEAVES_SKILL = _rule(
    "path-leaves-skill",
    "The path leads out of the skill; it breaks where the skill is installed.",
    "Copy the file into the skill.",
)
ORPHAN = _rule(
    "unreferenced-file",
    "No file of the skill names it, so a model has no reason to open it.",
    "Say in SKILL.md when to read or run it, or delete it.",
)
CHAIN = _rule(
    "nested-reference",
    "SKILL.md does not name this file, only another page does. The specification advises one step.",
    "Name it in SKILL.md, too.",
)
RULES = (MISSING_FILE, LEAVES_SKILL, ORPHAN, CHAIN)


def find(files: Mapping[str, bytes]) -> Iterator[Finding]:
    """Paths in `SKILL.md` that lead nowhere, and files that no other file, or only a page, points to."""
    texts: dict[str, str] = {}
    left = MOST_IN_ALL
    for path in sorted(files, key=lambda one: (one != SKILL_FILE, not one.lower().endswith(".md"), one)):
        text = files[path][: min(MOST_BYTES, left)].decode("utf-8", "ignore")
        if "\0" not in text:
            texts[path] = text
            left -= len(text)
    if SKILL_FILE in texts:
        yield from _missing(texts[SKILL_FILE], files)
        yield from _unnamed(texts, files)


def _missing(text: str, files: Mapping[str, bytes]) -> Iterator[Finding]:
    folders = {folder for path in files for folder in _folders_of(path)}
    seen: set[str] = set()
    for number, (line, fence) in enumerate(with_fences(text.split("\n")), start=1):
        for path, is_link in _paths_in(line, is_code=fence is not None):
            if path in seen:
                continue
            seen.add(path)
            parts = _resolved(path)
            if parts is None:
                yield LEAVES_SKILL.at(number, path)
            elif parts and parts not in files and parts not in folders and (is_link or _is_ours(parts, folders)):
                yield MISSING_FILE.at(number, path)


def _paths_in(line: str, *, is_code: bool) -> Iterator[tuple[str, bool]]:
    """Relative paths in one line, and whether each is a link. Code has no links."""
    if "](" in line and not is_code:
        for found in _LINK.finditer(_CODE.sub("", line)):
            path = unquote(found["path"]).split("#", 1)[0].split("?", 1)[0]
            if path and not _SCHEME.match(found["path"]):
                yield path, True
    if any(f"{folder}/" in line for folder in _FOLDERS):
        for found in _PATH.finditer(line):
            yield found["path"].rstrip("."), False


def _resolved(path: str) -> str | None:
    """A path without dots, with forward slashes; `None` where it leaves the folder."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _is_ours(path: str, folders: set[str]) -> bool:
    """Whether a path in running text can only mean a file of the skill, and not one of the user's project."""
    top, _, name = path.partition("/")
    last = name.rsplit("/", 1)[-1]
    return "." in last and not last.endswith(".") and (top == "references" or top in folders)


def _folders_of(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:depth]) for depth in range(1, len(parts)))


def _unnamed(texts: Mapping[str, str], files: Mapping[str, bytes]) -> Iterator[Finding]:
    named = _Mentions(texts)
    for path in sorted(files):
        if path == SKILL_FILE or _UNREAD.match(path):
            continue
        sources = named.sources_of(path)
        if not sources:
            yield ORPHAN.at(1, path, file=path)
        elif path.lower().endswith(".md") and SKILL_FILE not in sources:
            yield CHAIN.at(1, f"{path} (named in {min(sources)})", file=path)


class _Mentions:
    """Which files name which: by name, by module, or by a folder as a whole, such as `references/` or `assets/*`."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._by_word: dict[str, set[str]] = {}
        self._by_folder: dict[str, set[str]] = {}
        for path, text in texts.items():
            for word in set(_NAME.findall(text)):
                self._by_word.setdefault(unquote(word).strip("."), set()).add(path)
            for folder in set(_WHOLE_FOLDER.findall(text)):
                self._by_folder.setdefault(folder, set()).add(path)

    def sources_of(self, path: str) -> set[str]:
        """The files that name this one, without itself."""
        *folders, name = path.split("/")
        stem, _, suffix = name.rpartition(".")
        sources = set(self._by_word.get(name.rsplit(" ", 1)[-1].strip("."), ()))
        if suffix in _MODULES and stem:
            sources |= self._by_word.get(stem, set())
        for folder in folders:
            sources |= self._by_folder.get(folder, set())
        return sources - {path}
