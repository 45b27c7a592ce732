"""What a person does not see, or takes for something else: hidden text, addresses that hide where they lead, names that
imitate a well-known skill."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from upskill.core.nouns.text import HIDDEN
from upskill.lint.file_text import EXPRESSIONS, LOOK_ALIKE, PATTERNS, FileText, Hit, is_prose

_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f")
"""The flags of England, Scotland and Wales are spelled with tag characters."""
_OVERRIDES = frozenset("\u202a\u202b\u202d\u202e")
_ISOLATES = frozenset("\u2066\u2067\u2068\u2069\u202c")
_MARKS = frozenset("\u200e\u200f\u061c")
_NEVER = frozenset(
    "\u034f\u2061\u2062\u2063\u2064\u206a\u206b\u206c\u206d\u206e\u206f\ufff9\ufffa\ufffb\u180e\u3164\uffa0\u115f\u1160"
)
_MOST_STRAY = 8
_BLANK_LINES = 40
_BLANK_COLUMNS = re.compile(r"(?<![ \t\u00a0\u3000])[ \t\u00a0\u3000]{200,}(?=\S)")
_LINK_COMMENT = re.compile(r"^[ \t]*\[[^\]\n]{1,40}\]:[ \t]*(?:#|<>)[ \t]*[(\"'](.{0,2000})", re.MULTILINE)
_HIDING = re.compile(
    r"<[a-z][^>\n]{0,300}?(?:display:\s*none|visibility:\s*hidden|font-size:\s*0|opacity:\s*0(?![.\d])|color:\s*(?:white|transparent|#fff)"
    r"|(?:left|top|text-indent):\s*-\d{3,}|\shidden(?=[\s>=]))[^>\n]{0,300}>"
)
_LINK = re.compile(
    r"(!?)\[([^\]\[\n]{0,300})\]\([ \t]{0,4}<?([^()\s<>\[]{0,300})>?(?:[ \n\t]{1,4}[\"'(]([^\n\"\[]{0,400}?)[\"')])?[ \t]{0,4}\)"
)
_SHOWN_HOST = re.compile(r"(?:https?://)?((?:[a-z0-9-]{1,63}\.){1,6}[a-z]{2,24})(?:[/:].{0,200})?\Z")
_ESCAPES = re.compile(r"[\x00-\x08\x0e-\x1a\x1b\x7f\x80-\x9f]")


def invisible(files: Sequence[FileText]) -> Iterator[Hit]:
    """Invisible characters that no script or emoji needs."""
    for file in files:
        if file.raw.isascii():
            continue
        raw = _FLAG.sub(lambda match: "\U0001f3f4" + "x" * (len(match[0]) - 1), file.raw)
        stray: list[Hit] = []
        lines = set()
        for number, line in enumerate(raw.split("\n"), start=1):
            if line.isascii():
                continue
            for found in HIDDEN.finditer(line):
                judged = _judge(line, found.start(), first=number == 1 and found.start() == 0)
                if judged is None or number in lines:
                    continue
                hit = Hit(file=file.path, line=number, text=_around(line, found.start()), quoted=judged == "stray")
                if judged == "stray":
                    stray.append(hit)
                else:
                    lines.add(number)
                    yield hit
        if len(stray) >= _MOST_STRAY:
            first = stray[0]
            yield Hit(file=first.file, line=first.line, text=first.text)
        elif stray:
            yield stray[0]


def _judge(line: str, at: int, *, first: bool) -> str | None:
    """`hidden`, `stray` for one that a copy from a web page can leave, `None` for one that belongs there."""
    sign = line[at]
    before, after = line[at - 1] if at else "", line[at + 1 : at + 2]
    if (sign == "\ufeff" and first) or (sign == "\ufe0f" and before and not HIDDEN.match(before)):
        return None
    if "\U000e0000" <= sign <= "\U000e0fff":
        return None if sign >= "\U000e0100" and before and unicodedata.category(before) == "Lo" else "hidden"
    if sign in _OVERRIDES or sign in _NEVER:
        return "hidden" if unicodedata.name(before or "a", "").split()[0] != "HANGUL" else None
    if sign in _ISOLATES or sign in _MARKS:
        written_right_to_left = any(unicodedata.bidirectional(one) in ("R", "AL") for one in line[:2000])
        return None if written_right_to_left else "hidden" if sign in _ISOLATES else "stray"
    if (before and HIDDEN.match(before)) or (after and HIDDEN.match(after)):
        return "hidden" if not _in_emoji(line, at) else None
    if sign == "\u00ad":
        return "stray"
    if before.isascii() and after.isascii():
        return "hidden" if before.isalnum() and after.isalnum() else "stray"
    return None


def _in_emoji(line: str, at: int) -> bool:
    """A joiner between emoji, which may have a variation selector before it."""
    around = line[max(0, at - 2) : at + 3]
    return any(unicodedata.category(one) == "So" for one in around) and set(HIDDEN.findall(around)) <= {
        "\u200d",
        "\ufe0f",
    }


def _around(line: str, at: int) -> str:
    return line[max(0, at - 40) : at + 80].strip()


def escapes(files: Sequence[FileText]) -> Iterator[Hit]:
    """Control characters, which can hide or rewrite text on a terminal."""
    for file in files:
        for found in _ESCAPES.finditer(file.text):
            yield file.hit(found.start(), quoted=False)


def out_of_sight(files: Sequence[FileText]) -> Iterator[Hit]:
    """Text after so many blank lines or columns that nobody scrolls there."""
    for file in files:
        for found in _BLANK_COLUMNS.finditer(file.text):
            yield file.hit(found.end(), quoted=False)
        blank = 0
        for line, start in zip(file.text.split("\n"), file.line_starts, strict=True):
            if line.strip():
                if blank >= _BLANK_LINES:
                    yield file.hit(start, quoted=False)
                blank = 0
            else:
                blank += 1


def comments(files: Sequence[FileText]) -> Iterator[Hit]:
    """HTML and Markdown comments that tell an agent what to do."""
    for file in files:
        if not is_prose(file.path):
            continue
        for start, text in (*_html_comments(file.prose), *_link_comments(file.prose)):
            if not file.in_code_span(start) and _instructs(text):
                yield file.hit(start + len(text) - len(text.lstrip()), quoted=False)


def _html_comments(prose: str) -> Iterator[tuple[int, str]]:
    """Each comment with where its text begins; one that is not closed goes on to the end, as browsers have it."""
    start = prose.find("<!--")
    while start >= 0:
        end = prose.find("-->", start + 4)
        yield start + 4, prose[start + 4 : end if end >= 0 else None]
        start = prose.find("<!--", end) if end >= 0 else -1


def _link_comments(prose: str) -> Iterator[tuple[int, str]]:
    return ((found.start(1), found[1]) for found in _LINK_COMMENT.finditer(prose))


def hidden_elements(files: Sequence[FileText]) -> Iterator[Hit]:
    """HTML that is not displayed."""
    for file in files:
        if not is_prose(file.path) or "<" not in file.prose:
            continue
        for found in _HIDING.finditer(file.prose):
            # A page hides and shows parts of itself; Markdown does not.
            if file.path.endswith(".md") or _instructs(file.prose[found.end() : found.end() + 400].split("<")[0]):
                yield file.hit(found.start(), quoted=False)


def link_texts(files: Sequence[FileText]) -> Iterator[Hit]:
    """Titles and alternative texts of links that tell an agent what to do."""
    for file in files:
        for found in _links(file):
            shown = found[4] or ""
            if _instructs(shown) or (found[1] and _against(found[2], _orders_agent)):
                yield file.hit(found.start(), quoted=False)


def deceiving_links(files: Sequence[FileText]) -> Iterator[Hit]:
    """Links that show one host and lead to another."""
    for file in files:
        for found in _links(file):
            shown, target = _SHOWN_HOST.match(found[2].strip()), _SHOWN_HOST.match(found[3])
            if shown and target and "://" in found[3] and not _same_site(shown[1], target[1]):
                yield file.hit(found.start(), quoted=False)


def _links(file: FileText) -> Iterable[re.Match[str]]:
    return _LINK.finditer(file.prose) if "](" in file.prose else ()


def _same_site(one: str, other: str) -> bool:
    return one.split(".")[-2:] == other.split(".")[-2:] or not re.search(
        r"\.(?:com|org|net|io|dev|ai|co|app|edu|gov|info|me|xyz)$", one
    )


def _instructs(text: str) -> bool:
    return _against(text, _addresses_agent)


def _against(text: str, instructs: Callable[[str], bool]) -> bool:
    against = (*PATTERNS["ignore-instructions"], *PATTERNS["hide-from-user"])
    return instructs(text) or any(pattern.expression.search(text) for pattern in against)


def _orders_agent(text: str) -> bool:
    """Whether a text that describes something, such as a picture, also orders an agent around."""
    return bool(EXPRESSIONS["starts"].match(text)) or EXPRESSIONS["told"].search(text) is not None


def _addresses_agent(text: str) -> bool:
    """Whether a text in a place where no reader looks tells an agent to do something."""
    text = text[:4000]
    return bool(EXPRESSIONS["starts"].match(text)) or (
        EXPRESSIONS["agent"].search(text) is not None and EXPRESSIONS["order"].search(text) is not None
    )


_URL = re.compile(r"\b(?:https?|ftp|s3|gs|wss?)://([^\s\"'`<>()\[\]{}|\\^]{1,300})")
_AT_HOME = re.compile(
    r"(?:localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|10\.\d+\.\d+\.\d+|192\.168\.\d+\.\d+|172\.(?:1[6-9]|2\d|3[01])\.\d+\.\d+|host\.docker\.internal|\[::1\])"
)
_ADDRESS = re.compile(r"(?:\d{1,3}(?:\.\d{1,3}){3}|0x[0-9a-f]{8}|\d{8,10})")
_SHORT = frozenset(
    [
        "bit.ly",
        "tinyurl.com",
        "t.co",
        "goo.gl",
        "is.gd",
        "cutt.ly",
        "rb.gy",
        "shorturl.at",
        "ow.ly",
        "buff.ly",
        "t.ly",
        "tiny.cc",
        "v.gd",
        "s.id",
    ]
)


def host_of(address: str) -> str:
    """The host of what stands after `://`, without user and port."""
    return re.split(r"[/?#]", address, maxsplit=1)[0].rsplit("@", 1)[-1].split(":")[0].rstrip(".,;").lower()


def hosts(files: Sequence[FileText]) -> Iterator[Hit]:
    """Each host once per file, with the first URL."""
    for file in files:
        seen: set[str] = set()
        for found in _URL.finditer(file.text):
            host = host_of(found[1])
            if host and host not in seen and not _AT_HOME.fullmatch(host):
                seen.add(host)
                yield Hit(file=file.path, line=file.line_at(found.start()), text=found[0].rstrip(".,;:"))


def disguised(files: Sequence[FileText]) -> Iterator[Hit]:
    """Bare numeric addresses, shortened links, foreign letters in a host, and a user name before the host."""
    for file in files:
        for found in _URL.finditer(file.text):
            host = host_of(found[1])
            if _AT_HOME.fullmatch(host):
                continue
            pretends = (
                re.match(r"[\w.-]{1,80}\.[a-z]{2,}[:@][^/]{0,80}@?[\w.-]+\.", found[1])
                and "@" in found[1].split("/")[0]
            )
            if _ADDRESS.fullmatch(host) or host in _SHORT or "xn--" in host or not host.isascii() or pretends:
                yield file.hit(found.start())


WELL_KNOWN = frozenset([
    "algorithmic-art", "brainstorming", "brand-guidelines", "canvas-design", "claude-api", "code-review",
    "customize-opencode", "deep-research", "dispatching-parallel-agents", "doc-coauthoring", "executing-plans",
    "find-skills", "finishing-a-development-branch", "frontend-design", "imagegen", "internal-comms", "mcp-builder",
    "openai-docs", "playwright-cli", "receiving-code-review", "remotion-best-practices", "requesting-code-review",
    "skill-creator", "skill-installer", "slack-gif-creator", "subagent-driven-development", "systematic-debugging",
    "test-driven-development", "theme-factory", "using-git-worktrees", "using-superpowers",
    "vercel-react-best-practices", "verification-before-completion", "web-artifacts-builder",
    "web-design-guidelines", "webapp-testing", "writing-plans", "writing-skills",
])  # fmt: skip
"""Skills that many people have installed, and that coding agents bring. Shorter names, such as pdf, have neighbours."""
_VENDORS = r"(?:anthropic|claude|openai|chatgpt|codex|github|copilot|google|gemini|microsoft|vercel|hugging ?face|aws)"
_NAME = re.compile(r"^name:[ \t]*[\"']?([^\"'\n]{1,100}?)[\"']?[ \t]*$", re.MULTILINE)
_VENDOR_NAME = re.compile(
    rf"(?:^|-){_VENDORS}(?:-\w+){{0,4}}-(?:official|verified|certified)\b|(?:^|-)(?:official|verified|certified)(?:-\w+){{0,4}}-{_VENDORS}\b"
)
_CLAIM = re.compile(
    rf"\bofficial {_VENDORS}(?:'s)? (?:[\w-]+ ){{0,2}}(?:skill|edition|guide|plugin|extension)\b|\bofficial (?:skill|edition|guide|plugin|extension) (?:by|from|of) {_VENDORS}\b"
    rf"|\b(?:verified|certified|endorsed) by {_VENDORS}\b|\b{_VENDORS},? (?:official|inc|pbc)\b"
)
_DENIED = re.compile(r"\b(?:not|no|never) (?:\w+ ){0,3}$")
_DISPLACES = re.compile(
    r"\b(?:in place of|instead of|rather than|and not) (?:the |any |an? )?(?:\w+ ){0,2}?(?:built-?in|original|similarly named|official|other|existing|default)(?: [\w-]+){0,2} skills?\b"
    r"|\breplaces? the (?:built-?in|original|official|earlier|former|previous) (?:[\w-]+ ){0,2}?(?:skill|edition|one)\b"
)
_HEAD = 1_500
"""A claim stands at the beginning of a skill, where an agent and a person choose it."""


def imitations(files: Sequence[FileText]) -> Iterator[Hit]:
    """Signs that a skill passes for another. One sign alone is a caution; two, or a name in foreign letters, are not."""
    for file in files:
        if file.path != "SKILL.md" or (named := _NAME.search(file.text[:5_000])) is None:
            continue
        name = named[1].lower()
        signs = [named.start()] if _near(name) else []
        signs += [named.start()] if _VENDOR_NAME.search(name) else []
        signs += _claims(file)
        if (displaced := _DISPLACES.search(file.prose[:_HEAD])) is not None:
            signs.append(displaced.start())
        foreign = not name.isascii() and _plain(name).isascii()
        if signs or foreign:
            yield replace(file.hit(named.start(), quoted=False), quoted=not foreign and len(signs) < 2)


def _claims(file: FileText) -> list[int]:
    for found in _CLAIM.finditer(file.prose[:_HEAD]):
        if not _DENIED.search(file.prose[max(0, found.start() - 40) : found.start()]):
            return [found.start()]
    return []


def _near(name: str) -> bool:
    """Whether a name is one slip away from a well-known one."""
    if name in WELL_KNOWN or len(name) < 7:
        return False
    return _plain(name) in WELL_KNOWN or any(_one_slip(name, known) for known in WELL_KNOWN)


def _plain(name: str) -> str:
    """With the letters that it looks like."""
    latin = unicodedata.normalize("NFKC", name.translate(LOOK_ALIKE)).lower()
    return latin.replace("0", "o").replace("1", "l").replace("rn", "m").replace("vv", "w")


def _one_slip(one: str, other: str) -> bool:
    """One letter more, less or other, or two neighbours that changed places."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    same = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    rest, others = one[same:], other[same:]
    swapped = rest[:2] == others[:2][::-1] and rest[2:] == others[2:]
    return swapped or rest[1:] == others[1:] or rest[1:] == others or rest == others[1:]
