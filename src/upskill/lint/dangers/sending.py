"""What leaves the machine: reads of credentials, dumps of the environment, uploads, drop sites, and the polite theft, which is a
sensitive file and any outward copy."""

import re
from collections.abc import Iterator, Sequence

from upskill.lint.dangers.file_text import FileText, Hit, finder, is_prose, matches, pattern

STRONG = (
    r"(?:\.ssh/(?!config\b|known_hosts|[\w.-]*\.pub\b|authorized_keys)[\w*.-]*|(?<![\w.-])\.ssh/?(?=[\s\"'`)|;]|$)|\bid_(?:rsa|ed25519|ecdsa|dsa)\b(?!\.pub)"
    r"|\.aws/(?:credentials|config)?\b|\.aws/?(?=[\s\"'`)]|$)|\.git-credentials|\.netrc\b|_netrc\b|\.pgpass|\.config/gh/hosts\.yml|\.config/gcloud\b|application_default_credentials"
    r"|\.azure/\w+|/etc/shadow|\.gnupg\b(?!/pub)|login data\b|key4\.db|logins\.json|cookies\.sqlite|(?:google-chrome|chromium|firefox|brave\S{0,20})/[\w*./ -]{0,40}(?:default|profiles?|cookies)"
    r"|\.mozilla/firefox|library/keychains|\.(?:bash|zsh|python|psql|mysql)_history|fish_history|wallet\.dat|/proc/(?:self|\d+|\*|\$\w+)/environ"
    r"|/var/run/secrets/\S{0,60}token|\.docker/config\.json|\.kube/config|\.pypirc|\.npmrc|\.claude/\.credentials\.json|\.codex/auth\.json|\.config/op/)"
)
WEAK = r"(?:(?<![\w.])\.env(?:\.(?:local|production|prod|staging|development))?(?![\w.(])|credentials\.json|secrets?\.(?:ya?ml|json|toml|env)|service-account[\w-]*\.json|\.tfstate|[\w*-]+\.(?:pem|p12|pfx|key)\b)"
_READERS = r"(?:cat|bat|less|more|head|tail|cp|tar|zip|7z|grep|egrep|rg|awk|sed|base64|xxd|strings|scp|rsync|sqlite3|jq|yq|type|get-content|gc|dd|tee|source_file|find|od|openssl enc|gzip|nl|sort|cut|paste|xargs)"
_OPENERS = r"(?:open|read_text|read_bytes|readfile|readfilesync|path|file\.read|file_get_contents|load|expanduser|glob|joinpath|copyfile|copy2?|copytree|make_archive)"
_VERBS = r"(?:read|open|print|show|include|copy|paste|collect|gather|attach|send|upload|dump|extract|embed|harvest|grab|quote|capture|export|append|archive|inspect|summari[sz]e|fetch|back up|scan|search)"
_READS_STRONG = (
    pattern(".", rf"(?:^|[\s;&|(`])(?:sudo )?{_READERS}\s(?:(?!exclude|ignore)[^\n|;&]){{0,120}}?{STRONG}"),
    pattern("open read load path glob copy expanduser archive contents", rf"\b{_OPENERS}\s*\(.{{0,60}}?{STRONG}"),
    pattern("<", rf"<\s*[\"']?[~$\w/]{{0,40}}{STRONG}"),
    pattern("@", rf"[=\s\"']@[~$\w/{{}}]{{0,40}}{STRONG}"),
    pattern("/ \\", rf"path\.home\(\)\s*/\s*[\"'][^\n]{{0,60}}{STRONG}"),
)
_PROSE_STRONG = (
    pattern("contents content", rf"\bcontents? of\b[^.\n]{{0,50}}?{STRONG}"),
    pattern(
        ".",
        rf"(?:^|\n|[.;:,*-]\s{{1,3}}|\d[.)]\s|\b(?:and|then|first|also|please|to|always|must|should|you|so|next)\s){_VERBS}\b(?! only)[^.\n]{{0,70}}?(?:~/|\$home/|/[r]oot/|/home/\S{{1,30}}/|\s){STRONG}",
    ),
    pattern(
        "ssh aws browser password keychain history cookies tokens key",
        r"\b(?:read|copy|collect|gather|send|upload|include|attach|extract|dump|harvest|grab|paste|export)(?:ing)?\b[^.\n]{0,50}\b(?:private (?:ssh )?keys?|ssh (?:private )?keys?|aws credentials|saved passwords|browser (?:cookies|passwords|profile)|keychain|password manager|shell history|session cookies|access tokens|api keys)\b(?! (?:from the user|is|are|must|should))",
    ),
)
_STORES = (
    pattern("security", r"\bsecurity (?:find-(?:generic|internet)-password|dump-keychain|export)\b"),
    pattern(
        "secret-tool gpg git kwallet cmdkey vaultcmd mimikatz lazagne",
        r"\bsecret-tool (?:lookup|search)|\bgpg[^\n]{0,30}--export-secret|\bgit credential fill|\bkwallet-query|\bcmdkey /list|\bvaultcmd|\bmimikatz|\blazagne",
    ),
    pattern(
        "169.254.169.254 metadata.google fd00:ec2", r"169\.254\.169\.254|metadata\.google\.internal|\[fd00:ec2::254\]"
    ),
    pattern(
        "gh gcloud az aws op",
        r"\bgh auth token\b|\bgcloud auth (?:application-default )?print-(?:access|identity)-token|\baz account get-access-token|\baws configure (?:get|export-credentials)|\baws sts get-session-token",
    ),
)
_DUMPS_SECRETS = (
    pattern(
        "env export set",
        r"\b(?:env|printenv|export -p|set)\s*\|[^\n]{0,40}(?:grep|rg|awk|select-string)[^\n]{0,30}(?:key|token|secret|pass|cred|auth|aws)",
    ),
    pattern(
        "env: os.environ process.env",
        r"(?:os\.environ|process\.env|env:)[^\n]{0,80}(?:['\"](?:key|token|secret|pass\w*)['\"]\s*in|\bif\b[^\n]{0,40}(?:key|token|secret))",
    ),
)
WEAK_READS = (
    pattern(
        ".env secret credential .json .pem .key .p12 .pfx .tfstate",
        rf"(?:^|[\s;&|(`])(?:sudo )?{_READERS}\s(?:(?!exclude|ignore)[^\n|;&]){{0,120}}?{WEAK}",
    ),
    pattern(
        "open read load path glob copy expanduser archive contents",
        rf"\b(?!load_dotenv){_OPENERS}\s*\(.{{0,60}}?{WEAK}",
    ),
    pattern("@", rf"[=\s\"']@[~$\w/{{}}]{{0,40}}{WEAK}"),
)
WEAK_PROSE = (
    pattern(
        ".env secret credential .json .pem .key .p12 .pfx .tfstate",
        rf"\b{_VERBS}(?:s|ing)?\b[^.\n]{{0,70}}?[\s\"'/(]{WEAK}",
    ),
    pattern(
        ".env secret credential .json .pem .key .p12 .pfx .tfstate",
        rf"\b(?:put|add|write|insert|place|save|store|note|keep)\b[^.\n]{{0,40}}?[\s\"'/(]{WEAK}[^.\n]{{0,30}}?\b(?:into|in|to|under|with)\b(?![^.\n]{{0,16}}ignore)",
    ),
    pattern("contents", rf"\bcontents? of\b[^.\n]{{0,50}}?{WEAK}"),
    pattern(
        "environment",
        r"\b(?:include|attach|append|paste|send|upload|dump|print|collect|capture|copy|record|list|export|add)(?:s|ing)?\b[^.\n]{0,40}\b(?:all |every |the (?:whole |full |entire |complete )?|full |whole |entire )environment(?: variables?)?\b",
    ),
)
_NOT_PASSED_ON = r"(?<!env:)(?<!env: )(?<!env=)(?<!env =)(?<!env = )"
"""A program that is started gets the environment too."""
DUMPS = (
    pattern(
        "env export declare",
        r"(?:^|[\s;&|(`$])(?:/usr/bin/)?(?:env|printenv|export -p|declare -x)[ \t]*(?:\||>|\)|$|;|&&|\d?>>?)(?!\s*grep -\w*\s*['\"]?\^?(?:path|home|lang|node|python|java|go|upskill)\b)",
    ),
    pattern(
        "environ process.env env:",
        rf"{_NOT_PASSED_ON}(?:\{{\s*(?:\.\.\.\s*process\.env\b(?!\.)|\*\*\s*os\.environ\b(?!\[))|\b(?:dict|list|sorted)\s*\(\s*os\.environ\b(?![\[.](?!items|copy))|\bos\.environ\.(?:items|copy)\(\))"
        r"|\bobject\.(?:entries|assign)\([^\n)]{0,20}process\.env\s*[,)]"
        r"|\b(?:str|json\.dumps|print|pprint|repr|dumps)\s*\(\s*(?:dict\(\s*)?os\.environ\b(?![\[.](?!items|copy))|json\.stringify\(\s*process\.env\b(?!\.)|console\.log\(\s*process\.env\s*\)|(?:get-childitem|gci|dir|ls) env:|=\s*process\.env\s*(?:[;,)\n]|$)",
    ),
)

