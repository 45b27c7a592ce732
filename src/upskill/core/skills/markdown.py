"""The text of `SKILL.md`: Markdown, one line at a time (code, headings, sections, long texts in pieces), and its YAML.

A fence is three or more backticks or tildes; backticks among the words behind backticks make it code in a sentence. A
line of at least as many of the same, and of nothing else, closes it, unless it is indented four more. A heading inside
a code block is no heading. docs/explanation/decisions.md says why no Markdown parser does this.

The YAML is read leniently, and written so that every known reader agrees. Every value is read as text, as the reference
reader does: `version: 1.0` is "1.0", and `name: no` is "no". What we write uses only the fields of the Agent Skills
specification, double-quoted on one line each.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import yaml

from upskill.core.nouns import estimate_tokens
from upskill.core.nouns.skill import MOST_CHARACTERS, SPECIFIED_FIELDS
from upskill.core.nouns.text import whole_characters

_OPENING = re.compile(r"(?P<indent>[ \t]*)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>.*)")


class Fence(NamedTuple):
    """The line that opened a block."""

    mark: str
    indent: int
    info: str
    """What stands behind the mark, without white space at its end."""


def fence_after(line: str, fence: Fence | None, *, most_indent: int | None = 3) -> Fence | None:
    """The fence that is open after this line, given the one that was open before it.

    `most_indent` bounds where a block may begin; `None` lets it begin anywhere, as in an item of a list.
    """
    line = line.rstrip("\r\n")
    if fence is None:
        return _opened(line, most_indent)
    return None if _closes(line, fence) else fence


def with_fences(lines: Iterable[str]) -> Iterator[tuple[str, Fence | None]]:
    """Each line with the fence that is open after it: `None` on lines outside of blocks and on those that close one."""
    fence: Fence | None = None
    for line in lines:
        fence = fence_after(line, fence)
        yield line, fence


def _opened(line: str, most_indent: int | None) -> Fence | None:
    found = _OPENING.fullmatch(line)
    if found is None or (found["mark"][0] == "`" and "`" in found["info"]):
        return None
    indent = len(found["indent"])
    if most_indent is not None and indent > most_indent:
        return None
    return Fence(found["mark"], indent, found["info"].rstrip())


def _closes(line: str, fence: Fence) -> bool:
    stripped = line.strip()
    return (
        len(stripped) >= len(fence.mark)
        and stripped == fence.mark[0] * len(stripped)
        and len(line) - len(line.lstrip()) <= fence.indent + 3
    )


MOST_HEADING = 40
"""Tokens of a heading that is repeated."""
_BREAK = re.compile(r"(?:#{1,6} |- \S)")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A heading of the second level with what follows it. The text before the first heading has none."""

    heading: str
    text: str
    raw: str | None = None
    """The section as it stood in a body, byte for byte; `None` for one that is new."""


class Heading(NamedTuple):
    """A heading of any level: the row of its line, its level, and its words."""

    row: int
    level: int
    words: str

    @property
    def plain(self) -> str:
        """The words as they are compared."""
        return plain_heading(self.words)


def plain_heading(heading: str) -> str:
    """A heading as it is compared: its words without marks, in any case."""
    return " ".join(heading.strip("# \t").split()).casefold()


def headings(lines: Sequence[str]) -> list[Heading]:
    """Every heading that is not inside a code block, in order."""
    found = []
    for row, (line, fence) in enumerate(with_fences(lines)):
        if fence is None and (match := _HEADING.match(line.rstrip("\r\n"))):
            found.append(Heading(row, len(match[1]), match[2].rstrip(" \t#")))
    return found


def split_body(body: str) -> tuple[Section, ...]:
    """The sections of a body, in order. Joined again they are the same body, byte for byte."""
    lines = body.splitlines(keepends=True)
    second = [heading for heading in headings(lines) if heading.level == 2]
    ends = [*(heading.row for heading in second), len(lines)]
    before = "".join(lines[: ends[0]])
    sections = [Section(heading="", text=before.strip("\r\n"), raw=before)] if before.strip() else []
    for heading, end in zip(second, ends[1:], strict=True):
        raw = "".join(lines[heading.row : end])
        if not sections:  # white space before the first heading belongs to it
            raw = before + raw
        text = "".join(lines[heading.row + 1 : end]).strip("\r\n")
        sections.append(Section(heading=heading.words, text=text, raw=raw))
    return tuple(sections)


