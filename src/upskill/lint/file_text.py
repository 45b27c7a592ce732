"""The text of one file as rules see it, and how the patterns of the table are searched for in it.

Prose and code are apart, in lower case, with positions that lead back to lines."""

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from upskill.core.nouns.text import HIDDEN, decoded
from upskill.core.skills.markdown import Fence, fence_after
from upskill.lint.rules import RULES, TABLE

MOST_CHARACTERS = 100_000
"""So much of a longer file is searched; the file itself is a finding then."""
MOST_IN_ALL = 500_000
"""Characters that are searched of all files together; what is left out is a finding."""
_PROSE = (".md", ".markdown", ".mdx", ".txt", ".rst", ".html", ".htm", ".svg", ".xml")
_MARKERS = re.compile(r"[ \t>]{0,12}(?:[-*+] |\d{1,3}\. )?")
"""What may stand before a fence: a quotation, an item of a list."""
_OWN_LINE = re.compile(r"[ \t]*(?:[-*+][ \t]|\d{1,3}[.)][ \t]|#|\||>|$|<)")
"""A line that begins a paragraph of its own, so that the line before does not go on in it."""
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+][ \t]|\d{1,3}[.)][ \t]|\|)|[ \t]{2,}\S")
_WARNING = re.compile(
    r"\b(?:(?:never|do not|don'?t|must not)(?! (?:show|remove|delete|tell|mention|edit|reveal|disclose|log|ask|say|report|wait|warn))|avoid|forbidden|not allowed|refuse|reject|block|bad|wrong|unsafe|insecure|dangerous"
    r"|red flags?|warning signs?|anti-?patterns?|suspicious|malicious|vulnerable|flag|look for|watch for|search for"
    r"|scan for|out of scope|off limits|examples? of (?:an )?(?:attack|injection)s?)\b"
)
_NOT_A_WARNING = re.compile(
    r"\b(?:never|not|don'?t|avoid) (?:\w+ )?(?:forget|skip|skipping|omit|hesitate|miss|fail|delay)"
)
_QUOTING = re.compile(r"\b(?:says?|saying|said|phrases?|injections?|wording|words)\b[^\"'`.\n]{0,30}[\"'“‘`]$")
_AFTERWARDS = re.compile(
    r"\b(?:do not|don'?t|never) (?:do|run|use|follow|try|copy|obey) (?:that|this|it|them|so)\b|\bnever for you\b"
    r"|\bis (?:unsafe|dangerous|insecure|forbidden|not allowed|for the user to decide)\b|\bsearch for (?:them|it)\b"
)
"""A warning that comes after what it warns of."""
_BY_THE_USER = re.compile(r"\bthe user (?:can |may |must |should |then |has to )?$")
_SHOWS_ATTACKS = re.compile(
    r"\bhostile\b|\battack(?:s|ers?)?\b|\binjections?\b|\bmalicious\b|\bmust not (?:follow|obey|act)\b|\bred flags?\b"
)
"""A paragraph before a table whose rows are examples of attacks."""
_WITH_CONSENT = re.compile(
    r"(?<!not )(?<!never )(?<!n't )(?<!without )(?<!need to )"
    r"(?:\bask the user (?:first|before|whether|if|which|for)\b|\b(?:only|not) (?:after|once|when|until|if) the user (?:has |explicitly )?(?:seen|agree[sd]?|confirm(?:s|ed)|approve[sd]?|sa(?:ys|id) yes|wants)\b"
    r"|\bonce the user (?:has )?(?:agreed|confirmed|approved|said yes)\b|\bafter a (?:clear )?yes\b|\bthe user decides\b|\bthe user'?s decision\b)"
)
"""The user is asked before it is done."""
_COMMENT = re.compile(r"[ \t]*(?:#+|//+|--+|/\*+|\*+|;+|rem)(?:[ \t]+|$)")
_COMMENTED = re.compile(r"^[ \t]*(?:#|//|--|/\*|;|rem)[ \t]|\"\"\"|'''", re.MULTILINE)
_WRAPPED = re.compile(r"(?<=\S)\n[ \t]+(?=[^\s\-*+>#|`~<\d])")
"""A line of a paragraph that goes on with an indent, as in an item of a list."""
_QUOTED_INTRO = re.compile(r"\b(?:sentences?|texts?|messages?|phrases?|orders?|such as|like|examples?|attempts?)\b")
LOOK_ALIKE = str.maketrans(
    "АаВЕеНІіЈјКМОоРрСсТуХхЅѕԁһԛԝΑαΒΕΖΗΙιΚΜΝνΟοΡρΤΥυΧ", "AaBEeHIiJjKMOoPpCcTyXxSsdhqwAaBEZHIiKMNvOoPpTYuX"
)
"""Cyrillic and Greek letters that look like Latin ones."""
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,10});")
_NOTHING = re.compile(
    r"(?<=\w)(?:''|\"\"|\$@|\\)+(?=\w)|\*{1,3}(?=\w)|(?<=\w)\*{1,3}|(?<!\w)_{1,3}(?=[^\W_])|(?<=[^\W_])_{1,3}(?!\w)"
)
"""What a shell or a display of Markdown leaves out: empty quotes and backslashes inside words, marks of emphasis."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """A place that a rule found. A `quoted` one is named as advice against it, or as an example, and is a caution."""

    file: str
    line: int
    text: str
    quoted: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class FileText:
    """`prose` and `code` are as long as `text`: what belongs to the other is blank there."""

    path: str
    raw: str
    """As it is in the file, with invisible characters."""
    text: str
    """Without them, and with compatibility forms of letters replaced."""
    prose: str
    code: str
    line_starts: tuple[int, ...]
    warned: bytes
    """For each line, 1 where it stands under a warning: `Never do this:`."""

    def line_at(self, position: int) -> int:
        """The number of the line, from 1."""
        return bisect_right(self.line_starts, position)

    def line_text(self, line: int) -> str:
        """A line without its end."""
        end = self.line_starts[line] - 1 if line < len(self.line_starts) else len(self.text)
        return self.text[self.line_starts[line - 1] : end]

    def hit(self, position: int, *, quoted: bool | None = None) -> Hit:
        """The place at this position, with as much of its line around it as helps."""
        line = self.line_at(position)
        start = self.line_starts[line - 1]
        text = self.line_text(line)
        if len(text) > 200:
            text = text[max(0, position - start - 60) : position - start + 140]
        quoted = self.is_quoted(position) if quoted is None else quoted
        return Hit(file=self.path, line=line, text=text.strip(), quoted=quoted)

    def is_quoted(self, position: int) -> bool:
        """Whether this place is named as something not to do, or to look for."""
        line = self.line_at(position)
        if self.warned[line - 1]:
            return True
        if _QUOTING.search(self.text[max(0, position - 60) : position].lower()):
            return True
        before = self.sentence_before(position)
        if _BY_THE_USER.search(before) or _AFTERWARDS.search(self.prose[position : position + 300]):
            return True
        warnings = list(_WARNING.finditer(before))
        if not warnings:
            return False
        return not _NOT_A_WARNING.search(before[warnings[-1].start() :] + self.prose[position : position + 30])

    def in_code_span(self, position: int) -> bool:
        """Whether it stands between backticks, where Markdown shows it as it is written."""
        return self.text.count("`", self.line_starts[self.line_at(position) - 1], position) % 2 == 1

    def with_consent(self, position: int) -> bool:
        """Whether the same sentence of prose has the user asked first."""
        if self.prose[position : position + 1].isspace():
            return False
        before = re.split(r"[.!?;]\s|\n", self.prose[max(0, position - 160) : position])[-1]
        after = re.split(r"[.!?;]\s|\n", self.prose[position : position + 200], maxsplit=1)[0]
        return _WITH_CONSENT.search(before + after) is not None

    def sentence_before(self, position: int) -> str:
        """The part of its sentence, or of its line of code, that stands before a position."""
        source = self.code if not self.code[position : position + 1].isspace() else self.prose
        before = source[max(0, position - 160) : position]
        return re.split(r"[.!?;]\s|\n|\bthen\b|\bbut\b|\binstead,", before)[-1]


def read_files(files: Mapping[str, bytes]) -> Iterator[FileText]:
    """Every file that is text. Instructions are read before programs."""
    left = MOST_IN_ALL
    for path in sorted(files, key=lambda one: (not is_prose(one), one)):
        raw = decoded(files[path])
        if raw is not None and "\0" not in raw and left > 0:
            yield read_file(path, raw[: min(MOST_CHARACTERS, left)])
            left -= min(MOST_CHARACTERS, len(raw))


def undisguised(file: FileText) -> FileText:
    """The same file, line for line, as a shell or a reader takes it; the very same object where that is no other."""
    text = _ENTITY.sub(lambda found: " ".join(html.unescape(found[0]).split()) or " ", file.text)
    text = _NOTHING.sub("", text if text.isascii() else unicodedata.normalize("NFKC", text.translate(LOOK_ALIKE)))
    text = _WRAPPED.sub("\n", text) if is_prose(file.path) else text
    return file if text == file.text else read_file(file.path, text)


def comments_of(file: FileText) -> FileText | None:
    """The comments and long strings of a program as prose, line for line: an agent reads them. `None` for no program."""
    if is_prose(file.path) or not _COMMENTED.search(file.text):
        return None
    lines, in_string = [], False
    for line in file.text.split("\n"):
        quotes = line.count('"""') + line.count("'''")
        marker = _COMMENT.match(line)
        text = line[marker.end() :] if marker else line.strip().strip("\"'") if in_string or quotes else ""
        in_string = in_string != (quotes % 2 == 1)
        lines.append(text.strip())
    return read_file(file.path, "\n".join(lines), as_prose=True)


