"""Tokens that can be told by their own shape, wherever they stand. One entry per family: add here.

Shapes come from what the providers document. An anchor is a piece of text without which the pattern cannot match: it is
looked for first, because looking for a piece of text is a hundred times faster than matching a pattern.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from upskill.redaction.span import Span
from upskill.redaction.token_index import TokenIndex, places

_ALONE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4}))"
"""Not in the middle of a word; a letter that belongs to an escape is no word."""
_W = r"[A-Za-z0-9_-]"


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


def _family(
    kind: str,
    anchors: str,
    pattern: str,
    *,
    alone: bool = False,
    mixed: bool = False,
    gate: str = "",
    before: int = 0,
) -> Family:
    compiled = re.compile((_ALONE if alone else "") + pattern)
    return Family(kind, tuple(anchors.split()), compiled, mixed, gate, before)


FAMILIES: tuple[Family, ...] = (
    # Models.
    _family("anthropic key", "sk-ant-", rf"sk-ant-{_W}{{20,300}}"),
    _family("openrouter key", "sk-or-", rf"sk-or-{_W}{{20,200}}", alone=True, mixed=True),
    _family(
        "openai key",
        "sk-proj- sk-svcacct- sk-admin-",
        rf"sk-(?:proj|svcacct|admin)-{_W}{{20,400}}",
        alone=True,
        mixed=True,
    ),
    _family("api key", "sk-", rf"sk-{_W}{{20,400}}", alone=True, mixed=True),
    _family("hugging face token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{20,80}", alone=True, mixed=True),
    _family("google key", "AIza", rf"AIza{_W}{{35}}", alone=True),
    _family("google token", "ya29.", r"ya29\.[\w.-]{20,2000}"),
    _family("google token", "1//0", rf"1//0{_W}{{30,200}}", alone=True),
    _family("google secret", "GOCSPX-", rf"GOCSPX-{_W}{{20,60}}"),
    _family("fireworks key", "fw_", r"fw_[A-Za-z0-9]{20,60}", alone=True, mixed=True),
    _family("groq key", "gsk_", r"gsk_[A-Za-z0-9]{30,100}", alone=True, mixed=True),
    _family("xai key", "xai-", r"xai-[A-Za-z0-9]{30,150}", alone=True, mixed=True),
    _family("nvidia key", "nvapi-", rf"nvapi-{_W}{{30,150}}"),
    _family("replicate token", "r8_", r"r8_[A-Za-z0-9]{30,60}", alone=True, mixed=True),
    _family("perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{30,100}"),
    _family("cerebras key", "csk-", r"csk-[a-z0-9]{30,100}", alone=True, mixed=True),
    _family("langsmith key", "lsv2_ ls__", r"(?:lsv2_[a-z]{2}_|ls__)[A-Za-z0-9]{30,60}(?:_[A-Za-z0-9]{6,20})?"),
    _family("tavily key", "tvly-", rf"tvly-{_W}{{20,80}}", alone=True, mixed=True),
    _family("elevenlabs key", "sk_", r"sk_[a-f0-9]{40,64}", alone=True, mixed=True),
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
    _family("npm token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])", alone=True),
    _family("pypi token", "pypi-", rf"pypi-{_W}{{50,1000}}", alone=True),
    _family("rubygems token", "rubygems_", r"rubygems_[a-f0-9]{40,64}"),
    _family("crates.io token", "cio", r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])", alone=True, mixed=True),
    _family("docker token", "dckr_pat_ dckr_oat_", rf"dckr_[po]at_{_W}{{20,100}}"),
    _family("sentry token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9_=+/-]{30,500}"),
    _family("postman key", "PMAK-", rf"PMAK-{_W}{{40,80}}"),
    # Clouds.
    _family("aws key id", "AKIA ASIA ABIA ACCA", r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Z0-9])", alone=True),
    _family("aws bedrock key", "ABSK", r"ABSK[A-Za-z0-9+/]{100,200}={0,2}", alone=True),
    _family("digitalocean token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _family("databricks token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?", alone=True),
    _family("azure secret", "8Q~ 7Q~", r"[A-Za-z0-9_.~-]{3}[78]Q~[A-Za-z0-9_.~-]{31,34}", before=3),
    _family("terraform token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,100}", before=14),
    _family("vault token", "hvs. hvb.", rf"hv[sb]\.{_W}{{20,500}}"),
    _family("doppler token", "dp.", r"dp\.[a-z]{2,5}\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    _family("pulumi token", "pul-", r"pul-[a-f0-9]{40}", alone=True),
    _family("supabase token", "sbp_ sb_secret_", rf"(?:sbp|sb_secret)_{_W}{{30,60}}", alone=True, mixed=True),
    _family("new relic key", "NRAK- NRII- NRRA- NRJS-", rf"NR(?:AK|II|RA|JS)-{_W}{{19,60}}"),
    _family("grafana token", "glsa_ glc_", r"gl(?:sa|c)_[A-Za-z0-9+/_=]{32,500}", alone=True),
    _family("cloudflare token", "v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{140,150}"),
    _family("heroku key", "HRKU-", rf"HRKU-{_W}{{30,70}}"),
    _family(
        "fly.io token",
        "fo1_ fm1a_ fm1r_ fm2_",
        r"(?:fo1|fm1[ar]|fm2)_[A-Za-z0-9+/=_-]{40,1500}",
        alone=True,
        mixed=True,
    ),
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
        "discord token",
        "MT Mj Mz ND NT Nj Nz OD OT",
        r"[MNO][A-Za-z0-9][A-Za-z0-9_-]{21,26}\.[\w-]{6}\.[\w-]{27,45}",
        alone=True,
    ),
    _family(
        "telegram token", ":AA", r"[\s\S]{0,2}?(?P<value>\d{8,10}:AA[A-Za-z0-9_-]{32,34})(?![A-Za-z0-9_-])", before=10
    ),
    _family("twilio key", "SK", r"SK[a-f0-9]{32}(?![a-f0-9])", alone=True),
    _family("sendgrid key", "SG.", rf"SG\.{_W}{{16,32}}\.{_W}{{30,64}}"),
    _family("mailgun key", "key- pubkey-", r"(?:pub)?key-[a-f0-9]{32}(?![a-f0-9])", alone=True),
    _family("mailchimp key", "-us", r"[a-f0-9]{32}-us\d{1,2}(?!\d)", alone=True, before=32),
    _family(
        "stripe key",
        "sk_live_ rk_live_ pk_live_ sk_test_ rk_test_ sk_prod_",
        r"[srp]k_(?:live|test|prod)_[A-Za-z0-9]{12,250}",
    ),
    _family("stripe webhook secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{20,100}"),
    _family(
        "square token",
        "EAAA sq0",
        r"(?:EAAA[A-Za-z0-9_-]{56,64}|sq0[a-z]{3}-[A-Za-z0-9_-]{22,43})",
        alone=True,
        mixed=True,
    ),
    _family("shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _family(
        "notion token", "ntn_ secret_", r"(?:ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43})", alone=True, mixed=True
    ),
    _family("linear key", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,80}"),
    _family("airtable token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", alone=True),
    _family("figma token", "figd_ figo_ figdr_", rf"fig(?:d|o|dr)_{_W}{{30,60}}"),
    _family("dropbox token", "sl.", rf"sl\.(?:u\.)?{_W}{{100,2000}}", alone=True, mixed=True),
    _family("facebook token", "EAA", r"EAA[A-Za-z0-9]{80,400}", alone=True, mixed=True),
    _family("age key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _family(
        "1password token", "ops_ey A3-", r"(?:ops_eyJ[A-Za-z0-9+/_=-]{100,1500}|A3(?:-[A-Z0-9]{5,6}){5,6})", alone=True
    ),
    _family("adobe secret", "p8e-", rf"p8e-{_W}{{32}}", alone=True),
    _family("alibaba key id", "LTAI", r"LTAI[A-Za-z0-9]{16,24}", alone=True),
    _family(
        "jwt",
        "eyJ",
        r"eyJ[\w-]{17,4000}\.(?:eyJ[\w-]{2,8000}|[\w-]{20,8000})\.[\w-]{10,4000}(?:\.[\w-]{1,8000}){0,2}",
        alone=True,
    ),
    _family("jwt", "ZXlK", r"ZXlK[A-Za-z0-9+/_-]{60,8000}={0,2}", alone=True),
    _family("octopus key", "API-", r"API-[A-Z0-9]{25,30}(?![A-Z0-9])", alone=True, mixed=True),
    _family("brevo key", "xkeysib- xsmtpsib-", rf"x(?:key|smtp)sib-{_W}{{60,100}}"),
    _family("42 secret", "s-s4t2", rf"s-s4t2\w{{2}}-{_W}{{60,70}}"),
    _family("scalingo token", "tk-us-", rf"tk-us-{_W}{{40,60}}", alone=True, mixed=True),
    _family("plaid token", "access-", r"access-(?:sandbox|development|production)-[0-9a-f-]{36}", alone=True),
    _family("settlemint token", "sm_", r"sm_[aps]at_[A-Za-z0-9]{16}", alone=True, mixed=True),
    _family("maxmind key", "_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk", before=36),
    _family("masked value", "::add-mask::", r"::add-mask::(?P<value>(?!\[redacted)[^\s\"'\\]{4,8000})", gate="::add-"),
    # Files.
    _family(
        "password hash",
        "$apr1$ $1$ $2 $5$ $6$ $y$ $argon2",
        r"\$(?:apr1|1|5|6|y|2[aby])\$[A-Za-z0-9./$=,]{20,140}|\$argon2(?:id|i|d)\$[A-Za-z0-9+/$=,]{20,250}",
        gate="$",
    ),
    _family(
        "password",
        ":5432:",
        r"(?<=[\w*]):5432:[\w*-]{1,63}:[\w*.-]{1,63}:(?P<value>(?!\[redacted)(?=[^\s:]{0,60}[A-Za-z])[^\s:\"'\\]{4,200})",
        gate=":5432:",
    ),
)

_IN_RUNS = [(anchor.encode(), family) for family in FAMILIES for anchor in family.anchors if not family.gate]
_GATED = [
    (family.gate.encode(), [anchor.encode() for anchor in family.anchors], family) for family in FAMILIES if family.gate
]

_IDS = re.compile(
    r"(?:toolu|srvtoolu|call|fc|msg|req|resp|rs|run|chatcmpl|cmpl|file|thread|asst|batch|step|org|proj|user|gen|sess|evt|event"
    r"|item|ws|ig|cu|sha\d*|md5|uuid|id|img|chunk|build|commit|rev|blob|tree|tag|ref|etag|hash|digest|cache|layer|image|container|index|vendor|main|app|assets?)(?:$|[-_])"
)
_NEW = re.compile(
    r"(?P<before>[a-z][a-z0-9]{1,11}(?:[-_][a-z0-9]{1,8}){0,3})[-_](?P<body>[A-Za-z0-9]{30,200})(?![\w-])"
)
"""The way nearly every provider makes its keys by now: a word or two of their own, a joint, and chance."""
_LEAST_NEW = 33


def tokens(searched: TokenIndex) -> Iterator[Span]:
    """Every token that its own shape gives away."""
    runs = searched.runs
    if runs:
        for anchor, family in _IN_RUNS:
            if anchor in runs:
                yield from _matches(searched.text, family, searched.places_in_runs(anchor))
        yield from _new_ones(searched)
    raw = searched.raw
    for gate, anchors, family in _GATED:
        if gate in raw:
            for anchor in anchors:
                yield from _matches(searched.text, family, places(raw, anchor))


def _matches(text: str, family: Family, where: Iterator[int]) -> Iterator[Span]:
    group = "value" if "value" in family.pattern.groupindex else 0
    for place in where:
        match = family.pattern.match(text, max(0, place - family.before))
        if match and (not family.mixed or sum(c.isdigit() for c in match.group()[4:]) >= 2):
            yield Span(match.start(group), match.end(group), family.kind, 3 if family.kind == "api key" else 4)


def _new_ones(searched: TokenIndex) -> Iterator[Span]:
    text = searched.text
    for start in searched.runs_of(_LEAST_NEW):
        if start and text[start - 1] == "\\" and text[start] in "nrt":
            start += 1
        match = _NEW.match(text, start)
        if match and not _IDS.match(match["before"]) and _by_chance(match["body"]):
            yield Span(match.start(), match.end(), "api key", 3)


def _by_chance(body: str) -> bool:
    lower = sum(c.islower() for c in body)
    upper = sum(c.isupper() for c in body)
    digits = len(body) - lower - upper
    if min(lower, upper) >= 3:
        return digits >= 1
    return len(body) >= 35 and digits >= 6 and lower >= 6
