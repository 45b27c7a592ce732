"""What makes a skill work less well, as far as measurements or plain sense support it: unfinished, repeated or long
text, paths that lead nowhere, and files that nobody would open."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from upskill.core.nouns.finding import Finding
from upskill.core.nouns.skill import SKILL_FILE
from upskill.core.nouns.text import estimate_tokens
from upskill.core.skills.markdown import with_fences
from upskill.lint.rules import BODY_TOKENS, MOST_BODY_TOKENS, finding
from upskill.lint.specification import Head

_LEAST_REPEATED = 200
_ALIKE = 0.8
_MOST_SECTIONS = 2_000
_WHEN = re.compile(
    r"\b(?:when|whenever|if|before|after|while|during|once|unless|asks?|asked|asking|wants?|mentions?|needs?)\b"
    r"|\buse (?:\w+ ){0,4}(?:for|to|with|on|in|as|at|by)\b"
    r"|\b(?:for|on) (?:any |every |all |each )?(?:\w+ )?(?:requests?|questions?|tasks?|work)\b"
    r"|\btriggers? (?:on|for|with)\b|\b(?:used|useful|applies|activate[sd]?|load) (?:for|to|in|on)\b",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"\[(?:TODO|TBD|FIXME|INSERT|PLACEHOLDER)\b|^\W{0,8}(?:TODO|FIXME|TBD)(?::\s|\s*$)|\blorem ipsum\b", re.IGNORECASE
)
_FOREIGN_WORDS = """
    der das und ein eine einen für mit wenn aus ob les des et pour une quand el los las para con cuando il che per e de
    quando het een voor wanneer och att när som
"""
"""Frequent words of German, French, Spanish, Italian, Dutch and Swedish that are no English words."""
_OTHER_LANGUAGES = frozenset(_FOREIGN_WORDS.split())
_HEADING = re.compile(r"#{1,6}[ \t]+(?P<title>.*?)[ \t#]*\Z")
_WORD = re.compile(r"\w+")


def find(head: Head) -> Iterator[Finding]:
    """What is unfinished, repeated, long, or hard to find for a model."""
    description = head.written("description")
    if description and not says_when(description):
        yield finding("description-without-when", head.line_of("description"), f"description: {description}")
    if _PLACEHOLDER.search(description):
        yield finding("placeholder", head.line_of("description"), f"description: {description}")
    if not head.body.strip():
        yield finding("empty-body", max(1, head.end), "nothing after the frontmatter")
        return
    if BODY_TOKENS < (tokens := estimate_tokens(head.body)) <= MOST_BODY_TOKENS:
        yield finding("body-size", head.body_line, f"about {tokens:,} tokens")
    for number, (line, fence) in enumerate(head.lines):
        if fence is None and _PLACEHOLDER.search(line[:400]):
            yield finding("placeholder", head.body_line + number, line)
    yield from _repeated(_sections(head))


def says_when(description: str) -> bool:
    """Whether a description says when to use the skill. Of other languages than English that is not known: yes."""
    return not _is_english(description) or _WHEN.search(description) is not None


def _is_english(text: str) -> bool:
    letters = [c for c in text if c.isalpha()]
    words = set(_WORD.findall(text.lower()))
    return sum(not c.isascii() for c in letters) <= len(letters) / 20 and words.isdisjoint(_OTHER_LANGUAGES)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Section:
    title: str
    line: int
    text: str
    words: Counter[str]


def _sections(head: Head) -> list[_Section]:
    """The text under each heading. A heading in code is none."""
    found: list[_Section] = []
    title, start, kept = "", head.body_line, list[str]()

    def close() -> None:
        text = "\n".join(kept).strip()
        if text and len(found) < _MOST_SECTIONS:
            words = Counter(word.lower() for word in _WORD.findall(text))
            found.append(_Section(title=title, line=start, text=" ".join(text.split()).lower(), words=words))

    for number, (line, fence) in enumerate(head.lines):
        heading = _HEADING.match(line) if fence is None and len(line) < 400 else None
        if heading is None:
            kept.append(line)
            continue
        close()
        title, start, kept = heading["title"].strip().lower(), head.body_line + number, []
    close()
    return found


def _repeated(sections: Sequence[_Section]) -> Iterator[Finding]:
    """Sections with the text of an earlier one, or with its heading and nearly its text."""
    by_text: dict[str, _Section] = {}
    by_title: dict[str, _Section] = {}
    for section in sections:
        same = by_text.setdefault(section.text, section)
        titled = by_title.setdefault(section.title, section) if section.title else section
        other = same if same is not section and len(section.text) >= _LEAST_REPEATED else titled
        if other is not section and (other is same or _alike(other.words, section.words)):
            yield finding("repeated-section", section.line, f"{section.title or 'text'}: as in line {other.line}")


def _alike(one: Counter[str], other: Counter[str]) -> bool:
    shared = sum((one & other).values())
    return shared >= _ALIKE * max(sum(one.values()), sum(other.values()))


MOST_BYTES = 200_000
"""So much of one file is searched for paths."""
MOST_IN_ALL = 1_000_000
_FOLDERS = ("references", "scripts", "assets")
_LINK = re.compile(r"\]\(\s{0,3}<?(?P<path>[\w./%@+#?=&-]{1,300})[\s)>]")
_CODE = re.compile(r"(`+)[^`]{1,400}\1")
_PATH = re.compile(r"(?<![\w./~$}{\\-])(?:\./)?(?P<path>(?:references|scripts|assets)/[\w./-]{1,200})")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}:|//|#|/|~|\$|\{|%7B", re.IGNORECASE)
_FILE_NAME = re.compile(r"[\w.%@+-]+")
_WHOLE_FOLDER = re.compile(r"(?<![\w.-])([\w.-]{1,100})/(?![\w.-])")
_MODULES = ("py", "js", "ts", "mjs", "sh")
_UNREAD = re.compile(
    r"(?i:(?:.*/)?(?:license|licence|notice|copying|readme|changelog|authors|security|contributing)[^/]*|(?:.*/)?\.[^/]+"
    r"|agents/openai\.ya?ml|(?:.*/)?__init__\.py|(?:.*/)?(?:package-lock|package|tsconfig)\.json"
    r"|(?:.*/)?(?:requirements[^/]*\.txt|pyproject\.toml|uv\.lock|makefile))\Z"
)
"""Files that have a reader of their own, such as a licence."""


def find_paths(files: Mapping[str, bytes]) -> Iterator[Finding]:
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
                yield finding("path-leaves-skill", number, path)
            elif parts and parts not in files and parts not in folders and (is_link or _is_ours(parts, folders)):
                yield finding("missing-file", number, path)


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
            yield finding("unreferenced-file", 1, path, file=path)
        elif path.lower().endswith(".md") and SKILL_FILE not in sources:
            yield finding("nested-reference", 1, f"{path} (named in {min(sources)})", file=path)


class _Mentions:
    """Which files name which: by name, by module, or by a folder as a whole, such as `references/` or `assets/*`."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._by_word: dict[str, set[str]] = {}
        self._by_folder: dict[str, set[str]] = {}
        for path, text in texts.items():
            for word in set(_FILE_NAME.findall(text)):
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
