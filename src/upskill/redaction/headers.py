"""Headers of requests, addresses with a password in them, and commands that take one."""

import base64
import binascii
import re
from collections.abc import Iterator

from upskill.redaction.plausibility import is_password, is_placeholder, looks_random
from upskill.redaction.span import Span
from upskill.redaction.token_index import TokenIndex, places

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


def in_requests(searched: TokenIndex) -> Iterator[Span]:
    """Every secret that a header, an address or a command gives away."""
    low = searched.low
    if b"auth" in low:
        for match in _at(searched, _AUTHORIZATION, b"authorization"):
            if _is_credential(match["value"]):
                yield _span(match, "authorization")
        for match in _at(searched, _SMTP, b"auth plain ", b"auth login "):
            yield _span(match, "password")
    if b"bearer" in low:
        for match in _at(searched, _BEARER, b"bearer"):
            if looks_random(match["value"], least=16):
                yield _span(match, "bearer token")
    if b"basic" in low:
        for match in _at(searched, _BASIC, b"basic"):
            if _holds_a_colon(match["value"]):
                yield _span(match, "authorization")
    if b"cookie" in low:
        done = 0
        for match in _at(searched, _COOKIE, b"cookie"):
            # A header is read once, however often the word is in it.
            if match.start() >= done:
                done = match.end()
                yield from _cookies(searched.text, match)
    if b"://" in low:
        yield from _addresses(searched)
    if b"-u" in low:
        for match in _at(searched, _USER, b"-u"):
            if is_password(match["value"], quoted=False):
                yield _span(match, "password")
    if b" -p" in low:
        for match in _at(searched, _SHORT_FLAG, b"mysql", b"mariadb", b"sshpass", b"login", b"mongo"):
            if is_password(match["value"], quoted=False):
                yield _span(match, "password")


def _addresses(searched: TokenIndex) -> Iterator[Span]:
    for place in places(searched.low, b"://"):
        match = _ADDRESS.match(searched.text, place)
        if match and not is_placeholder(match["value"]) and match["value"].lower() not in _NO_PASSWORDS:
            yield _span(match, "password in an address")
        elif (match := _USER_ONLY.match(searched.text, place)) and looks_random(match["value"], least=20):
            yield _span(match, "token in an address")


def _at(searched: TokenIndex, pattern: re.Pattern[str], *anchors: bytes) -> Iterator[re.Match[str]]:
    for anchor in anchors:
        for place in places(searched.low, anchor):
            match = pattern.match(searched.text, place)
            if match:
                yield match


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
