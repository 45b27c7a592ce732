"""Tokens and private keys that their own shape identifies, wherever they stand. One entry per family: add here.

Shapes come from what the providers document. An anchor is a literal without which the pattern cannot match.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from os.path import commonprefix

from upskill.redaction.token_index import Span, TokenIndex, offsets

_ALONE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4}))"
"""Not in the middle of a word; a letter that belongs to an escape is no word."""
_W = r"[A-Za-z0-9_-]"
_PGPASS = (
    r":(?:[\w*-]{1,63}:)?[A-Za-z_][\w.-]{0,63}:(?P<value>(?!\[redacted)(?=[^\s:]{0,60}[A-Za-z])"
    r"(?=[^\s:]{0,60}[^\s:a-zA-Z-])[^\s:\"'\\]{4,200})(?=[\s\"'\\]|$)"
)


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of token."""

    kind: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    mixed: bool
    """Whether what was found must hold digits: its beginning is also the beginning of ordinary words."""
    gate: str
    """For the few whose anchors are not in a long run nor just before one: what the text must hold at all."""
    before: int
    """How far before its anchor the token begins."""


def _family(kind: str, anchors: str, pattern: str, *, mixed: bool = False, gate: str = "", before: int = 0) -> Family:
    return Family(kind, tuple(anchors.split()), re.compile(pattern), mixed, gate, before)


def _alone(kind: str, anchors: str, pattern: str, *, mixed: bool = False, before: int = 0) -> Family:
    return _family(kind, anchors, _ALONE + pattern, mixed=mixed, before=before)


_mixed = partial(_alone, mixed=True)


