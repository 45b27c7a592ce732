"""The page on formats: the keys of the files and objects that upskill writes, from the values that are written."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.definitions import definition

ROOT = Path(__file__).parent.parent
SCHEMA = "src/upskill/reporting/eval.schema.json"

INTRODUCTION = """# Formats

The keys of what upskill writes, taken from the code that writes it. [Files](files.md) says where these files lie, when
they are written and what may be relied on; [the page on JSON](json.md) explains the object of `--json` in words. What
is unknown is null or left out, never 0. Under one format name keys may be added; none goes away.
"""

RUN = (
    "upskill.storage.runs:RunRecord",
    "upskill.storage.runs:CaseReference",
    "upskill.storage.runs:SettingRecord",
    "upskill.domain:Student",
    "upskill.domain:Price",
    "upskill.domain:Qualification",
    "upskill.domain:Reason",
    "upskill.domain.look:LookTerms",
    "upskill.domain.look:PooledCase",
    "upskill.domain:RunEnd",
    "upskill.domain:Cap",
    "upskill.domain:Outage",
)
TYPES = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "None": "null",
    "JsonValue": "any",
    "Json": "any",
    "Files": 'object of text or `{"base64": text}`',
    "tuple[str, str]": "list: text, text",
    "Outcome": "[Scored](#scored) or [Errored](#errored)",
}
WORDS = (
    "upskill.storage.runs:Status",
    "upskill.domain:Arm",
    "upskill.domain:Design",
    "upskill.domain:State",
    "upskill.domain:Label",
    "upskill.domain.run_end:CapKind",
    "upskill.domain:End",
    "upskill.domain:Fault",
)
TRIAL = (
    "upskill.domain:Trial",
    "upskill.domain:Scored",
    "upskill.domain:Errored",
    "upskill.domain:Grade",
    "upskill.domain:CheckResult",
    "upskill.domain:Usage",
    "upskill.domain:SkillUse",
)


def formats_page() -> str:
    """The whole page, without its notice."""
    parts = [INTRODUCTION.rstrip()]
    parts.append("## `run.json`\n\nOne object per run, format `upskill.run/1`.")
    parts += [_table(where) for where in RUN]
    parts.append(
        "## `trials.jsonl`\n\nOne object per line, one line per finished trial. Keys without a value are left out."
    )
    parts += [_table(where) for where in TRIAL]
    parts.append("## Words\n\nThe values that some of these keys take.")
    parts += [_words(where) for where in WORDS]
    schema = json.loads((ROOT / SCHEMA).read_text(encoding="utf-8"))
    parts.append(
        f"## `upskill eval --json`\n\nThe object `{schema['title']}`, from its [JSON Schema](../../{SCHEMA}). "
        "The same object stands under `results` in `run.json`."
    )
    parts.append(_schema_table(schema, schema))
    parts += [
        f"### {name}\n\n{_schema_table(inner, schema)}"
        for name, inner in schema["$defs"].items()
        if "properties" in inner
    ]
    return "\n\n".join(parts) + "\n"


def _table(where: str) -> str:
    found = definition(where)
    rows = [f"| `{field.name}` | {_json_type(field.type)} | {_cell(field.about)} |" for field in found.fields]
    return "\n".join([f"### {found.name}", "", found.about, "", "| key | type | meaning |", "|---|---|---|", *rows])


def _json_type(annotation: str) -> str:
    """A Python annotation in words a reader of JSON knows."""
    if annotation.startswith("Literal["):
        return f"`{annotation[8:-1]}`".replace("'", '"')
    parts = [part.strip() for part in annotation.split(" | ")]
    if len(parts) > 1:
        return " or ".join(map(_json_type, parts))
    if annotation.startswith("tuple[") and annotation.endswith(", ...]"):
        return "list of " + _json_type(annotation[6:-6])
    if annotation.startswith(("dict[str, ", "Mapping[str, ")):
        return "object of " + _json_type(annotation.partition(", ")[2][:-1])
    if annotation in TYPES:
        return TYPES[annotation]
    return f"[{annotation}](#{annotation.lower()})"


def _words(where: str) -> str:
    """The values a name stands for."""
    found = definition(where)
    values = found.code.partition("Literal[")[2].rstrip("]").replace("'", "")
    return (
        f"### {found.name}\n\n"
        + ", ".join(f"`{value.strip()}`" for value in values.split(","))
        + (f". {found.about}" if found.about else "")
    )


def _schema_table(schema: dict[str, Any], whole: dict[str, Any]) -> str:
    rows = [f"| `{key}` | {_kind(value, whole)} | {_cell(about)} |" for key, value, about in _keys(schema)]
    return "\n".join(["| key | type | meaning |", "|---|---|---|", *rows])


def _keys(schema: dict[str, Any], before: str = "") -> Iterator[tuple[str, dict[str, Any], str]]:
    for key, value in schema.get("properties", {}).items():
        yield before + key, value, value.get("description", "")
        inner = next((one for one in value.get("oneOf", ()) if "properties" in one), value)
        yield from _keys(inner, f"{before}{key}.")


def _kind(value: dict[str, Any], whole: dict[str, Any]) -> str:
    """The type in words a reader of JSON knows."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        inner = whole["$defs"][name]
        return f"[{name}](#{name})" if "properties" in inner else _kind(inner, whole)
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "enum" in value:
        return ", ".join(f"`{json.dumps(one)}`" for one in value["enum"])
    if any(key in value for key in ("oneOf", "anyOf")):
        return " or ".join(dict.fromkeys(_kind(one, whole) for one in value.get("oneOf") or value["anyOf"]))
    if "prefixItems" in value:
        return "list: " + ", ".join(_kind(one, whole) for one in value["prefixItems"])
    if value.get("type") == "array":
        return "list of " + _kind(value.get("items", {}), whole)
    kinds = value.get("type", "any")
    return " or ".join(kinds) if isinstance(kinds, list) else str(kinds)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
