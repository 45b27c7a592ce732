"""Whether a value is plausibly a secret: by the name before it, and by its own look. Knows no positions in a text."""

import re
from functools import lru_cache
from typing import Literal


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PLACEHOLDER = re.compile(
    r"""\[redacted|[\[(][A-Za-z _-]{3,30}[\])]$
    |\$\{|\$\(|\$[A-Za-z_]\w*\}?$|%\(|%[sdv]\b|%\w+%$|\{|<|\*{3}|\.{3}|…|x{4}|X{3}
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
    encrypted plaintext plain supported deprecated unchanged changed updated accepted rejected denied failed success
    successful authentication authorization unauthorized login logout username user guest again twice mismatch valid
    allowed forbidden visible shown generated random stored rotated removed deleted active inactive available protected
    manual automatic same other mypassword mysecret mytoken my-password my_password passphrase string] option options
    obligatoire requis erforderlich obligatoria"""
)
_DATA = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]|$)|\d\d?:\d\d(?::\d\d|$)|v?\d+(?:\.\d+){1,3}$|(?:file|env|fd):")
"""A date, a time, a version, an address, or where to read a password."""
_TALK = re.compile(
    r"(?i)\b(?:is|are|the|must|your|you|should|please|enter|forgot|required|invalid|cannot|not|an?|to|for|of|with|field)\b"
)


def is_placeholder(value: str) -> bool:
    """A stand-in for a secret: a variable, a template, stars, `YOUR_API_KEY`; or a date or a version."""
    return (
        bool(_PLACEHOLDER.match(value) or _BLANKED.search(value[:80]))
        or len(set(value)) <= 2
        or bool(_DATA.match(value))
    )


def is_given(value: str) -> bool:
    """What a program was given where it takes a password: anything but a stand-in, another flag or a path."""
    return (
        len(value) >= 4
        and value[0] not in "-$/%([{"
        and not value.isupper()
        and value.lower() not in _NOT_A_SECRET
        and not is_placeholder(value)
        and not _CALL.match(value)
    )


def is_chosen(value: str) -> bool:
    """What a person may have chosen and typed where a password is asked for: one word, or a few with a digit."""
    if (
        not 5 <= len(value) <= 64
        or not is_given(value)
        or is_code(value)
        or _TALK.search(value)
        or value[-1] in ":?.,)"
        or "://" in value
    ):
        return False
    if " " in value:
        return value.count(" ") <= 3 and any(c.isdigit() for c in value) and not value[0].isupper()
    return not (value.isalpha() and value[0].isupper())


_PHRASE = re.compile(r"[a-z]{2,12}(?: [a-z]{2,12}){3,23}")
_FIRST_OF_TALK = re.compile(
    r"\w+ed\b|(?:read|set|kept|sent|held|given|taken|shown|written|known|used|never|always|only|too)\b"
)
_LINK = re.compile(r"\b(?:from|in|on|by|at|as|when|if|and|or|that|it|this|then|than|but|so|be|been|has|was|will|can)\b")


def is_phrase(value: str) -> bool:
    """A passphrase of several words, and no sentence about one."""
    if not _PHRASE.fullmatch(value):
        return False
    return value.count(" ") in (11, 23) or (
        not _FIRST_OF_TALK.match(value) and not _LINK.search(value) and not _TALK.search(value)
    )


def is_code(value: str) -> bool:
    """A call or a name in a program, not a value."""
    return bool(_CALL.match(value) or _NAME_OF_SOMETHING.match(value))


_ENOUGH = 400
"""So many characters are judged."""


def looks_random(value: str, *, least: int = 8, quoted: bool = False) -> bool:
    """Letters and digits mixed as no word, version, model name or path mixes them."""
    bare = value[:_ENOUGH].rstrip("=")
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


Sort = Literal["password", "secret", "key", "signature", "seed"]

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SPLIT = re.compile(r"[-_.$:]+")
_PASSWORDS = _words(
    """password passwords passwd passphrase passcode pass pwd psw pw passwort psk dbpass storepass keypass userpass
    rootpass adminpass mypass pgpass dbpw bindpw userpw rootpw requirepass masterauth passe passord sshpass"""
)
_SECRETS = _words("secret secrets token tokens credential credentials creds apikey auth pat")
_ENDS_OF_PASSWORDS = ("password", "passwd", "passphrase", "storepass", "keypass")
_ENDS = (*_ENDS_OF_PASSWORDS, "secret", "token", "apikey", "secretkey", "accesskey", "privatekey", "authkey")
_KEYS = _words(
    """api access secret private signing encryption account auth master client service app application consumer shared
    subscription license deploy storage function host webhook session admin server jwt hmac aes crypto cipher wallet sas
    ingest project org team bot provider model root vault decryption psk preshared unseal recovery"""
)
_PHRASES = _words("pass login secret seed recovery backup mnemonic wallet security unlock access sign")
_TAILS = _words(
    """value prod production dev development staging live test base old new raw plain text b64 base64 data string str
    env param header admin root main default material info part half"""
)
_HARMLESS = _words(
    """page next prev continuation continue cursor sync resume eos bos pad unk sep cls mask stop special start end image
    input output prompt completion total max min num cache cached public pub primary foreign partition sort range row
    object s3 idempotency gpg map dict hash lookup group unique index hot short translation locale bucket blob item file
    cell composite natural routing message event record join shard per of pgp apt trusted host known first last current
    read reasoning thinking thought lex lexer parse parser"""
)
_HARMLESS_KEYS = _HARMLESS - {"host"}


@lru_cache(maxsize=4096)
def sort_of(name: str) -> Sort | None:
    """What kind of secret a value under this name is, by the last words of the name."""
    parts = [part.lower() for part in _SPLIT.split(_CAMEL.sub("_", name)) if part]
    while len(parts) > 1 and (parts[-1] in _TAILS or parts[-1].isdigit()):
        parts.pop()
    if not parts:
        return None
    last = parts[-1].rstrip("0123456789") or parts[-1]
    before = parts[-2] if len(parts) > 1 else ""
    if last in ("phrase", "words") and before in _PHRASES:
        return "password"
    if last in _PASSWORDS or last.endswith(_ENDS_OF_PASSWORDS):
        return "password"
    if parts[-3:] == ["pre", "shared", "key"]:
        return "password"
    if "public" in parts or "pub" in parts:
        return None
    if last in ("key", "keys"):
        if before in _KEYS:
            return "secret"
        return "key" if before and before not in _HARMLESS_KEYS else None
    if last == "login" or parts[-2:] == ["secret", "id"]:
        return "key"
    if last in ("sig", "signature") or parts == ["code"]:
        return "signature"
    if last in _SECRETS or last.endswith(_ENDS):
        return None if before in _HARMLESS else "secret"
    return None
