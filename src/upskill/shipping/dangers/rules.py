"""The table of all rules, and the search of a skill with them."""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from upskill.domain.finding import Finding
from upskill.domain.text import decoded, on_one_line, shortened
from upskill.redaction import redactor_from
from upskill.shipping.dangers import (
    credentials,
    destruction,
    hidden_text,
    instructions,
    names,
    packages,
    persistence,
    running,
    sending,
    urls,
)
from upskill.shipping.dangers.file_text import (
    MOST_CHARACTERS,
    MOST_IN_ALL,
    FileText,
    Hit,
    comments_of,
    read_file,
    read_files,
    undisguised,
)
from upskill.shipping.dangers.rule import Rule

MOST_PER_RULE = 20
"""Findings of one rule: more would hide the others."""
_LONG_LINE = 2_000
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
_TO_READERS = frozenset(
    {
        "invisible-characters",
        "hidden-comment",
        "hidden-element",
        "out-of-sight",
        "ignore-instructions",
        "hide-from-user",
    }
)
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
_READ_IT = "Read it; remove it unless you know why it is there."


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


def _long_lines(files: Sequence[FileText]) -> Iterator[Hit]:
    for file in files:
        for line, start in enumerate(file.line_starts, start=1):
            end = file.line_starts[line] if line < len(file.line_starts) else len(file.text)
            if end - start > _LONG_LINE:
                yield file.hit(start, quoted=False)


RULES = (
    Rule(id="invisible-characters", severity="danger", find=hidden_text.invisible,
         reason="It has invisible characters, which a model still reads.", remedy="Delete them."),
    Rule(id="control-characters", severity="danger", find=hidden_text.escapes,
         reason="Control characters can hide or rewrite what a terminal shows.", remedy="Delete them."),
    Rule(id="out-of-sight", severity="danger", find=hidden_text.out_of_sight,
         reason="It is hidden behind a long stretch of blank space.", remedy="Delete the blank space, then read the text."),
    Rule(id="hidden-comment", severity="danger", find=hidden_text.comments,
         reason="A comment that is not displayed tells the model what to do.", remedy=_READ_IT),
    Rule(id="hidden-element", severity="danger", find=hidden_text.hidden_elements,
         reason="This HTML is not displayed, but a model reads it.", remedy=_READ_IT),
    Rule(id="link-text", severity="danger", find=hidden_text.link_texts,
         reason="The title or alternative text of a link tells the model what to do.", remedy=_READ_IT),
    Rule(id="deceiving-link", severity="danger", find=hidden_text.deceiving_links,
         reason="The link shows one host and leads to another.", remedy="Show the host that it leads to."),
    Rule(id="pipe-to-shell", severity="danger", find=running.piped,
         reason="It runs what a server sends, without review.", remedy="Install from a package manager, or download, verify and read it first."),
    Rule(id="download-and-run", severity="danger", find=running.downloaded_and_run,
         reason="It downloads or decodes a file and runs it unverified.", remedy="Verify a checksum or a signature first, or remove it."),
    Rule(id="remote-instructions", severity="danger", find=running.fetched_and_followed,
         reason="It makes the model follow instructions from elsewhere.", remedy="Write the instructions into the skill."),
    Rule(id="decode-and-run", severity="danger", find=running.decoded_and_run,
         reason="It runs encoded text, which cannot be reviewed.", remedy="Write the command as plain text."),
    Rule(id="encoded-command", severity="danger", find=running.blobs,
         reason="Decoded, this text is a command or an instruction.", remedy="Write it as plain text, or remove it."),
    Rule(id="encoded-text", severity="caution", find=running.long_blobs,
         reason="Long encoded text cannot be reviewed.", remedy="Keep data in a data file."),
    Rule(id="credential-read", severity="danger", find=credentials.read_credentials,
         reason="It reads keys or passwords of the user.", remedy="Let the tool that needs a key read it."),
    Rule(id="environment-dump", severity="caution", find=credentials.dump_environment,
         reason="The whole environment contains keys.", remedy="Name the variables that are needed."),
    Rule(id="theft", severity="danger", find=sending.thefts,
         reason="It reads private data and sends data to another machine.", remedy="Check that nothing private is sent; name what is sent."),
    Rule(id="filled-image", severity="danger", find=sending.filled_images,
         reason="Displaying this image sends whatever is filled into its address.", remedy="Remove it."),
    Rule(id="key-to-another-host", severity="danger", find=sending.sent_secrets,
         reason="It sends the key of one service to the host of another.", remedy="Send a key only to its own service."),
    Rule(id="drop-site", severity="danger", find=sending.drop_sites,
         reason="Anyone can read or collect what is sent there.", remedy="Use a service that the user chose."),
    Rule(id="remote-shell", severity="danger", find=sending.remote_shells,
         reason="It opens a channel through which another machine can give commands or take data.", remedy="Remove it."),
    Rule(id="sends-out", severity="caution", find=sending.uploads,
         reason="It sends data to another machine.", remedy="Check what is sent, and to whom."),
    Rule(id="network-call", severity="caution", find=sending.network_calls,
         reason="This program reaches the network.", remedy="Check what it sends and receives."),
    Rule(id="ignore-instructions", severity="danger", find=instructions.ignore_instructions,
         reason="It tells the model to disregard other instructions.", remedy="Remove it."),
    Rule(id="hide-from-user", severity="danger", find=instructions.hide_from_user,
         reason="It tells the model to hide something from the user.", remedy="Remove it."),
    Rule(id="unasked", severity="danger", find=instructions.go_on_unasked,
         reason="It tells the model to continue without approval, or to turn off a safeguard.", remedy="Leave that decision to the user."),
    Rule(id="safeguard-off", severity="danger", find=instructions.switch_off,
         reason="It turns off a safeguard: a sandbox, approvals or verification.", remedy="Leave the safeguard on."),
    Rule(id="agent-settings", severity="danger", find=persistence.agent_settings,
         reason="It changes what an agent is told or allowed in other sessions.", remedy="Leave agent settings to the user."),
    Rule(id="start-up-file", severity="danger", find=persistence.start_up_files,
         reason="It changes what runs whenever a shell starts.", remedy="Show the line to the user instead."),
    Rule(id="scheduled-job", severity="caution", find=persistence.scheduled_jobs,
         reason="It makes something run later, unobserved.", remedy="Leave scheduling to the user."),
    Rule(id="hook", severity="danger", find=persistence.hooks_and_keys,
         reason="It installs a hook, a key or a helper that acts later.", remedy="Leave that to the user."),
    Rule(id="destructive", severity="danger", find=destruction.destroy,
         reason="It destroys data that cannot be restored.", remedy="Name exactly what to delete, and ask first."),
    Rule(id="covers-tracks", severity="danger", find=destruction.cover_tracks,
         reason="It erases the traces of what was done.", remedy="Remove it."),
    Rule(id="name-squatting", severity="danger", find=names.imitations,
         reason="It passes for a skill that others trust: by its name, or by what it says of itself.", remedy="Give it a name of its own, and claim no vendor."),
    Rule(id="foreign-package", severity="danger", find=packages.foreign_source,
         reason="It installs programs from a source that the skill chooses, or gives them full access.", remedy="Use the sources that the user has set up."),
    Rule(id="disguised-address", severity="danger", find=urls.disguised,
         reason="The address hides where it leads.", remedy="Name the host in full."),
    Rule(id="secret", severity="danger", find=_secrets,
         reason="It contains what looks like a key or a password.", remedy="Remove it, and replace the key if it is real."),
    Rule(id="long-line", severity="caution", find=_long_lines,
         reason="The line is too long to review.", remedy="Break the line."),
    Rule(id="url", severity="caution", find=urls.hosts,
         reason="It names a host outside this machine.", remedy="Check that you know the host."),
)  # fmt: skip


