"""Names that imitate: a look-alike of a well-known skill, and claims to be the official one of a vendor."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace

from upskill.shipping.dangers.file_text import LOOK_ALIKE, FileText, Hit

WELL_KNOWN = frozenset([
    "algorithmic-art", "brainstorming", "brand-guidelines", "canvas-design", "claude-api", "code-review",
    "customize-opencode", "deep-research", "dispatching-parallel-agents", "doc-coauthoring", "executing-plans",
    "find-skills", "finishing-a-development-branch", "frontend-design", "imagegen", "internal-comms", "mcp-builder",
    "openai-docs", "playwright-cli", "receiving-code-review", "remotion-best-practices", "requesting-code-review",
    "skill-creator", "skill-installer", "slack-gif-creator", "subagent-driven-development", "systematic-debugging",
    "test-driven-development", "theme-factory", "using-git-worktrees", "using-superpowers",
    "vercel-react-best-practices", "verification-before-completion", "web-artifacts-builder",
    "web-design-guidelines", "webapp-testing", "writing-plans", "writing-skills",
])  # fmt: skip
"""Skills that many people have installed, and that coding agents bring. Shorter names, such as pdf, have neighbours."""
_VENDORS = r"(?:anthropic|claude|openai|chatgpt|codex|github|copilot|google|gemini|microsoft|vercel|hugging ?face|aws)"
_NAME = re.compile(r"^name:[ \t]*[\"']?([^\"'\n]{1,100}?)[\"']?[ \t]*$", re.MULTILINE)
_VENDOR_NAME = re.compile(
    rf"(?:^|-){_VENDORS}(?:-\w+){{0,4}}-(?:official|verified|certified)\b|(?:^|-)(?:official|verified|certified)(?:-\w+){{0,4}}-{_VENDORS}\b"
)
_CLAIM = re.compile(
    rf"\bofficial {_VENDORS}(?:'s)? (?:[\w-]+ ){{0,2}}(?:skill|edition|guide|plugin|extension)\b|\bofficial (?:skill|edition|guide|plugin|extension) (?:by|from|of) {_VENDORS}\b"
    rf"|\b(?:verified|certified|endorsed) by {_VENDORS}\b|\b{_VENDORS},? (?:official|inc|pbc)\b"
)
_DENIED = re.compile(r"\b(?:not|no|never) (?:\w+ ){0,3}$")
_DISPLACES = re.compile(
    r"\b(?:in place of|instead of|rather than|and not) (?:the |any |an? )?(?:\w+ ){0,2}?(?:built-?in|original|similarly named|official|other|existing|default)(?: [\w-]+){0,2} skills?\b"
    r"|\breplaces? the (?:built-?in|original|official|earlier|former|previous) (?:[\w-]+ ){0,2}?(?:skill|edition|one)\b"
)
_HEAD = 1_500
"""A claim stands at the beginning of a skill, where an agent and a person choose it."""


def imitations(files: Sequence[FileText]) -> Iterator[Hit]:
    """Signs that a skill passes for another. One sign alone is a caution; two, or a name in foreign letters, are not."""
    for file in files:
        if file.path != "SKILL.md" or (named := _NAME.search(file.text[:5_000])) is None:
            continue
        name = named[1].lower()
        signs = [named.start()] if _near(name) else []
        signs += [named.start()] if _VENDOR_NAME.search(name) else []
        signs += _claims(file)
        if (displaced := _DISPLACES.search(file.prose[:_HEAD])) is not None:
            signs.append(displaced.start())
        foreign = not name.isascii() and _plain(name).isascii()
        if signs or foreign:
            yield replace(file.hit(named.start(), quoted=False), quoted=not foreign and len(signs) < 2)


def _claims(file: FileText) -> list[int]:
    for found in _CLAIM.finditer(file.prose[:_HEAD]):
        if not _DENIED.search(file.prose[max(0, found.start() - 40) : found.start()]):
            return [found.start()]
    return []


def _near(name: str) -> bool:
    """Whether a name is one slip away from a well-known one."""
    if name in WELL_KNOWN or len(name) < 7:
        return False
    return _plain(name) in WELL_KNOWN or any(_one_slip(name, known) for known in WELL_KNOWN)


def _plain(name: str) -> str:
    """With the letters that it looks like."""
    latin = unicodedata.normalize("NFKC", name.translate(LOOK_ALIKE)).lower()
    return latin.replace("0", "o").replace("1", "l").replace("rn", "m").replace("vv", "w")


def _one_slip(one: str, other: str) -> bool:
    """One letter more, less or other, or two neighbours that changed places."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    same = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    rest, others = one[same:], other[same:]
    swapped = rest[:2] == others[:2][::-1] and rest[2:] == others[2:]
    return swapped or rest[1:] == others[1:] or rest[1:] == others or rest == others[1:]
