"""The user's own keys, by value: the layer to trust, because it needs to know no shape."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote, quote_plus

from upskill.redaction.plausibility import looks_random
from upskill.redaction.token_index import LEAST as LEAST_RUN
from upskill.redaction.token_index import Span

LEAST = 8
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH|_PWD$|_PASS$|_PAT$|COOKIE")
_ABOUT_A_SECRET = re.compile(
    r"(?:SOCK|FILE|PATH|DIR|MODE|METHOD|TYPE|URL|URI|HOST|USER|NAME|REGION|TTL|LAYOUT|COUNT|LIMIT|ENABLED|TIMEOUT|SECONDS"
    r"|PARALLELISM|PROVIDER|BACKEND|ENDPOINT|ISSUER|AUDIENCE|SCOPE|SCOPES|VERSION|ID|AUTHORITY|AUTHOR|KEYBOARD\w*)$"
)
_STAND_IN = re.compile(r"[a-z]+(?:[-_ ][a-z]+)*|[A-Z]+(?:[-_ ][A-Z]+)*")
"""`not-needed`: what people give to a server that wants some key. No provider's key is words only."""
_CHOSEN = re.compile(r"PASS|PWD|SECRET")
"""But people's passwords are."""
_ADDRESS = re.compile(r"://[^/\s:@]*:([^\s/]{4,})@")


def secrets_in(environment: Mapping[str, str]) -> dict[str, str]:
    """Value to the variable it is in. Names decide; a name that only speaks about a secret must hold one as well."""
    found: dict[str, str] = {}
    for name, value in sorted(environment.items()):
        value = value.strip()
        upper = name.upper()
        if address := _ADDRESS.search(value):
            found.setdefault(address.group(1), re.sub(r"[^A-Za-z0-9_]", "?", name)[:60])
        if len(value) < LEAST or not _SECRET_NAME.search(upper):
            continue
        if _STAND_IN.fullmatch(value) and not _CHOSEN.search(upper):
            continue
        if _ABOUT_A_SECRET.search(upper) and ("/" in value or not looks_random(value)):
            continue
        found.setdefault(value, re.sub(r"[^A-Za-z0-9_]", "?", name)[:60])
    return found


def forms_of(value: str) -> tuple[str, ...]:
    """How a value may be written: as it is, escaped, in base64 at each of the three alignments, in hex."""
    raw = value.encode("utf-8", "surrogatepass")
    forms = [value]
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        twice = json.dumps(once, ensure_ascii=ascii_only)[1:-1]
        forms += [once, twice, once.replace("/", "\\/")]
    forms += [
        quote(value, safe="", errors="replace"),
        quote(value, errors="replace"),
        quote_plus(value, errors="replace"),
    ]
    forms += [re.sub(r"%[0-9A-F]{2}", lambda m: m.group().lower(), form) for form in forms if "%" in form]
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + raw).decode()
        # Characters that mix bits of a neighbour cannot be known and are left out at both ends.
        first = (0, 2, 3)[before]
        last = len(coded.rstrip("=")) - (1 if (before + len(raw)) % 3 else 0)
        forms += [coded[first:last], coded[first:last].replace("+", "-").replace("/", "_")]
    forms += [raw.hex(), raw.hex().upper(), raw.hex(" "), raw.hex(":")]
    return tuple(dict.fromkeys(form for form in forms if len(form) >= LEAST))


class ExactValues:
    """Finds known values in any of their forms."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._forms = [(form, name, _piece(form)) for value, name in values.items() for form in forms_of(value)]

    @property
    def any(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self._forms)

    def spans(self, text: str, runs: bytes | None = None) -> Iterator[Span]:
        """Each occurrence of each form. `runs` holds the long runs of the text, where they are at hand."""
        for form, name, piece in self._forms:
            if runs is not None and piece and piece not in runs:
                continue
            start = text.find(form)
            while start >= 0:
                yield Span(start, start + len(form), name, 9)
                start = text.find(form, start + 1)


def _piece(form: str) -> bytes:
    """A piece of it that must be in a long run, if there is one: it is looked for there, in less time."""
    pieces = re.findall(r"[A-Za-z0-9_-]+", form)
    longest = max(pieces, key=len, default="")
    marked = any(c.isdigit() or c.isupper() for c in longest)
    return longest.encode() if marked and len(longest) >= LEAST_RUN else b""