def search_skill(files: Mapping[str, bytes]) -> tuple[Finding, ...]:
    """Every finding in the files of a skill, dangers first, in order of files and lines."""
    texts = list(read_files(files))
    found = [_finding(rule, hit) for rule, hit in _hits(RULES, texts)]
    found += [_finding(_UNREADABLE, hit) for hit in _unreadable(files)]
    return tuple(sorted(found, key=_order))


def search_text(name: str, text: str) -> tuple[Finding, ...]:
    """Dangers to whoever reads a text as material: hidden text, and orders to a model."""
    texts = [read_file(name, text[:MOST_CHARACTERS])]
    found = (_finding(rule, hit) for rule, hit in _hits([rule for rule in RULES if rule.id in _TO_READERS], texts))
    return tuple(sorted((one for one in found if one.severity == "danger"), key=_order))


def _order(finding: Finding) -> tuple[bool, bool, str, int]:
    return finding.severity != "danger", finding.file != "SKILL.md", finding.file, finding.line


def new_findings(found: Sequence[Finding], before: Mapping[str, bytes]) -> tuple[Finding, ...]:
    """The findings that an older version of the skill did not have."""
    known = {(one.rule, one.severity, one.excerpt) for one in search_skill(before)}
    return tuple(one for one in found if (one.rule, one.severity, one.excerpt) not in known)


def _hits(rules: Sequence[Rule], texts: Sequence[FileText]) -> Iterator[tuple[Rule, Hit]]:
    """What the rules find in the files, and then what only their undisguised copies and their comments show, by the
    line as it is."""
    files = {file.path: file for file in texts}
    comments = [prose for file in texts if (prose := comments_of(file)) is not None]
    plain = [undisguised(file) for file in texts]
    is_other = bool(comments) or any(one is not other for one, other in zip(texts, plain, strict=True))
    plain += [undisguised(prose) for prose in comments]
    for rule in rules:
        found = _first(rule, texts)
        yield from ((rule, hit) for hit in found)
        if is_other and rule.severity == "danger" and rule.id not in _AS_WRITTEN:
            known = {(hit.file, hit.line) for hit in found}
            for hit in _first(rule, plain):
                if (hit.file, hit.line) not in known and not hit.quoted:
                    yield rule, replace(hit, text=files[hit.file].line_text(hit.line).strip())


def _first(rule: Rule, texts: Sequence[FileText]) -> list[Hit]:
    """One hit per line, the plain ones before the quoted ones."""
    hits: dict[tuple[str, int], Hit] = {}
    for hit in rule.find(texts):
        at = (hit.file, hit.line)
        if at not in hits or (hits[at].quoted and not hit.quoted):
            hits[at] = hit
        if len(hits) > 50 * MOST_PER_RULE:
            break
    return sorted(hits.values(), key=lambda hit: hit.quoted)[:MOST_PER_RULE]


_UNREADABLE = Rule(
    id="unreadable-file",
    severity="danger",
    find=lambda _: (),
    reason="A program, an archive, or a file that is too long cannot be searched.",
    remedy="Ship its source as text, or remove it.",
)


ALL_RULES = (*RULES, _UNREADABLE)
"""Every rule that a search has, for people to read."""


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
        yield Hit(file="SKILL.md", line=1, text=f"{whole:,} bytes in total, only partly searched", quoted=True)


def _finding(rule: Rule, hit: Hit) -> Finding:
    return Finding(
        rule=rule.id,
        severity="caution" if hit.quoted else rule.severity,
        file=hit.file,
        line=hit.line,
        excerpt=on_one_line(shortened(hit.text, 240)),
        reason=rule.reason,
        remedy=rule.remedy,
    )
