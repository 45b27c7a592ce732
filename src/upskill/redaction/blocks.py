"""Private keys in their blocks, also on one line with escaped line ends, indented, quoted or cut short."""

import re
from collections.abc import Iterator

from upskill.redaction.span import Span

PRIVATE_KEY = "private key"
_BEGIN = re.compile(r"-{3,5} ?BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{3,5}")
_END = re.compile(r"-{3,5} ?END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{3,5}")
_BODY = re.compile(r"(?:[A-Za-z0-9+/=_:,.\s\\>|#*$\"'-]|\\n){0,20000}")
_LONG = re.compile(r"[A-Za-z0-9+/=]{30}")
_LONGEST = 20_000
_CODED = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/=_-]{20,40000}")
_PUTTY = re.compile(r"Private-Lines: ?\d{1,3}(?:\\r|\\n|\s){1,4}(?:[A-Za-z0-9+/=]{1,80}(?:\\r|\\n|\s){1,4}){1,200}")


def private_keys(text: str) -> Iterator[Span]:
    """Whole blocks, from the first dash to the last; a block without an end, as far as it looks like one."""
    if "PRIVATE KEY" in text:
        done = 0
        end = _END.search(text)
        for begin in _BEGIN.finditer(text):
            if begin.start() < done:
                continue
            while end is not None and end.start() < begin.end():
                end = _END.search(text, begin.end())
            if end is not None and end.start() - begin.end() <= _LONGEST:
                done = end.end()
            else:
                body = _BODY.match(text, begin.end())
                done = begin.end() if body is None else body.end()
                # A line of talk after it is no key: what is left must hold something long.
                if body is None or not _LONG.search(body.group()):
                    continue
            yield Span(begin.start(), done, PRIVATE_KEY, 8)
    if "LS0tLS1CRUdJTi" in text:
        for match in _CODED.finditer(text):
            if _speaks_of_private(match.group()):
                yield Span(match.start(), match.end(), PRIVATE_KEY, 8)
    if "Private-Lines" in text:
        for match in _PUTTY.finditer(text):
            yield Span(match.start(), match.end(), PRIVATE_KEY, 8)


def _speaks_of_private(coded: str) -> bool:
    """`PRIVATE` in base64 at one of its alignments, near the beginning."""
    head = coded[:80]
    return any(form in head for form in ("UFJJVkFUR", "BSSVZBVE", "QUklWQVRF"))
