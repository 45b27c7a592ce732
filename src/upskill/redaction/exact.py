"""The user's own keys, by value: the layer to trust, because it needs to know no shape."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from html.entities import html5
from itertools import chain

from upskill.redaction.contexts import named_secrets
from upskill.redaction.families import private_keys, tokens
from upskill.redaction.plausibility import looks_random
from upskill.redaction.requests import request_secrets
from upskill.redaction.token_index import LEAST as LEAST_RUN
from upskill.redaction.token_index import Span, TokenIndex, long_runs

LEAST = 8
_CHOSEN = re.compile(r"(?:PASSWORDS?|PASSWD|PASSPHRASE|(?<!COM)(?<!BY)(?<!ASK)PASS|PWD|PW|SECRETS?|PSK|MNEMONIC)\d*$")
"""People choose these: any value counts, words too."""
_ISSUED = re.compile(
    r"(?:(?:API|ACCESS|SECRET|PRIVATE|AUTH|SIGNING|MASTER|ENCRYPTION|APP|ACCOUNT|SERVICE|SSH)?KEYS?|TOKENS?"
    r"|CREDENTIALS?|CREDS?|AUTH|PAT|COOKIES?)"
)
"""Programs make these: no provider's key is words only, as `not-needed` is."""
_PERHAPS = re.compile(
    r"SESSION|SID|LICENSE|LICENCE|SIGNING|SIGNATURE|ENCRYPTION|SALT|PRIVATE|DSN|HOOK|WEBHOOK|LOGIN|JWT|UNSEAL|FERNET"
    r"|SEED|OAUTH|OTP"
)
_ABOUT_A_SECRET = re.compile(
    r"(?:SOCK|FILE|PATH|DIR|MODE|METHOD|TYPE|URL|URI|HOST|USER|NAME|REGION|TTL|LAYOUT|COUNT|LIMIT|ENABLED|TIMEOUT"
    r"|SECONDS|PARALLELISM|PROVIDER|BACKEND|ENDPOINT|ISSUER|AUDIENCE|SCOPE|SCOPES|VERSION|ID|AUTHORITY|AUTHOR|DOMAIN"
    r"|ALGORITHM|COLUMN|PREFIX|SUFFIX|HEADER|FIELD|PARAM|LENGTH|SIZE|ARN|MANAGER)$"
)
_KNOWN_TO_ALL = re.compile(
    r"(?:^|_)(?:GPG|PGP|PUBLIC|PUB|PRIMARY|FOREIGN|PARTITION|SORT|SHARD|CACHE)_KEYS?$|^(?:OLD)?PWD$"
    r"|(?:SHA\d*|MD5|COMMIT|HASH|DIGEST|CHECKSUM|UUID|GUID|ID|VERSION|REVISION|REV|REF|TAG|BRANCH|MODEL|IMAGE|STREAM"
    r"|HOSTNAME|SERIAL|TRACEPARENT|ADDRESS|LOCALE|COLORS|PATTERN|NAME)$"
)
_WORDS_ONLY = re.compile(r"[a-z]+(?:[-_ ][a-z]+)*|[A-Z]+(?:[-_ ][A-Z]+)*")
_HOST = re.compile(r"\.?[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?::\d+)?")
_PATH = re.compile(
    r"[A-Za-z]:\\|\.{1,2}/|~/|arn:[a-z-]+:|/(?:$|(?:run|usr|home|tmp|var|etc|opt|dev|proc|sys|srv|mnt|media|root|s?bin"
    r"|lib\d*|Users|private|Library|app|data|work\w*|nix|snap|builds?|github|code|src)(?:/|$))"
    r"|(?:/[\w.@+-]+)+\.\w{1,10}$"
)
_RUN = re.compile(r"[A-Za-z0-9_-]{12,}")
_WHOLE = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_ADDRESS = re.compile(r"://[^/\s:@]*:([^\s/]{4,})@")


