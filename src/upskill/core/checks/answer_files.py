"""The files that an answer leaves: real ones, or, in chat, those in the fenced blocks of its text.

The name of a block is in the line that opens it, alone on the line before it, or in a comment on its first line.
docs/reference/checks.md has the rules. A name that leads out of the folder is refused, and a block that is never closed
is no file.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

from upskill.core.checks.kind import Submission
from upskill.core.nouns import Files
from upskill.core.nouns.skill import clash, path_problem
from upskill.core.skills.markdown import Fence, fence_after

_IN_BACKTICKS = re.compile(r"(`{1,2})([^`\n]+)\1")


def forms_of(text: str) -> tuple[str, ...]:
    """A text as it is, without white space at both ends, and without the fence or the backticks around all of it."""
    stripped = text.strip()
    return tuple(dict.fromkeys((text, stripped, _unwrapped(stripped))))


def _unwrapped(text: str) -> str:
    if found := _IN_BACKTICKS.fullmatch(text):
        return found[2].strip()
    first, *lines = text.replace("\r\n", "\n").split("\n")
    if (fence := fence_after(first, None)) is None:
        return text
    ends = [number for number, line in enumerate(lines) if fence_after(line, fence) is None]
    # A block that is never closed is no block, and one that closes earlier is not around all of the text.
    return "\n".join(lines[:-1]).strip("\n") if ends[:1] == [len(lines) - 1] else text


MOST_FILES = 200
_MOST_NAMING_CHARACTERS = 300
"""A longer line names nothing."""

_ATTRIBUTE = re.compile(r"\b(?:title|file|filename|name|path)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s}]+))")
_BARE_NAMES = frozenset(
    {
        *("Dockerfile", "Gemfile", "Justfile", "Makefile", "Procfile", "Rakefile"),
        *("LICENSE", "README", "CHANGELOG", "NOTICE", "BUILD", "WORKSPACE"),
    }
)
_LANGUAGES_WITH_A_DOT = frozenset({"asp.net", "vb.net", "node.js"})
_NAME = re.compile(r"[\w@+.~-][\w@+./~-]*")
_EXTENSION = re.compile(r".*\.[A-Za-z][\w+-]{0,15}")
_LEAD = re.compile(r"(?:#{1,6}|[-*+]|\d{1,3}[.)])[ \t]+")
_FILE_WORD = re.compile(r"\**(?:file|filename|file name|path)\**[ \t]*:\**[ \t]*", re.IGNORECASE)
_COMMENT = re.compile(r"(?:\#|//|--|;|%|<!--|/\*)[ \t]*(?P<said>.+?)[ \t]*(?:-->|\*/)?")
_NAME_AND_FENCE = re.compile(r"(?P<name>.{1,300}?:[*_]{0,2})[ \t]*(?P<opening>(?:`{3,}|~{3,})[^`]*)")
"""`build.toml: ```toml` on one line."""
_WRAPPERS = ("**", "__", "`", "*", "_", '"', "'")


class Block(NamedTuple):
    """One closed block."""

    name: str | None
    """The name that was given to it, whether or not it is safe."""
    language: str
    content: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FencedBlocks:
    """The blocks of a text, and the files among them."""

    files: Files
    blocks: tuple[Block, ...]
    refused: tuple[str, ...] = ()
    """Why a named block is no file, in words."""

    @property
    def only_block(self) -> str | None:
        """The content of the only block, where no block has a name."""
        return self.blocks[0].content if len(self.blocks) == 1 and self.blocks[0].name is None else None


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerFiles:
    """The files that a check looks at."""

    own: Files
    """The answer's own files: real ones, or, where there are none, those of its fenced blocks."""
    given: Files
    """The files of the case that are still there."""
    fenced: FencedBlocks

    @property
    def all(self) -> Files:
        """Everything in the folder."""
        return {**self.given, **self.own}

    def read(self, path: str) -> bytes | None:
        """One file. A text whose only block has no name is the file that is asked for."""
        if path in self.own:
            return self.own[path]
        if not self.own and self.fenced.only_block is not None:
            return self.fenced.only_block.encode("utf-8", "replace")
        return self.given.get(path)

    def missing(self, path: str) -> str:
        """Why a file is not there, in words."""
        names = ", ".join(sorted(self.all)[:5]) or "no file"
        why = f"; {'; '.join(self.fenced.refused[:3])}" if self.fenced.refused and path not in self.given else ""
        return f"{path} is missing; found {names}{', …' if len(self.all) > 5 else ''}{why}"


