"""What a name before a value says of it: a password, a secret, or nothing of the kind."""

import re
from functools import lru_cache
from typing import Literal

Sort = Literal["password", "secret", "key", "signature"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SPLIT = re.compile(r"[-_.$:]+")
_PASSWORDS = frozenset(
    {"password", "passwords", "passwd", "passphrase", "passcode", "pass", "pwd", "psw", "pw", "passwort"}
)
_SECRETS = frozenset(
    {"secret", "secrets", "token", "tokens", "credential", "credentials", "creds", "apikey", "auth", "pat"}
)
_ENDS = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "secretkey",
    "accesskey",
    "privatekey",
    "authkey",
)
_ENDS_OF_PASSWORDS = ("password", "passwd", "passphrase")
_KEYS = _words(
    """api access secret private signing encryption account auth master client service app application consumer shared
    subscription license deploy storage function host webhook session admin server jwt hmac aes crypto cipher wallet sas
    ingest project org team bot provider model root vault decryption psk preshared"""
)
_TAILS = _words(
    """value prod production dev development staging live test base old new raw plain text b64 base64 data string str
    env     param header admin root main default material info"""
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
    if last in _PASSWORDS or last.endswith(_ENDS_OF_PASSWORDS):
        return "password"
    if last in ("key", "keys"):
        if before in _KEYS:
            return "secret"
        return "key" if before and before not in _HARMLESS_KEYS else None
    if last in ("sig", "signature") or parts == ["code"]:
        return "signature"
    if last in _SECRETS or last.endswith(_ENDS):
        return None if before in _HARMLESS else "secret"
    return None