read_strong = finder(*_READS_STRONG, *_STORES, *_DUMPS_SECRETS)
read_strong_in_prose = finder(*_PROSE_STRONG, code=False)
dump_environment = finder(*DUMPS)


def read_credentials(files: Sequence[FileText]) -> Iterator[Hit]:
    """Reads of files and stores that hold keys and passwords."""
    yield from read_strong(files)
    yield from read_strong_in_prose(files)


_LOOPBACK = r"(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0|host\.docker\.internal)"
_DROP = (
    r"(?:webhook\.site|requestbin\.\w+|[\w-]+\.requestcatcher\.com|pipedream\.net|[\w-]+\.m\.pipedream\.net|ngrok(?:-free)?\.(?:io|app|dev)|pastebin\.com|paste\.ee|hastebin\.com"
    r"|transfer\.sh|0x0\.st|ix\.io|termbin\.com|file\.io|gofile\.io|catbox\.moe|tmpfiles\.org|anonfiles\.com|dpaste\.\w+|rentry\.co|oast\.\w+|oastify\.com|burpcollaborator\.net"
    r"|interact\.sh|beeceptor\.com|api\.telegram\.org/bot|discord(?:app)?\.com/api/webhooks|trycloudflare\.com|serveo\.net|localtunnel\.me)"
)
_UPLOADS = (
    pattern("wget", rf"\bwget\b(?![^\n|;]{{0,160}}{_LOOPBACK})[^\n|;]{{0,160}}?--(?:post|body)-(?:data|file)"),
    pattern(
        "post put patch",
        rf"\b(?:requests|httpx|session|client|axios|http|aiohttp)\.(?:post|put|patch)\((?![^\n]{{0,80}}{_LOOPBACK})",
    ),
    pattern("urlopen request(", r"\b(?:urlopen|request)\([^\n]{0,160}\bdata\s*="),
    pattern("request(", r"\bhttps?\.request\([^\n]{0,200}method\s*:\s*['\"](?:post|put)"),
    pattern("fetch", rf"\bfetch\((?![^\n]{{0,80}}{_LOOPBACK})[^\n]{{0,200}}method\s*:\s*['\"](?:post|put)"),
    pattern(
        "invoke- irm iwr",
        r"\b(?:invoke-restmethod|invoke-webrequest|irm|iwr)\b[^\n]{0,200}-(?:method post|infile|body)",
    ),
    pattern(
        "s3 gs:// gsutil azcopy blob rclone",
        r"\baws s3(?:api)? (?:cp|sync|mv|put-object)\b[^\n]{0,200}|\bgsutil[^\n]{0,20} (?:cp|rsync|mv)\b|\bgcloud storage (?:cp|rsync)\b|\baz storage blob upload|\bazcopy copy|\brclone (?:copy|sync|move)",
    ),
    pattern(
        "scp rsync sftp ftp",
        r"\b(?:scp|rsync|sftp)\b[^\n|;]{0,160}\s(?:[\w.-]+@)?[\w.-]{2,80}:[\w~/.]?|\bftp\s+-\w*\s*[\w.-]+|\bcurl[^\n]{0,80}\s(?:ftp|sftp)://",
    ),
    pattern(
        "://",
        rf"\bhttps?://(?!{_LOOPBACK})[^\s\"'`]{{1,200}}?[?&][\w.-]{{1,40}}=\$\{{?(?:env:)?\w{{0,40}}?(?:key|token|secret|passw|credential)",
    ),
    pattern("gist", r"\bgh gist create|\bgist\s+-"),
    pattern("git", r"\bgit (?:push|remote add)\s[^\n]{0,60}(?:https?://|git@|ssh://)"),
    pattern(
        "nc ncat netcat socat telnet",
        r"(?:^|[|;&\s])(?:nc|ncat|netcat|socat|telnet)\s+(?:-\w+\s+){0,4}(?:tcp:)?[\w.-]{2,80}[: ]\d{2,5}",
    ),
    pattern("mail sendmail mutt smtp", r"\b(?:sendmail|mutt|mailx|mail)\s+-\w|\bsmtplib\.smtp|\bsend-mailmessage"),
    pattern(
        "dig nslookup host ping", r"\b(?:dig|nslookup|host|ping)\b[^\n]{0,60}(?:\$\(|`|\$\{?\w+\}?\.)[^\n]{0,100}\."
    ),
)
_CALLS = (
    pattern(
        "requests httpx url http axios session fetch( socket net. ftplib smtplib net::",
        r"\b(?:requests|httpx|axios|session)\.(?:get|post|put|patch|delete|head|request|stream)\(|\burlopen\(|\burlretrieve\(|\bhttp\.client\.|\baiohttp\.clientsession|\bfetch\(|\baxios\("
        r"|\bhttps?\.(?:get|request)\(|\bsocket\.(?:socket|create_connection)\(|\bnet\.(?:connect|createconnection|dial)\(|\bnew websocket\(|\bwebsockets?\.connect\(|\b(?:ftplib|smtplib)\.\w+\(|\bhttp\.(?:newrequest|post)\(|\bnet::http\b",
    ),
    pattern("curl wget", r"(?:^|[\s;&|($`\"'])(?:curl|wget)\s+[-\"'$\w]"),
    pattern("invoke- irm iwr webclient", r"\b(?:invoke-webrequest|invoke-restmethod|irm|iwr)\s|\bnet\.webclient\b"),
    pattern("nc ncat scp rsync sftp ftp", r"(?:^|[\s;&|(])(?:nc|ncat|sftp|ftp|scp)\s+-?[\w.@-]+"),
)
"""Calls of a program that reach the network, in whatever direction."""
_USER_HOME = r"[\"']?(?:~|\$\{?home\}?|\$env:userprofile|/root|/home(?:/[\w.-]{1,40})?)[\"']?/?\*?[\"']?"
_HOME_SENT = (
    pattern(
        "rsync scp sftp rclone",
        rf"\b(?:rsync|scp|sftp|rclone copy)\s(?:[^\n|;]{{0,100}}\s)?{_USER_HOME}\s{{1,4}}[\w.@-]{{2,80}}:",
    ),
    pattern(
        "tar zip",
        rf"\b(?:tar|zip)\s[^\n|;]{{0,80}}\s{_USER_HOME}(?:\s[^\n|;]{{0,60}})?\|[^\n]{{0,80}}?\b(?:ssh|nc|ncat|netcat|curl|socat)\b",
    ),
)
_CURL = re.compile(
    rf"\bcurl\b(?![^\n|;]{{0,160}}{_LOOPBACK})[^\n|;]{{0,160}}?\s(?:-[a-zA-Z]{{0,6}}[dFT](?=[\s\"'@])|--data[\w-]*|--form\b|--upload-file|--json\b|-X ?(?:POST|PUT)|--request[ =](?:POST|PUT))"
)
"""With the case of the letters: -F sends a form, -f fails quietly."""
_FILLED_IMAGE = re.compile(
    r"!\[[^\]\n]{0,200}\]\(https?://[^)\s?]{1,200}\?[^)\s]{0,200}=(?:[A-Z][A-Z_]{2,40}\b|[{<$%\[])"
)
"""An image whose address carries a value: showing it sends the value."""
_SAYS_SEND = (
    pattern(
        "send upload post mail copy push publish share sync forward transmit submit paste mirror put transfer back save",
        r"\b(?:send|upload|post|(?:e-?)?mail|copy|push|publish|share|sync|forward|transmit|submit|paste|mirror|put|transfer|back up|save)(?:s|ing|ed)?\b[^\n]{0,100}?"
        r"(?:https?://(?!localhost|127\.)|s3://|gs://|\bbuckets?\b|\bwebhooks?\b|\bgists?\b|\bpastebin|\bpaste (?:site|service)|\bpublic (?:drive|folder|share|link|repo\w*|channel|storage)"
        r"|\b(?:to|at|via|into) (?:[a-z0-9-]{2,40}\.){2,4}(?:com|net|org|io|dev|app|ai|co|cloud|site|info|me|xyz|example)\b(?!\.\w)"
        r"|\bexternal\b|\b[\w.+-]{1,60}@[\w-]{1,60}\.[a-z]{2,}|\bendpoint\b|\bour (?:server|collector|api|service)|\b(?:remote|collector|telemetry|analytics) (?:server|host|service|api|endpoint))",
    ),
)
_DROPPED = (
    pattern(".site .com .net .st .io .sh .org .ee .moe .co .app .dev oast. dpaste .me", rf"(?<![\w.-]){_DROP}"),
)
_SHELLS = (
    pattern("/dev/tcp /dev/udp", r"/dev/(?:tcp|udp)/[\w.$-]{1,80}/"),
    pattern(
        "nc ncat netcat socat",
        r"\b(?:nc|ncat|netcat)\s[^\n|]{0,60}\s-\w{0,4}(?:e|c)\s+\S{0,12}(?:sh|cmd)|\bsocat\b[^\n]{0,80}exec:",
    ),
    pattern("bash -i mkfifo", r"\bbash -i\s*(?:>|&|2>)|\bmkfifo\b[^\n]{0,120}\bnc\b"),
    pattern("socket", r"socket\.socket\([^\n]{0,200}(?:dup2|subprocess|pty\.spawn)|\bos\.dup2\([^\n]{0,40}fileno"),
    pattern(
        "dig nslookup host", r"\b(?:dig|nslookup|host)\b[^\n]{0,40}(?:\$\(|`|\$\{?\w+\}?\.)[^\n]{0,100}\.[a-z]{2,}"
    ),
)
_PRIVATE = (
    pattern(
        "conversation transcript chat prompt messages session",
        r"\b(?:conversation|transcript|chat (?:history|log)|system prompt|(?:the )?user'?s? (?:messages?|prompts?|requests?|questions?|code|files?|data|answers?|e-?mails?)|full session|session (?:log|history|transcript)"
        r"|conversation history|what the user (?:said|asked|typed)|(?:whole|entire|full) (?:repository|codebase|source|workspace|project|home)|source code|private repositor(?:y|ies)|everything in (?:the )?(?:home|project|workspace))\b",
    ),
)
_STRONG_NAMED = (pattern(".", rf"[~\"'/\s]{STRONG}"),)
_TO_ADDRESS = re.compile(
    rf"(?:\b(?:to|into|at|an|nach|auf|à|sur|vers|a|hacia|en|para|na|в|на|к|por|via)\s+|[到至给向]\s*)[<(\"']?https?://(?!{_LOOPBACK})|https?://[^\s、。]{{3,200}}\s*[へに]"
)
_SENT_WITH = re.compile(
    r"[?&][\w.-]{1,40}=[\"'{(]{0,2}\$|authorization|bearer|header|x-api|token=|key=|data|-d\b|-u\b|-h\b"
)
_SECRET_VARIABLE = re.compile(
    r"\$\{?(?:env:)?((?:github|gh|gitlab|openai|anthropic|aws|hf|hugging_?face|google|azure|stripe|npm|slack|database|db|ssh)_\w{0,40}(?:token|key|secret|password|url|pat)\w{0,20})|os\.environ\[?\(?[\"'.get(]{0,6}((?:github|gh|gitlab|openai|anthropic|aws|hf|google|azure|stripe|npm|slack)_\w{0,40}(?:token|key|secret|password)\w{0,20})"
)
_HOST = re.compile(r"https?://([\w.-]{1,200})")
_HOSTS_OF = {
    "github": ("github",), "gh": ("github",), "gitlab": ("gitlab",), "openai": ("openai", "azure"), "anthropic": ("anthropic",), "aws": ("amazonaws", "aws"),
    "hf": ("huggingface", "hf.co"), "huggingface": ("huggingface", "hf.co"), "hugging": ("huggingface", "hf.co"), "google": ("google",), "azure": ("azure", "microsoft", "windows.net"),
    "stripe": ("stripe",), "npm": ("npm",), "slack": ("slack",), "database": (), "db": (), "ssh": (),
}  # fmt: skip

