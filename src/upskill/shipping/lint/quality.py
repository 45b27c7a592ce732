"""What makes a skill work less well, as far as measurements or plain sense support it."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from upskill.domain.finding import Finding
from upskill.domain.text import estimate_tokens
from upskill.shipping.lint.agents import MOST_BODY_TOKENS
from upskill.shipping.lint.head import Head
from upskill.shipping.lint.rule import LintRule

BODY_TOKENS = 1_200
"""What `generate` allows a body; see docs/explanation/how-a-skill-is-drafted.md."""
_LEAST_REPEATED = 200
_ALIKE = 0.8
_MOST_SECTIONS = 2_000
_WHEN = re.compile(
    r"\b(?:when|whenever|if|before|after|while|during|once|unless|asks?|asked|asking|wants?|mentions?|needs?)\b"
    r"|\buse (?:\w+ ){0,4}(?:for|to|with|on|in|as|at|by)\b"
    r"|\b(?:for|on) (?:any |every |all |each )?(?:\w+ )?(?:requests?|questions?|tasks?|work)\b"
    r"|\btriggers? (?:on|for|with)\b|\b(?:used|useful|applies|activate[sd]?|load) (?:for|to|in|on)\b",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"\[(?:TODO|TBD|FIXME|INSERT|PLACEHOLDER)\b|^\W{0,8}(?:TODO|FIXME|TBD)(?::\s|\s*$)|\blorem ipsum\b", re.IGNORECASE
)
_FOREIGN_WORDS = """
    der das und ein eine einen für mit wenn aus ob les des et pour une quand el los las para con cuando il che per e de
    quando het een voor wanneer och att när som
"""
"""Frequent words of German, French, Spanish, Italian, Dutch and Swedish that are no English words."""
_OTHER_LANGUAGES = frozenset(_FOREIGN_WORDS.split())
_HEADING = re.compile(r"#{1,6}[ \t]+(?P<title>.*?)[ \t#]*\Z")
_WORD = re.compile(r"\w+")


def _rule(id: str, reason: str, remedy: str, *, warns: bool = True) -> LintRule:
    return LintRule(id=id, family="quality", severity="warning" if warns else "caution", reason=reason, remedy=remedy)


EMPTY_BODY = _rule("empty-body", "The skill has no instructions.", "Write what the model should know or do.")
PLACEHOLDER = _rule("placeholder", "The text is unfinished, and a model reads it as an instruction.", "Complete it.")
NO_WHEN = _rule(
    "description-without-when",
    "A model loads a skill by its description, and this one does not say when to use the skill.",
    "Add `Use when …`, in the words of users; `upskill trigger` measures it.",
)
BODY_SIZE = _rule(
    "body-size",
    f"`generate` keeps a body below {BODY_TOKENS:,} tokens: in our measurements, bodies of up to 533 tokens helped a "
    "very small model, and longer ones with the same facts were not shown to.",
    "Keep what the model does not know; measure with `upskill eval`.",
    warns=False,
)
REPEATED_SECTION = _rule(
    "repeated-section", "The same text is there twice: it costs tokens, and later only one may be changed.", "Keep one."
)
RULES = (EMPTY_BODY, PLACEHOLDER, NO_WHEN, BODY_SIZE, REPEATED_SECTION)


def find(head: Head) -> Iterator[Finding]:
    """What is unfinished, repeated, long, or hard to find for a model."""
    description = head.written("description")
    if description and not says_when(description):
        yield NO_WHEN.at(head.line_of("description"), f"description: {description}")
    if _PLACEHOLDER.search(description):
        yield PLACEHOLDER.at(head.line_of("description"), f"description: {description}")
    if not head.body.strip():
        yield EMPTY_BODY.at(max(1, head.end), "nothing after the frontmatter")
        return
    if BODY_TOKENS < (tokens := estimate_tokens(head.body)) <= MOST_BODY_TOKENS:
        yield BODY_SIZE.at(head.body_line, f"about {tokens:,} tokens")
    for number, (line, fence) in enumerate(head.lines):
        if fence is None and _PLACEHOLDER.search(line[:400]):
            yield PLACEHOLDER.at(head.body_line + number, line)
    yield from _repeated(_sections(head))


def says_when(description: str) -> bool:
    """Whether a description says when to use the skill. Of other languages than English that is not known: yes."""
    return not _is_english(description) or _WHEN.search(description) is not None


def _is_english(text: str) -> bool:
    letters = [c for c in text if c.isalpha()]
    words = set(_WORD.findall(text.lower()))
    return sum(not c.isascii() for c in letters) <= len(letters) / 20 and words.isdisjoint(_OTHER_LANGUAGES)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Section:
    title: str
    line: int
    text: str
    words: Counter[str]


def _sections(head: Head) -> list[_Section]:
    """The text under each heading. A heading in code is none."""
    found: list[_Section] = []
    title, start, kept = "", head.body_line, list[str]()

    def close() -> None:
        text = "\n".join(kept).strip()
        if text and len(found) < _MOST_SECTIONS:
            words = Counter(word.lower() for word in _WORD.findall(text))
            found.append(_Section(title=title, line=start, text=" ".join(text.split()).lower(), words=words))

    for number, (line, fence) in enumerate(head.lines):
        heading = _HEADING.match(line) if fence is None and len(line) < 400 else None
        if heading is None:
            kept.append(line)
            continue
        close()
        title, start, kept = heading["title"].strip().lower(), head.body_line + number, []
    close()
    return found


def _repeated(sections: Sequence[_Section]) -> Iterator[Finding]:
    """Sections with the text of an earlier one, or with its heading and nearly its text."""
    by_text: dict[str, _Section] = {}
    by_title: dict[str, _Section] = {}
    for section in sections:
        same = by_text.setdefault(section.text, section)
        titled = by_title.setdefault(section.title, section) if section.title else section
        other = same if same is not section and len(section.text) >= _LEAST_REPEATED else titled
        if other is not section and (other is same or _alike(other.words, section.words)):
            yield REPEATED_SECTION.at(section.line, f"{section.title or 'text'}: as in line {other.line}")


def _alike(one: Counter[str], other: Counter[str]) -> bool:
    shared = sum((one & other).values())
    return shared >= _ALIKE * max(sum(one.values()), sum(other.values()))
