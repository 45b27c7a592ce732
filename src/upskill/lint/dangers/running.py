"""Code from elsewhere that is run unread: piped into a shell, downloaded and started, decoded and started, or installed from
a source that the skill chooses."""

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from upskill.lint.dangers.file_text import FileText, Hit, finder, matches, pattern

_FETCH = r"(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod|aria2c|lynx -source|lwp-request|http --body|nc [\w.-]+ \d+)"
_DECODE = (
    r"(?:base64 (?:-\w+ ){0,3}(?:-d|-di|--decode)\b|base64 -\w{0,3}d\b|openssl (?:enc|base64|aes\S*)[^|;\n]{0,80}\s-d\b|xxd -[\w -]{0,10}r|uudecode|base32 (?:-d|--decode)"
    r"|gunzip|gzip -\w{0,3}d|zcat|rev\b|tr ['\"]?a-z|frombase64string|printf ['\"](?:\\x|\\[0-7]{3})|echo -\w{0,3}e\w{0,3} ['\"](?:\\x|\\[0-7]{3})"
    r"|perl -\w{0,3}e [^|\n]{0,40}(?:pack|decode)|python[\d.]* -c [^|\n]{0,80}(?:b64decode|fromhex|decode))"
)
_SHELL = r"(?:sh|bash|zsh|dash|ksh|fish|ash|busybox sh|iex|invoke-expression|pwsh|powershell|osascript|source /dev/stdin|\. /dev/stdin|eval|cmd)"
_OTHER = r"(?:python[\d.]*|perl|ruby|node|php|deno|bun|lua|tclsh)"
_RUNS = re.compile(
    rf"\s*(?:(?:sudo|env|exec|command|nohup|time|xargs|-\w+|tee|>\(|\w+=\S*|&)\s*){{0,8}}(?:/[\w/.-]{{1,40}}/)?(?:({_SHELL})|({_OTHER}))(?![\w./-])(.{{0,80}})"
)
_FETCHES, _DECODES = re.compile(rf"\b{_FETCH}\b"), re.compile(rf"\b{_DECODE}")
_INTO = rf"(?:eval|source|\.|exec|(?:{_SHELL}|{_OTHER})(?: -\w+)?)"
_REMOTE = r"(?:requests\.get|httpx\.get|urlopen|urllib\.request|fetch\(|axios\.get|http\.get|downloadstring|net\.webclient|file_get_contents\(['\"]http)"
_DECODED = r"(?:b64decode|b32decode|a85decode|b85decode|fromhex|unhexlify|zlib\.decompress|codecs\.decode|marshal\.loads|atob\(|frombase64string|'base64'\)|\"base64\"\)|rot_?13|unpack\(|chr\()"
_CALL = r"(?:exec|eval|compile|execfile|os\.system|os\.popen|subprocess\.\w{2,14}|new function|function|child_process\.exec\w{0,4}|execsync|iex|invoke-expression|runpy\.run_path|vm\.run\w{0,16})"
_PIPED = (
    pattern("curl wget iwr irm invoke- aria2c", rf"\b{_INTO}[ \t]+[\"']?(?:\$\(|<\(|`)[ \t]*(?:sudo )?{_FETCH}\b"),
    pattern("curl wget", rf"\b(?:sh|bash|zsh|python[\d.]*)[ \t]+-c[ \t]+[\"']?(?:\$\(|`)[ \t]*{_FETCH}"),
    pattern(
        "<(", rf"(?:^|[\s;&|])(?:{_SHELL}|{_OTHER}|source|\.)[ \t]{{1,4}}(?:-\w+[ \t]+)?<\([ \t]*(?:sudo )?{_FETCH}"
    ),
    pattern(
        "iex invoke-expression",
        r"\b(?:iex|invoke-expression)\b.{0,60}(?:iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring|net\.webclient)",
    ),
    pattern(
        "exec eval compile function system subprocess popen iex invoke-expression runpy vm.run",
        rf"\b{_CALL}\s*\(?.{{0,60}}{_REMOTE}",
    ),
)
_UNPACKED = (
    pattern(
        "base64 xxd openssl rev gunzip printf uudecode tr",
        rf"\b{_INTO}[ \t]+[\"']?(?:\$\(|<\(|`)[^\n)]{{0,160}}{_DECODE}",
    ),
    pattern("<(", rf"(?:^|[\s;&|])(?:{_SHELL}|{_OTHER}|source|\.)[ \t]{{1,4}}<\([^\n)]{{0,160}}{_DECODE}"),
    pattern(
        "exec eval compile function system subprocess popen iex invoke-expression runpy vm.run",
        rf"\b{_CALL}\s*\(.{{0,120}}{_DECODED}",
    ),
    pattern(
        "powershell pwsh", r"\b(?:powershell|pwsh)(?:\.exe)?\b[^\n]{0,80}\s-(?:e|ec|en|enc\w{0,12})\s+[a-z0-9+/=$(\"']"
    ),
    pattern("__import__", r"__import__\(\s*['\"](?:os|subprocess|base64)['\"]\s*\)\s*\.\w+\("),
    pattern("pickle marshal", r"\b(?:pickle|marshal)\.loads\(.{0,40}(?:b64decode|fromhex|decompress)"),
)
_ASSIGNED = re.compile(
    rf"(?:^|[\s;(])\$?([a-z_]\w{{0,60}})\s*=\s*[^\n=][^\n]{{0,160}}?(?:{_REMOTE}|{_DECODED}|{_FETCH}\s|{_DECODE})",
    re.MULTILINE,
)
_USED = re.compile(
    rf"\b{_CALL}\s*\(\s*(?:compile\(\s*)?([a-z_]\w{{0,60}})|\b(?:eval|iex|(?:ba|z|da|k)?sh -c|python[\d.]* -c)\s+[\"']?\$\{{?([a-z_]\w{{0,60}})"
    r"|(?:echo|printf)(?: ['\"]?%s['\"]?)? +[\"']?\$\{?([a-z_]\w{0,60})\}?[\"']?\s*(?:\|[^|\n]{0,80})?\|\s*(?:sudo )?(?:ba|z|da|k)?sh\b"
    r"|(?:ba|z|da|k)?sh <<<\s*[\"']?\$\{?([a-z_]\w{0,60})"
)
_SAVED = re.compile(
    rf"\b(?:{_FETCH}|{_DECODE})[^\n|]{{0,160}}?(?:\s-o\s*|--output[ =]|--output-document[ =]|-outfile |>\s*)[\"']?([\w./~$-]{{1,100}})"
    r"|urlretrieve\([^,\n]{1,200},\s*[\"']([\w./~-]{1,100})"
)
_SAVED_AS_IS = re.compile(
    r"\b(?:curl[^\n|>]{0,120}\s-\w{0,6}o\w{0,3}\b[^\n|>]{0,160}?|wget\s[^\n|>]{0,160}?)https?://[^\s\"'<>|]{1,200}/([\w.-]{1,80})(?=[\s\"'`;&)]|$)"
)
_STARTED = re.compile(
    r"(?:^|[\s;&|(])(?:(?:sudo |env |exec )?(?:sh|bash|zsh|dash|python[\d.]*|perl|ruby|node|php|source|\.|open|start|sudo|installer -pkg|msiexec /i|dpkg -i|rpm -i)[ \t]+(?:-\w+[ \t]+)?"
    r"|chmod[ \t]+[\w+,=]{2,10}[ \t]+)[\"']?([\w./~$-]{1,100})|(?:^|[;&|(]|\n)[ \t]*(?:\$ )?(?:sudo )?((?:\./|/tmp/|~/|/var/tmp/|\$\w+/)[\w./-]{1,100})",
    re.MULTILINE,
)
_VERIFIED = re.compile(
    r"sha(?:256|512)sum|shasum|gpg[^\n]{0,40}--verify|cosign verify|minisign|get-filehash|attestation verify|hashlib\.sha256|openssl dgst"
)
_PROSE = (
    pattern(
        "download fetch grab get retrieve pull",
        r"\b(?:download|fetch|grab|retrieve|get|pull)\b[^.\n]{0,60}(?:https?://\S{3,200}|script|installer|binary|payload|file)\b[^\n]{0,80}?\b(?:and|then|,)\s"
        r"(?:\w+ ){0,3}(?:run|execute|source|eval|start|launch)s? (?:it|that|them|the (?:script|file|result|installer|binary))\b",
    ),
    pattern(
        "http",
        r"\b(?:fetch|load|open|read|get|download|retrieve|curl|check|visit)\b[^\n]{0,80}https?://\S{3,200}[^\n]{0,100}\b(?:follow|obey|carry out|do what|do whatever|execute|comply|act on)\b",
    ),
    pattern(
        "curl wget download fetch output script response",
        r"\b(?:curl|wget|download|fetch|output|script|response)\b[^.\n]{0,160}\b(?:hand|pipe|feed|pass|give|stream|redirect)(?:s|ing|ed)?\b[^.\n]{0,60}"
        r"\b(?:to|into|through)\s{1,3}(?:sudo\s{1,3})?(?:sh|bash|zsh|powershell|(?:a |the )?(?:root )?shell)\b",
    ),
    pattern(
        "decode",
        r"\bdecode\b[^\n]{0,120}\b(?:and|then)\b[^\n]{0,40}\b(?:run|execute|eval|follow|obey|carry out|do what|pipe)\b",
    ),
)
_READ_FIRST = re.compile(r"\b(?:read|review|inspect|verify|check|show)\b")
_BLOB = re.compile(
    r"(?<![\w+/=-])[A-Za-z0-9+/]{24,}={0,2}(?![\w+/=])|(?<![\w])(?:[0-9a-fA-F]{2}){20,}(?![\w])|(?:\\x[0-9a-fA-F]{2}){8,}"
)
_COMMAND_WORDS = re.compile(
    rf"\b(?:{_FETCH}|bash|/bin/sh|eval|exec|os\.system|subprocess|rm -rf|\.ssh|\.env|ignore (?:all )?previous|the user|powershell|nc -)\b"
)
_MOST_BLOB = 200_000


