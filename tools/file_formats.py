"""Tables of keys: of the files of a run, from the values that are written, and of `eval --json`, from its schema."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.definitions import definition

ROOT = Path(__file__).parent.parent
SCHEMA = "src/upskill/reporting/eval.schema.json"

INTRODUCTION = """# Run files

The keys of `run.json`, `trials.jsonl` and `evidence.json`, from the code that writes them.
[Files](files.md#the-run-folder) says where they are and when they are written. Unknown values are null or left out,
never 0. Under one format name keys may be added; none is removed. In these files, a *student* is a model that is
measured, a *trial* is one answer, and an *arm* is one condition.
"""

RUN = (
    "upskill.storage.runs:RunRecord",
    "upskill.storage.runs:CaseReference",
    "upskill.storage.runs:SettingRecord",
    "upskill.domain:Student",
    "upskill.domain:Price",
    "upskill.domain:Qualification",
    "upskill.domain:Reason",
    "upskill.domain.other_skills:OtherSkills",
    "upskill.domain.other_skills:OtherSkill",
    "upskill.domain.look:LookTerms",
    "upskill.domain.look:PooledCase",
    "upskill.domain:RunEnd",
    "upskill.domain:Cap",
    "upskill.domain:Outage",
)
TRIAL = (
    "upskill.domain:Trial",
    "upskill.domain:Scored",
    "upskill.domain:Errored",
    "upskill.domain:Grade",
    "upskill.domain:CheckResult",
    "upskill.domain:Usage",
    "upskill.domain:SkillUse",
    "upskill.domain.trajectory:Trajectory",
    "upskill.domain.trajectory:ToolCall",
)
WORDS = (
    "upskill.storage.runs:Status",
    "upskill.domain:Arm",
    "upskill.domain:Design",
    "upskill.domain:State",
    "upskill.domain:Label",
    "upskill.domain:Verdict",
    "upskill.domain.run_end:CapKind",
    "upskill.domain.other_skills:OtherSource",
    "upskill.domain:End",
    "upskill.domain:Fault",
    "upskill.domain.trajectory:ToolKind",
)
EVIDENCE = (
    "upskill.domain.evidence:Evidence",
    "upskill.domain.evidence:MeasuredSkill",
    "upskill.domain.evidence:MeasuredFile",
    "upskill.domain.evidence:EvidenceResult",
    "upskill.domain.evidence:MissingLook",
)
TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "None": "null",
    "JsonValue": "any",
    "Json": "any",
    "Files": 'object of string or `{"base64": string}`',
    "tuple[str, str]": "list: string, string",
    "tuple[float, float]": "`[low, high]`",
    "Outcome": "[Scored](#scored) or [Errored](#errored)",
}
SHORT = 5
"""Fewer keys than this are a list instead of a table."""
TABLES = ("student", "arm", "lift", "loads", "case_state", "label_lift")
"""Parts of the schema with a table of their own; the others are shown where they occur."""


def formats_page() -> str:
    """The page on the files of a run, without its notice."""
    parts = [INTRODUCTION.rstrip()]
    parts.append("## `run.json`\n\nOne object per run, format `upskill.run/1`.")
    parts += [_table(where) for where in RUN]
    parts.append("## `trials.jsonl`\n\nOne object per line, one line per answer. Keys without a value are left out.")
    parts += [_table(where) for where in TRIAL]
    parts.append(
        "## `evidence.json`\n\nOne object beside a skill, format `upskill.evidence/1`; see [keep the "
        "evidence with a skill](../how-to/carry-the-evidence.md). Unknown keys are refused. Its JSON Schema (2020-12) "
        "is `upskill.storage.evidence.evidence_schema()`."
    )
    parts += [_table(where) for where in EVIDENCE]
    parts.append("## Words\n\nThe values of some of these keys.")
    parts.append("\n".join(["| type | values | meaning |", "|---|---|---|", *map(_words, WORDS)]))
    return "\n\n".join(parts) + "\n"


def evaluation_tables() -> str:
    """Every key of the object that `eval --json` prints, from its schema."""
    schema = json.loads((ROOT / SCHEMA).read_text(encoding="utf-8"))
    parts = [_schema_table(schema, schema)]
    parts += [f"### `{name}`\n\n{_schema_table(schema['$defs'][name], schema)}" for name in TABLES]
    return "\n\n".join(parts) + "\n"


def _table(where: str) -> str:
    found = definition(where)
    about = f"### {found.name}\n\n{_in_json(found.about)}"
    if len(found.fields) < SHORT:
        keys = [(f"`{field.name}` ({_json_type(field.type)})", _in_json(field.about)) for field in found.fields]
        return about + "\n\n" + "\n".join(f"- {key}: {_cell(said)}" if said else f"- {key}" for key, said in keys)
    rows = [f"| `{field.name}` | {_json_type(field.type)} | {_cell(_in_json(field.about))} |" for field in found.fields]
    return "\n".join([about, "", "| key | type | meaning |", "|---|---|---|", *rows])


def _in_json(text: str) -> str:
    return text.replace("`None`", "null")


def _json_type(annotation: str) -> str:
    """A Python annotation in words a reader of JSON knows."""
    if annotation.startswith("Literal["):
        return f"`{annotation[8:-1]}`".replace("'", "")
    parts = [part.strip() for part in annotation.split(" | ")]
    if len(parts) > 1:
        return " or ".join(map(_json_type, parts))
    if annotation.startswith("tuple[") and annotation.endswith(", ...]"):
        return "list of " + _json_type(annotation[6:-6])
    if annotation.startswith(("dict[str, ", "Mapping[str, ", "Mapping[Verdict, ")):
        return "object of " + _json_type(annotation.partition(", ")[2][:-1])
    if annotation in TYPES:
        return TYPES[annotation]
    return f"[{annotation}](#{_anchor(annotation)})"


def _anchor(name: str) -> str:
    return "words" if any(where.endswith(f":{name}") for where in WORDS) else name.lower()


def _words(where: str) -> str:
    """The values that a name can have, as a row."""
    found = definition(where)
    values = found.code.partition("Literal[")[2].rstrip("]").replace("'", "")
    return f"| {found.name} | {', '.join(f'`{value.strip()}`' for value in values.split(','))} | {_cell(found.about)} |"


def _schema_table(schema: dict[str, Any], whole: dict[str, Any]) -> str:
    rows = [f"| `{key}` | {_kind(value, whole)} | {_cell(about)} |" for key, value, about in _keys(schema, whole)]
    return "\n".join(["| key | type | meaning |", "|---|---|---|", *rows])


def _keys(schema: dict[str, Any], whole: dict[str, Any], before: str = "") -> Iterator[tuple[str, dict[str, Any], str]]:
    for key, value in schema.get("properties", {}).items():
        yield before + key, value, value.get("description", "")
        inner, way = _inside(value, whole)
        if not _same_tables(inner):
            yield from _keys(inner, whole, f"{before}{key}{way}.")


def _inside(value: dict[str, Any], whole: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The object that is shown within this one, if any, and the way to it."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return ({}, "") if name in TABLES else _inside(whole["$defs"][name], whole)
    for one in value.get("oneOf") or value.get("anyOf") or ():
        inner, way = _inside(one, whole)
        if inner:
            return inner, way
    if isinstance(value.get("items"), dict):
        return _inside(value["items"], whole)[0], "[]"
    if isinstance(value.get("additionalProperties"), dict):
        return _inside(value["additionalProperties"], whole)[0], ".*"
    return (value, "") if "properties" in value else ({}, "")


def _same_tables(schema: dict[str, Any]) -> str | None:
    """The one table that describes every value of an object, if there is one."""
    found = {str(value.get("$ref", "")).rpartition("/")[2] for value in schema.get("properties", {}).values()}
    return found.pop() if len(found) == 1 and found <= set(TABLES) else None


def _kind(value: dict[str, Any], whole: dict[str, Any]) -> str:
    """The type in words a reader of JSON knows."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name})" if name in TABLES else _kind(whole["$defs"][name], whole)
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return ", ".join("null" if one is None else f"`{one}`" for one in value["enum"])
    if any(key in value for key in ("oneOf", "anyOf")) and "properties" not in value:
        kinds = [_kind(one, whole) for one in value.get("oneOf") or value["anyOf"]]
        return " or ".join(sorted(dict.fromkeys(kinds), key=lambda kind: kind == "null"))
    if "prefixItems" in value:
        return "`[low, high]`"
    if value.get("type") == "array":
        return "list of " + _kind(value.get("items", {}), whole)
    if (table := _same_tables(value)) is not None:
        return f"object of [{table}](#{table})"
    kinds = value.get("type", "any")
    return " or ".join(kinds) if isinstance(kinds, list) else str(kinds)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
