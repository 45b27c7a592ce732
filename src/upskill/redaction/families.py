"""Tokens that can be told by their own shape, wherever they stand. One line per family: add here.

Shapes come from what the providers document. `anchor` is a piece of text without which the pattern cannot match: it is
looked for first, because looking for a piece of text is a hundred times faster than matching a pattern.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from upskill.redaction.span import Span

_ALONE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4}))"
"""Not in the middle of a word; a letter that belongs to an escape is no word."""
_W = r"[A-Za-z0-9_-]"


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of token."""

    kind: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    mixed: bool = False
    """Whether what was found must hold a digit: its beginning is also the beginning of ordinary words."""


def _family(kind: str, anchors: str, pattern: str, *, alone: bool = False, mixed: bool = False) -> Family:
    return Family(kind, tuple(anchors.split()), re.compile((_ALONE if alone else "") + pattern), mixed)


FAMILIES: tuple[Family, ...] = (
    _family("aws key id", "AKIA ASIA ABIA ACCA", r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Z0-9])", alone=True),
    _family("github token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{20,255}"),
    _family("github token", "github_pat_", r"github_pat_\w{30,255}"),
    _family(
        "gitlab token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat- glffct- gloas- glrtr- glwt-",
        r"gl(?:pat|dt|rtr?|cbt|ptt|ft|imt|agent|soat|ffct|oas|wt)-[A-Za-z0-9_.-]{20,300}",
    ),
    _family("gitlab token", "GR1348941", r"GR1348941[\w-]{20,40}"),
    _family("slack token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe. xapp- xwfp-",
            r"(?:xoxe\.)?(?:xox[a-z]|xapp|xwfp)-[A-Za-z0-9%-]{10,500}"),
    _family("stripe key", "k_live_ k_test_", r"[srp]k_(?:live|test)_[A-Za-z0-9]{10,250}"),
    _family("stripe webhook secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{20,100}"),
    _family("npm token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])", alone=True),
    _family("pypi token", "pypi-", rf"pypi-{_W}{{50,1000}}", alone=True),
    _family("jwt", "eyJ", r"eyJ[\w-]{8,4000}\.(?:eyJ[\w-]{2,8000}|[\w-]{20,8000})\.[\w-]{10,4000}(?:\.[\w-]+){0,2}"),
    _family("hugging face token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{20,80}", alone=True, mixed=True),
    _family("anthropic key", "sk-ant-", rf"sk-ant-{_W}{{20,300}}"),
    _family("openrouter key", "sk-or-", rf"sk-or-{_W}{{20,200}}"),
    _family("openai key", "sk-proj- sk-svcacct- sk-admin- sk-None-", rf"sk-(?:proj|svcacct|admin|None)-{_W}{{20,400}}"),
    _family("api key", "sk-", rf"sk-{_W}{{20,400}}", alone=True, mixed=True),
    _family("google key", "AIza", rf"AIza{_W}{{35}}", alone=True),
    _family("google token", "ya29.", r"ya29\.[\w.-]{20,2000}"),
    _family("google secret", "GOCSPX-", rf"GOCSPX-{_W}{{20,60}}"),
    _family("google token", "1//0", rf"1//0{_W}{{30,200}}", alone=True),
    _family("fireworks key", "fw_", r"fw_[A-Za-z0-9]{20,60}", alone=True, mixed=True),
    _family("groq key", "gsk_", r"gsk_[A-Za-z0-9]{30,100}", alone=True, mixed=True),
    _family("xai key", "xai-", r"xai-[A-Za-z0-9]{30,150}", alone=True, mixed=True),
    _family("nvidia key", "nvapi-", rf"nvapi-{_W}{{30,150}}"),
    _family("replicate token", "r8_", r"r8_[A-Za-z0-9]{30,60}", alone=True, mixed=True),
    _family("perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{30,100}"),
)  # fmt: skip


def tokens(text: str, present: str) -> Iterator[Span]:
    """Every token in `text` that its own shape gives away. `present` holds at least every long run of `text`."""
    for family in FAMILIES:
        if not any(anchor in present for anchor in family.anchors):
            continue
        for match in family.pattern.finditer(text):
            if family.mixed and not any(c.isdigit() for c in match.group()[4:]):
                continue
            yield Span(match.start(), match.end(), family.kind, 3)