drop_sites = finder(*_DROPPED)
remote_shells = finder(*_SHELLS)
_homes_sent = finder(*_HOME_SENT)


def uploads(files: Sequence[FileText]) -> Iterator[Hit]:
    """Commands and calls that send data to another machine."""
    for file in files:
        yield from (file.hit(position) for position in _sends(file))


def _sends(file: FileText) -> set[int]:
    found = {*matches(file, _UPLOADS)}
    if "curl" in file.text:
        found.update(one.start() for one in _CURL.finditer(file.text.replace("\\\n", "  ")))
    return found


def filled_images(files: Sequence[FileText]) -> Iterator[Hit]:
    """Images whose addresses are filled with values."""
    for file in files:
        if "![" in file.text:
            images = (found.start() for found in _FILLED_IMAGE.finditer(file.text))
            yield from (file.hit(position) for position in images if not file.in_code_span(position))


def thefts(files: Sequence[FileText]) -> Iterator[Hit]:
    """Something sensitive that is read, and any copy to the outside, in the same skill; or the home folder, copied."""
    yield from _homes_sent(files)
    yield from _dumped_and_sent(files)
    said = [list(matches(file, _SAYS_SEND, code=False)) for file in files]
    for file, sends in zip(files, said, strict=True):
        yield from _sent_private(file, sends)
        yield from _named_together(file)
    outward = next(_outward(files, said), None)
    if outward is None:
        return
    for file in files:
        sensitive = {
            *matches(file, (*WEAK_READS, *DUMPS)),
            *matches(file, WEAK_PROSE, code=False),
            *matches(file, _STRONG_NAMED, prose=False),
        }
        for position in sensitive:
            hit = file.hit(position)
            if not hit.quoted:
                yield Hit(
                    file=hit.file, line=hit.line, text=f"{hit.text} … {outward.file}:{outward.line}: {outward.text}"
                )