def secrets_in(environment: Mapping[str, str]) -> dict[str, str]:
    """Value to the variable it is in: by the name of the variable, by the look of its value, by a secret inside it."""
    return dict(_secrets_in(tuple(sorted(environment.items()))))


@lru_cache(maxsize=4)
def _secrets_in(environment: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for name, value in environment:
        shown = re.sub(r"[^A-Za-z0-9_]", "?", name)[:60]
        value = value.strip()
        if address := _ADDRESS.search(value):
            found.setdefault(address.group(1), shown)
        if len(value) >= LEAST and _is_secret(name.upper(), value):
            found.setdefault(value, shown)
        elif len(value) >= 2 * LEAST:
            index = TokenIndex(value)
            for span in chain(
                private_keys(value, index.raw), tokens(index), request_secrets(index), named_secrets(index)
            ):
                if span.end - span.start >= LEAST:
                    found.setdefault(value[span.start : span.end], shown)
    return tuple(found.items())


def _is_secret(name: str, value: str) -> bool:
    words = re.split(r"[^A-Z0-9]+", name)
    perhaps = any(map(_PERHAPS.fullmatch, words))
    if _KNOWN_TO_ALL.search(name) and not perhaps and not any(map(_ISSUED.fullmatch, words[:-1])):
        return False
    if _PATH.match(value):
        return False
    if any(map(_CHOSEN.search, words)):
        return not _ABOUT_A_SECRET.search(name) or ("/" not in value and looks_random(value))
    if any(_ISSUED.fullmatch(word) or word.endswith(("TOKEN", "APIKEY")) for word in words):
        if _WORDS_ONLY.fullmatch(value) or _HOST.fullmatch(value) or value.isdigit():
            return False
        return not _ABOUT_A_SECRET.search(name) or ("/" not in value and looks_random(value))
    if perhaps and not _KNOWN_TO_ALL.search(name):
        return any(map(_looks_issued, _RUN.findall(value)))
    return _WHOLE.fullmatch(value) is not None and _looks_issued(value, least=20)


def _looks_issued(value: str, least: int = 12) -> bool:
    mixed = sum(c.isupper() for c in value) >= 3 and sum(c.islower() for c in value) >= 3
    return looks_random(value, least=least) and (mixed or sum(c.isdigit() for c in value) >= 2)


def forms_of(value: str) -> tuple[str, ...]:
    """How a whole value may be written: as it is, in JSON, in base64 at each of the three alignments, as numbers.

    Escapes of single characters are not among them: they mix with each other and with characters as they are.
    """
    raw = value.encode("utf-8", "surrogatepass")
    forms = [value]
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        twice = json.dumps(once, ensure_ascii=ascii_only)[1:-1]
        forms += [once, twice, once.replace("/", "\\/")]
    coded = list(_in_base64(raw))
    forms += [*coded, *_in_base64(value.encode("utf-16-le", "surrogatepass"))]
    forms += [form for once in coded for form in _in_base64(once.encode())]
    forms += [form for once in (raw.hex(), raw.hex(" "), raw.hex(":")) for form in (once, once.upper())]
    forms += [", ".join(f"0x{byte:02x}" for byte in raw), ", ".join(map(str, raw)), ",".join(map(str, raw))]
    return tuple(dict.fromkeys(form for form in forms if len(form) >= LEAST))


def _in_base64(raw: bytes) -> Iterator[str]:
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + raw).decode()
        # Characters that mix bits of a neighbour cannot be known and are left out at both ends.
        first = (0, 2, 3)[before]
        last = len(coded.rstrip("=")) - (1 if (before + len(raw)) % 3 else 0)
        yield coded[first:last]
        yield coded[first:last].replace("+", "-").replace("/", "_")


