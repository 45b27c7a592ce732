"""Secrets that a request, an address or a document identifies by the place in which they stand."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from functools import partial

from upskill.redaction.plausibility import is_chosen, is_given, is_placeholder, looks_random
from upskill.redaction.token_index import NEW_LINE, Span, TokenIndex, offsets

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
_URL = re.compile(r"""://[^\s"'`<>\\]{24,400}""")
_LETS_IN = re.compile(r"magic|reset|verif|invit|confirm|activat|unsubscribe|login|sso")
"""Who has such a link is let in."""
_PIECE = re.compile(r"(?<=[/=])[\w.~-]{20,300}")
_NO_PASSWORDS = frozenset({"password", "pass", "passwd", "pwd", "secret"})
_USER_ONLY = re.compile(r"://(?P<value>[\w.~-]{20,300})@(?=[\w\[.-])")
_IN_REQUESTS: tuple[tuple[str, re.Pattern[str], str, Callable[[str], bool]], ...] = (
    ("authorization", _AUTHORIZATION, "auth", lambda value: _is_credential(value)),
    ("password", _SMTP, "auth", lambda _: True),
    ("bearer token", _BEARER, "bearer", partial(looks_random, least=16)),
    ("authorization", _BASIC, "basic", lambda value: _holds_a_colon(value)),
)
"""Kind, pattern, the anchor with which it begins, and which values are secrets."""


def request_secrets(index: TokenIndex) -> Iterator[Span]:
    """Every secret that a header, an address or a command identifies."""
    for kind, pattern, anchor, is_secret in _IN_REQUESTS:
        yield from (_span(match, kind) for match in _at(index, pattern, anchor) if is_secret(match["value"]))
    done = 0
    for match in _at(index, _COOKIE, "cookie"):
        # A header is read once, however often the word is in it.
        if match.start() >= done:
            done = match.end()
            yield from _cookies(index.text, match)
    yield from _addresses(index)
    yield from _sources(index)
    yield from _codes(index)
    yield from _manifests(index)


def _addresses(index: TokenIndex) -> Iterator[Span]:
    done = 0
    for offset in index.at["://"]:
        match = _ADDRESS.match(index.text, offset)
        if match and match["value"] == match["user"]:
            continue  # `guest:guest`: what a program is delivered with
        if match and not is_placeholder(match["value"]) and match["value"].lower() not in _NO_PASSWORDS:
            yield _span(match, "password in an address")
        elif (match := _USER_ONLY.match(index.text, offset)) and looks_random(match["value"], least=20):
            yield _span(match, "token in an address")
        elif offset >= done and (match := _URL.match(index.text, offset)):
            done = match.end()
            if _LETS_IN.search(match.group()):
                for piece in _PIECE.finditer(index.text, offset + 3, done):
                    if looks_random(piece.group(), least=20):
                        yield Span(*piece.span(), "token in an address", 2)


def _at(index: TokenIndex, pattern: re.Pattern[str], anchor: str) -> Iterator[re.Match[str]]:
    return filter(None, (pattern.match(index.text, offset) for offset in index.at[anchor]))


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


_SOURCE = re.compile(
    r"""(?:^|[\s"'`=(])[\w.-]{1,40}:(?P<value>[^\s"'`@/\\]{4,80})@tcp\(
    |(?:sqlplus[ ](?:-\w+[ ]){0,3}|oracle:(?:thin|oci8?):)\\{0,64}["']?\w{1,40}/(?P<other>[^\s"'`@\\]{4,80})@""",
    re.VERBOSE,
)


def _sources(index: TokenIndex) -> Iterator[Span]:
    """Data sources without `://`, as those of Go and Oracle: `user:password@tcp(host:3306)/name`."""
    for offset in offsets(index.raw, b"@"):
        before = index.low[max(0, offset - 130) : offset]
        if index.low.startswith(b"@tcp(", offset) or b"oracle:" in before or b"sqlplus " in before:
            match = _SOURCE.search(index.text, max(0, offset - 130), offset + 5)
            group = (match and match.lastgroup) or "value"
            if match and is_given(match[group]):
                yield Span(*match.span(group), "password in an address", 2)


_CODE_LINE = re.compile(
    rf"""{NEW_LINE}(?:[ \t>]|\d{{1,2}}[.)][ ]|[-*•][ ]){{0,8}}
    (?P<value>(?=[a-z-]{{0,24}}\d)[a-z0-9]{{4,12}}(?:[- ][a-z0-9]{{4,12}}){{0,4}})
    (?=[ \t]{{0,4}}(?:{NEW_LINE}|\\{{0,64}}["']|$))""",
    re.VERBOSE | re.IGNORECASE,
)
_OWNERS = re.compile(r"(?:recovery|backup|scratch|2fa)$", re.IGNORECASE)
_LABEL = re.compile(rf" \w{{5}}[^\n\\]{{0,60}}?(?::|(?={NEW_LINE}))(?:{NEW_LINE}(?=[ \t]{{0,4}}{NEW_LINE}))?")


def _codes(index: TokenIndex) -> Iterator[Span]:
    """Codes that let their owner in again, in a list below its title."""
    done = 0
    for offset in index.at[" codes"]:
        label = _LABEL.match(index.text, offset) if _OWNERS.search(index.text, max(0, offset - 12), offset) else None
        line = _CODE_LINE.match(index.text, label.end()) if label and offset >= done else None
        while line:
            yield _span(line, "recovery code")
            done = line.end()
            line = _CODE_LINE.match(index.text, done)


_KIND = re.compile(r"kind\\{0,64}[\"']?:\s{0,3}\\{0,64}[\"']?Secret$")
_DATA = re.compile(r"(?:\b|(?<=\\n))(?P<plain>stringD|d)ata\\{0,64}[\"']?:\s{0,3}(?=\{|\n|\\)")
_ENTRY = re.compile(
    rf"""(?:[ \t{{,]|{NEW_LINE}(?=[ {{"\\])|\\{{0,64}}["']){{1,40}}[\w.-]{{1,80}}\\{{0,64}}["']?:[ ]{{0,4}}
    (?:[|>][-+]?(?:{NEW_LINE}[ ]{{0,40}}){{1,2}}|\\{{0,64}}["'])?(?P<value>[^\s"'`,\\]{{1,8192}})\\{{0,64}}["']?
    (?:[ ][^\n"'{{}}\\]{{0,400}})?""",
    re.VERBOSE,
)
_WINDOW = 4_000


def _manifests(index: TokenIndex) -> Iterator[Span]:
    """Every value in a Kubernetes secret, whatever its name."""
    done = 0
    for offset in index.at["secret"]:
        if offset < done or not _KIND.search(index.text, max(0, offset - 80), offset + 6):
            continue
        done = offset + _WINDOW
        for data in _DATA.finditer(index.text, max(0, offset - _WINDOW), done):
            entry = _ENTRY.match(index.text, data.end())
            while entry:
                if len(entry["value"]) >= 8 and (
                    _is_text(entry["value"]) or (data["plain"] == "stringD" and is_chosen(entry["value"]))
                ):
                    yield _span(entry, "secret")
                entry = _ENTRY.match(index.text, entry.end())


def _is_text(value: str) -> bool:
    try:
        return base64.b64decode(value, validate=True).isascii()
    except (binascii.Error, ValueError):
        return False
