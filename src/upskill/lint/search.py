"""The search of a skill, or of a text, for dangerous content."""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from upskill.core.nouns.finding import Finding
from upskill.core.nouns.skill import SKILL_FILE
from upskill.core.nouns.text import decoded
from upskill.lint import actions, disguise
from upskill.lint.file_text import (
    MOST_CHARACTERS,
    MOST_IN_ALL,
    PATTERNS,
    FileText,
    Find,
    Hit,
    comments_of,
    finder,
    read_file,
    read_files,
    undisguised,
)
from upskill.lint.rules import MOST_PER_RULE, RULES, finding
from upskill.redaction import redactor_from

_PROGRAMS = (
    *(
        b"\x7fELF",
        b"MZ",
        b"\xca\xfe\xba\xbe",
        b"\xcf\xfa\xed\xfe",
        b"\xce\xfa\xed\xfe",
        b"\xfe\xed\xfa",
        b"\0asm",
        b"BC\xc0\xde",
    ),
    *(
        b"PK\x03\x04",
        b"\x1f\x8b",
        b"!<arch>",
        b"7z\xbc\xaf",
        b"\xfd7zXZ",
        b"BZh",
        b"\x28\xb5\x2f\xfd",
        b"Rar!",
        b"\x1bLua",
    ),
)
"""How programs and archives begin."""
_PROGRAM_NAMES = (".pyc", ".so", ".dll", ".exe", ".dylib", ".jar", ".class", ".wasm", ".node", ".whl", ".msi", ".bin")
_TO_READERS = (
    "invisible-characters",
    "hidden-comment",
    "hidden-element",
    "out-of-sight",
    "ignore-instructions",
    "hide-from-user",
)
"""Rules on what a model is told in a text, in the order of the table."""
_AS_WRITTEN = frozenset(
    {
        "invisible-characters",
        "control-characters",
        "out-of-sight",
        "hidden-comment",
        "hidden-element",
        "link-text",
        "deceiving-link",
        "encoded-command",
        "disguised-address",
        "secret",
    }
)
"""Rules on how a text is written: its undisguised copy shows them nothing."""
_CODED_WORDS = re.compile(r"(?<=: )[A-Za-z0-9+/]{8,200}={0,2}(?=\s|$)")
_EXAMPLE_KEYS = re.compile(r"\b[A-Za-z0-9+/_-]{4,80}EXAMPLE(?:KEY)?\b")
"""Keys of documentation, such as that of AWS, which say that they are examples."""
_WORDS = re.compile(rb"[a-z]+(?:[-_. ][a-z]+)+")


def _secrets(files: Sequence[FileText]) -> Iterator[Hit]:
    for file in files:
        redactor = redactor_from({})
        text = _EXAMPLE_KEYS.sub(lambda found: "x" * len(found[0]), file.text)
        text = _CODED_WORDS.sub(_without_words, text)
        clean = redactor.clean(text)
        if clean != text:
            same = next((n for n, (one, other) in enumerate(zip(text, clean, strict=False)) if one != other), 0)
            line = file.line_at(same)
            # A password by its name alone is often an example; other secrets are known by their shape.
            example = set(redactor.found.by_kind) == {"password"}
            yield Hit(file=file.path, line=line, text=clean.split("\n")[line - 1], quoted=example)


def _without_words(found: re.Match[str]) -> str:
    """Base64 of plain words, such as `demo-user` in the manifest of an example, is no secret."""
    try:
        plain = base64.b64decode(found[0], validate=True)
    except (binascii.Error, ValueError):
        return found[0]
    return "x" * len(found[0]) if _WORDS.fullmatch(plain) else found[0]


_SEARCHES: dict[str, Find] = {
    "invisible-characters": disguise.invisible,
    "control-characters": disguise.escapes,
    "out-of-sight": disguise.out_of_sight,
    "hidden-comment": disguise.comments,
    "hidden-element": disguise.hidden_elements,
    "link-text": disguise.link_texts,
    "deceiving-link": disguise.deceiving_links,
    "pipe-to-shell": actions.piped,
    "download-and-run": actions.downloaded_and_run,
    "remote-instructions": actions.fetched_and_followed,
    "decode-and-run": actions.decoded_and_run,
    "encoded-command": actions.blobs,
    "theft": actions.thefts,
    "filled-image": actions.filled_images,
    "key-to-another-host": actions.sent_secrets,
    "start-up-file": actions.start_up_files,
    "safeguard-off": actions.safeguards_off,
    "name-squatting": disguise.imitations,
    "disguised-address": disguise.disguised,
    "secret": _secrets,
    "url": disguise.hosts,
}
"""What finds a danger for which patterns are not enough."""
FINDERS: dict[str, Find] = {
    rule.id: _SEARCHES.get(rule.id) or finder(PATTERNS[rule.id], consent=rule.consent)
    for rule in RULES.values()
    if rule.id in _SEARCHES or rule.patterns
}
"""By the id of its rule, what finds each danger in the text of the files of a skill."""


