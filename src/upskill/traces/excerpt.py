"""Excerpts of recorded text: what is worth keeping, which lines name an error, how a text is cut.

Knows no traces and no secrets; see `redaction` for those.
"""

import re
from collections.abc import Callable
from functools import lru_cache

Generalise = Callable[[str], str]
"""Takes what belongs to one machine out of a text: the project's folder, a person's home."""

SHORTEST_ENCODED = 600
RUN = re.compile(r"[A-Za-z0-9+/_-]+")
ENCODED = re.compile(
    rf"(?:data:[\w./+-]{{1,100}};base64,)?(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{SHORTEST_ENCODED},}}={{0,2}}"
)
ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
CONTROLS = bytes({*range(32), 127} - {9, 10})
RARE_CONTROLS = re.compile("[\x80-\x9f]")


def tidy(text: str) -> str:
    """Drop what nobody reads: encoded data, colours, lines a progress bar wrote over, control characters.

    Done before secrets are looked for: a colour code inside a key must not hide it. Half surrogates, which cannot be
    written, become question marks.
    """
    if "\x1b" in text:
        text = ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    # By way of bytes: many times as fast as a pattern, and most of a session goes through here.
    text = text.encode("utf-8", "replace").translate(None, CONTROLS).decode("utf-8")
    if not text.isascii():
        text = RARE_CONTROLS.sub("", text)
    return ENCODED.sub(_encoded, text) if _has_long_run(text) else text


def cut(text: str, *, limit: int) -> str:
    """At most about `limit` characters: the head and the tail, with what was removed between them named."""
    return text if len(text) <= limit else joined(text, text, limit=limit, lines=text.count("\n"), length=len(text))


def joined(head: str, tail: str, *, limit: int, lines: int, length: int) -> str:
    """The beginning of the one and the end of the other, and between them how much of the whole was removed."""
    half = limit // 2
    begin, end = head[:half], tail[max(0, len(tail) - half) :]
    left = lines - begin.count("\n") - end.count("\n") + 1
    return f"{begin}\n[… {length - len(begin) - len(end):,} characters, {max(1, left):,} lines left out …]\n{end}"


def _has_long_run(text: str) -> bool:
    """Whether there may be encoded data. A run that is long enough holds a whole block of half its length."""
    block = SHORTEST_ENCODED // 2
    return any(RUN.fullmatch(text, at, at + block) for at in range(0, len(text) - block + 1, block))


def _encoded(match: re.Match[str]) -> str:
    return f"[{len(match.group()):,} characters of encoded data left out]"


LOOKED_AT = 20_000
SIGNS = re.compile(
    r"""^(?:
        Traceback[ ]\(most[ ]recent[ ]call[ ]last\)
      | (?:[\w./+-]+:[ ])*(?:fatal|error|panic)(?:\[\w+\])?:[ ]
      | E[ ]{3,}\w+(?:Error|Exception)\b
      | \w*(?:Error|Exception):[ ]
      | (?:FAILED|FAIL)\b
      | npm[ ](?:ERR!|error)[ ]
      | make(?:\[\d+\])?:[ ]\*\*\*[ ]
      | (?:\S+:[ ])+(?:command[ ]not[ ]found|No[ ]such[ ]file[ ]or[ ]directory|Permission[ ]denied)$
      | \S+[(:]\d+(?:[,:]\d+)?\)?:[ ](?:fatal[ ])?error\b
      | (?:Process[ ]exited[ ]with[ ]code|[Ee]xit[ ]code:?)[ ][1-9]
      | ={3,}+[^\n]*?\b[1-9]\d*[ ](?:failed|errors?)\b
    )""",
    re.MULTILINE | re.VERBOSE,
)


def looks_failed(text: str) -> bool:
    """Whether the head or the tail reads like a failure."""
    if len(text) > 2 * LOOKED_AT:
        return bool(SIGNS.search(text[:LOOKED_AT]) or SIGNS.search(text[-LOOKED_AT:]))
    return bool(SIGNS.search(text))


_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
_HOME = re.compile(r"(?:/home/|/Users/|[A-Z]:\\Users\\)[\w.-]+(?=[/\\\s'\":]|$)")

_ERROR = re.compile(
    r"""(?x)
      \b(?:error|errors|exception|fatal|panic|panicked|undefined|unresolved|unbound|denied|refused|timed\ out|aborted)\b
    | \b(?:[A-Z]\w*(?:Error|Exception|Fault|Warning|Timeout))\b | Traceback | ^E\s{2,} | ^FAIL | \bFAILED\b
    | \b(?:cannot|can't|could\ not|couldn't|unable\ to|failed\ to|no\ such|not\ found|does\ not\ exist
        |must\ be|expected)\b
    | \bassert | segmentation | core\ dumped | ^\s*✗ | ^\s*✕ | ^not\ ok | \bE\d{3,4}\b | \bTS\d{4}\b | ^---\ FAIL
    """,
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"""(?x)
      ^E\s{2,} | \berror(?:\[\w+\])?\s*[:!] | \b[A-Z]\w*(?:Error|Exception)\b\s*(?::|$) | ^fatal: | panicked\ at
    | ^FAILED\b | command\ not\ found | No\ module\ named | No\ such\ file | \bTS\d{4}: | undefined\ reference
    | ^---\ FAIL
    """
)
_VAGUE = re.compile(
    r"(?i)^\s*(?:traceback \(most recent|exit code|make(?:\[\d+\])?: \*\*\*|npm err! (?:code|errno|a complete log)"
    r"|error: (?:process completed|command failed|recipe)|=+ (?:failures|errors|short test summary).*=+$"
    r"|error: could not compile|process exited with code|command failed with exit|\d+ errors? generated)"
)
_MARK = re.compile(r"\[… .* (?:cut|left out …)\]$")
_NAMED_AT_THE_END = re.compile(r"(?:[a-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception)\b")
_SHORT = 40
_PASSED = re.compile(
    r"(?i)\b(?:\d+ passed|all (?:\d+ )?(?:tests|checks) pass|pass(?:ed)?\b|0 (?:errors|failures|failed)|success"
    r"|succeeded|build complete|test result: ok|no issues found|finished|ok\b)|✓|✔"
)