def answer_files_of(submission: Submission) -> AnswerFiles:
    """The files of the folder as the answer left it."""
    answer = submission.answer
    given = {path: data for path, data in submission.case.files.items() if path not in answer.removed}
    if answer.files or answer.removed:
        return AnswerFiles(own=answer.files, given=given, fenced=FencedBlocks(files={}, blocks=()))
    fenced = read_fenced(answer.text)
    return AnswerFiles(own=fenced.files, given=given, fenced=fenced)


def read_fenced(text: str) -> FencedBlocks:
    """All blocks of a text, and the files among them."""
    blocks: list[Block] = []
    refused: list[str] = []
    files: dict[str, bytes] = {}
    lines = text.replace("\r\n", "\n").split("\n")
    fence: Fence | None = None
    before, gap, start = "", 0, 0
    for number, line in enumerate(lines):
        if fence is None and (found := _NAME_AND_FENCE.fullmatch(line)) and _name_alone(found["name"]):
            before, gap, line = found["name"], 0, found["opening"]
        after = fence_after(line, fence, most_indent=None)
        if after is None and fence is None:
            gap = 0 if line.strip() else gap + 1
            before = line if line.strip() else before
        elif fence is None:
            start = number + 1
        elif after is None:
            blocks.append(_block(fence, lines[start:number], before if gap <= 1 else ""))
            before, gap = "", 0
        fence = after
    if fence is not None:
        refused.append("a fenced block is not closed")
    for block in blocks:
        if block.name is None:
            continue
        if problem := path_problem(block.name):
            refused.append(f"the name {block.name[:60]!r} {problem}")
        elif len(files) >= MOST_FILES and block.name not in files:
            refused.append(f"more than {MOST_FILES} files")
            break
        else:
            files[block.name] = block.content.encode("utf-8", "replace")
    while (folder := clash(files)) is not None:
        refused.append(f"{folder[:60]!r} is a file and also the folder of another")
        del files[folder]
    return FencedBlocks(files=files, blocks=tuple(blocks), refused=tuple(refused))


def _block(fence: Fence, lines: list[str], before: str) -> Block:
    content = [line[min(fence.indent, len(line) - len(line.lstrip(" \t"))) :] for line in lines]
    language = re.split(r"[\s:{]", fence.info, maxsplit=1)[0].lower()
    name = _name_in_info(fence.info) or _name_alone(before)
    if name is None and content and (name := _name_in_comment(content[0])) and name.endswith(".json"):
        del content[0]  # JSON has no comments
    return Block(name=name, language=language, content="".join(f"{line}\n" for line in content))


def _name_in_info(info: str) -> str | None:
    if not info or len(info) > _MOST_NAMING_CHARACTERS:
        return None
    if found := _ATTRIBUTE.search(info):
        return _file_name(next(group for group in found.groups() if group is not None))
    for number, word in enumerate(info.split()):
        if number == 0 and word.lower() in _LANGUAGES_WITH_A_DOT:
            continue
        if name := _file_name(word.rsplit(":", 1)[-1]):
            return name
    return None


def _name_alone(line: str) -> str | None:
    line = line.strip()
    if not line or len(line) > _MOST_NAMING_CHARACTERS:
        return None
    marked = False
    if lead := _LEAD.match(line):
        line, marked = line[lead.end() :].strip(), True
        if again := _LEAD.match(line):  # "### 1. build.toml"
            line = line[again.end() :].strip()
    if line.endswith(":"):
        line, marked = line[:-1].rstrip(), True
    if word := _FILE_WORD.match(line):
        line, marked = line[word.end() :], True
    line, unwrapped = _unwrap(line)
    if line.endswith(":"):  # "**build.toml:**"
        line = line[:-1].rstrip()
        line, _ = _unwrap(line)
    # A bare word on a line of its own is a sentence, unless something marks it as a name.
    return _file_name(line) if marked or unwrapped else None


def _unwrap(text: str) -> tuple[str, bool]:
    unwrapped, again = False, True
    while again:
        again = False
        for mark in _WRAPPERS:
            if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
                text, unwrapped, again = text[len(mark) : -len(mark)].strip(), True, True
                break
    return text, unwrapped


def _name_in_comment(line: str) -> str | None:
    if len(line) > _MOST_NAMING_CHARACTERS or (found := _COMMENT.fullmatch(line.strip())) is None:
        return None
    said = found["said"]
    if word := _FILE_WORD.match(said):
        said = said[word.end() :]
    return _file_name(_unwrap(said)[0])


def _file_name(text: str) -> str | None:
    """The text, if it looks like the name of a file; whether it is a safe one is asked later."""
    text = text.strip().removeprefix("./")
    if not _NAME.fullmatch(text) and not (text.startswith("/") and _NAME.fullmatch(text[1:])):
        return None
    last = text.rsplit("/", 1)[-1]
    if last in _BARE_NAMES or _EXTENSION.fullmatch(last) or ("/" in text and last):
        return text
    return None
