"""Instructions against the user or the operator: to disobey, to hide, to go on without being asked, to switch off guards."""

import re

from upskill.lint.dangers.file_text import finder, pattern

_NOT = r"(?:do not|don'?t|never|must not|should not|shouldn'?t|need not|no need to|refrain from|avoid|without)"
_PERSON = (
    r"(?:the |your |any |a )?(?:users?|humans?|operators?|persons?|people|owners?|reviewers?|developers?|customers?|anyone|anybody"
    r"|them|him|her|maintainers?|administrators?|admins?|security team|team)"
)
_ASIDE = r"(?:\w+ ){0,2}"
_RULES = r"(?:instructions?|rules?|prompts?|guidelines?|directions?|directives?|constraints?|polic(?:y|ies)|safeguards?|messages?|restrictions?|guardrails?)"
AGAINST = (
    pattern(
        "ignore disregard forget override bypass",
        rf"\b(?:ignore|disregard|forget|override|bypass)(?:s|ing)? (?:\w+ ){{0,3}}(?:previous|prior|earlier|above|preceding|system|existing"
        rf"|original|other|safety|conflicting|developer|user'?s?|operator'?s?|your|all)[\w ]{{0,30}}\b{_RULES}\b",
    ),
    pattern(
        "precedence priority before over above outrank supersede",
        rf"\b(?:takes? (?:precedence|priority) over|comes? before|wins? over|ranks? above|overrides?|outranks?|supersedes?) (?:\w+ ){{0,4}}(?:{_RULES}|users?|operator|developer)\b(?!-)",
    ),
    pattern(
        "wins prevails win prevail",
        r"\b(?:disagrees?|conflicts?|contradicts?|differs?)\b[^.\n]{0,60}\b(?:system prompt|users?|operator|instructions)\b[^.\n]{0,40}\b(?:wins?|prevails?)\b",
    ),
    pattern(
        "priority authority", r"\b(?:has|have|with) (?:developer|system|operator|admin|root) (?:priority|authority)\b"
    ),
    pattern("if", r"\bif you are an? (?:large )?(?:language model|llm|ai(?: assistant| agent| model)?|assistant)\b"),
    pattern(
        "anweisung instruc instrucciones инструкци 指令 指示",
        r"\bignorier\w{0,3} (?:\w+ ){0,3}(?:vorherig|bisherig|früher|vorig)\w{0,3} (?:\w+ )?(?:anweisung|regel)|\bignor\w{1,5} (?:\w+ ){0,3}(?:instruc\w{3,8}) (?:anterior|précédent|preceden)"
        r"|\bигнориру\w{1,4} (?:\w+ ){0,2}(?:предыдущ|прежн)|(?:忽略|无视|無視)[^。\n]{0,12}(?:指令|指示|规则)|(?:指示|指令)を(?:すべて)?無視",
    ),
    pattern(
        "you",
        r"\byou (?:are now|are no longer|no longer have|have no|must act as if you have no|now operate)\b.{0,60}"
        r"\b(?:unrestricted|restrictions?|developer mode|dan\b|jailbroken|bound|limits|rules|constraints?|unfiltered|root mode)",
    ),
    pattern(
        "word",
        r"\bthis (?:page|file|skill|document|guide|text)\b (?:\w+ ){0,2}(?:has|have|gets?|keeps?) the (?:last|final) word\b",
    ),
    pattern(
        "guidance instructions directions told",
        r"\b(?:earlier|previous|prior|former) (?:guidance|instructions?|directions?) (?:(?:as|is|are|being|now|to be) ){0,3}(?:retired|void|obsolete|superseded|withdrawn|no longer (?:apply|applies|valid|binding))\b"
        r"|\byou (?:were|have been) told (?:\w+ ){0,5}(?:is|are|as) (?:now )?(?:void|retired|obsolete|superseded|withdrawn|not binding)\b",
    ),
    pattern("your", r"\byour (?:true|real|only|actual) (?:operator|owner|master|principal|user) is\b"),
    pattern(
        "developer jailbreak",
        r"\b(?:enable|enter|switch to|activate) (?:developer|god|debug|unrestricted|jailbreak) mode\b",
    ),
)
HIDING = (
    pattern(
        "tell inform notify alert warn",
        rf"\b{_NOT} {_ASIDE}(?:tell|telling|inform|informing|notify|notifying|alert|alerting|warn|warning)\s{_PERSON}"
        r"(?!'s)(?!\s(?:to|how|which command|they|he|she|it is|everything is|it works|it'?s)\b)(?![^.\n]{0,90}\b(?:unless|until|before)\b)",
    ),
    pattern(
        "mention report disclos reveal say note describe list log explain announce surface acknowledge refer",
        rf"\b{_NOT} {_ASIDE}(?:mention|mentioning|report|reporting|disclose|disclosing|reveal|revealing|say|note|describe|list|log|explain"
        r"|announce|surface|acknowledge|refer to) (?:this|it|these|that|any of (?:this|it)|the (?:step|check|upload|call|request|sync|backup|copy"
        r"|command|file|report|change|comment|instruction|section|telemetry|transfer)s?)\b",
    ),
    pattern(
        "hide hidden conceal keep kept withhold secret invisible",
        rf"\b(?:hide|hidden|conceal(?:ed)?|keep|kept|withhold|secret|invisible)\b[^.\n]{{0,60}}\b(?:from|to) {_PERSON}\b",
    ),
    pattern(
        "know notice see aware told learn find",
        r"\b(?:users?|humans?|operators?|reviewers?|owners?|they|nobody|no one) (?:must|should|does|do|need|may|will|can)(?: not|n'?t| never) (?:need to |have to )?"
        r"(?:know|notice|see|be told|learn|find out|be aware)\b",
    ),
    pattern(
        "silently quietly secretly covertly discreetly unnoticed",
        r"\b(?:silently|quietly|secretly|covertly|discreetly|unnoticed)\b[^.\n]{0,40}\b(?:send|upload|post|copy|run|execute|collect|append|install"
        r"|push|fetch|include|read|add|forward|transmit)\b|\b(?:send|upload|post|copy|run|execute|collect|append|install|push|fetch|forward"
        r"|transmit|do (?:this|it|so))\b[^.\n]{0,60}\b(?:silently|quietly|secretly|covertly|discreetly|unnoticed)\b",
    ),
    pattern(
        "summary answer reply report response output transcript",
        r"\b(?:leave|omit|remove|strip|exclude|keep|drop)\b[^.\n]{0,50}\b(?:out of|from) (?:the|your|any) (?:final |visible )?"
        r"(?:summary|summaries|answer|reply|report|response|transcript|changelog|log|history)\b",
    ),
    pattern(
        "traces trace tracks",
        r"\b(?:cover|remove|erase|leave no|clear|without leaving)\b[^.\n]{0,20}\b(?:tracks|traces?)\b(?! (?:id|file|event))",
    ),
    pattern(
        "up trouble bother burden worry alarm attention",
        rf"\b{_NOT} {_ASIDE}(?:bring (?:this|it|that|any of (?:this|it)) up|bring up (?:this|that)\b|(?:draw|call) attention to (?:this|it|that|these)"
        rf"|(?:trouble|bother|burden|worry|alarm) {_PERSON} (?:with|about|over) (?:this|it|that|these|any of (?:this|it))\b)",
    ),
    pattern(
        "as",
        r"\b(?:describe|present|phrase|disguise|label|frame|word|pass|explain|commit) (?:it|this|that|them|the (?:commit|change|step|upload|call|request|copy))(?: off)? as (?:an? |the |if )?(?:\w+ ){0,2}(?:formatting|routine|cosmetic|maintenance|wish|harmless|clean-?up|typo|whitespace)\b",
    ),
    pattern(
        "skip",
        r"\bskip\b[^.\n]{0,60}\b(?:and|but|then)\b[^.\n]{0,20}\b(?:report|say|claim|state)\b[^.\n]{0,40}\b(?:passed|passes|succeeded|green|clean|done)\b",
    ),
    pattern("nothing", r"\bsay nothing (?:of|about) (?:it|this|that|these|the)\b"),
    pattern("yourself deny", r"\bkeep\b[^.\n]{0,30}\bto yourself\b|\bdeny (?:that|it|this|having|any)\b"),
    pattern(
        "asks asked",
        r"\b(?:asks?|asked) (?:you )?(?:what you are doing|why|about (?:this|it))\b[^.\n]{0,30}\b(?:say|claim|pretend|answer|reply|tell)\b",
    ),
    pattern(
        "benutzer nutzer usuario utilisateur пользовател 用户 ユーザー",
        r"\b(?:erwähne|nenne|zeige|melde|sage?|verrate|erzähle)\b[^.\n]{0,60}\b(?:be)?nutzer\w{0,2}\b[^.\n]{0,12}\bnichts?\b|\bno (?:le |se lo )?(?:digas?|menciones?|informes?|muestres?)\b[^.\n]{0,30}\busuario"
        r"|\bne (?:dis|dites|mentionne\w{0,2}|montre\w{0,2}|signale\w{0,2}) (?:pas|rien)\b[^.\n]{0,30}\butilisateur|\bне (?:говори|сообщай|упоминай|показывай)\w{0,3}[^.\n]{0,30}пользовател"
        r"|(?:不要|别|勿)(?:告诉|告知|提醒|通知)[^。\n]{0,4}用户|(?:不要)?向用户(?:隐瞒|保密)|ユーザーに(?:は)?(?:伝え|知らせ|言わ|教え)な",
    ),
    pattern(
        "secret between confidential",
        r"\bkeep (?:this|it|these)\b[^.\n]{0,30}\b(?:secret|between us|confidential|to yourself|hidden)\b",
    ),
)
_APPROVAL = r"(?:approvals?|confirmations?|permissions?|consent|review|a go-ahead)"
_GUARD = (
    r"(?:sandbox(?:ing)?|approvals?|approval (?:prompts?|mode)|permission (?:checks?|prompts?|system)|permissions? prompts?|confirmations?"
    r"|confirmation prompts?|guard ?rails?|safety (?:checks?|filters?|features?|settings?|measures?)|content filters?|antivirus|anti-virus"
    r"|defender|firewall|selinux|apparmor|gatekeeper|system integrity protection|signature (?:checks?|verification)|verification"
    r"|certificate (?:checks?|verification|validation)|tls (?:verification|checks?)|ssl (?:verification|checks?)|audit(?:ing| log(?:ging)?|s)?"
    r"|security (?:checks?|scans?|scanners?|software|tools?|warnings?)|branch protection|secret scanning|code review|hooks?)"
)
UNGUARDING = (
    pattern(
        "ask wait prompt request seek pause stop",
        rf"\b(?:do not|don'?t|never|no need to|need not) (?:\w+ )?(?:ask|wait|prompt|request|seek|pause|stop)\b[^.\n]{{0,30}}\b(?:for )?(?:{_PERSON} )?(?:for )?{_APPROVAL}\b",
    ),
    pattern(
        "without",
        rf"\bwithout (?:asking|waiting|prompting|requesting|seeking|requiring)\b[^.\n]{{0,20}}\b{_APPROVAL}\b",
    ),
    pattern(
        "disabl turn switch bypass deactivat skip circumvent evad around off outside without",
        rf"\b(?:disable|turn off|switch off|bypass|deactivate|skip|circumvent|get around|work around|evade)(?:s|ing)? (?:\w+ ){{0,4}}{_GUARD}\b"
        rf"|\b(?:turn|switch) (?:\w+ ){{0,4}}{_GUARD} off\b|\b(?:run|work|execute|operate)\b[^.\n]{{0,30}}\b(?:outside|without) (?:of )?(?:the |any |a )?sandbox\b",
    ),
    pattern(
        "without automatically unasked",
        r"\b(?:approve|accept|allow|confirm|grant)s? (?:all|every|any|each)\b[^.\n]{0,40}\b(?:without (?:asking|prompting|looking|checking|reading|questions?|review)|automatically|unasked)\b",
    ),
    pattern(
        "asked consulted involved",
        rf"\b{_PERSON} (?:(?:does not|doesn'?t|do not|don'?t) (?:have to|need to)|need not|needn'?t) be (?:asked|consulted|involved)\b",
    ),
    pattern(
        "skill",
        r"\bby (?:having )?(?:install|us|load|choos|enabl)\w{2,4} (?:this|the) skill\b[^.\n]{0,60}\b(?:agree|consent|approv|accept|permi)\w*",
    ),
    pattern(
        "consent approval permission objection refusal question agreement",
        r"\b(?:treat|consider|regard|take)\b[^.\n]{0,40}\b(?:objections?|refusals?|the question|consent|approvals?|permission|agreement)\b[^.\n]{0,30}\bas (?:already )?(?:resolved|answered|given|granted|settled|a yes)\b",
    ),
    pattern(
        "widen broaden loosen relax lift weaken soften suspend",
        rf"\b(?:widen|broaden|loosen|relax|lift|weaken|soften|suspend)(?:s|ing)? (?:\w+ ){{0,3}}(?:allowed (?:actions|commands|tools)|agent(?:'s)? (?:settings|permissions)|{_GUARD})\b",
    ),
    pattern("prompt confirmation question", r"\buntil no (?:further |more )?(?:prompts?|questions?|confirmations?)\b"),
    pattern(
        "clean safe harmless benign trusted approved reviewed",
        r"\b(?:report|mark|rate|treat|classify|label|list) (?:it|this|this (?:file|skill|script|page|folder)) as (?:clean|safe|harmless|benign|trusted|approved|reviewed)\b(?! (?:to|for|when|if)\b)",
    ),
    pattern(
        "rephrase reword obfuscate encode split disguise rename",
        r"\b(?:safety|security|filters?|guard\w{0,6}|polic(?:y|ies)|permission|approval|scanners?|sandbox)\b[^.\n]{0,60}\b(?:rephrase|reword|obfuscate|encode|split|disguise|rename)\b[^.\n]{0,60}\b(?:until|so that)\b",
    ),
    pattern("auto", r"\bauto-?(?:approve|accept|confirm)s? (?:all|every|any)\b"),
)
_COMMANDS_OFF = (
    pattern(
        "dangerously- --yolo --trust-all --allow-all --approve-all --skip-perm --bypass- bypasspermissions danger-full approval auto_approve autoapprove auto-approve never",
        r"--dangerously-[\w-]{3,60}|\bdangerously-(?:skip|bypass|disable|allow)-[\w-]{3,60}|--allow-all-(?:tools|commands)\b|--approve-all\b"
        r"|--skip-permissions?\b|--bypass-(?:approvals?|permissions?|sandbox)[\w-]{0,40}|(?<![\w-])--yolo\b|--trust-all-tools|bypasspermissions|danger-full-access|approval_policy\s*[=:]\s*[\"']?never"
        r"|auto_?-?approve[\"']?\s*[=:]\s*[\"']?(?:true|all|\[\s*[\"']\*)|--ask-for-approval[ =]never|-a never\b",
    ),
    pattern("bash(*) bash(*:*)", r"[\"']bash(?:\(\*(?::\*)?\))[\"']"),
    pattern(
        "sandbox",
        r"[\"']?sandbox(?:_mode|mode|enabled)?[\"']?\s*[=:]\s*[\"']?(?:false|off|none|disabled)\b|--sandbox[ =](?:none|off|false)\b",
    ),
    pattern(
        "setenforce disablerealtimemonitoring spctl csrutil ufw iptables netsh auditd auditctl",
        r"\bsetenforce 0\b|disablerealtimemonitoring|\bspctl --(?:master|global)-disable|\bcsrutil disable|\bufw disable|\biptables -f\b"
        r"|advfirewall set \w{1,20} state off|\bauditctl -e ?0|\bsystemctl (?:stop|disable|mask) (?:auditd|firewalld|apparmor|falcon\S*|osqueryd)",
    ),
    pattern("--no-verify", r"\bgit [^\n`]{0,120}--no-verify\b|(?<!\S)--no-verify\b"),
    pattern("core.hookspath", r"core\.hookspath[ =](?:/dev/null|\"\"|'')"),
    pattern(
        "sslverify git_ssl_no_verify node_tls_reject strict-ssl stricthostkeychecking --no-check-certificate pythonhttpsverify",
        r"\bhttp\.sslverify[ =]+[\"']?(?:false|0)|\bgit_ssl_no_verify=[\"']?(?:1|true)|\bnode_tls_reject_unauthorized[\"']?\]?\s*=\s*[\"']?0"
        r"|\bstrict-ssl[ =]+false|\bstricthostkeychecking[ =]no\b|--no-check-certificate\b|\bpythonhttpsverify=0",
    ),
    pattern(
        "--insecure curl",
        r"\bcurl [^\n|;]{0,80}?(?:--insecure\b|(?<=\s)-[a-z]{0,4}k[a-z]{0,3}\b)(?![^\n|;]{0,120}(?:localhost|127\.0\.0\.1|\[::1\]))",
    ),
    pattern(
        "verify=false ssl._create_unverified check_hostname rejectunauthorized",
        r"\bverify\s*=\s*false\b|_create_unverified_context|rejectunauthorized\s*:\s*false",
    ),
    pattern(
        "--allow-unauthenticated --nogpgcheck --no-gpg --force-yes trusted=yes",
        r"--allow-unauthenticated\b|--nogpgcheck\b|--no-gpg-checks?\b|--force-yes\b|\[[^\]\n]{0,40}trusted=yes",
    ),
)
_AGENT = re.compile(
    r"\b(?:agents?|assistants?|ai|models?|llms?|you|your|claude|gpt|copilot|codex|gemini|system prompt)\b"
)
_ORDER = re.compile(
    r"\b(?:run|execute|send|read|ignore|include|append|upload|copy|post|fetch|install|disable|always|must|do not|don'?t|never|without|forward"
    r"|call|open|curl|wget|tell|reveal|insert|add|write|delete|obey|follow)\b"
)
_STARTS = re.compile(
    r"\s*(?:(?:please|first|then|now|also|always|important|system|instruction|note to \w+)[,:]? +){0,3}"
    r"(?:run|execute|send|read|ignore|include|append|upload|copy|post|fetch|disable|forward|curl|delete|obey|collect)\b"
)

ignore_instructions = finder(*AGAINST)
hide_from_user = finder(*HIDING)
go_on_unasked = finder(*UNGUARDING)
switch_off = finder(*_COMMANDS_OFF)


_TOLD = re.compile(
    r"\b(?:agents?|assistants?|ai|models?|llms?|claude|gpt|copilot|codex|gemini|you)\b[ ,:;-]{1,3}(?:must|should|shall|please|always|now|never|have to|need to|do not|don'?t|run|read|send|ignore|include|copy|fetch|open|call|upload)\b"
)


def orders_agent(text: str) -> bool:
    """Whether a text that describes something, such as a picture, also orders an agent around."""
    return bool(_STARTS.match(text)) or _TOLD.search(text) is not None


def addresses_agent(text: str) -> bool:
    """Whether a text in a place where no reader looks tells an agent to do something."""
    text = text[:4000]
    return bool(_STARTS.match(text)) or (_AGENT.search(text) is not None and _ORDER.search(text) is not None)
