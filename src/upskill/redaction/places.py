"""Secrets that the place in which they stand identifies: in a request, an address or a document; in a sentence; given
to a program or a statement by a flag, by position or through a pipe. One row per form: add here.

A program takes what is given there for a password whatever it looks like, so only stand-ins are left alone.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from upskill.redaction.plausibility import is_chosen, is_given, is_password, is_placeholder, looks_random
from upskill.redaction.token_index import NEW_LINE, Span, TokenIndex, offsets

_AUTHORIZATION = re.compile(
    r"""(?i:authorization)\\{0,64}["'`]?\]?\s{0,3}[:=,]\s{0,3}\\{0,64}["'`]?
    (?:(?P<scheme>[A-Za-z][\w-]{1,20})[ ]{1,3})?(?P<value>[^\s"'`\\,;<>]{1,8192})""",
    re.VERBOSE,
)
_BEARER = re.compile(r"(?i:bearer)(?:[ +:=]|%20|\s){1,4}(?P<value>[A-Za-z0-9._~+/=-]{16,8192})")
_BASIC = re.compile(r"(?i:basic)[ +]{1,3}(?P<value>[A-Za-z0-9+/_-]{6,2048}={0,2})")
_SMTP = re.compile(r"(?i:auth (?:plain|login)) (?P<value>[A-Za-z0-9+/]{8,2048}={0,2})")
_COOKIE = re.compile(r"""(?i:cookie)\\{0,64}["'`]?\s{0,3}[:=,\s]\s{0,3}\\{0,64}["'`]?(?P<value>[^\n"'`\\]{1,2048})""")
_PAIR = re.compile(r"(?P<name>[^=;\s]{1,200})=(?P<value>[^;\s,]{1,8192})")
_SESSION = re.compile(r"(?i)sess|sid$|auth|token|jwt|login|remember|csrf|xsrf")
_ADDRESS = re.compile(r"""://(?P<user>[^\s/:@"'`<>\\?#]{0,120}):(?P<value>[^\s/"'`<>\\]{1,300})@(?=[\w\[.$-])""")
_URL = re.compile(r"""://[^\s"'`<>\\]{24,400}""")
_LETS_IN = re.compile(r"magic|reset|verif|invit|confirm|activat|unsubscribe|login|sso")
"""Words of links that let their owner in."""
_PIECE = re.compile(r"(?<=[/=])[\w.~-]{20,300}")
_NO_PASSWORDS = frozenset({"password", "pass", "passwd", "pwd", "secret"})
_USER_ONLY = re.compile(r"://(?P<value>[\w.~-]{20,300})@(?=[\w\[.-])")
_IN_REQUESTS: tuple[tuple[str, re.Pattern[str], str, Callable[[str], bool]], ...] = (
    ("authorization", _AUTHORIZATION, "auth", lambda value: _is_credential(value)),
    ("password", _SMTP, "auth", lambda _: True),
    ("bearer token", _BEARER, "bearer", partial(looks_random, least=16)),
    ("authorization", _BASIC, "basic", lambda value: _holds_a_colon(value)),
)
"""Kind, pattern, the anchor with which it begins, and which values are secrets."""


def request_secrets(index: TokenIndex) -> Iterator[Span]:
    """Every secret that a header, an address or a command identifies."""
    for kind, pattern, anchor, is_secret in _IN_REQUESTS:
        yield from (_span(match, kind) for match in _at(index, pattern, anchor) if is_secret(match["value"]))
    done = 0
    for match in _at(index, _COOKIE, "cookie"):
        # A header is read once, however often the word is in it.
        if match.start() >= done:
            done = match.end()
            yield from _cookies(index.text, match)
    yield from _addresses(index)
    yield from _sources(index)
    yield from _codes(index)
    yield from _manifests(index)


def _addresses(index: TokenIndex) -> Iterator[Span]:
    done = 0
    for offset in index.at["://"]:
        match = _ADDRESS.match(index.text, offset)
        if match and match["value"] == match["user"]:
            continue  # `guest:guest`: what a program is delivered with
        if match and not is_placeholder(match["value"]) and match["value"].lower() not in _NO_PASSWORDS:
            yield _span(match, "password in an address")
        elif (match := _USER_ONLY.match(index.text, offset)) and looks_random(match["value"], least=20):
            yield _span(match, "token in an address")
        elif offset >= done and (match := _URL.match(index.text, offset)):
            done = match.end()
            if _LETS_IN.search(match.group()):
                for piece in _PIECE.finditer(index.text, offset + 3, done):
                    if looks_random(piece.group(), least=20):
                        yield Span(*piece.span(), "token in an address", 2)


def _at(index: TokenIndex, pattern: re.Pattern[str], anchor: str) -> Iterator[re.Match[str]]:
    return filter(None, (pattern.match(index.text, offset) for offset in index.at[anchor]))


def _span(match: re.Match[str], kind: str) -> Span:
    return Span(match.start("value"), match.end("value"), kind, 2)


def _is_credential(value: str) -> bool:
    return looks_random(value) or (len(value) >= 24 and not is_placeholder(value) and value.isalnum())


def _holds_a_colon(value: str) -> bool:
    try:
        return b":" in base64.b64decode(
            value + "=" * (-len(value) % 4), altchars=b"-_" if "-" in value or "_" in value else None
        )
    except (binascii.Error, ValueError):
        return False


def _cookies(text: str, header: re.Match[str]) -> Iterator[Span]:
    for pair in _PAIR.finditer(text, header.start("value"), header.end("value")):
        value = pair["value"]
        named = bool(_SESSION.search(pair["name"])) and len(value) >= 8 and not is_placeholder(value)
        if named or looks_random(value, least=12):
            yield _span(pair, "cookie")


_SOURCE = re.compile(
    r"""(?:^|[\s"'`=(])[\w.-]{1,40}:(?P<value>[^\s"'`@/\\]{4,80})@tcp\(
    |(?:sqlplus[ ](?:-\w+[ ]){0,3}|oracle:(?:thin|oci8?):)\\{0,64}["']?\w{1,40}/(?P<other>[^\s"'`@\\]{4,80})@""",
    re.VERBOSE,
)


def _sources(index: TokenIndex) -> Iterator[Span]:
    """Data sources without `://`, as those of Go and Oracle: `user:password@tcp(host:3306)/name`."""
    for offset in offsets(index.raw, b"@"):
        before = index.low[max(0, offset - 130) : offset]
        if index.low.startswith(b"@tcp(", offset) or b"oracle:" in before or b"sqlplus " in before:
            match = _SOURCE.search(index.text, max(0, offset - 130), offset + 5)
            group = (match and match.lastgroup) or "value"
            if match and is_given(match[group]):
                yield Span(*match.span(group), "password in an address", 2)


_CODE_LINE = re.compile(
    rf"""{NEW_LINE}(?:[ \t>]|\d{{1,2}}[.)][ ]|[-*•][ ]){{0,8}}
    (?P<value>(?=[a-z-]{{0,24}}\d)[a-z0-9]{{4,12}}(?:[- ][a-z0-9]{{4,12}}){{0,4}})
    (?=[ \t]{{0,4}}(?:{NEW_LINE}|\\{{0,64}}["']|$))""",
    re.VERBOSE | re.IGNORECASE,
)
_OWNERS = re.compile(r"(?:recovery|backup|scratch|2fa)$", re.IGNORECASE)
_LABEL = re.compile(rf" \w{{5}}[^\n\\]{{0,60}}?(?::|(?={NEW_LINE}))(?:{NEW_LINE}(?=[ \t]{{0,4}}{NEW_LINE}))?")


def _codes(index: TokenIndex) -> Iterator[Span]:
    """Codes that let their owner in again, in a list below its title."""
    done = 0
    for offset in index.at[" codes"]:
        label = _LABEL.match(index.text, offset) if _OWNERS.search(index.text, max(0, offset - 12), offset) else None
        line = _CODE_LINE.match(index.text, label.end()) if label and offset >= done else None
        while line:
            yield _span(line, "recovery code")
            done = line.end()
            line = _CODE_LINE.match(index.text, done)


_KIND = re.compile(r"kind\\{0,64}[\"']?:\s{0,3}\\{0,64}[\"']?Secret$")
_DATA = re.compile(r"(?:\b|(?<=\\n))(?P<plain>stringD|d)ata\\{0,64}[\"']?:\s{0,3}(?=\{|\n|\\)")
_ENTRY = re.compile(
    rf"""(?:[ \t{{,]|{NEW_LINE}(?=[ {{"\\])|\\{{0,64}}["']){{1,40}}[\w.-]{{1,80}}\\{{0,64}}["']?:[ ]{{0,4}}
    (?:[|>][-+]?(?:{NEW_LINE}[ ]{{0,40}}){{1,2}}|\\{{0,64}}["'])?(?P<value>[^\s"'`,\\]{{1,8192}})\\{{0,64}}["']?
    (?:[ ][^\n"'{{}}\\]{{0,400}})?""",
    re.VERBOSE,
)
_WINDOW = 4_000


def _manifests(index: TokenIndex) -> Iterator[Span]:
    """Every value in a Kubernetes secret, whatever its name."""
    done = 0
    for offset in index.at["secret"]:
        if offset < done or not _KIND.search(index.text, max(0, offset - 80), offset + 6):
            continue
        done = offset + _WINDOW
        for data in _DATA.finditer(index.text, max(0, offset - _WINDOW), done):
            entry = _ENTRY.match(index.text, data.end())
            while entry:
                if len(entry["value"]) >= 8 and (
                    _is_text(entry["value"]) or (data["plain"] == "stringD" and is_chosen(entry["value"]))
                ):
                    yield _span(entry, "secret")
                entry = _ENTRY.match(index.text, entry.end())


def _is_text(value: str) -> bool:
    try:
        return base64.b64decode(value, validate=True).isascii()
    except (binascii.Error, ValueError):
        return False


_VALUE = r"""(?P<value>[^\s"'`\\|;&<>]{4,200})"""
_APART = r"""(?:\\{0,64}["'],)?[ =]{1,3}(?:\\{0,64}["'])?""" + _VALUE
_GLUED = r"""(?:\\{0,64}["'])?""" + _VALUE
_EITHER = r"""(?:\\{0,64}["'],)?[ =]{0,3}(?:\\{0,64}["'])?""" + _VALUE


class _Flag(NamedTuple):
    """A short flag of some programs, and how its value is written."""

    programs: re.Pattern[str]
    value: re.Pattern[str]


def _flag(flag: str, value: str, programs: str) -> _Flag:
    before = rf"(?:^|[^\w.-]|\\[nrt])(?:{programs})(?:\.exe)?(?:\\{{0,64}}[\"'])?,?(?:[ ][^\n|;]{{0,200}})?$"
    return _Flag(re.compile(before), re.compile(flag + value))


_FLAGS: dict[str, tuple[_Flag, ...]] = {
    "-p": (
        _flag("-p", _GLUED, r"mysql[\w-]*|mariadb[\w-]*|7z[ar]*|p7zip|rar|unrar"),
        _flag("-p", _EITHER, "sshpass"),
        _flag(
            "-p",
            _APART,
            r"mongo\w*|\w+ login|useradd|usermod|twine \w+|cqlsh|beeline|rdesktop|hdbsql|ncftp\w*|impala-shell|hydra"
            r"|crackmapexec \w+|nxc \w+|netexec \w+|evil-winrm|arangosh|cypher-shell|psexec\w*|security \w+-keychain",
        ),
        _flag("-pw", _APART, "plink|pscp|psftp|putty|winscp"),
    ),
    "-P": (_flag("-P", _APART, r"zip|unzip|zipcloak|sqlcmd|osql|bcp|tsql|mosquitto_\w+|ipmitool|ssh-keygen|fisql"),),
    "-N": (_flag("-N", _APART, "ssh-keygen"),),
    "-A": (_flag("-A", _APART, r"snmp\w+"),),
    "-X": (_flag("-X", _APART, r"snmp\w+"),),
    "-a": (
        _flag("-a", _APART, "redis-cli|valkey-cli|keydb-cli"),
        _flag("-a", r"[ =]\\{0,64}[\"']?[^\s:\"']{1,80}:" + _VALUE, "https?|xh"),
    ),
    "-w": (_flag("-w", _APART, r"ldap\w+|security add-\w+-password"),),
    "--": (
        _flag("--from-literal", r"[ =](?:\\{0,64}[\"'])?[\w.-]{1,80}=(?:\\{0,64}[\"'])?" + _VALUE, "kubectl|oc"),
        _flag("--value", _APART, r"keyvault secret set|put-parameter[^\n|;]{0,120} SecureString"),
        _flag("--plaintext", _APART, "rootpw"),
    ),
    "-k": (_flag("-k", _APART, r"openssl \w[\w-]*|prefect"),),
    "-u": (
        _flag("-u", r"(?:ser)?[ =]?\\{0,64}[\"']?[^\s:\"'$]{1,80}:" + _VALUE, "curl|wget|http|ncat"),
        _flag("-u", r"[ ]?\\{0,64}[\"']?[^\s,\"'$]{1,80}," + _VALUE, "lftp"),
    ),
    "-U": (
        _flag("-U", r"[ =]?\\{0,64}[\"']?[^\s%\"'$]{1,80}%" + _VALUE, r"smb\w+|rpcclient|winexe|wmic|net|nmblookup"),
    ),
}

_USER = re.compile(
    r"""-u(?:ser)?(?:["'],|[ =]){0,2}\s?\\{0,4}["']?
    (?P<user>[^\s:"'$\\]{0,80}):(?P<value>[^\s"'\\]{3,300})""",
    re.VERBOSE,
)
_PARTS = {
    "<value>": r"""([^\s"'`\\|;&<>]{4,200})""",
    "<random>": r"((?=[A-Za-z_.-]{0,60}\d)[\w.-]{16,200})",
    "<quote>": r"""(?:\\{0,64}["'])?""",
    "<quoted>": r"""\\{0,64}["']([^"'\n\\]{3,200})""",
    "<end>": r"""(?=\\{0,64}["'`]|[ \t]*(?:$|[|;&>]|<line>))""",
    "<user, quoted>": r"""\s{0,9}\\{0,64}["'][\w.@+-]{1,80}\\{0,64}["'],\s{0,9}"""
    r"""\\{0,64}["']([^\s"'\\]{0,80}\d[^\s"'\\]{0,80})\\{0,64}["']""",
    "<line>": NEW_LINE,
}
"""What the places are made of. The last group is the value."""
_PLACES = {
    "pass": (
        r"(?<=ht)passwd -\w*b\w*(?: -\S+)*(?: [^\s|;-]\S*){1,2}? <quote><value><end>",
        r"""(?<=wpa_)passphrase (?:"[^"\n]{1,40}"|\S{1,40}) <quote><value>""",
        r"(?i:password) (?i:for) \S+ ?= ?(?i:password\()?<quoted>",
        r"(?<=> )PASS <value><end>",
        r"PASS <value>(?=\r\n|\\{1,64}r)",
    ),
    "assword:": (
        r"""assword:[^\n\\"']{0,12}(?:\\{0,64}["'][^\n\\"']{0,20}){0,2}(?:<line>|[ {]{1,4})"""
        r"""[^\n\\"']{0,30}?send(?:ing|line)?(?: --)?[ (]<quoted>""",
    ),
    "secret": (
        r"secrets? set \S+ (?:-b|--body|--value)[ =]<quote><value>",
        r"secrets set (?:-\S+ \S+ )?\w+=<quote><value>",
        r"(?<=config set --)secret \S+ <quote><value><end>",
    ),
    "key": (r"(?<=/with/)key/<value>", r"(?i:key content)\s{1,20}: <value>"),
    "token": (r"(?<=pypi-)token\.\S+ <value>", "token (?:set|add) <random><end>"),
    "basic": (r"(?<=http-)basic\.\S+ \S+ <value>",),
    "login": (
        "(?<=vault )login <value>(?<!=)",
        "login <random>(?<=.{24})<end>",
        r"""(?<=\d )LOGIN [\w.@+"'\\-]{1,90} <quote><value><end>""",
        r"login\(<user, quoted>",
    ),
    "auth": (
        r"(?i:auth\w{0,12})[=:]? ?\(<user, quoted>",
        r"(?<=> )(?i:auth) (?:[\w.-]+ )?<quote><value><end>",
        r"""(?i:auth)\\{0,64}"(?: \\{0,64}"[\w.-]{1,80}\\{0,64}")? \\{0,64}"<value><end>""",
    ),
    "unlock": ("(?<=bw )unlock (?:<quoted>|<value><end>)",),
    "identif": (
        "(?:(?<=[Ss]erv )|(?<=[Ss]erv :))(?i:identify) <value><end>",
        r"(?i:identified)\s+(?i:with\s+\S+\s+(?:by|as)|by)\s+(?i:password\s+)?<quoted>",
    ),
    "net use": (r"(?i:net use)(?:r \S+|(?: \S+:)? \\\\\S+) <quote><value>",),
    "mqctl ": (r"mqctl (?:add_user|change_password) \S+ <quote><value>",),
    "securestring ": ("(?i:securestring (?:-string )?)<quoted>",),
    "/p:": (r"(?<= )/p:(?!\w+=)<quote><value>",),
}


def _place(rows: tuple[str, ...]) -> re.Pattern[str]:
    pattern = "|".join(rows)
    for name, part in _PARTS.items():
        pattern = pattern.replace(name, part)
    return re.compile(pattern)


_AT = {anchor: _place(rows) for anchor, rows in _PLACES.items()}
"""What is given at an anchor, or just behind it."""

_PIPED = re.compile(
    r"""(?:echo|printf)(?:[ ]-[neE]+)?(?:[ ]\\{0,64}["']%s(?:\\{1,64}n)?\\{0,64}["'])?[ ]\\{0,64}["']?
    (?P<value>[^\n'"`$|\\]{4,120}?)(?:\\{1,64}n)?\\{0,64}["']?[ ]{0,3}\|[ ]{0,3}(?P<sink>[^\n|]{1,200})""",
    re.VERBOSE,
)
_HERE = re.compile(r"<<<[ ]?" + r"""\\{0,64}["']?(?P<value>[^\n'"`$|\\]{4,120})""")
_BREAK = re.compile(NEW_LINE)
_SINK = re.compile(
    r"""-stdin\b|--with-token|\bsudo[ ](?:-\S+[ ])*?-\w*S|chpasswd|cryptsetup|passphrase-fd|\bsu[ ]|kinit
    |smbpasswd|\blogin\b|secrets?[ ](?:set|put|create|versions[ ]add)|\bpass[ ]insert
    |ssh-add|\bpasswd\b|-pass(?:in|out)?[ ]stdin""",
    re.VERBOSE,
)
"""What reads a secret from its standard input."""


_PIPE_AT = re.compile(
    rb"\|[ ]{0,2}(?:sudo|doas|docker|podman|nerdctl|buildah|skopeo|helm|crane|oras|cosign|gh |glab|chpasswd|cryptsetup"
    rb"|gpg|su |kinit|smbpasswd|passwd|npm|pass |ssh|openssl|wrangler|fly|gcloud|kubectl|oc |vault|az |aws|heroku"
    rb"|snyk|twine|huggingface-cli|hf )"
)
_FLAG_AT = re.compile(rb"-(?:(?<=[ \"']-)[pPNAXawkuU][\w \"'=\\]|user[ =]|-(?:from-literal|value|plaintext)[ =])")


def command_secrets(index: TokenIndex) -> Iterator[Span]:
    """Every value that a program or a statement takes for a secret."""
    text = index.text
    for found in _FLAG_AT.finditer(index.raw):
        offset = found.start()
        for flag in _FLAGS.get(text[offset : offset + 2], ()):
            match = flag.value.match(text, offset)
            if match and is_given(match["value"]) and flag.programs.search(text, max(0, offset - 240), offset):
                yield Span(match.start("value"), match.end("value"), "password", 2)
        if (match := _USER.match(text, offset)) and is_password(match["value"], quoted=False):
            yield Span(match.start("value"), match.end("value"), "password", 2)
    for anchor, pattern in _AT.items():
        for match in filter(None, (pattern.match(text, offset) for offset in index.at[anchor])):
            group = match.lastindex or 0
            if is_given(match[group]):
                yield Span(*match.span(group), "password", 2)
    yield from _piped(index)


def _piped(index: TokenIndex) -> Iterator[Span]:
    for pipe in _PIPE_AT.finditer(index.raw):
        offset = pipe.start()
        start = max(index.raw.rfind(word, max(0, offset - 200), offset) for word in (b"echo ", b"printf "))
        match = _PIPED.match(index.text, start) if start >= 0 else None
        if match and is_given(match["value"].strip()) and _SINK.search(match["sink"]):
            yield Span(match.start("value"), match.end("value"), "password", 2)
    for offset in index.at["<<<"]:
        if index.text[offset - 1 : offset] == "<":
            continue  # inside a longer row of them
        match = _HERE.match(index.text, offset)
        before = _BREAK.split(index.text[max(0, offset - 160) : offset])[-1]
        if match and is_given(match["value"].strip()) and _SINK.search(before):
            yield Span(match.start("value"), match.end("value"), "password", 2)


_FOREIGN_ASCII = ("kennwort", "wachtwoord", "adgangskode", "kodeord", "kata sandi", "clave")
_SHORT = 8_192
_FOREIGN = (
    *("contraseñ", "Contraseñ", "hasło", "Hasło", "şifre", "Şifre", "lösenord", "Lösenord", "jelszó", "Jelszó"),
    *("mật khẩu", "Mật khẩu", "пароль", "Пароль", "密码", "密碼", "口令", "パスワード", "비밀번호", "รหัสผ่าน", "סיסמה"),
    *("κωδικός", "पासवर्ड", "كلمة المرور", "كلمة السر"),
)
_FOREIGN_ESCAPED = re.compile(
    r"\\u(?:"
    + "|".join(
        "".join(char if char.isascii() else rf"\\{{1,2}}u{ord(char):04x}" for char in word).removeprefix(r"\\{1,2}u")
        for word in _FOREIGN
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
        found += [match.end() for word in _FOREIGN if word in index.text for match in re.finditer(word, index.text)]
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
