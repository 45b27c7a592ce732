"""The YAML at the head of `SKILL.md`: read leniently, written so that every known reader agrees.

What we write uses only the fields of the Agent Skills specification, double-quoted on one line each.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

import yaml

SPECIFIED_FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")

_FENCE = re.compile(r"\A---[ \t]*\r?\n(?P<head>.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_UNQUOTED = re.compile(r"^(?P<key>[A-Za-z][\w-]*):[ \t]+(?P<value>[^\s'\"|>&*!%@`\[{#].*)$", re.MULTILINE)


class SkillText(NamedTuple):
    """`SKILL.md` taken apart, with what had to be forgiven."""

    frontmatter: dict[str, object]
    body: str
    notes: tuple[str, ...]


def parse_skill_text(text: str) -> SkillText:
    """Split `SKILL.md`. Raises `ValueError` with a sentence when there is no usable frontmatter."""
    text = text.removeprefix("\ufeff")
    match = _FENCE.match(text)
    if match is None:
        raise ValueError("SKILL.md does not begin with frontmatter between two lines of ---")
    head, body = match["head"], text[match.end() :]
    notes: tuple[str, ...] = ()
    try:
        loaded = _load(head)
    except ValueError as error:
        # `description: Use when: merging` is the commonest slip: quote such values and try once more.
        mended = _UNQUOTED.sub(_quote_value, head)
        if mended == head:
            raise
        try:
            loaded = _load(mended)
        except ValueError:
            raise error from None
        notes = ("the frontmatter is not valid YAML; values with a colon were read as if quoted",)
    if not isinstance(loaded, dict):
        raise ValueError("the frontmatter of SKILL.md is not a list of `key: value` lines")
    return SkillText({str(key): value for key, value in loaded.items()}, body, notes)


def _load(head: str) -> object:
    try:
        return yaml.safe_load(head)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 2}" if mark is not None else ""
        what = getattr(error, "problem", None) or "it cannot be parsed"
        raise ValueError(f"the frontmatter of SKILL.md is not YAML: {what}{where}") from None
    except (ValueError, RecursionError, OverflowError) as error:
        raise ValueError(f"the frontmatter of SKILL.md is not YAML: {error}") from None


def _quote_value(match: re.Match[str]) -> str:
    value = match["value"].rstrip()
    if ": " not in value and not value.endswith(":"):
        return match[0]
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{match["key"]}: "{escaped}"'


class _Quoted(str):
    """A string that is written in double quotes."""


class _Dumper(yaml.SafeDumper):
    """Writes frontmatter."""


def _represent_quoted(dumper: yaml.SafeDumper, value: _Quoted) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(value), style='"')


_Dumper.add_representer(_Quoted, _represent_quoted)


def render_skill_text(frontmatter: Mapping[str, object], body: str) -> str:
    """`SKILL.md` from its parts. Raises `ValueError` when a field cannot be written safely."""
    unknown = [key for key in frontmatter if key not in SPECIFIED_FIELDS]
    if unknown:
        raise ValueError(f"not a field of the Agent Skills specification: {', '.join(unknown)}")
    ordered: dict[str, object] = {}
    for key in SPECIFIED_FIELDS:
        if key not in frontmatter:
            continue
        value = frontmatter[key]
        if key == "metadata" and isinstance(value, Mapping):
            ordered[key] = {str(inner): _Quoted(_one_line(str(inner), str(text))) for inner, text in value.items()}
        elif key == "name":
            ordered[key] = str(value)
        else:
            ordered[key] = _Quoted(_one_line(key, str(value)))
    head = yaml.dump(
        ordered,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=float("inf"),
        default_flow_style=False,
    )
    return f"---\n{head}---\n{body}"


def _one_line(key: str, text: str) -> str:
    if "---" in text:
        raise ValueError(f"`{key}` contains ---, at which other readers end the frontmatter")
    if key == "description" and ("<" in text or ">" in text):
        raise ValueError("`description` contains < or >, which some readers refuse")
    return " ".join(text.split())
