"""The YAML at the head of `SKILL.md`: read leniently, written so that every known reader agrees.

Every value is read as text, as the reference reader does: `version: 1.0` is "1.0", and `name: no` is "no". What we
write uses only the fields of the Agent Skills specification, double-quoted on one line each.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import NamedTuple

import yaml

from upskill.core.nouns.skill import MOST_CHARACTERS, SPECIFIED_FIELDS
from upskill.core.nouns.text import whole_characters

MOST_HEAD_CHARACTERS = 100_000

FENCE = re.compile(r"\A---[ \t]*\r?\n(?P<head>.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_UNQUOTED = re.compile(r"^(?P<key>[A-Za-z][\w-]*):[ \t]+(?P<value>[^\s'\"|>&*!%@`\[{#].*)$", re.MULTILINE)
_PLAIN = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)\Z)[a-z][a-z0-9_-]*")
"""A name or a key that every reader takes for the same text without quotes."""


class SkillParts(NamedTuple):
    """`SKILL.md` taken apart, with what had to be forgiven."""

    frontmatter: dict[str, object]
    body: str
    notes: tuple[str, ...]


def parse_skill_text(text: str) -> SkillParts:
    """Split `SKILL.md`. Raises `ValueError` with a sentence when there is no usable frontmatter."""
    text = text.removeprefix("\ufeff")
    match = FENCE.match(text)
    if match is None:
        raise ValueError("SKILL.md does not start with frontmatter between two lines of ---")
    head, body = match["head"], text[match.end() :]
    if len(head) > MOST_HEAD_CHARACTERS:
        raise ValueError(f"the frontmatter of SKILL.md is longer than {MOST_HEAD_CHARACTERS:,} characters")
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
    return SkillParts(loaded, body, notes)


class _Loader(yaml.BaseLoader):
    """Reads frontmatter: text, lists and tables of text. What a value could do by its tag, it does not do here."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Aliases are refused: a few lines of them unfold into gigabytes."""
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # the stubs leave it untyped
            raise yaml.composer.ComposerError(None, None, "aliases (*name) are not allowed here", mark)
        return super().compose_node(parent, index)

    def construct_scalar(self, node: yaml.ScalarNode) -> str:
        """Escaped surrogate pairs, as JSON writers leave them, become the characters they mean."""
        text = str(super().construct_scalar(node))
        if text.isprintable():
            return text
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _load(head: str) -> object:
    try:
        return yaml.load(head, Loader=_Loader)
    except yaml.reader.ReaderError as error:
        raise ValueError(
            f"the frontmatter of SKILL.md is not YAML: it contains the control character U+{error.character:04X}"
        ) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 2}" if mark is not None else ""
        what = getattr(error, "problem", None) or "it cannot be parsed"
        raise ValueError(f"the frontmatter of SKILL.md is not YAML: {what}{where}") from None
    except RecursionError:
        raise ValueError("the frontmatter of SKILL.md is nested too deeply") from None
    except (ValueError, OverflowError) as error:
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
    for key in (key for key in SPECIFIED_FIELDS if key in frontmatter):
        if key != "metadata":
            ordered[key] = _text(key, frontmatter[key])
        elif table := _metadata(frontmatter[key]):
            ordered[key] = table
    if isinstance(name := ordered.get("name"), str):
        ordered["name"] = _bare(name)
    head = yaml.dump(
        ordered, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf"), default_flow_style=False
    )
    if len(head) > MOST_HEAD_CHARACTERS:
        raise ValueError(f"the frontmatter would be longer than {MOST_HEAD_CHARACTERS:,} characters")
    if whole_characters(body) != body:
        raise ValueError("the body contains a lone surrogate (half a character)")
    return f"---\n{head}---\n{body}"


def _bare(text: str) -> str:
    return str(text) if _PLAIN.fullmatch(text) else text


def _metadata(value: object) -> dict[str, _Quoted]:
    if not isinstance(value, Mapping):
        raise ValueError("`metadata` must map keys to strings")
    table = {_bare(_text("a key of metadata", key)): _text(f"metadata.{key}", text) for key, text in value.items()}
    if len(table) < len(value):
        raise ValueError("two keys of `metadata` differ only by white space")
    if too_long := next((key for key in table if len(key) > 100), None):
        raise ValueError(f"the key {too_long[:20]}… of `metadata` is longer than 100 characters")
    return table


def scalar_text(key: str, value: object) -> str:
    """A value as it is written behind its key. Raises `ValueError` when it cannot be written safely."""
    dumped: str = yaml.dump(_text(key, value), Dumper=_Dumper, allow_unicode=True, width=float("inf"))
    return dumped.rstrip("\n")


def _text(key: str, value: object) -> _Quoted:
    """A value as one line that every reader takes for the same text."""
    if not isinstance(value, str):
        raise ValueError(f"`{key}` must be a string, not {type(value).__name__}")
    if whole_characters(value) != value:
        raise ValueError(f"`{key}` contains a lone surrogate (half a character)")
    text = one_line(value)
    if not text:
        raise ValueError(f"`{key}` is empty")
    if "---" in text:
        raise ValueError(f"`{key}` contains ---, which ends the frontmatter in other programs")
    if key == "description" and ("<" in text or ">" in text):
        raise ValueError("`description` contains < or >, which some agents refuse")
    if len(text) > (most := MOST_CHARACTERS.get(key, MOST_HEAD_CHARACTERS)):
        raise ValueError(f"`{key}` has {len(text):,} characters; {most:,} are allowed")
    return _Quoted(text)


def one_line(text: str) -> str:
    """Line breaks, tabs and control characters become single spaces."""
    return " ".join("".join(" " if unicodedata.category(c) == "Cc" else c for c in text).split())
