"""Removes secrets from traces, skills and logs before anything is shown, sent or stored.

Two layers: the exact values of the user's own keys, in every usual encoding, and patterns for other people's keys. The
first is the layer to trust, because it needs to know no shape. Text in, text out: knows nothing of files or models.
"""

import base64
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from html.entities import html5
from itertools import chain

from upskill.redaction.contexts import named_secrets
from upskill.redaction.families import private_keys, tokens
from upskill.redaction.places import command_secrets, foreign_secrets, request_secrets, spoken_secrets
from upskill.redaction.plausibility import is_placeholder, looks_random
from upskill.redaction.token_index import LEAST as LEAST_RUN
from upskill.redaction.token_index import NEW_LINE, Span, TokenIndex, encoded_secrets, long_runs

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


_ROUNDS = 6
"""Removing one secret can uncover the name before another. Ends much earlier unless a text is made not to."""


_STRETCH = 65_536
"""A long text is cleaned in stretches of whole lines: what was found in one is then looked at again alone."""
_CARRIED = 1_024
"""The last lines of a stretch are seen again with the next one, for a name and its value on two lines."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Redactions:
    """How many secrets of each kind were removed; never what they were."""

    by_kind: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All kinds together."""
        return sum(self.by_kind.values())


class Redactor:
    """Removes secrets from text. What it searches for is fixed when it is made; it counts what it found since."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._exact = ExactValues(values)
        self._counts: Counter[str] = Counter()

    @property
    def found(self) -> Redactions:
        """What was removed so far."""
        return Redactions(by_kind=dict(sorted(self._counts.items())))

    @property
    def knows_any(self) -> bool:
        """Whether there is any key of the user's own to look for."""
        return self._exact.any

    def clean(self, text: str) -> str:
        """The text without secrets, the user's own and other people's. Cleaning twice changes nothing more."""
        if len(text) <= _STRETCH:
            return self._clean(text)
        keys = list(private_keys(text, text.encode("latin-1", "replace")))
        if keys:
            text = self._without(text, _merged(keys))
        done: list[str] = []
        carried = ""
        for stretch in _stretches(text):
            whole = self._clean(carried + stretch, keys=False)
            carried = _last_lines(whole)
            done.append(whole[: len(whole) - len(carried)])
        return "".join(done) + carried

    def _clean(self, text: str, *, keys: bool = True) -> str:
        for number in range(_ROUNDS):
            spans = _merged(self._all(text, keys=keys, own=number == 0))
            if not spans:
                break
            text = self._without(text, spans)
        return text

    def clean_own(self, text: str) -> str:
        """The text without the user's own keys: for what our process writes, where a pattern could harm an answer."""
        spans = _merged(self._exact.spans(text))
        return self._without(text, spans) if spans else text

    def _all(self, text: str, *, keys: bool, own: bool) -> Iterator[Span]:
        index = TokenIndex(text)
        if own:  # what was removed cannot uncover them
            yield from self._exact.spans(text, index.runs)
        yield from (_continued(text, span) for span in _patterns(index))
        if keys:
            yield from private_keys(text, index.raw)
        yield from encoded_secrets(index, _holds_secret)

    def _without(self, text: str, spans: Iterable[Span]) -> str:
        parts: list[str] = []
        done = 0
        for span in spans:
            parts += [text[done : span.start], f"[redacted: {span.kind}]"]
            done = span.end
            self._counts[span.kind] += 1
        parts.append(text[done:])
        return "".join(parts)


def redactor_from(environment: Mapping[str, str]) -> Redactor:
    """A redactor that knows the user's own keys: the values of the variables whose names look secret."""
    return Redactor(secrets_in(environment))


def redactor_of_answers(environment: Mapping[str, str], *, sent: Iterable[str]) -> Redactor:
    """A redactor for answers that are graded afterwards, so it must not remove ordinary words.

    Of the user's own keys it knows those in the variables `sent`, which a server was given and can send back, and of
    the others those that no ordinary text contains by chance.
    """
    given = {environment.get(name, "").strip() for name in sent}
    return Redactor(
        {
            value: name
            for value, name in secrets_in(environment).items()
            if looks_random(value) or (value in given and not is_placeholder(value))
        }
    )


_SEARCHES: tuple[Callable[[TokenIndex], Iterator[Span]], ...] = (
    tokens, request_secrets, command_secrets, named_secrets, foreign_secrets, spoken_secrets,
)  # fmt: skip


def _patterns(index: TokenIndex) -> Iterator[Span]:
    for search in _SEARCHES:
        yield from search(index)


_MOST_PIECES = 16
_JOINTS = ("\\", '"', "'")
_NEXT_LINE = re.compile(r"(?:\\\r?\n|\\(?:\\{2}|\\{5}|\\{11})n)(?P<rest>[\w.~+/=-]{4,8192})")
_NEXT_STRING = re.compile(
    rf"""\\{{0,64}}["'](?:[ \t]|{NEW_LINE}|\\(?={NEW_LINE})){{0,60}}[+.]?(?:[ \t]|{NEW_LINE}){{0,60}}
    [bfr]?\\{{0,64}}["'](?P<rest>[\w.~+/=-]{{6,8192}})(?=\\{{0,64}}["'])""",
    re.VERBOSE,
)


def _continued(text: str, span: Span) -> Span:
    """With the rest of it that stands on the next line behind a backslash, or in the next string of a program."""
    for _ in range(_MOST_PIECES if text[span.end : span.end + 1] in _JOINTS else 0):
        rest = _NEXT_LINE.match(text, span.end) or _NEXT_STRING.match(text, span.end)
        if not rest or (rest.re is _NEXT_STRING and not looks_random(rest["rest"], least=6)):
            break
        span = span._replace(end=rest.end("rest"))
    return span


def _holds_secret(text: str) -> bool:
    index = TokenIndex(text)
    return any(True for _ in chain(_patterns(index), private_keys(text, index.raw)))


def _stretches(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = text.find("\n", start + _STRETCH) + 1 or len(text)
        yield text[start:end]
        start = end


def _last_lines(text: str) -> str:
    start = text.find("\n", max(0, len(text) - _CARRIED)) + 1
    return text[start:] if start else ""


def _merged(spans: Iterable[Span]) -> list[Span]:
    """In order, without overlaps."""
    result: list[Span] = []
    for span in sorted(spans):
        if result and span.start < result[-1].end:
            last = result[-1]
            heavier = span if span.weight > last.weight else last
            result[-1] = Span(last.start, max(last.end, span.end), heavier.kind, heavier.weight)
        else:
            result.append(span)
    return result
