"""Text of strangers on its way into a page: what cannot be shown is replaced, what could be taken for HTML escaped."""

import html
import json
import re

from upskill.domain.case import Json

_NOT_SHOWN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff"
    # Marks that reverse what stands beside them: a failed check could be made to read as a passed one.
    r"\u202a-\u202e\u2066-\u2069]"
)


def plain(text: str) -> str:
    """Text without what cannot be shown, or would show something else than it says."""
    return _NOT_SHOWN.sub("\ufffd", text)


def escaped(text: object) -> str:
    """Text that is only text, in an element or in a quoted attribute."""
    return html.escape(plain(str(text)), quote=True)


def json_in_html(value: Json) -> str:
    """JSON that no parser of HTML can take for anything else: it holds no `<`, `>` or `&`."""
    text = plain(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text
