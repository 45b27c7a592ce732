"""Is this value a secret, or a word, a placeholder, a piece of code? Asked only where a name before it says so."""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PLACEHOLDER = re.compile(
    r"""\[redacted|\$\{|\$\(|\$[A-Za-z_]\w*\}?$|%\(|%[sdv]\b|%\w+%$|\{|<|\*{3}|\.{3}|…|x{4}|X{3}
    |(?i:your|change[-_ ]?me|placeholder|insert[-_ ]|replace[-_ ]|dummy|redacted|os\.|process\.|env[.\[(]|secrets\.
    |settings\.|config[.\[(]|self\.|this\.|var\.|vault:|op://|arn:|sk-\.{3}|example\b)""",
    re.VERBOSE,
)
_BLANKED = re.compile(r"x{6}|X{6}|\*{4}|\.{3}$|…$|(?i:your[-_ ]?(?:api|token|key|password|secret)|api[-_]key[-_]here)")
_CALL = re.compile(r"[A-Za-z_$@&][\w.:>$?-]*[(\[{]")
_NAME_OF_SOMETHING = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+$")
_PATH = re.compile(r"(?:[A-Za-z]:\\|\.{0,2}/|~/)[\w.@%+-]+(?:[/\\]|$|\.\w{1,5}$)")
_WORD_PART = re.compile(r"[A-Za-z]*\d{0,4}$|\d{1,8}$|\w{1,3}$")
_PARTS = re.compile(r"[-_./:@+ ]+")
_NOT_A_SECRET = _words(
    """string str text varchar password passwd secret token hidden required optional invalid none null nil true false
    undefined boolean bool number integer int object array any void unknown missing expired wrong correct incorrect
    current-password new-password off yes no default disabled enabled empty unset basic bearer digest admin_password
    prompt interactive prohibit-password without-password bytes char value changeit not-needed redacted masked hashed
    encrypted plaintext plain"""
)
_TALK = re.compile(
    r"(?i)\b(?:is|are|the|must|your|you|should|please|enter|forgot|required|invalid|cannot|not|an?|to|for|of|with|field)\b"
)


def is_placeholder(value: str) -> bool:
    """A stand-in for a secret: a variable, a template, stars, `YOUR_API_KEY`."""
    return bool(_PLACEHOLDER.match(value) or _BLANKED.search(value[:80])) or len(set(value)) <= 2


def is_code(value: str) -> bool:
    """A call or a name in a program, not a value."""
    return bool(_CALL.match(value) or _NAME_OF_SOMETHING.match(value))


def looks_random(value: str, *, least: int = 8, quoted: bool = False) -> bool:
    """Letters and digits mixed as no word, version, model name or path mixes them."""
    bare = value.rstrip("=")
    if len(bare) < least or not any(c.isdigit() for c in bare) or not any(c.isalpha() for c in bare):
        return False
    if is_placeholder(value) or _PATH.match(value) or "://" in value or " " in value:
        return False
    if not quoted and is_code(value):
        return False
    return not all(_WORD_PART.match(part) for part in _PARTS.split(bare))


def is_password(value: str, *, quoted: bool) -> bool:
    """People choose passwords: in quotes nearly anything is one, without quotes it takes a digit or a sign."""
    if len(value) < 4 or is_placeholder(value) or value.lower() in _NOT_A_SECRET:
        return False
    if quoted:
        if " " in value.strip():
            return not _TALK.search(value)
        if value.isalpha() and (value[0].isupper() or not value.isascii()):
            return False
        return not (_NAME_OF_SOMETHING.match(value) or _PATH.match(value) or "://" in value)
    if is_code(value) or _PATH.match(value) or "://" in value:
        return False
    if value.isdigit():
        return len(value) >= 6
    if not any(c.isdigit() for c in value):
        return len(value) >= 6 and any(c in "!@#$%^&*+=?~" for c in value) and any(c.isalpha() for c in value)
    return any(c.isalpha() for c in value) and len(value) >= 5