def is_prose(path: str) -> bool:
    """Whether a file is prose with code in it, rather than code."""
    name = path.rsplit("/", 1)[-1].lower()
    return name.endswith(_PROSE) or "." not in name


def read_file(path: str, raw: str, *, as_prose: bool = False) -> FileText:
    """Take a file apart."""
    raw = raw.replace("\r\n", "\n").replace("\r", "\n")
    text = raw if raw.isascii() else unicodedata.normalize("NFKC", HIDDEN.sub("", raw))
    lines = text.split("\n")
    starts, position = [], 0
    for line in lines:
        starts.append(position)
        position += len(line) + 1
    low = _lower(text).split("\n")
    prose, code, warned = _parts(low) if as_prose or is_prose(path) else _program(low)
    return FileText(
        path=path,
        raw=raw,
        text=text,
        prose=_joined(prose).replace("`", " "),
        code="\n".join(code).replace("\\\n", "  "),
        line_starts=tuple(starts),
        warned=bytes(warned),
    )


def _lower(text: str) -> str:
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _program(lines: list[str]) -> tuple[list[str], list[str], bytearray]:
    """All of it is code; a comment that warns is about the line after it."""
    warned = bytearray(len(lines))
    after = False
    for number, line in enumerate(lines):
        comment = line.lstrip().startswith(("#", "//", "--"))
        warned[number] = after and not comment
        after = comment and _is_warning(line)
    return [" " * len(line) for line in lines], lines, warned