def join_body(sections: Iterable[Section]) -> str:
    """The body that these sections make. New ones are set off by an empty line; the others stay as they stood."""
    body = ""
    after_new = False
    for section in sections:
        if section.raw is not None and not after_new:
            body += section.raw
            continue
        body = f"{body.rstrip()}\n\n" if body.strip() else ""
        if section.raw is not None:
            body += section.raw.lstrip("\r\n")
            after_new = False
        else:
            head = f"## {section.heading}\n\n" if section.heading else ""
            body += f"{head}{section.text.strip(chr(10))}\n"
            after_new = True
    return body


def tidy_section(heading: str, text: str) -> Section:
    """A section as a teacher gave it, without what would break the body around it."""
    heading = " ".join(heading.replace("#", " ").split())[:120]
    text = _without_wrapping(text.strip("\n").rstrip())
    first, _, rest = text.partition("\n")
    if first.startswith("#") and " ".join(first.lstrip("#").split()).casefold() == heading.casefold():
        text = rest.strip("\n")
    return Section(heading=heading, text=with_closed_block(text))


def with_closed_block(text: str) -> str:
    """The text, its last code block closed: one that is never closed would swallow what follows."""
    *_, (_, fence) = with_fences(text.split("\n"))
    return text if fence is None else f"{text}\n{fence.mark}"


def _without_wrapping(text: str) -> str:
    """The text inside a fence that holds everything, as models like to return Markdown."""
    found = re.fullmatch(r"(`{3,})(?:markdown|md)\n(?P<inside>.*)\n\1", text, re.DOTALL)
    return found["inside"].strip("\n") if found else text


def has_open_block(text: str) -> bool:
    """Whether a code block is never closed, or only after the beginning of the next: it would swallow what follows."""
    fence: Fence | None = None
    for line in text.splitlines():
        begun = None if fence is None else fence_after(line, None)
        if fence is not None and begun is not None and begun.info and begun.mark.startswith(fence.mark):
            return True
        fence = fence_after(line, fence)
    return fence is not None


def pieces(text: str, *, most_tokens: int) -> tuple[str, ...]:
    """The text in order, in pieces of at most so many tokens. Each names the section it is in, if it is Markdown."""
    packed: list[str] = []
    current: list[str] = []
    used, section = 0, ""
    for block in blocks(text, most_tokens=most_tokens):
        tokens = estimate_tokens(block)
        if block.startswith("## "):
            section = block.split("\n", 1)[0][:120]
        if current and used + tokens > most_tokens:
            packed.append("".join(current).rstrip("\n"))
            current, used = [], 0
            if section and not block.startswith("#") and tokens + MOST_HEADING < most_tokens:
                current, used = [f"{section} (continued)\n\n"], MOST_HEADING
        current.append(block)
        used += tokens
    if any(block.strip() for block in current):
        packed.append("".join(current).rstrip("\n"))
    return tuple(packed)


def blocks(text: str, *, most_tokens: int) -> Iterator[str]:
    """Stretches that belong together: from one heading, item or paragraph to the next, outside of code blocks."""
    block: list[str] = []
    fence: Fence | None = None
    after_blank = False
    for line in text.splitlines(keepends=True):
        if fence is None and block and (_BREAK.match(line) or after_blank):
            yield from _bounded("".join(block), most_tokens=most_tokens)
            block = []
        fence = fence_after(line, fence)
        block.append(line)
        after_blank = not line.strip()
    if block:
        yield from _bounded("".join(block), most_tokens=most_tokens)


def _bounded(block: str, *, most_tokens: int) -> Iterator[str]:
    """The block, cut at line ends, or anywhere in a line that is too long itself."""
    most_characters = max(16, most_tokens)  # a character has at most four bytes, and four bytes are counted as a token
    if estimate_tokens(block) <= most_tokens:
        yield block
        return
    current: list[str] = []
    used = 0
    for line in block.splitlines(keepends=True):
        parts = [line]
        if estimate_tokens(line) > most_tokens:
            parts = [line[at : at + most_characters] for at in range(0, len(line), most_characters)]
        for part in parts:
            tokens = estimate_tokens(part)
            if current and used + tokens > most_tokens:
                yield "".join(current)
                current, used = [], 0
            current.append(part)
            used += tokens
    if current:
        yield "".join(current)


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
        key = next(found["key"] for found in _UNQUOTED.finditer(head) if _quote_value(found) != found[0])
        notes = (f"the frontmatter is not valid YAML: put the value of `{key}` in double quotes; it was read so",)
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