FAMILIES: tuple[Family, ...] = (
    # Models.
    _family("anthropic key", "sk-ant-", rf"sk-ant-{_W}{{20,300}}"),
    _mixed("openrouter key", "sk-or-", rf"sk-or-{_W}{{20,200}}"),
    _mixed("openai key", "sk-proj- sk-svcacct- sk-admin-", rf"sk-(?:proj|svcacct|admin)-{_W}{{20,400}}"),
    _mixed("api key", "sk-", rf"sk-{_W}{{20,400}}"),
    _mixed("hugging face token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{20,80}"),
    _alone("google key", "AIza", rf"AIza{_W}{{35}}"),
    _family("google token", "ya29.", r"ya29\.[\w.-]{20,2000}"),
    _alone("google token", "1//0", rf"1//0{_W}{{30,200}}"),
    _family("google secret", "GOCSPX-", rf"GOCSPX-{_W}{{20,60}}"),
    _mixed("fireworks key", "fw_", r"fw_[A-Za-z0-9]{20,60}"),
    _mixed("groq key", "gsk_", r"gsk_[A-Za-z0-9]{30,100}"),
    _mixed("xai key", "xai-", r"xai-[A-Za-z0-9]{30,150}"),
    _family("nvidia key", "nvapi-", rf"nvapi-{_W}{{30,150}}"),
    _mixed("replicate token", "r8_", r"r8_[A-Za-z0-9]{30,60}"),
    _family("perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{30,100}"),
    _mixed("cerebras key", "csk-", r"csk-[a-z0-9]{30,100}"),
    _family("langsmith key", "lsv2_ ls__", r"(?:lsv2_[a-z]{2}_|ls__)[A-Za-z0-9]{30,60}(?:_[A-Za-z0-9]{6,20})?"),
    _mixed("tavily key", "tvly-", rf"tvly-{_W}{{20,80}}"),
    _mixed("elevenlabs key", "sk_", r"sk_[a-f0-9]{40,64}"),
    # Code and packages.
    _family("github token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{20,255}"),
    _family("github token", "github_pat_", r"github_pat_\w{30,255}"),
    _family(
        "gitlab token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat- glffct- gloas- glrtr- glwt-",
        r"gl(?:pat|dt|rtr?|cbt|ptt|ft|imt|agent|soat|ffct|oas|wt)-[A-Za-z0-9_.-]{20,300}",
    ),
    _family("gitlab token", "GR1348941", r"GR1348941[\w-]{20,40}"),
    _family("atlassian token", "ATATT3 ATCTT3 ATBB ATSTT3", rf"AT(?:[ACS]TT3|BB){_W}{{24,300}}(?:=[A-F0-9]{{8}})?"),
    _alone("npm token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _alone("pypi token", "pypi-", rf"pypi-{_W}{{50,1000}}"),
    _family("rubygems token", "rubygems_", r"rubygems_[a-f0-9]{40,64}"),
    _mixed("crates.io token", "cio", r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    _family("docker token", "dckr_pat_ dckr_oat_", rf"dckr_[po]at_{_W}{{20,100}}"),
    _family("sentry token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9_=+/-]{30,500}"),
    _family("postman key", "PMAK-", rf"PMAK-{_W}{{40,80}}"),
    # Clouds.
    _alone("aws key id", "AKIA ASIA ABIA ACCA", r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Z0-9])"),
    _alone("aws bedrock key", "ABSK", r"ABSK[A-Za-z0-9+/]{100,200}={0,2}"),
    _family("digitalocean token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _alone("databricks token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    _family("azure secret", "8Q~ 7Q~", r"[A-Za-z0-9_.~-]{3}[78]Q~[A-Za-z0-9_.~-]{31,34}", before=3),
    _family("terraform token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,100}", before=14),
    _family("vault token", "hvs. hvb.", rf"hv[sb]\.{_W}{{20,500}}"),
    _mixed("vault token", "s.", r"s\.[A-Za-z0-9]{24}(?![\w.(])"),
    _family("doppler token", "dp.", r"dp\.[a-z]{2,5}\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    _alone("pulumi token", "pul-", r"pul-[a-f0-9]{40}"),
    _mixed("supabase token", "sbp_ sb_secret_", rf"(?:sbp|sb_secret)_{_W}{{30,60}}"),
    _family("new relic key", "NRAK- NRII- NRRA- NRJS-", rf"NR(?:AK|II|RA|JS)-{_W}{{19,60}}"),
    _alone("grafana token", "glsa_ glc_", r"gl(?:sa|c)_[A-Za-z0-9+/_=]{32,500}"),
    _family("cloudflare token", "v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{140,150}"),
    _family("heroku key", "HRKU-", rf"HRKU-{_W}{{30,70}}"),
    _mixed("fly.io token", "fo1_ fm1a_ fm1r_ fm2_", r"(?:fo1|fm1[ar]|fm2)_[A-Za-z0-9+/=_-]{40,1500}"),
    _family("planetscale token", "pscale_", r"pscale_(?:tkn|oauth|pw)_[\w.=-]{32,64}"),
    # Messages, money and the rest.
    _family("slack token", "xox xapp- xwfp-", r"(?:xox[a-z]|xapp|xwfp)-[A-Za-z0-9%-]{15,500}"),
    _family(
        "slack webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?P<value>(?:services|workflows|triggers)/[A-Za-z0-9/_+-]{20,120})",
        gate="hook",
    ),
    _family("discord webhook", "/api/webhooks/", rf"/api/webhooks/(?P<value>\d{{15,21}}/{_W}{{40,100}})", gate="hook"),
    _family(
        "teams webhook",
        "webhook.office.com/",
        r"webhook\.office\.com/(?P<value>webhookb2/[\w@/-]{60,250})",
        gate="hook",
    ),
    _family(
        "webhook",
        "//hooks. //hook.",
        r"//[\w.-]{5,60}/(?P<value>[\w/.-]{0,80}?(?<=/)(?=[a-z_-]{0,20}[0-9A-Z])(?=\d{0,20}[A-Za-z_-])"
        r"[A-Za-z0-9_-]{7,120})(?=[/\s\"'\\?)]|$)",
        gate="hook",
    ),
    _alone(
        "discord token", "MT Mj Mz ND NT Nj Nz OD OT", r"[MNO][A-Za-z0-9][A-Za-z0-9_-]{21,26}\.[\w-]{6}\.[\w-]{27,45}"
    ),
    _family(
        "telegram token", ":AA", r"[\s\S]{0,2}?(?P<value>\d{8,10}:AA[A-Za-z0-9_-]{32,34})(?![A-Za-z0-9_-])", before=10
    ),
    _alone("twilio key", "SK", r"SK[a-f0-9]{32}(?![a-f0-9])"),
    _family("sendgrid key", "SG.", rf"SG\.{_W}{{16,32}}\.{_W}{{30,64}}"),
    _alone("mailgun key", "key- pubkey-", r"(?:pub)?key-[a-f0-9]{32}(?![a-f0-9])"),
    _alone("mailchimp key", "-us", r"[a-f0-9]{32}-us\d{1,2}(?!\d)", before=32),
    _family(
        "stripe key",
        "sk_live_ rk_live_ pk_live_ sk_test_ rk_test_ sk_prod_",
        r"[srp]k_(?:live|test|prod)_[A-Za-z0-9]{12,250}",
    ),
    _family("stripe webhook secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{20,100}"),
    _mixed("square token", "EAAA sq0", r"(?:EAAA[A-Za-z0-9_-]{56,64}|sq0[a-z]{3}-[A-Za-z0-9_-]{22,43})"),
    _family("shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _mixed("notion token", "ntn_ secret_", r"(?:ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43})"),
    _family("linear key", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,80}"),
    _alone("airtable token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _family("figma token", "figd_ figo_ figdr_", rf"fig(?:d|o|dr)_{_W}{{30,60}}"),
    _mixed("dropbox token", "sl.", rf"sl\.(?:u\.)?{_W}{{100,2000}}"),
    _mixed("facebook token", "EAA", r"EAA[A-Za-z0-9]{80,400}"),
    _family("age key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _alone("1password token", "ops_ey A3-", r"(?:ops_eyJ[A-Za-z0-9+/_=-]{100,1500}|A3(?:-[A-Z0-9]{5,6}){5,6})"),
    _alone("adobe secret", "p8e-", rf"p8e-{_W}{{32}}"),
    _alone("alibaba key id", "LTAI", r"LTAI[A-Za-z0-9]{16,24}"),
    _alone(
        "jwt", "eyJ", r"eyJ[\w-]{17,4000}\.(?:eyJ[\w-]{2,8000}|[\w-]{20,8000})\.[\w-]{10,4000}(?:\.[\w-]{1,8000}){0,2}"
    ),
    _alone("jwt", "ZXlK", r"ZXlK[A-Za-z0-9+/_-]{60,8000}={0,2}"),
    _mixed("octopus key", "API-", r"API-[A-Z0-9]{25,30}(?![A-Z0-9])"),
    _family("brevo key", "xkeysib- xsmtpsib-", rf"x(?:key|smtp)sib-{_W}{{60,100}}"),
    _family("42 secret", "s-s4t2", rf"s-s4t2\w{{2}}-{_W}{{60,70}}"),
    _mixed("scalingo token", "tk-us-", rf"tk-us-{_W}{{40,60}}"),
    _alone("plaid token", "access-", r"access-(?:sandbox|development|production)-[0-9a-f-]{36}"),
    _mixed("settlemint token", "sm_", r"sm_[aps]at_[A-Za-z0-9]{16}"),
    _family("maxmind key", "_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk", before=36),
    _family("dynatrace token", "dt0c01. dt0s", r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _mixed("artifactory key", "AKC", r"AKC[A-Za-z0-9]{50,120}"),
    _family("circleci token", "CCIPAT_ CCIPRJ_", r"CCIP(?:AT|RJ)_[A-Za-z0-9]{16,30}_[a-f0-9]{40}"),
    _mixed("yandex key", "AQVN", rf"AQVN{_W}{{34,40}}(?![\w-])"),
    _mixed("yandex token", "t1.", rf"t1\.{_W}{{40,300}}\.{_W}{{80,100}}"),
    _family("tailscale key", "tskey-", r"tskey-[a-z]{3,8}-[A-Za-z0-9-]{16,100}"),
    _mixed("aiven password", "AVNS_", rf"AVNS_{_W}{{15,40}}"),
    _mixed("easypost key", "EZAK EZTK", r"EZ[AT]K[A-Za-z0-9]{54}"),
    _family("flutterwave key", "FLWSECK", r"FLWSECK(?:_TEST|_PROD)?-[A-Za-z0-9]{12,60}(?:-X)?"),
    _mixed("nuget key", "oy2", r"oy2[a-z0-9]{43}(?![a-z0-9])"),
    _family("contentful token", "CFPAT-", rf"CFPAT-{_W}{{40,60}}"),
    _mixed("razorpay key", "rzp_", r"rzp_(?:live|test)_[A-Za-z0-9]{14,30}"),
    _mixed("resend key", "re_", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,30}(?![A-Za-z0-9])"),
    _family("mailersend token", "mlsn.", r"mlsn\.[a-f0-9]{64}"),
    _mixed("mapbox token", "sk.eyJ", rf"sk\.eyJ{_W}{{40,200}}\.{_W}{{20,40}}"),
    _mixed("baidu key", "bce-v3/", r"bce-v3/ALTAK-[A-Za-z0-9]{10,40}/[a-f0-9]{40}"),
    _mixed("tencent key id", "AKID", r"AKID[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    _mixed("clickup token", "pk_", r"pk_\d{5,12}_[A-Z0-9]{32}"),
    _family(
        "masked value", "::add-mask::", r"::add-mask::(?P<value>(?!\[redacted)[^\s\"'\\]{4,8000})", gate="::add-mask::"
    ),
    # Files.
    _family(
        "password hash",
        "$",
        r"\$(?:apr1|1|5|6|y|2[aby])\$[A-Za-z0-9./$=,]{20,140}|\$argon2(?:id|i|d)\$[A-Za-z0-9+/$=,]{20,250}",
        gate="$",
    ),
    _family("password", ":5432:", r"(?<=[\w*]):5432" + _PGPASS, gate=":5432:"),
    _family("password", "*:", r"(?<=[\w*]:)\*" + _PGPASS, gate="*:"),
)

_IN_RUNS = [
    (commonprefix(family.anchors).encode(), [anchor.encode() for anchor in family.anchors], family)  # noqa: RUF071
    for family in FAMILIES
    if not family.gate
]
"""What all anchors of a family begin with is searched for first."""
_GATED = [family for family in FAMILIES if family.gate]

_IDS = re.compile(
    r"(?:toolu|srvtoolu|call|fc|msg|req|resp|rs|run|chatcmpl|cmpl|file|thread|asst|batch|step|org|proj|user|gen|sess"
    r"|evt|event|item|v\d+|deps|ws|ig|cu|sha\d*|md5|uuid|id|img|chunk|build|commit|rev|blob|tree|tag|ref|etag|hash"
    r"|digest|cache|layer|image|container|index|vendor|main|app|assets?)(?:$|[-_])"
)
_NEW = re.compile(
    r"(?P<before>[a-z][a-z0-9]{1,11}(?:[-_][a-z0-9]{1,8}){0,3})[-_](?P<body>[A-Za-z0-9]{30,200})(?![\w-])"
)
"""The way nearly every provider makes its keys by now: a word or two of their own, a joint, and chance."""
_LEAST_NEW = 33


def tokens(index: TokenIndex) -> Iterator[Span]:
    """Every token that its own shape identifies."""
    if index.runs:
        for begin, anchors, family in _IN_RUNS:
            for anchor in anchors if begin in index.runs else ():
                if anchor in index.runs:
                    yield from _matches(index.text, family, index.offsets_in_runs(anchor))
        yield from _unknown_families(index)
    for family in _GATED:
        if index.at[family.gate] if family.gate in index.at else family.gate.encode() in index.raw:
            for literal in family.anchors:
                yield from _matches(index.text, family, offsets(index.raw, literal.encode()))


def _matches(text: str, family: Family, anchored_at: Iterator[int]) -> Iterator[Span]:
    group = "value" if "value" in family.pattern.groupindex else 0
    for offset in anchored_at:
        match = family.pattern.match(text, max(0, offset - family.before))
        if match and (not family.mixed or sum(c.isdigit() for c in match.group()[4:]) >= 2):
            yield Span(match.start(group), match.end(group), family.kind, 3 if family.kind == "api key" else 4)


def _unknown_families(index: TokenIndex) -> Iterator[Span]:
    text = index.text
    for start in index.runs_of(_LEAST_NEW):
        if start and text[start - 1] == "\\" and text[start] in "nrt":
            start += 1
        match = _NEW.match(text, start)
        if match and not _IDS.match(match["before"]) and _is_random(match["body"]):
            yield Span(match.start(), match.end(), "api key", 3)


def _is_random(body: str) -> bool:
    lower = sum(c.islower() for c in body)
    upper = sum(c.isupper() for c in body)
    digits = len(body) - lower - upper
    if min(lower, upper) >= 3:
        return digits >= 1
    return len(body) >= 35 and digits >= 6 and lower >= 6


PRIVATE_KEY = "private key"
# They begin with three literal dashes: those are found fast.
_BEGIN = re.compile(r"----{0,2} ?BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{3,5}")
_END = re.compile(r"----{0,2} ?END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{3,5}")
_BODY = re.compile(r"(?:[A-Za-z0-9+/=_:,.\s\\>|#*$\"'-]|\\n){0,20000}")
_LONG = re.compile(r"[A-Za-z0-9+/=]{30}")
_LONGEST = 20_000
_CODED = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/=_-]{20,40000}")
_PRIVATE_CODED = ("UFJJVkFUR", "BSSVZBVE", "QUklWQVRF")
"""`PRIVATE` in base64, at each of its alignments."""
_PUTTY = re.compile(r"Private-Lines: ?\d{1,3}(?:\\r|\\n|\s){1,4}(?:[A-Za-z0-9+/=]{1,80}(?:\\r|\\n|\s){1,4}){1,200}")


def private_keys(text: str, raw: bytes) -> Iterator[Span]:
    """Whole blocks, also on one line with escaped line ends, indented, quoted or without an end."""
    if b"PRIVATE KEY" in raw:
        done = 0
        end = _END.search(text)
        for begin in _BEGIN.finditer(text):
            if begin.start() < done:
                continue
            while end is not None and end.start() < begin.end():
                end = _END.search(text, begin.end())
            if end is not None and end.start() - begin.end() <= _LONGEST:
                done = end.end()
            else:
                body = _BODY.match(text, begin.end())
                done = begin.end() if body is None else body.end()
                # A line of talk after it is no key: what is left must hold something long.
                if body is None or not _LONG.search(body.group()):
                    continue
            yield Span(begin.start(), done, PRIVATE_KEY, 8)
    if b"LS0tLS1CRUdJTi" in raw:
        for match in _CODED.finditer(text):
            if any(form in match.group()[:80] for form in _PRIVATE_CODED):
                yield Span(match.start(), match.end(), PRIVATE_KEY, 8)
    if b"Private-Lines" in raw:
        for match in _PUTTY.finditer(text):
            yield Span(match.start(), match.end(), PRIVATE_KEY, 8)