def plain(text: str) -> str:
    """A text that does nothing to a terminal and hides nothing from a reader."""
    if "\x1b" in text:
        text = ESCAPES.sub("", text)
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def generalising(folder: str | None) -> Generalise:
    """`<project>` for the folder of the work, `~` for anyone's home."""
    whole = (folder or "").rstrip("/\\")
    # A folder as short as `/` or `/app` stands in too many words to be replaced.
    project = re.compile(re.escape(whole) + r"(?![\w.-])") if len(whole) > 5 else None

    def generalise(text: str) -> str:
        if project is not None:
            text = project.sub("<project>", text)
        return _HOME.sub("~", text)

    return generalise


def one_line(text: str, *, most: int = 160) -> str:
    """A text on one line, cut at its end."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def shortened(text: str, *, lines: int, chars: int) -> str:
    """Head and tail of a text; a mark between them says how much was cut."""
    text = text.strip("\n")
    rows = text.split("\n")
    if len(rows) > lines:
        head = (lines + 1) // 2
        tail = lines - head
        rows = [*rows[:head], _lines_cut(len(rows) - lines), *rows[len(rows) - tail :]]
    text = "\n".join(row.rstrip() for row in rows)
    if len(text) <= chars:
        return text
    mark = f" [… {len(text) - chars:,} characters cut] "
    head = max(0, (chars * 2) // 3)
    return text[:head].rstrip() + mark + text[len(text) - (chars - head) :].lstrip()


def _lines_cut(number: int) -> str:
    return f"[… {number} line{'' if number == 1 else 's'} cut]"


@lru_cache(maxsize=512)
def error_line(text: str) -> str:
    """The line of an output that says best what went wrong: a named error, else what sounds like one, else the last.

    A line that only announces what is on the next one is joined with it.
    """
    rows = [row.strip() for row in text.split("\n") if row.strip()]
    if not rows:
        return ""
    at = _telling_row(rows)
    line = rows[at]
    announces = line.endswith((":", ">")) or len(line) < _SHORT
    following = rows[at + 1] if at + 1 < len(rows) else ""
    if announces and following and not _VAGUE.match(following) and not _MARK.match(following):
        return f"{line} {following}"
    return line


def _telling_row(rows: list[str]) -> int:
    weak = strong = None
    for index, line in enumerate(rows):
        if _VAGUE.match(line) or _MARK.match(line):
            continue
        if _STRONG.search(line):
            # Python names the error at the end of a traceback; compilers name the first one first.
            if not _NAMED_AT_THE_END.match(line):
                return index if strong is None else strong
            strong = index
        elif weak is None and _ERROR.search(line):
            weak = index
    if strong is not None:
        return strong
    return len(rows) - 1 if weak is None else weak


def error_excerpt(text: str, *, lines: int, chars: int) -> str:
    """The lines of an output that tell what went wrong, in their order; the rest is counted."""
    rows = [row.rstrip() for row in text.split("\n") if row.strip()]
    if len(rows) <= lines:
        return shortened("\n".join(rows), lines=lines, chars=chars)
    best = error_line(text)
    strong = [index for index, row in enumerate(rows) if _STRONG.search(row) and not _VAGUE.match(row.strip())]
    weak = [index for index, row in enumerate(rows) if _ERROR.search(row)]
    named = [index for index, row in enumerate(rows) if best.startswith(row.strip())][:1]
    wanted = list(dict.fromkeys([*named, *strong[:lines], *weak[: lines * 2], len(rows) - 1]))[:lines]
    shown: list[str] = []
    previous = -1
    for index in [*sorted(wanted), len(rows)]:
        if index > previous + 1:
            shown.append(_lines_cut(index - previous - 1))
        shown += rows[index : index + 1]
        previous = index
    return shortened("\n".join(shown), lines=len(shown), chars=chars)


def sounds_failed(text: str) -> bool:
    """Whether an output names an error. Used where an exit code is lost in a pipe; never called a mark."""
    return any(_STRONG.search(row.strip()) for row in text.split("\n"))


def passed_excerpt(text: str, *, chars: int = 160) -> str:
    """The line that says that it passed, else the last one."""
    rows = [row.strip() for row in text.split("\n") if row.strip()]
    passing = [row for row in rows if _PASSED.search(row)]
    return one_line((passing or rows or [""])[-1], most=chars)


def signature(line: str) -> str:
    """An error without what changes from run to run: numbers, addresses, folders, quoting."""
    line = re.sub(r"0x[0-9a-fA-F]+|\b[0-9a-f]{8,}\b", "H", line)
    line = re.sub(r"(?:[\w.~<>-]*[/\\])+(?=[\w.-])", "", line)
    # Not the number in a name or in the code of an error: `TS2322` is not `TS2345`.
    line = re.sub(r"(?<!\w)\d+(?:\.\d+)*(?:ms|s|[kKMG]?B)?(?!\w)", "N", line)
    return " ".join(re.sub(r"[`'\"‘’“”]", "", line).lower().split())[:200]