def _parts(lines: list[str]) -> tuple[list[str], list[str], bytearray]:
    prose, code, warned = [], [], bytearray(len(lines))
    fence: Fence | None = None
    heading = intro = quotes = comment = attacks = table = False
    for number, line in enumerate(lines):
        blank = " " * len(line)
        before, fence = fence, fence_after(_MARKERS.sub("", line, count=1), fence, most_indent=None)
        if before is not None:
            is_comment = line.lstrip().startswith(("#", "//"))
            warned[number] = heading or intro or (comment and not is_comment)
            comment = is_comment and _is_warning(line)
            prose.append(blank)
            code.append(blank if fence is None else line)
            continue
        if fence is not None:
            comment = False
            prose.append(blank)
            code.append(blank)
            continue
        if line.startswith("#"):
            heading, intro, quotes = len(line) < 80 and _is_warning(line), False, False
            attacks = table = False
        elif line.lstrip().startswith("|"):
            table = attacks
        elif line.strip():
            follows = number > 0 and bool(lines[number - 1].strip())
            table, attacks = False, (attacks and follows) or _SHOWS_ATTACKS.search(line[:400]) is not None
            if line.rstrip().endswith(":"):
                intro, quotes = _is_warning(line), _QUOTED_INTRO.search(line) is not None
            elif not _LIST_ITEM.match(line) and not line.startswith(">"):
                intro = quotes = False
        shown = table or (intro and not line.rstrip().endswith(":")) or (quotes and line.startswith(">"))
        warned[number] = heading or shown
        prose.append(line)
        code.append(blank)
    return prose, code, warned