def piped(files: Sequence[FileText]) -> Iterator[Hit]:
    """A download that goes straight into an interpreter."""
    for file in files:
        for position in {*matches(file, _PIPED), *_pipes(file, _FETCHES), *_carried(file, remote=True)}:
            yield file.hit(position)


def decoded_and_run(files: Sequence[FileText]) -> Iterator[Hit]:
    """Text that is decoded and then run."""
    for file in files:
        for position in {*matches(file, _UNPACKED), *_pipes(file, _DECODES), *_carried(file, remote=False)}:
            yield file.hit(position)


def _pipes(file: FileText, source: re.Pattern[str]) -> Iterator[int]:
    """Where something found by `source` reaches an interpreter through a pipe."""
    for text in (file.prose, file.code):
        if "|" not in text or not source.search(text):
            continue
        for line in re.finditer(r"[^\n]*\|[^\n]*", text):
            yield from _piped_in(line[0], line.start(), source)


def _piped_in(line: str, offset: int, source: re.Pattern[str]) -> Iterator[int]:
    begun: int | None = None
    position = 0
    for part in line.split("|"):
        runs = _RUNS.match(part) if begun is not None else None
        if runs is not None and begun is not None and _reads_program(runs):
            yield offset + begun
        starts = [found.start() for found in source.finditer(part)]
        if starts:
            begun = position + starts[-1]
        elif not part.strip() or re.search(r"[;&]{1,2}\s*\w", part):
            begun = None
        position += len(part) + 1