_ESCAPES = (
    r"%(?:25)*[2-7][0-9A-Fa-f]",
    r"=[2-7][0-9A-F]",
    r"\\(?:u00[2-7]|u\{0*[2-7][0-9A-Fa-f]\}|x[2-7]|(?:0[4-7]|1[0-7])[0-7])",
    r"&(?:amp;)*(?:#0*(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6]);|#[xX]0*[2-7][0-9A-Fa-f];|[A-Za-z]{2,8};)",
)
"""A printable character of ASCII, escaped in one of the spellings below. Texts in other alphabets are full of others.
Each begins with one character: so it is found fast."""
_BEYOND_ASCII = (r"%[89A-Fa-f]", r"=[89A-F]", r"\\[ux23]", r"&#")
_LONGEST_ESCAPED = 300
"""A longer value is a file, such as a private key: the pattern for its escapes would take seconds to make."""


def _spellings(character: str) -> str:
    """A pattern for a character of a value: as it is, or escaped for URLs, JSON, programs, HTML or mail, also twice."""
    code, raw = ord(character), character.encode("utf-8", "surrogatepass")
    units = character.encode("utf-16-be", "surrogatepass").hex(" ", 2).split()
    named = "".join(f"|{name}" for name, one in html5.items() if one == character and name.endswith(";"))
    forms = [
        rf"\\*{re.escape(character)}",
        *("".join(f"{before}{byte:02x}" for byte in raw) for before in ("%(?:25)*", "=", r"\\+x")),
        "".join(rf"\\+{byte:03o}" for byte in raw),
        "".join(rf"\\+u{unit}" for unit in units),
        rf"\\+u\{{0*{code:x}\}}",
        rf"&(?:amp;)*(?:#0*{code};|#x0*{code:x};{named})",
    ]
    # Letters of the value itself are not folded.
    return f"(?:{forms[0]}|(?i:{'|'.join(forms[1:])}))"


@lru_cache(maxsize=64)
def _escaped(value: str) -> re.Pattern[str]:
    return re.compile("".join(map(_spellings, value)))


class ExactValues:
    """Finds known values in any of their forms."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._forms = [(form, name, _piece(form)) for value, name in values.items() for form in forms_of(value)]
        self._short = {value: name for value, name in values.items() if len(value) <= _LONGEST_ESCAPED}
        escapes = _ESCAPES if all(map(str.isascii, self._short)) else (*_ESCAPES, *_BEYOND_ASCII)
        self._escapes = [re.compile(escape) for escape in escapes]
        self._longest = 2 * max(map(len, self._short), default=0)

    @property
    def any(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self._forms)

    def spans(self, text: str, runs: bytes | None = None) -> Iterator[Span]:
        """Each occurrence of each form. `runs` holds the long runs of the text, where they are at hand."""
        if not self.any:
            return
        if runs is None:
            runs = long_runs(text.encode("latin-1", "replace"))[2]
        for form, name, piece in self._forms:
            if piece and piece not in runs:
                continue
            start = text.find(form)
            while start >= 0:
                yield Span(start, start + len(form), name, 9)
                start = text.find(form, start + 1)
        for start, end in self._near_escapes(text):
            for value, name in self._short.items():
                for match in _escaped(value).finditer(text, start, end):
                    yield Span(match.start(), match.end(), name, 9)

    def _near_escapes(self, text: str) -> list[list[int]]:
        """The stretches of a text that hold escaped characters, and around them as much as a value is long."""
        found: list[list[int]] = []
        for at in sorted(match.start() for escape in self._escapes for match in escape.finditer(text)):
            if found and at <= found[-1][1]:
                found[-1][1] = at + self._longest
            else:
                found.append([max(0, at - self._longest), at + self._longest])
        return found


def _piece(form: str) -> bytes:
    """A piece of it that must be in a long run, if there is one: it is looked for there, in less time."""
    pieces = re.findall(r"[A-Za-z0-9_-]+", form)
    longest = max(pieces, key=len, default="")
    marked = any(c.isdigit() for c in longest)
    return longest.encode() if marked and len(longest) >= LEAST_RUN else b""