def _is_warning(line: str) -> bool:
    return _WARNING.search(line[:400]) is not None and not _NOT_A_WARNING.search(line[:400])


def _joined(lines: list[str]) -> str:
    """Paragraphs on one line each, as long as before."""
    parts: list[str] = []
    fields = lines.index("---", 1) if lines[0] == "---" and "---" in lines[1:] else 0
    for number, line in enumerate(lines):
        if 0 < number <= fields + 1:
            parts.append("\n")
        elif number:
            before = lines[number - 1].strip()
            parts.append("\n" if _OWN_LINE.match(line) or not before or before[0] in "#|" else " ")
        parts.append(line)
    return "".join(parts)


Find = Callable[[Sequence[FileText]], Iterable[Hit]]


class Pattern(NamedTuple):
    """Words of which a line must hold one, and what is searched for there then. Words are looked up first: that is
    fast."""

    words: Sequence[str]
    expression: re.Pattern[str]
    place: str
    """`prose` or `code`; empty for both."""


def _expression(text: str) -> re.Pattern[str]:
    """An expression of the table, with every fragment in place of its name."""
    fragments = TABLE["fragments"]
    while (found := _FRAGMENT.search(text)) is not None:
        text = text.replace(found[0], fragments[found[1]])
    return re.compile(text)


def _patterns(rows: Iterable[Sequence[str]]) -> tuple[Pattern, ...]:
    return tuple(Pattern(words.split(" "), _expression(text), "".join(place)) for words, text, *place in rows)


_FRAGMENT = re.compile(r"<([A-Z_]+)>")
EXPRESSIONS = {name: _expression(text) for name, text in TABLE["expressions"].items()}
"""What functions search for by themselves, by its name in the table."""
PATTERNS = {
    **{name: _patterns(rows) for name, rows in TABLE["patterns"].items()},
    **{rule.id: _patterns(rule.patterns) for rule in RULES.values() if rule.patterns},
}
"""By the name in the table, or by the id of the rule that they are enough for."""


def matches(file: FileText, patterns: Sequence[Pattern], *, prose: bool = True, code: bool = True) -> Iterator[int]:
    """Where any of the patterns is found, in no order."""
    for place, text in (*((("prose", file.prose),) if prose else ()), *((("code", file.code),) if code else ())):
        for pattern in patterns:
            if pattern.place in ("", place):
                for start, end in _around(text, pattern.words):
                    yield from (found.start() for found in pattern.expression.finditer(text, start, end))


def _around(text: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The stretches of a text with one of the words: whole lines, each with the line before and the line after it."""
    places = sorted(place for word in words for place in _places(text, word))
    start = end = -1
    for place in places:
        if place < end:
            continue
        if end >= 0 and text.count("\n", end, place) > 2:
            yield start, _line_after(text, end)
            start = -1
        if start < 0:
            start = text.rfind("\n", 0, max(0, text.rfind("\n", 0, place))) + 1
        end = (text.find("\n", place) + 1) or len(text)
    if end >= 0:
        yield start, _line_after(text, end)


def _line_after(text: str, end: int) -> int:
    return (text.find("\n", end) + 1) or len(text)


def _places(text: str, word: str) -> Iterator[int]:
    """Where a word stands, once per line."""
    place = text.find(word)
    while place >= 0:
        yield place
        line = text.find("\n", place)
        place = -1 if line < 0 else text.find(word, line)


def finder(patterns: Sequence[Pattern], *, consent: bool = False) -> Find:
    """Finds each of the patterns in each file. With `consent`, what the user is asked about first is a caution."""

    def find(files: Sequence[FileText]) -> Iterator[Hit]:
        for file in files:
            for position in matches(file, patterns):
                yield file.hit(position, quoted=(consent and file.with_consent(position)) or None)

    return find
