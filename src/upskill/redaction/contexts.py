"""Secrets that only a name before them gives away: `password = …`, `--token …`, `<secret>…`, `"api_key": "…"`.

A word such as `token` is looked for first; only where it stands is a pattern tried, and the value is then judged.
"""

import re
from collections.abc import Iterator

from upskill.redaction.plausibility import Sort, is_password, looks_random, sort_of
from upskill.redaction.span import Span
from upskill.redaction.token_index import TokenIndex, places

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
        |(?P<said>[ ](?:is|was):?[ ])
        |(?P<cell>[ \t]{0,8}\|[ \t]{0,8})
        |(?P<spaced>[ \t]{1,40}|\\[nrt])
    )
    (?:(?:[bfruBFRU]{1,2}|[A-Z][A-Za-z]{2,14}\()(?=\\{0,64}["'`]))?
    (?P<quote>\\{0,64}["'`])?""",
    re.VERBOSE,
)
_UNQUOTED = re.compile(r"""[^\s"'`;<>\\,&|]{1,8192}""")
_LOGIN_BEFORE = re.compile(r"(?:login|user)\s{1,4}\S{1,80}(?:\s|\\n|>){1,12}$")
_SET_BEFORE = re.compile(r"(?:^|[\s;])(?:ENV|ARG|setenv|set -gx|set -x|setx)\s{1,4}$")
_LONGEST = 8_192


def assigned(searched: TokenIndex) -> Iterator[Span]:
    """Every value under a name that says it is secret."""
    text, low = searched.text, searched.low
    done = -1
    for place in sorted(place for word in _WORDS if word in low for place in places(low, word)):
        if place < done:
            continue
        start = place
        while start > 0 and place - start < 60 and text[start - 1] in _IN_A_NAME:
            start -= 1
        # In `\npassword` the n belongs to the escape.
        if start > 0 and text[start - 1] == "\\" and text[start] in "nrt" and start < place:
            start += 1
        name = _NAME.match(text, start)
        if name is None:
            continue
        done = max(done, name.end())
        sort = sort_of(name.group().rstrip(".-$"))
        if sort is None:
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
    return Span(begin, end, _KINDS[sort], 1)


_KINDS: dict[Sort, str] = {"password": "password", "secret": "secret", "key": "key", "signature": "signature"}


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
    if then.group("said") or then.group("cell"):
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
