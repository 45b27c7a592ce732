"""Secrets that a program or a statement takes: by a flag, by position, through a pipe. One row per form: add here.

What is given there is a password whatever it looks like, so only stand-ins are left alone.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from upskill.redaction.plausibility import is_given, is_password
from upskill.redaction.token_index import NEW_LINE, Span, TokenIndex

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