def _reads_program(runs: re.Match[str]) -> bool:
    """Whether an interpreter runs what it is piped, rather than a program of its own that reads it."""
    first = next(iter(runs[3].split()), "").strip("\"'`),.;")
    if runs[1] is not None:
        return not first.startswith("-c") and not first.endswith(".sh")
    return first in ("", "-") or not (first.startswith("-") or "." in first or "/" in first)


def _carried(file: FileText, *, remote: bool) -> Iterator[int]:
    """What is fetched or decoded into a variable and then run."""
    if "=" not in file.code:
        return
    names: dict[str, int] = {}
    for found in _ASSIGNED.finditer(file.code):
        if bool(re.search(rf"{_REMOTE}|\b{_FETCH}\s", found[0])) is remote:
            names.setdefault(found[1], found.start(1))
    if names:
        for used in _USED.finditer(file.code):
            name = used[1] or used[2] or used[3] or used[4]
            if name in names and used.start() > names[name]:
                yield used.start()


def downloaded_and_run(files: Sequence[FileText]) -> Iterator[Hit]:
    """A file that is downloaded or decoded, then started. Where it is verified first, that is a caution."""
    for file in files:
        for text in (file.code, file.prose):
            saved = {
                (found.start(), (found[1] or found[expression.groups]).rsplit("/", 1)[-1])
                for expression in (_SAVED, _SAVED_AS_IS)
                for found in expression.finditer(text)
            }
            if not saved:
                continue
            started: dict[str, list[int]] = {}
            for one in _STARTED.finditer(text):
                started.setdefault((one[1] or one[2]).rsplit("/", 1)[-1], []).append(one.start())
            verified = [one.start() for one in _VERIFIED.finditer(text)]
            for at, name in saved:
                starts = started.get(name, [])
                if (after := bisect_right(starts, at)) < len(starts):
                    checked = bisect_right(verified, at) < bisect_right(verified, starts[after])
                    yield file.hit(at, quoted=True if checked else None)


