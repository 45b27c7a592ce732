"""The text at a place of the material. Places are spelled as citations are: `document guide.md lines 3 to 20`."""

import re

from upskill.domain import estimate_tokens
from upskill.domain.student_profile import CountTokens
from upskill.domain.trace_digest import Finding
from upskill.teaching.citations import KnownCitations
from upskill.teaching.material import Material, lines_of, skill_texts

_STRETCH = re.compile(r"(?:document )?(?P<name>.+) lines (?P<first>\d+) to (?P<last>\d+)")

_BEGINS = re.compile(r"\s*(?:[-*+] |\d+[.)] |[|#>`]|$)")
"""A line that begins a statement: an item, a row, a heading, a quotation, a fence; or an empty one."""
_ENDS = re.compile(r"(?:[.!?:;|][`\"')\]]*|^)\s*$|^#")
"""A line that ends one, or a heading, or an empty line."""


def passage_at(material: Material, place: str, *, most_tokens: int, count: CountTokens = estimate_tokens) -> str | None:
    """What stands at a place, in as many whole lines around its centre as the tokens allow; `None` where nothing is.

    `task` is no place: a task says what is wanted, not what is known.
    """
    known = KnownCitations(material)
    texts = (_text(material, known, name) for name in known.named_in(place.split(";")))
    whole = "\n\n".join(dict.fromkeys(text.strip("\n") for text in texts if text.strip()))
    return _cut(whole, most_tokens, count) if whole else None


def finding_text(finding: Finding, *, brief: bool = False) -> str:
    """A finding of recorded work in plain text: its title, then its parts, cut harder if `brief`."""
    parts = finding.brief or finding.parts if brief else finding.parts
    body = "\n\n".join(f"{part.label}:\n{part.text}" if part.label else part.text for part in parts)
    return f"{finding.title}\n{body}".strip()


def _text(material: Material, known: KnownCitations, name: str) -> str:
    if name == "skill" and material.skill is not None:
        return material.skill.body
    texts = {} if material.skill is None else skill_texts(material.skill)
    texts |= {document.name: document.text for document in material.documents}
    if name.removeprefix("document ") in texts:
        return texts[name.removeprefix("document ")]
    if (found := _STRETCH.fullmatch(name)) and found["name"] in texts:
        return _whole_statements(lines_of(texts[found["name"]]), int(found["first"]) - 1, int(found["last"]))
    if name.startswith("example "):
        return material.examples[int(name.removeprefix("example ")) - 1]
    kept = () if material.digest is None else material.digest.kept
    return "\n\n".join(finding_text(finding) for finding in kept if name in known.of_finding(finding))


def _whole_statements(lines: list[str], start: int, end: int) -> str:
    """These lines with the rest of the sentences that they cut, and a table's head above its rows."""
    while start > 0 and not _BEGINS.match(lines[start]) and not _ENDS.search(lines[start - 1]):
        start -= 1
    while end < len(lines) and not _ENDS.search(lines[end - 1]) and not _BEGINS.match(lines[end]):
        end += 1
    head = start
    while head > 0 and lines[start].startswith("|") and lines[head - 1].startswith("|"):
        head -= 1
    return "\n".join((*lines[head : min(head + 2, start)], *lines[start:end]))


def _cut(text: str, most_tokens: int, count: CountTokens) -> str:
    """As many lines around the middle as fit, found by halving; of a line that is too long by itself, its beginning."""
    if count(text) <= most_tokens:
        return text
    lines = text.split("\n")
    fits, too_many = 0, len(lines)
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if count(_middle(lines, middle)) <= most_tokens:
            fits = middle
        else:
            too_many = middle
    if fits:
        return _middle(lines, fits).strip("\n")
    line = _middle(lines, 1)
    while line and count(line) > most_tokens:
        line = line[: len(line) * 3 // 4]
    return line


def _middle(lines: list[str], many: int) -> str:
    start = (len(lines) - many) // 2
    return "\n".join(lines[start : start + many])
