"""Secrets that only what stands before them identifies.

A name, as in `password = …`, `--token …` and `<secret>…`; a header of a request; an address; a command that takes a
password. A word such as `token` is searched for first; only where it stands is a pattern tried, and the value is then
judged by `plausibility`.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from functools import partial

from upskill.redaction.plausibility import Sort, is_password, is_placeholder, looks_random, sort_of
from upskill.redaction.token_index import Span, TokenIndex, offsets

_WORDS = (b"pass", b"pwd", b"secret", b"token", b"key", b"auth", b"cred", b"sig=", b"signature=", b"code=")
_NAME = re.compile(r"[\w.$-]{1,160}")
_IN_A_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$-")
_THEN = re.compile(
    r"""(?P<close>\\{0,64}["'`]?\]?)
    (?:
        (?P<given>[ \t]{0,8}(?::=|=>|={1,3}|:)(?![:=/])(?:[ \t]{0,8}[|>][-+]?\s{1,20}|[ \t]{0,8}))
        |(?P<typed>:[ ]?[\w.\[\]|&? ]{1,30}?[ ]?=[ ]?)(?=["'])
        |(?P<attribute>(?:[\s,"']|\\{1,64}[nrt"']){1,24}value\\{0,64}["']?\s?[:=]\s?)
        |(?P<listed>(?<=["'`])[ \t]{0,2},[ \t]{0,4})(?=\\{0,64}["'])
        |(?P<element>>)(?=[^<\s])
        |(?P<stated>[ ](?:is|was):?[ ])
        |(?P<cell>[ \t]{0,8}\|[ \t]{0,8})
        |(?P<spaced>[ \t]{1,40}|\\[nrt])
    )
    (?:(?:[bfruBFRU]{1,2}|[A-Z][A-Za-z]{2,14}\()(?=\\{0,64}["'`]))?
    (?P<quote>\\{0,64}["'`])?""",
    re.VERBOSE,
)
_UNQUOTED = re.compile(r"""[^\s"'`;<>\\,&|]{1,8192}""")
_PASSWD_FILE = re.compile(r"/passwd(?![\w.$=-])")
"""The name of a file. What follows it, in a table or a sentence, is said of that file."""
_LOGIN_BEFORE = re.compile(r"(?:login|user)\s{1,4}\S{1,80}(?:\s|\\n|>){1,12}$")
_SET_BEFORE = re.compile(r"(?:^|[\s;])(?:ENV|ARG|setenv|set -gx|set -x|setx)\s{1,4}$")
_LONGEST = 8_192


def named_secrets(index: TokenIndex) -> Iterator[Span]:
    """Every value under a name that says it is secret."""
    text = index.text
    done = -1
    for word_at in sorted(offset for word in _WORDS if word in index.low for offset in offsets(index.low, word)):
        if word_at < done:
            continue
        start = word_at
        while start > 0 and word_at - start < 60 and text[start - 1] in _IN_A_NAME:
            start -= 1
        # In `\npassword` the n belongs to the escape.
        if start > 0 and text[start - 1] == "\\" and text[start] in "nrt" and start < word_at:
            start += 1
        name = _NAME.match(text, start)
        if name is None:
            continue
        done = max(done, name.end())
        sort = sort_of(name.group().rstrip(".-$"))
        if sort is None or _PASSWD_FILE.match(text, start - 1 if start else 0):
            continue
        span = _value(text, start, name, sort)
        if span is not None:
            done = span.end
            yield span


def _value(text: str, start: int, name: re.Match[str], sort: Sort) -> Span | None:
    then = _THEN.match(text, name.end())
    if then is None:
        return None
    quote = then.group("quote")
    begin = then.end()
    if quote:
        end = _closing(text, begin, quote)
    else:
        bare = _UNQUOTED.match(text, begin)
        if bare is None:
            return None
        end = begin + len(bare.group().rstrip(".:)]}"))
    value = text[begin:end]
    if not _is_secret(text, start, name.group(), then, sort, value):
        return None
    return Span(begin, end, sort, 1)


def _closing(text: str, begin: int, quote: str) -> int:
    """Where the quoted value ends: at the same quote, escaped as often; else at the end of the line."""
    mark = quote[-1]
    slashes = len(quote) - 1
    end = text.find(mark, begin, begin + _LONGEST)
    while end >= 0:
        count = 0
        while end - count - 1 >= begin and text[end - count - 1] == "\\":
            count += 1
        if count == slashes or (slashes == 0 and count % 2 == 0):
            break
        if count < slashes:
            return end - count
        end = text.find(mark, end + 1, begin + _LONGEST)
    newline = text.find("\n", begin, begin + _LONGEST)
    if end < 0 or 0 <= newline < end:
        return newline if newline >= 0 else min(len(text), begin + _LONGEST)
    return end - slashes


def _is_secret(text: str, start: int, name: str, then: re.Match[str], sort: Sort, value: str) -> bool:
    quoted = then.group("quote") is not None
    if not value or (quoted and value[0] in ",);: "):
        return False
    if name.lower() == "pass" and then.group("quote") == "`" and not {" ", "="}.isdisjoint(value):
        return False  # the verb, and what a program printed: when tests pass, `PASS 12/12`
    if sort == "signature":
        return then.group("given") == "=" and not quoted and looks_random(value, least=24)
    if sort == "key":
        return then.group("given") is not None and looks_random(value, least=20)
    if then.group("given") or then.group("attribute") or then.group("typed"):
        # `DB_PASSWORD=words` in a list of variables is a value, whatever it looks like.
        variable = then.group("given") == "=" and name.isupper() and name.endswith(("PASSWORD", "SECRET", "_PASS"))
        return _plain(sort, value, quoted=quoted) or (variable and len(value) >= 8 and is_password(value, quoted=True))
    if then.group("element"):
        return text[start - 1 : start] == "<" and _plain(sort, value, quoted=True)
    if then.group("listed"):
        return is_password(value, quoted=False) if name.startswith("-") and sort == "password" else looks_random(value)
    if then.group("stated") or then.group("cell"):
        return is_password(value, quoted=False) and (sort == "password" or looks_random(value, least=16))
    before = text[max(0, start - 120) : start]
    if name.startswith("-") or _SET_BEFORE.search(before):
        return not value.startswith("-") and _plain(sort, value, quoted=quoted)
    if sort == "password" and quoted:
        return is_password(value, quoted=True)
    if sort == "password" and _LOGIN_BEFORE.search(before):
        return is_password(value, quoted=False)
    return looks_random(value, least=16 if len(then.group("spaced")) > 1 else 20)


def _plain(sort: Sort, value: str, *, quoted: bool) -> bool:
    return is_password(value, quoted=quoted) if sort == "password" else looks_random(value, quoted=quoted)


_AUTHORIZATION = re.compile(
    r"""(?i:authorization)\\{0,64}["'`]?\]?\s{0,3}[:=,]\s{0,3}\\{0,64}["'`]?
    (?:(?P<scheme>[A-Za-z][\w-]{1,20})[ ]{1,3})?(?P<value>[^\s"'`\\,;<>]{1,8192})""",
    re.VERBOSE,
)
_BEARER = re.compile(r"(?i:bearer)(?:[ +:=]|%20|\s){1,4}(?P<value>[A-Za-z0-9._~+/=-]{16,8192})")
_BASIC = re.compile(r"(?i:basic)[ +]{1,3}(?P<value>[A-Za-z0-9+/_-]{6,2048}={0,2})")
_SMTP = re.compile(r"(?i:auth (?:plain|login)) (?P<value>[A-Za-z0-9+/]{8,2048}={0,2})")
_COOKIE = re.compile(r"""(?i:cookie)\\{0,64}["'`]?\s{0,3}[:=,\s]\s{0,3}\\{0,64}["'`]?(?P<value>[^\n"'`\\]{1,2048})""")
_PAIR = re.compile(r"(?P<name>[^=;\s]{1,200})=(?P<value>[^;\s,]{1,8192})")
_SESSION = re.compile(r"(?i)sess|sid$|auth|token|jwt|login|remember|csrf|xsrf")
_ADDRESS = re.compile(r"""://(?P<user>[^\s/:@"'`<>\\?#]{0,120}):(?P<value>[^\s/"'`<>\\]{1,300})@(?=[\w\[.$-])""")
_NO_PASSWORDS = frozenset({"password", "pass", "passwd", "pwd", "secret"})
_USER_ONLY = re.compile(r"://(?P<value>[\w.~-]{20,300})@(?=[\w\[.-])")
_CLIENTS = (b"mysql", b"mariadb", b"sshpass", b"login", b"mongo")
_USER = re.compile(
    r"""-u(?:ser)?(?:["'],|[ =]){0,2}\s?\\{0,4}["']?
    (?P<user>[^\s:"'$\\]{0,80}):(?P<value>[^\s"'\\]{3,300})""",
    re.VERBOSE,
)
_SHORT_FLAG = re.compile(
    r"""(?:(?:mysql|mariadb)[\w-]{0,12}[^\n|;]{0,200}?\s-p|sshpass\s{1,3}-p\s?
    |login[^\n|;]{0,120}?\s-p\s|mongo\w{0,8}\b[^\n|;]{0,120}?\s-p\s)\\{0,4}["']?(?P<value>[^\s"'\\]{4,200})""",
    re.VERBOSE,
)

_IN_REQUESTS: tuple[tuple[str, re.Pattern[str], tuple[bytes, ...], Callable[[str], bool]], ...] = (
    ("authorization", _AUTHORIZATION, (b"authorization",), lambda value: _is_credential(value)),
    ("password", _SMTP, (b"auth plain ", b"auth login "), lambda _: True),
    ("bearer token", _BEARER, (b"bearer",), partial(looks_random, least=16)),
    ("authorization", _BASIC, (b"basic",), lambda value: _holds_a_colon(value)),
    ("password", _USER, (b"-u",), partial(is_password, quoted=False)),
    ("password", _SHORT_FLAG, _CLIENTS, partial(is_password, quoted=False)),
)
"""Kind, pattern, the literals with which it begins, and which values are secrets."""


def request_secrets(index: TokenIndex) -> Iterator[Span]:
    """Every secret that a header, an address or a command identifies."""
    for kind, pattern, anchors, is_secret in _IN_REQUESTS:
        yield from (_span(match, kind) for match in _at(index, pattern, *anchors) if is_secret(match["value"]))
    done = 0
    for match in _at(index, _COOKIE, b"cookie"):
        # A header is read once, however often the word is in it.
        if match.start() >= done:
            done = match.end()
            yield from _cookies(index.text, match)
    yield from _addresses(index)


def _addresses(index: TokenIndex) -> Iterator[Span]:
    for offset in offsets(index.low, b"://"):
        match = _ADDRESS.match(index.text, offset)
        if match and not is_placeholder(match["value"]) and match["value"].lower() not in _NO_PASSWORDS:
            yield _span(match, "password in an address")
        elif (match := _USER_ONLY.match(index.text, offset)) and looks_random(match["value"], least=20):
            yield _span(match, "token in an address")


def _at(index: TokenIndex, pattern: re.Pattern[str], *anchors: bytes) -> Iterator[re.Match[str]]:
    for anchor in anchors:
        if anchor in index.low:
            matches = (pattern.match(index.text, offset) for offset in offsets(index.low, anchor))
            yield from filter(None, matches)


def _span(match: re.Match[str], kind: str) -> Span:
    return Span(match.start("value"), match.end("value"), kind, 2)


def _is_credential(value: str) -> bool:
    return looks_random(value) or (len(value) >= 24 and not is_placeholder(value) and value.isalnum())


def _holds_a_colon(value: str) -> bool:
    try:
        return b":" in base64.b64decode(
            value + "=" * (-len(value) % 4), altchars=b"-_" if "-" in value or "_" in value else None
        )
    except (binascii.Error, ValueError):
        return False


def _cookies(text: str, header: re.Match[str]) -> Iterator[Span]:
    for pair in _PAIR.finditer(text, header.start("value"), header.end("value")):
        value = pair["value"]
        named = bool(_SESSION.search(pair["name"])) and len(value) >= 8 and not is_placeholder(value)
        if named or looks_random(value, least=12):
            yield _span(pair, "cookie")
