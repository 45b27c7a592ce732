"""Files that travel with a skill: those that a model may see, and the evidence. Cases stay behind.

`evidence.json` and the card are read as a stranger's files, and written whole and always the same way.
"""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import TypeAdapter, ValidationError

from upskill.core.foreign_json import parse_json
from upskill.core.nouns.finding import Finding
from upskill.core.nouns.skill import (
    CARD_FILE,
    EVIDENCE_FILE,
    EVIDENCE_FILES,
    MOST_SHARED_BYTES,
    MOST_SHARED_FILES,
    NAME_RULE,
    SIGNATURE_FILE,
    SKILL_FILE,
    Skill,
    SkillFile,
    is_skill_name,
    shared_path_problem,
)
from upskill.core.nouns.text import count, on_one_line
from upskill.core.runs.records import first_problem, write_text
from upskill.core.skills.skill_files import MOST_PROBLEMS, find_files, read_plain
from upskill.core.skills.skills import read_skill
from upskill.errors import EXIT_NOT_SHOWN, EngineError, SkillInvalid, UsageError
from upskill.lint.dangers.search import search_skill
from upskill.lint.lint_skill import lint
from upskill.redaction import redactor_from
from upskill.share.card import card_text
from upskill.share.evidence import EVIDENCE_FORMAT, Evidence, MeasuredFile, MeasuredSkill, contradiction, text_digest
from upskill.share.folder_changes import NewFile

MOST_EVIDENCE_BYTES = 5_000_000
MOST_TEXT_BYTES = 20_000_000
"""Line endings of larger files are not looked at."""
_EVIDENCE = TypeAdapter(Evidence)


class EvidenceInvalid(SkillInvalid):
    """A file beside a skill is not evidence, whatever it is called."""

    exit_code = EXIT_NOT_SHOWN


