"""Whether anything of a secret is left."""

import re

from secret_corpus.made_up import Planted

_PLACEHOLDER = re.compile(r"\[redacted: [^\]]{1,60}\]")
_TELLING = 8
"""So many characters of a secret on end are a leak."""


def left_of(planted: Planted, text: str) -> list[str]:
    """The secrets of which eight characters on end can still be read."""
    bare = _PLACEHOLDER.sub("", text)
    return [
        secret
        for secret in planted.secrets
        if any(secret[at : at + _TELLING] in bare for at in range(max(1, len(secret) - _TELLING + 1)))
    ]