def fetched_and_followed(files: Sequence[FileText]) -> Iterator[Hit]:
    """Prose that has a text from elsewhere run or obeyed, and does not have it read first."""
    for file in files:
        for words, expression in _PROSE:
            if any(word in file.prose for word in words):
                for found in expression.finditer(file.prose):
                    if not _READ_FIRST.search(found[0], len("download")):
                        yield file.hit(found.start())


def blobs(files: Sequence[FileText]) -> Iterator[Hit]:
    """Encoded text that holds a command or an instruction once it is decoded."""
    for file in files:
        for found in _BLOB.finditer(file.text):
            plain = _plain(found[0][:_MOST_BLOB])
            if plain is not None and _COMMAND_WORDS.search(plain.lower()):
                yield file.hit(found.start())


def long_blobs(files: Sequence[FileText]) -> Iterator[Hit]:
    """Long encoded text that nobody can read."""
    for file in files:
        for found in _BLOB.finditer(file.text):
            if len(found[0]) >= 300 and "data:" not in file.text[max(0, found.start() - 60) : found.start()]:
                yield file.hit(found.start())


def _plain(blob: str) -> str | None:
    try:
        if blob.startswith("\\x"):
            data = bytes.fromhex(blob.replace("\\x", ""))
        elif re.fullmatch(r"[0-9a-fA-F]+", blob):
            data = bytes.fromhex(blob[: len(blob) // 2 * 2])
        else:
            data = base64.b64decode(blob + "=" * (-len(blob) % 4))
        text = data.decode("utf-8")
    except (ValueError, binascii.Error):
        return None
    return text if text.isprintable() or "\n" in text else None


_HOME = r"(?:localhost|127\.0\.0\.1|file:|/)"

foreign_source = finder(
    pattern(
        "--index-url --extra-index-url --find-links --trusted-host pip_index_url pip_extra index-url uv_index --default-index",
        rf"--(?:extra-)?index-url[ =][\"']?(?!{_HOME})\S{{4,}}|--find-links[ =][\"']?https?://\S+|--trusted-host[ =]\S+|\b(?:pip|uv)_(?:extra_|default_)?index(?:_url)?=[\"']?https?://(?!{_HOME})|--(?:default-)?index[ =][\"']?https?://(?!{_HOME})|\bindex-url\s*=\s*https?://|\bglobal\.(?:extra-)?index-url\s",
    ),
    pattern(
        "pip pip3 uv pipx",
        r"\b(?:pip3?|uv pip|uv tool|pipx|python[\d.]* -m pip)\s+install\s[^\n]{0,100}?(?:\s-i\s+https?://|https?://\S+\.(?:whl|zip|tar\.gz|tgz)|git\+http://|git\+https?://(?!(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org)/))",
    ),
    pattern(
        "--registry registry",
        r"--registry[ =][\"']?https?://\S+|\b(?:npm|yarn|pnpm|bun)\s+config\s+set\s+\S*registry\S*[ =]\S+|\bregistry\s*=\s*[\"']?https?://|\bnpm_config_registry=",
    ),
    pattern(
        "npm npx yarn pnpm bunx",
        r"\b(?:npm|yarn|pnpm|bun)\s+(?:install|i|add)\s[^\n]{0,60}?(?:https?://\S+|git\+\S+)|\b(?:npx|bunx|pnpm dlx)\s+(?:-\w+\s+|--\w+\s+){0,3}(?:https?://|git\+|github:)\S+",
    ),
    pattern(
        "gem cargo go brew composer",
        r"\bgem install\b[^\n]{0,60}--source[ =]\S+|\bcargo install\b[^\n]{0,60}--(?:git|index|registry)[ =]\S+|\bbrew tap\s+\S+\s+https?://|\bgoproxy=https?://|\bgosumdb=off|\bgonosumcheck=|\bgoflags=-insecure",
    ),
    pattern(
        "sources.list apt-key add-apt-repository yum-config-manager deb rpm zypper",
        r"(?<!tee )/etc/apt/sources\.list\S*|\bapt-key add\b|\badd-apt-repository\s+\S+|\byum-config-manager --add-repo|\brpm --import https?://|\bzypper ar\b|\becho\s+[\"']?deb\s(?!\[[^\]\n]{0,60}signed-by=)",
    ),
    pattern(
        "docker podman",
        r"\b(?:docker|podman) run\b[^\n]{0,160}(?:--privileged\b|-v\s+/:/|--volume[ =]/:/|/var/run/docker\.sock)",
    ),
    pattern("--install-extension .vsix", r"--install-extension\s+\S+\.vsix"),
)