def evidence_text(evidence: Evidence) -> str:
    """The text of `evidence.json`: equal evidence has equal bytes."""
    value = _EVIDENCE.dump_python(evidence, mode="json")
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def evidence_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of `evidence.json`. It refuses unknown keys."""
    schema = _EVIDENCE.json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def read_evidence(folder: Path) -> Evidence | None:
    """The evidence beside a skill; `None` where there is none. Raises `EvidenceInvalid` for what is not evidence."""
    path = folder / EVIDENCE_FILE
    try:
        return evidence_from(read_plain(path, most=MOST_EVIDENCE_BYTES))
    except FileNotFoundError:
        return None
    except EngineError as error:
        raise EvidenceInvalid(on_one_line(error.message)) from None
    except ValueError as error:
        raise EvidenceInvalid(
            on_one_line(f"{path}: cannot be read as {EVIDENCE_FORMAT}: {error}"),
            hint="remove it, and write it again with `upskill evidence SKILL`",
        ) from None


def evidence_from(data: bytes) -> Evidence:
    """The evidence in the bytes of a file. Raises `ValueError` with the first thing that is wrong with it."""
    parse_json(data)  # refuses duplicated keys, NaN, endless nesting
    try:
        evidence = _EVIDENCE.validate_json(data, strict=True)
    except ValidationError as error:
        raise ValueError(first_problem(error)) from None
    if (problem := contradiction(evidence)) is not None:
        raise ValueError(problem)
    return evidence


def read_card(folder: Path) -> str | None:
    """The text of the card beside a skill, with line feeds only; `None` where there is none."""
    try:
        data = read_plain(folder / CARD_FILE, most=MOST_EVIDENCE_BYTES)
    except FileNotFoundError:
        return None
    except EngineError as error:
        raise EvidenceInvalid(on_one_line(error.message)) from None
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def write_files(folder: Path, *, evidence: str, card: str, dry_run: bool = False) -> tuple[Path, Path]:
    """Write both files beside a skill, and return where they are. Raises, before anything is written, where one is
    there that upskill did not write."""
    paths = folder / EVIDENCE_FILE, folder / CARD_FILE
    try:
        foreign = paths[1] if read_evidence(folder) is None and read_card(folder) is not None else None
    except EvidenceInvalid:
        foreign = paths[0]
    if foreign is not None:
        raise UsageError(
            on_one_line(f"{foreign}: upskill did not write this file, or it was edited since; it was not overwritten"),
            hint="rename or remove it",
        )
    if not dry_run:
        clean = redactor_from(os.environ).clean_own
        for path, text in zip(paths, (evidence, card), strict=True):
            write_text(path, clean(text))
    return paths


def measured_skill(folder: Path, skill: Skill) -> MeasuredSkill:
    """The version in a folder as evidence names it; `skill` is what was read from it."""
    root = folder.parent if folder.name == SKILL_FILE else folder
    sources = {file.path: file.source for file in find_files(root.resolve(), [])}
    return MeasuredSkill(
        name=skill.name,
        digest=skill.digest,
        text_digest=text_digest(skill),
        files=tuple(_measured_file(file, sources[file.path]) for file in skill.files if file.path in sources),
    )


def _measured_file(file: SkillFile, source: Path) -> MeasuredFile:
    sha256_lf, program = file.sha256, False
    if file.size <= MOST_TEXT_BYTES:
        data = source.read_bytes()
        program = data.startswith(b"#!")
        if b"\0" not in data:
            sha256_lf = hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()
    return MeasuredFile(path=file.path, size=file.size, sha256=file.sha256, sha256_lf=sha256_lf, program=program)


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedSkill:
    """A skill with the bytes of everything that travels with it."""

    root: Path
    """Its real folder."""
    skill: Skill
    files: dict[str, NewFile]
    """What a model may see, by path."""
    evidence: dict[str, NewFile]
    """The files of evidence that lie beside it, by name."""


def read_shared_skill(folder: Path) -> SharedSkill:
    """Read a skill whole. What cannot be shared is refused: in one line, if it is one thing."""
    try:
        skill = read_skill(folder)
    except SkillInvalid as error:
        if len(error.problems) != 1:
            raise
        raise SkillInvalid(on_one_line(f"{folder}: {error.problems[0]}")) from None
    root = (folder.parent if folder.name == SKILL_FILE and folder.is_file() else folder).resolve()
    written = skill.frontmatter.get("name")
    if not is_skill_name(skill.name) or written != skill.name:
        raise SkillInvalid(
            on_one_line(f"{folder}: the name {written!r} in SKILL.md is not valid, so agents would refuse the skill"),
            hint=NAME_RULE,
        )
    paths = (skill.name, *(file.path for file in skill.files))
    if problems := [on_one_line(f"{path!r} {problem}") for path in paths if (problem := shared_path_problem(path))]:
        raise SkillInvalid(
            on_one_line(f"{folder}: {count(len(problems), 'name')} that not every system can hold, or that deceive"),
            problems=problems[:MOST_PROBLEMS],
            hint="rename them",
        )
    size = sum(file.size for file in skill.files)
    if len(skill.files) > MOST_SHARED_FILES or size > MOST_SHARED_BYTES:
        raise SkillInvalid(
            on_one_line(
                f"{folder}: {len(skill.files):,} files with {size:,} bytes; a skill that is shared may have "
                f"{MOST_SHARED_FILES:,} files and {MOST_SHARED_BYTES:,} bytes"
            ),
            hint="remove what an agent does not need",
        )
    return SharedSkill(root=root, skill=skill, files=_contents(root, skill), evidence=_evidence_files(root))


def _contents(root: Path, skill: Skill) -> dict[str, NewFile]:
    """The bytes of every file, which must be those that were read before."""
    known = {file.path: file for file in skill.files}
    sources = {file.path: file.source for file in find_files(root, [])}
    contents: dict[str, NewFile] = {}
    for path, file in known.items():
        try:
            with sources[path].open("rb") as opened:
                data = opened.read(file.size + 1)
        except (KeyError, OSError):
            data = b""
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise UsageError(on_one_line(f"{skill.name}: {path} changed while it was being read"), hint="try again")
        contents[path] = NewFile(data, file.executable)
    return contents


def _evidence_files(root: Path) -> dict[str, NewFile]:
    found: dict[str, NewFile] = {}
    for name in sorted(EVIDENCE_FILES):
        path = root / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise SkillInvalid(on_one_line(f"{path}: is not an ordinary file"), hint="remove it")
        try:
            found[name] = NewFile(read_plain(path, most=MOST_EVIDENCE_BYTES))
        except FileNotFoundError:
            continue
    return found


Origin = Literal["file", "runs", "none"]


class FoundEvidence(NamedTuple):
    """Evidence for exactly this version of a skill, and where it is from."""

    evidence: Evidence | None
    origin: Origin
    note: str | None = None
    """Why the file beside the skill does not count."""


def beside(shared: SharedSkill) -> FoundEvidence:
    """What `evidence.json` beside the skill says, if it is about this version."""
    file = shared.evidence.get(EVIDENCE_FILE)
    if file is None:
        return FoundEvidence(None, "none")
    try:
        evidence = evidence_from(file.data)
    except ValueError as error:
        return FoundEvidence(None, "none", f"{EVIDENCE_FILE} cannot be read and is left out: {error}")
    if evidence.skill.digest != shared.skill.digest:
        return FoundEvidence(None, "none", f"{EVIDENCE_FILE} is about another version of the skill and is left out")
    return FoundEvidence(evidence, "file")


def measured_here(folder: Path, *, runs_dir: Path, ledger: Path | None) -> FoundEvidence:
    """What the runs in a folder of runs measured; without such a run, evidence without results."""
    from upskill.share.gather import gather_evidence  # reads answers and grades them again

    evidence = gather_evidence(folder, runs_dir=runs_dir, ledger=ledger)
    return FoundEvidence(evidence, "runs" if evidence.results else "none")


def files_beside(shared: SharedSkill, found: FoundEvidence) -> dict[str, NewFile]:
    """The evidence beside a skill as it travels: none that is not about this version, and the card written anew.

    A card is the text of its author, and an agent can open it.
    """
    if found.origin != "file" or found.evidence is None:
        return {}
    kept = {name: shared.evidence[name] for name in (EVIDENCE_FILE, SIGNATURE_FILE) if name in shared.evidence}
    return kept | {CARD_FILE: NewFile(card_text(found.evidence).encode())}


def findings_in(shared: SharedSkill, evidence: dict[str, NewFile]) -> tuple[Finding, ...]:
    """What `lint` finds in a skill, and what is dangerous in the evidence that travels with it.

    Raises where the skill cannot be searched, or is not the one that was read.
    """
    linted = lint(shared.root)
    if linted.refused is not None:
        raise SkillInvalid(linted.refused)
    if linted.digest != shared.skill.digest:
        raise UsageError(f"{shared.skill.name}: changed while it was being read", hint="try again")
    planted = search_skill({name: file.data for name, file in evidence.items()})
    return tuple(dict.fromkeys((*(one for one in planted if one.severity == "danger"), *linted.findings)))
