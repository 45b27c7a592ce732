"""`evidence.json` and the card beside a skill: read as a stranger's file, written whole and always the same way."""

import json
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from upskill.domain.evidence import EVIDENCE_FORMAT, Evidence
from upskill.domain.skill import EVIDENCE_FILE
from upskill.domain.text import on_one_line
from upskill.errors import SkillInvalid
from upskill.storage.foreign_json import parse_json
from upskill.storage.plain_files import read_plain
from upskill.storage.records import first_problem

MOST_EVIDENCE_BYTES = 5_000_000
_EVIDENCE = TypeAdapter(Evidence)


def evidence_text(evidence: Evidence) -> str:
    """The text of `evidence.json`: equal evidence has equal bytes."""
    value = _EVIDENCE.dump_python(evidence, mode="json")
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_evidence(folder: Path) -> Evidence | None:
    """The evidence beside a skill; `None` where there is none. Raises `SkillInvalid` for what is not evidence."""
    path = folder / EVIDENCE_FILE
    try:
        return evidence_from(read_plain(path, most=MOST_EVIDENCE_BYTES))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise SkillInvalid(
            on_one_line(f"{path}: cannot be read as {EVIDENCE_FORMAT}: {error}"),
            hint="write it again with `upskill evidence SKILL`",
        ) from None


def evidence_from(data: bytes) -> Evidence:
    """The evidence in the bytes of a file. Raises `ValueError` with the first thing that is wrong with it."""
    parse_json(data)  # refuses duplicated keys, NaN, endless nesting
    try:
        return _EVIDENCE.validate_json(data, strict=True)
    except ValidationError as error:
        raise ValueError(first_problem(error)) from None
