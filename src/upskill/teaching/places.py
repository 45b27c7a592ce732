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


def passage_at(
    material: Material, place: str, *, most_tokens: int, count: CountTokens = estimate_tokens, about: str = ""
) -> str | None:
    """What stands at a place; `None` where nothing does. `task` is no place: it says what is wanted, not what is known.

    Of a text with more tokens than these, the lines around the one that shares most words with what it is `about`.
    """
    known = KnownCitations(material)
    texts = (_text(material, known, name) for name in known.named_in(place.split(";")))
    whole = "\n\n".join(dict.fromkeys(text.strip("\n") for text in texts if text.strip()))
    return _cut(whole, most_tokens, count, about) if whole else None


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


def _cut(text: str, most_tokens: int, count: CountTokens, about: str) -> str:
    """As many lines around the best one as fit, found by halving; of a line that is too long alone, its beginning."""
    if count(text) <= most_tokens:
        return text
    lines = text.split("\n")
    wanted = _words(about)
    shared = [len(wanted & _words(line)) for line in lines]
    best = shared.index(max(shared)) if any(shared) else len(lines) // 2
    fits, too_many = 0, len(lines)
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if count(_around(lines, best, middle)) <= most_tokens:
            fits = middle
        else:
            too_many = middle
    if fits:
        return _around(lines, best, fits).strip("\n")
    line = lines[best]
    while line and count(line) > most_tokens:
        line = line[: len(line) * 3 // 4]
    return line


def _around(lines: list[str], best: int, many: int) -> str:
    start = min(max(0, best - many // 2), len(lines) - many)
    return "\n".join(lines[start : start + many])


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]{2,}", text.casefold()))
