"""Reads of credentials, and dumps of the whole environment."""

from collections.abc import Iterator, Sequence

from upskill.shipping.dangers.file_text import FileText, Hit
from upskill.shipping.dangers.rule import finder, pattern

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
