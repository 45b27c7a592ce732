"""The table of all rules of `lint`, dangers excepted, and the search of one skill with all of them."""

from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from upskill.domain.finding import SEVERITIES, Finding
from upskill.domain.folder_contents import FolderContents
from upskill.domain.skill import EVIDENCE_FILES, SKILL_FILE
from upskill.redaction import redactor_from
from upskill.shipping.dangers.rules import search_skill
from upskill.shipping.lint import agents, folder, head, overlap, quality, references, specification
from upskill.shipping.lint.rule import MOST_PER_RULE

RULES = (
    *head.RULES,
    *specification.RULES,
    *folder.RULES,
    *agents.RULES,
    *quality.RULES,
    *references.RULES,
    *overlap.RULES,
)
MOST_BYTES = 1_000_000
"""Of `SKILL.md` that are read. A longer one is a finding of the search for danger."""
_IN_PRIVATE_FILES = frozenset({"invisible-characters", "control-characters", "out-of-sight", "secret"})
"""Cases and provenance are no instructions: a case may quote an attack. Only hidden text and keys are findings.
Evidence quotes nothing and an agent can open it, so every danger in it is a finding."""


def lint_skill(contents: FolderContents) -> tuple[Finding, ...]:
    """Every finding in one skill, the worst first, then `SKILL.md`, then by file and line."""
    found = [*search_skill(contents.files), *_private(contents), *folder.find(contents), *_written(contents)]
    if any(one.rule == "secret" for one in found):
        # Another rule can show the same line: what is printed goes into logs of CI.
        clean = redactor_from({}).clean
        found = [replace(one, excerpt=clean(one.excerpt)) for one in found]
    return in_order(found)


def in_order(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """The worst first, then `SKILL.md`, then by file and line; of one rule at most so many."""
    kept: list[Finding] = []
    numbers: Counter[str] = Counter()
    for one in sorted(set(found), key=_order):
        numbers[one.rule] += 1
        if numbers[one.rule] <= MOST_PER_RULE:
            kept.append(one)
    return tuple(kept)


def skill_head(contents: FolderContents) -> head.Head | None:
    """The frontmatter of a skill; `None` where it has no `SKILL.md` that is text."""
    name = skill_file(contents)
    text = None if name is None else _beginning(contents.files[name])
    return None if text is None else head.read_head(text)


def _beginning(data: bytes) -> str | None:
    """As much of a text as is read; `None` where it is not UTF-8."""
    try:
        return getincrementaldecoder("utf-8")().decode(data[:MOST_BYTES], final=len(data) <= MOST_BYTES)
    except UnicodeDecodeError:
        return None


def skill_file(contents: FolderContents) -> str | None:
    """The name of its `SKILL.md`, in capitals or not; `None` where there is none."""
    return next((name for name in (SKILL_FILE, SKILL_FILE.lower()) if name in contents.files), None)


def _written(contents: FolderContents) -> Iterator[Finding]:
    name = skill_file(contents)
    if name is None:
        yield folder.SKILL_MISSING.at(1, f"no readable file {SKILL_FILE}")
        return
    if name != SKILL_FILE:
        yield agents.SKILL_FILE_NAME.at(1, name)
    parsed = skill_head(contents)
    if parsed is None:
        yield head.NOT_UTF8.at(1, f"{len(contents.files[name]):,} bytes")
        return
    yield from parsed.findings
    yield from specification.find(parsed, contents.name)
    yield from agents.find(parsed)
    yield from quality.find(parsed)
    yield from references.find({SKILL_FILE if path == name else path: data for path, data in contents.files.items()})


def _private(contents: FolderContents) -> Iterator[Finding]:
    for one in search_skill(contents.private):
        if one.rule in _IN_PRIVATE_FILES or (one.severity == "danger" and one.file.casefold() in EVIDENCE_FILES):
            yield one


def _order(finding: Finding) -> tuple[int, bool, str, int, str, str]:
    return (
        SEVERITIES.index(finding.severity),
        finding.file != SKILL_FILE,
        finding.file,
        finding.line,
        finding.rule,
        finding.excerpt,
    )
