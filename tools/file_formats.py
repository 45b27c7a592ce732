"""Tables of keys: of the files of a run, from the values that are written, and of `eval --json`, from its schema."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.definitions import definition

ROOT = Path(__file__).parent.parent
SCHEMA = "src/upskill/report/eval.schema.json"

RUN = (
    "upskill.core.runs.records:RunRecord",
    "upskill.core.runs.records:CaseReference",
    "upskill.core.runs.records:SettingRecord",
    "upskill.core.nouns:Student",
    "upskill.core.nouns:Price",
    "upskill.core.nouns:Qualification",
    "upskill.core.nouns:Reason",
    "upskill.core.nouns.skill:OtherSkills",
    "upskill.core.nouns.skill:OtherSkill",
    "upskill.core.nouns.look:LookTerms",
    "upskill.core.nouns.look:RemovedCase",
    "upskill.core.nouns.look:EarlierLook",
    "upskill.core.nouns:RunEnd",
    "upskill.core.nouns:Cap",
    "upskill.core.nouns:Outage",
)
TRIAL = (
    "upskill.core.nouns:Trial",
    "upskill.core.nouns:Scored",
    "upskill.core.nouns:Errored",
    "upskill.core.nouns:Grade",
    "upskill.core.nouns:CheckResult",
    "upskill.core.nouns:Usage",
    "upskill.core.nouns:SkillUse",
    "upskill.core.nouns.answer:Trajectory",
    "upskill.core.nouns.answer:ToolCall",
)
WORDS = (
    "upskill.core.runs.records:Status",
    "upskill.core.nouns:Arm",
    "upskill.core.nouns:Design",
    "upskill.core.nouns:State",
    "upskill.core.nouns:Label",
    "upskill.core.nouns:Verdict",
    "upskill.core.nouns.lift:Claim",
    "upskill.core.nouns.look:CapKind",
    "upskill.core.nouns.skill:OtherSource",
    "upskill.core.nouns:End",
    "upskill.core.nouns:Fault",
    "upskill.core.nouns.answer:ToolKind",
)
EVIDENCE = (
    "upskill.share.evidence:Evidence",
    "upskill.share.evidence:MeasuredSkill",
    "upskill.share.evidence:MeasuredFile",
    "upskill.share.evidence:EvidenceResult",
    "upskill.core.nouns:StudentReport",
    "upskill.core.nouns.evaluation:ArmSummary",
    "upskill.core.nouns:Lift",
    "upskill.core.nouns.lift:LabelLift",
    "upskill.core.nouns:Interval",
    "upskill.core.nouns.lift:Loads",
    "upskill.core.nouns.evaluation:BrokenCase",
    "upskill.core.nouns.evaluation:ControlFindings",
    "upskill.share.evidence:MissingLook",
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
    "tuple[str, int]": "list: string, integer",
    "tuple[int, str, str]": "list: integer, string, string",
    "StudentEnd": "string",
    "tuple[float, float]": "`[low, high]`",
    "Outcome": "[Scored](#scored) or [Errored](#errored)",
}
TABLES = ("student", "arm", "lift", "loads", "case_state", "label_lift")
"""Parts of the schema with a table of their own; the others are shown where they occur."""


def file_tables() -> str:
    """The keys of the files of a run, and of the evidence."""
    parts = ["## `run.json`\n\nOne object per run, format `upskill.run/1`."]
    parts += [_table(where) for where in RUN]
    parts.append("## `trials.jsonl`\n\nOne object per line, one line per answer. Keys without a value are left out.")
    parts += [_table(where) for where in TRIAL]
    parts.append(
        "## `evidence.json`\n\nOne object beside a skill, format `upskill.evidence/1`. Unknown keys are refused. Its "
        "JSON Schema (2020-12) is `upskill.share.evidence.evidence_schema()`."
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
    """A table of the keys that need a word, and a line with the others."""
    found = definition(where)
    parts = [f"### {found.name}\n\n{_in_json(found.about)}"]
    explained = [field for field in found.fields if field.about]
    if explained:
        rows = [
            f"| `{field.name}` | {_json_type(field.type)} | {_cell(_in_json(field.about))} |" for field in explained
        ]
        parts.append("\n".join(["| key | type | meaning |", "|---|---|---|", *rows]))
    if plain := [f"`{field.name}` ({_json_type(field.type)})" for field in found.fields if not field.about]:
        parts.append(f"{'Also' if explained else 'Keys:'} {', '.join(plain)}.")
    return "\n\n".join(parts)


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
    rows = [f"| `{key}` | {_meaning(value, about, whole)} |" for key, value, about in _keys(schema, whole)]
    return "\n".join(["| key | meaning |", "|---|---|", *rows])


def _meaning(value: dict[str, Any], about: str, whole: dict[str, Any]) -> str:
    """What a key means, after its type where that is a table or a list of words; the schema has all types."""
    kind = _kind(value, whole)
    return _cell(f"{kind[0].upper()}{kind[1:]}. {about}" if "`" in kind or "](" in kind else about)


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
