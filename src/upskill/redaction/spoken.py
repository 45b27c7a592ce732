"""Passwords in other languages, and in sentences that say how to log in."""

import re
from collections.abc import Iterator

from upskill.redaction.plausibility import is_password
from upskill.redaction.token_index import Span, TokenIndex, offsets

_FOREIGN_ASCII = ("kennwort", "wachtwoord", "adgangskode", "kodeord", "kata sandi", "clave")
_SHORT = 8_192
_FOREIGN = {
    "ñ": ("contraseñ", "Contraseñ"),
    "ł": ("hasło", "Hasło"),
    "ş": ("şifre",),
    "Ş": ("Şifre",),
    "ö": ("lösenord", "Lösenord"),
    "ó": ("jelszó", "Jelszó"),
    "ậ": ("mật khẩu", "Mật khẩu"),
    "п": ("пароль",),
    "П": ("Пароль",),
    "密": ("密码", "密碼"),
    "口": ("口令",),
    "パ": ("パスワード",),
    "비": ("비밀번호",),
    "ร": ("รหัสผ่าน",),
    "ס": ("סיסמה",),
    "κ": ("κωδικός",),
    "प": ("पासवर्ड",),
    "ك": ("كلمة المرور", "كلمة السر"),
}
"""By a letter without which the word cannot be there."""
_FOREIGN_ESCAPED = re.compile(
    r"\\u(?:"
    + "|".join(
        "".join(char if char.isascii() else rf"\\{{1,2}}u{ord(char):04x}" for char in word).removeprefix(r"\\{1,2}u")
        for words in _FOREIGN.values()
        for word in words
        if not word[0].isascii() and " " not in word
    )
    + r"|00f1a|0142o)"
)
"""The same in JSON that has ASCII only. It begins with what all have in common, which is found fast."""
_FOREIGN_VALUE = re.compile(
    r"""(?:\w|\\{1,64}u[0-9a-f]{4}){0,40}?(?:[ ]\w{1,12}){0,3}?\\{0,64}["']?"""
    r"""\s{0,3}(?:[:=：]|\\{1,64}uff1a|是|は|es|est|ist|é|è)\s{0,4}"""
    r"""(?:\\{0,64}["'「])?(?P<value>[^\s"'`;<>\\,&|「」。]{4,200})"""
)


def foreign_secrets(index: TokenIndex) -> Iterator[Span]:
    """Passwords under the word for them in other languages."""
    found = [offset + len(word) for word in _FOREIGN_ASCII for offset in index.at[word]]
    if len(index.text) <= _SHORT or not index.text.isascii():
        found += [offset + 5 for offset in offsets(index.low, b"senha")]
    if not index.text.isascii():
        words = [word for sign, words in _FOREIGN.items() if sign in index.text for word in words]
        found += [match.end() for word in words for match in re.finditer(word, index.text)]
    found += [match.end() for match in _FOREIGN_ESCAPED.finditer(index.text)]
    for offset in found:
        match = _FOREIGN_VALUE.match(index.text, offset)
        value = match["value"].rstrip(".") if match else ""
        if match and is_password(value, quoted=False):
            yield Span(match.start("value"), match.start("value") + len(value), "password", 1)


_LOG_IN = re.compile(
    r"""(?:log(?:ged)?[ -]?in[ ](?:with|as|using)|cred(?:ential)?s?(?::|[ ](?:is|are|were):?))[ ](?:\w{1,20}[ ]){0,2}?
    \\{0,64}["'`]?[\w.@-]{1,60}\\{0,64}["'`]?[ ]?(?:/|:|and)[ ]?\\{0,64}["'`]?(?P<value>[^\s"'`\\,;/]{5,80})""",
    re.VERBOSE | re.IGNORECASE,
)
_AS_PASSWORD = re.compile(r"""(?<![^\s"'`])(?P<value>[^\s"'`\\,;/]{5,80})\\{0,64}["'`]?[ ]as[ ](?:\w{1,12}[ ]){0,2}$""")


def spoken_secrets(index: TokenIndex) -> Iterator[Span]:
    """Passwords in a sentence that says how to log in: `log in with admin / …`, `use … as the password`."""
    text = index.text
    matches = [_LOG_IN.match(text, offset) for word in ("log in with ", "login", "cred") for offset in index.at[word]]
    matches += [
        _AS_PASSWORD.search(text, max(0, offset - 100), offset)
        for offset in index.at["pass"]
        if index.low.startswith((b"password", b"passphrase"), offset)
        and index.low.rfind(b" as ", max(0, offset - 16), offset) >= 0
    ]
    for match in filter(None, matches):
        value = match["value"].rstrip(".)")
        if is_password(value, quoted=False):
            yield Span(match.start("value"), match.start("value") + len(value), "password", 1)