def search_skill(files: Mapping[str, bytes]) -> tuple[Finding, ...]:
    """Every finding in the files of a skill, dangers first, in order of files and lines."""
    texts = list(read_files(files))
    found = [one for rule, hits in _hits(FINDERS, texts) for one in _findings(rule, hits)]
    found += _findings("unreadable-file", _unreadable(files))
    return tuple(sorted(found, key=_order))


def search_text(name: str, text: str) -> tuple[Finding, ...]:
    """Dangers to whoever reads a text as material: hidden text, and orders to a model."""
    texts = [read_file(name, text[:MOST_CHARACTERS])]
    found = (one for rule, hits in _hits(_TO_READERS, texts) for one in _findings(rule, hits))
    return tuple(sorted((one for one in found if one.severity == "danger"), key=_order))


def _order(one: Finding) -> tuple[bool, bool, str, int]:
    return one.severity != "danger", one.file != SKILL_FILE, one.file, one.line


def new_findings(found: Sequence[Finding], before: Mapping[str, bytes]) -> tuple[Finding, ...]:
    """The findings that an older version of the skill did not have."""
    known = {(one.rule, one.severity, one.excerpt) for one in search_skill(before)}
    return tuple(one for one in found if (one.rule, one.severity, one.excerpt) not in known)


def _hits(rules: Iterable[str], texts: Sequence[FileText]) -> Iterator[tuple[str, Sequence[Hit]]]:
    """What the rules find in the files, and then what only their undisguised copies and their comments show, by the
    line as it is."""
    files = {file.path: file for file in texts}
    comments = [prose for file in texts if (prose := comments_of(file)) is not None]
    plain = [undisguised(file) for file in texts]
    is_other = bool(comments) or any(one is not other for one, other in zip(texts, plain, strict=True))
    plain += [undisguised(prose) for prose in comments]
    for rule in rules:
        found = _first(FINDERS[rule], texts)
        yield rule, found
        if is_other and RULES[rule].severity == "danger" and rule not in _AS_WRITTEN:
            known = {(hit.file, hit.line) for hit in found}
            more = (hit for hit in _first(FINDERS[rule], plain) if (hit.file, hit.line) not in known and not hit.quoted)
            yield rule, [replace(hit, text=files[hit.file].line_text(hit.line).strip()) for hit in more]


def _first(find: Find, texts: Sequence[FileText]) -> list[Hit]:
    """One hit per line, the plain ones before the quoted ones."""
    hits: dict[tuple[str, int], Hit] = {}
    for hit in find(texts):
        at = (hit.file, hit.line)
        if at not in hits or (hits[at].quoted and not hit.quoted):
            hits[at] = hit
        if len(hits) > 50 * MOST_PER_RULE:
            break
    return sorted(hits.values(), key=lambda hit: hit.quoted)[:MOST_PER_RULE]


def _unreadable(files: Mapping[str, bytes]) -> Iterator[Hit]:
    for path, data in files.items():
        text = decoded(data)
        program = data.startswith(_PROGRAMS) or path.lower().endswith(_PROGRAM_NAMES)
        claims_text = path.lower().endswith(
            (".md", ".txt", ".py", ".sh", ".json", ".yaml", ".yml", ".toml", ".js", ".ts")
        )
        if text is None or "\0" in text:
            yield Hit(
                file=path, line=1, text=f"{len(data):,} bytes that are not text", quoted=not (program or claims_text)
            )
        elif len(text) > MOST_CHARACTERS:
            yield Hit(file=path, line=1, text=f"{len(text):,} characters", quoted=not claims_text)
    if (whole := sum(map(len, files.values()))) > MOST_IN_ALL:
        yield Hit(file=SKILL_FILE, line=1, text=f"{whole:,} bytes in total, only partly searched", quoted=True)


def _findings(rule: str, hits: Iterable[Hit]) -> Iterator[Finding]:
    for hit in hits:
        yield finding(rule, hit.line, hit.text, file=hit.file, is_example=hit.quoted)
