"""`evidence.json` and the card beside a skill: read as a stranger's file, written whole and always the same way."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from upskill.domain.evidence import EVIDENCE_FORMAT, Evidence, MeasuredFile, MeasuredSkill, text_digest
from upskill.domain.evidence_rules import contradiction
from upskill.domain.skill import CARD_FILE, EVIDENCE_FILE, SKILL_FILE, Skill, SkillFile
from upskill.domain.text import on_one_line
from upskill.errors import EXIT_NOT_SHOWN, EngineError, SkillInvalid, UsageError
from upskill.redaction import redactor_from
from upskill.storage.foreign_json import parse_json
from upskill.storage.plain_files import read_plain
from upskill.storage.records import first_problem, write_text
from upskill.storage.skill_files import find_files

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