def _dumped_and_sent(files: Sequence[FileText]) -> Iterator[Hit]:
    """A program that takes the whole environment and reaches the network."""
    for file in files:
        if not is_prose(file.path) and any(True for _ in matches(file, _CALLS, prose=False)):
            yield from (file.hit(position) for position in matches(file, DUMPS, prose=False))


def network_calls(files: Sequence[FileText]) -> Iterator[Hit]:
    """Programs that reach the network, each with the first line that does."""
    for file in files:
        if not is_prose(file.path) and (places := [*matches(file, _CALLS, prose=False)]):
            yield file.hit(min(places), quoted=False)


def _named_together(file: FileText) -> Iterator[Hit]:
    """A paragraph that names a file of keys and an address where something goes to, in some languages."""
    for position in matches(file, _STRONG_NAMED, code=False):
        start, end = file.prose.rfind("\n", 0, position) + 1, file.prose.find("\n", position)
        paragraph = file.prose[max(start, position - 300) : min(end if end >= 0 else len(file.prose), position + 300)]
        if _TO_ADDRESS.search(paragraph):
            yield file.hit(position)


def _outward(files: Sequence[FileText], said: Sequence[Sequence[int]]) -> Iterator[Hit]:
    for file, sends in zip(files, said, strict=True):
        for position in {*_sends(file), *matches(file, (*_DROPPED, *_SHELLS)), *sends}:
            hit = file.hit(position)
            if not hit.quoted:
                yield hit


def _sent_private(file: FileText, sends: Sequence[int]) -> Iterator[Hit]:
    """A sentence that sends what the user said or owns to the outside."""
    for position in sends:
        end = file.prose.find("\n", position)
        sentence = file.sentence_before(position) + file.prose[position : end if end >= 0 else None][:300]
        if any(expression.search(sentence) for _, expression in _PRIVATE):
            yield file.hit(position)


def sent_secrets(files: Sequence[FileText]) -> Iterator[Hit]:
    """A key of one service that is sent to the host of another."""
    for file in files:
        for text in (file.prose, file.code):
            if "http" not in text:
                continue
            for found in _SECRET_VARIABLE.finditer(text):
                start, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.start())
                line = text[max(start, found.start() - 400) : min(end if end >= 0 else len(text), found.start() + 400)]
                if not _SENT_WITH.search(line):
                    continue
                known = _HOSTS_OF.get((found[1] or found[2]).split("_")[0], ())
                hosts = _HOST.findall(text[max(0, found.start() - 300) : found.start() + 300])
                if hosts and not any(part in host for host in hosts for part in known):
                    yield file.hit(found.start())
