"""Every host that a skill names, and addresses that hide where they lead."""

import re
from collections.abc import Iterator, Sequence

from upskill.shipping.dangers.file_text import FileText, Hit

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
