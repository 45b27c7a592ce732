"""The simple commands of a shell command line, as far as they can be told without running it.

Quotes, substitutions, redirections, comments and documents in the line (`<<EOF`) are read as a shell reads them. What
only starts another command (`sudo`, `xargs`, `bash -c`) is taken apart. Variables, globs and conditions are not
evaluated. A line that cannot be split to its end is one command more, as it is written.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from upskill.core.shell import Document, Operator, Word, tokens_of

DEEPEST = 5
"""Command lines within command lines."""
MOST_COMMANDS = 2_000
"""Commands of one line."""
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash"})
INTERPRETERS = frozenset({"python", "python3", "node", "perl", "ruby", "php", "deno", "bun"})

_KEYWORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "coproc"})
"""A command follows them."""
_CLOSING = frozenset({"fi", "done", "esac", "}", "for", "case", "select", "in"})
"""No command begins with them."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_SCRIPT_FLAG = re.compile(r"-[A-Za-z]*c[A-Za-z]*")
_OPTION_WITH_VALUE = re.compile(r"[-+][A-Za-z]*[oO]|--(?:rcfile|init-file)")
_WITH_VALUE: dict[str, frozenset[str]] = {
    "sudo": frozenset({"-u", "-g", "-p", "-C", "-h", "-r", "-t", "-U", "--user", "--group"}),
    "env": frozenset({"-u", "-C", "--unset", "--chdir"}),
    "nohup": frozenset(),
    "exec": frozenset({"-a"}),
    "command": frozenset(),
    "builtin": frozenset(),
    "time": frozenset({"-f", "-o"}),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "setsid": frozenset(),
    "nice": frozenset({"-n"}),
    "ionice": frozenset({"-c", "-n"}),
    "timeout": frozenset({"-s", "-k", "--signal", "--kill-after"}),
    "gtimeout": frozenset({"-s", "-k"}),
    "xargs": frozenset({"-n", "-I", "-P", "-L", "-d", "-a", "-s", "-E"}),
    "npx": frozenset({"-p", "--package"}),
    "doas": frozenset({"-u"}),
    "watch": frozenset({"-n"}),
    "uvx": frozenset({"--from", "--with", "-p", "--python"}),
    "busybox": frozenset(),
    "chronic": frozenset(),
    "unbuffer": frozenset(),
    "xvfb-run": frozenset({"-n", "-s", "-e"}),
}
"""Programs that start the command after their options, with the options that take a value."""
_RUNNERS = frozenset(
    {
        *(("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("hatch", "run"), ("pdm", "run"), ("rye", "run")),
        *(("pixi", "run"), ("pipx", "run"), ("bundle", "exec"), ("npm", "exec"), ("pnpm", "exec"), ("yarn", "exec")),
    }
)
_ONLY_ASKS = {"command": re.compile(r"-[pvV]*[vV][pvV]*")}
"""Options with which a program says where another is, and does not start it."""
_WITH_NUMBER = frozenset({"timeout", "gtimeout"})
_FIND_STARTS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


@dataclass(frozen=True, kw_only=True, slots=True)
class SimpleCommand:
    """One simple command."""

    words: tuple[str, ...]
    """Program and arguments without quotes, without assignments and redirections."""
    forms: tuple[str, ...]
    """The command as patterns are matched with it: as written, without quotes, without what only starts it."""
    folder: str = ""
    """Where it runs, relative to the working folder or absolute, after each `cd` before it in the line."""
    reads: tuple[str, ...] = ()
    """Files that are its input."""
    input: tuple[str, ...] = ()
    """Programs in another language that the line hands to an interpreter."""


@dataclass(slots=True)
class _Open:
    """A simple command while its words are read."""

    words: list[Word] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    nested: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    """Brackets of subshells since the command before it."""


def simple_commands(line: str, *, folder: str = "") -> tuple[SimpleCommand, ...]:
    """Every simple command of a line, in the order in which they are written."""
    found: list[SimpleCommand] = []
    for command in _commands(line, folder, depth=0):
        found.append(command)
        if len(found) >= MOST_COMMANDS:
            # What follows can still be searched as it is written.
            found.append(SimpleCommand(words=(), forms=(), input=(line,)))
            break
    return tuple(found)


def _commands(line: str, folder: str, *, depth: int) -> Iterator[SimpleCommand]:
    if depth > DEEPEST:
        yield SimpleCommand(words=(), forms=(), input=(line,))
        return
    read = tokens_of(line)
    if not read.whole:
        yield SimpleCommand(words=(), forms=(), input=(line,))
    left: list[str] = []
    for one in _split(read.tokens):
        for bracket in one.before:
            if bracket == "(":
                left.append(folder)
            elif left:
                folder = left.pop()
        for nested in one.nested:
            yield from _commands(nested, folder, depth=depth + 1)
        words = _without_prefix(one.words)
        if not words and not one.reads:
            continue
        yield from _taken_apart(words, one, line, folder, depth=depth)
        folder = _folder_after(words, folder)


def _split(tokens: Sequence[Word | Operator | Document]) -> Iterator[_Open]:
    """The words of each simple command, with what is redirected into it."""
    now = _Open()
    brackets: list[str] = []
    redirected: str | None = None
    for token in tokens:
        if isinstance(token, Document):
            now.documents.append(token)
            now.nested += token.nested
        elif isinstance(token, Operator):
            if token.is_redirection:
                redirected = token.text
                continue
            redirected = None
            if token.text == "\n" and now.documents and not now.words and not now.reads:
                continue  # the command after a pipe stands on the next line
            piped: list[Document] = []
            if now.words or now.reads or now.documents or now.nested:
                now.before, brackets = brackets, []
                yield now
                # A program that a pipe hands on is one of the interpreter at the end of the pipe.
                piped = [Document(document.text) for document in now.documents] if token.text in ("|", "|&") else []
            if token.text in ("(", ")"):
                brackets.append(token.text)
            now = _Open(documents=piped)
        else:
            now.nested += token.nested
            if redirected is None:
                now.words.append(token)
            elif redirected in ("<", "<>"):
                now.reads.append(token.value)
        redirected = None
    if now.words or now.reads or now.documents or now.nested:
        now.before = brackets
        yield now


def _without_prefix(words: Sequence[Word]) -> list[Word]:
    """Without keywords and assignments before the program."""
    left = list(words)
    while left and (left[0].raw in _KEYWORDS or left[0].raw == "function" or _ASSIGNMENT.match(left[0].raw)):
        if left[0].raw == "time" and len(left) > 1 and left[1].value.startswith("-"):
            break
        del left[: 2 if left[0].raw == "function" else 1]
    return [] if left and left[0].raw in _CLOSING else left


def _taken_apart(words: Sequence[Word], one: _Open, line: str, folder: str, *, depth: int) -> Iterator[SimpleCommand]:
    """The command, and those within it: of `bash -c`, `eval`, `find -exec`, and of documents handed to a shell."""
    inner = list(_starting_others(words))
    values = tuple(word.value for word in (inner[-1] if inner else words))
    program = posixpath.basename(values[0]) if values else ""
    texts = [document.text for document in one.documents]
    forms = [
        form
        for start in (words, *inner)
        for form in (_written(start, line), " ".join(word.value for word in start), _named(start))
    ]
    yield SimpleCommand(
        words=values,
        forms=tuple(dict.fromkeys(form for form in forms if form)),
        folder=folder,
        reads=tuple(one.reads),
        input=tuple(texts) if program in INTERPRETERS else (),
    )
    scripts = list(texts) if program in SHELLS else []
    if program in SHELLS and (script := script_of(values)) is not None:
        scripts.append(script)
    if program == "eval":
        scripts.append(" ".join(values[1:]))
    for script in scripts:
        yield from _commands(script, folder, depth=depth + 1)
    if program == "find":
        for start in (number for number, value in enumerate(values) if value in _FIND_STARTS):
            started = [word for word in (inner[-1] if inner else words)[start + 1 :] if word.value not in (";", "+")]
            if started:
                yield from _taken_apart(started, _Open(), line, folder, depth=depth + 1)


def program_and_arguments(words: Sequence[Word]) -> list[str]:
    """What a command runs in the end: without keywords, assignments and what only starts it (`sudo`, `uv run`)."""
    left = _without_prefix(words)
    return [word.value for word in [left, *_starting_others(left)][-1]]


def _starting_others(words: Sequence[Word]) -> Iterator[list[Word]]:
    """What is left of a command without the words that only start it, again and again."""
    left = list(words)
    for _ in range(DEEPEST):
        rest = _started_by(left)
        if not rest:
            return
        yield rest
        left = rest


def _started_by(words: list[Word]) -> list[Word] | None:
    values = [word.value for word in words]
    if not values:
        return None
    program = posixpath.basename(values[0])
    if tuple(values[:2]) in _RUNNERS:
        return _after_options(words, 2, frozenset({"--with", "-p", "--python", "--extra"}))
    if re.fullmatch(r"python(?:3(?:\.\d+)?)?", program):
        # Options of the interpreter stand before it; a script before it makes `-m` an argument of that.
        at = 1
        while (
            at < len(values)
            and values[at].startswith("-")
            and not values[at].startswith(("-m", "-c"))
            and values[at] != "-"
        ):
            at += 2 if values[at] in ("-W", "-X") else 1
        if at < len(values) and values[at].startswith("-m") and words[at].raw == values[at]:
            return words[at + 1 :] if values[at] == "-m" else [_from(words[at], 2), *words[at + 1 :]]
        return None
    if program not in _WITH_VALUE:
        return None
    if program in _ONLY_ASKS and len(values) > 1 and _ONLY_ASKS[program].fullmatch(values[1]):
        return None
    rest = _after_options(words, 1, _WITH_VALUE[program])
    if program in _WITH_NUMBER:
        rest = rest[1:]
    while rest and program in ("env", "sudo") and _ASSIGNMENT.match(rest[0].raw):
        del rest[0]
    return rest


def _from(word: Word, start: int) -> Word:
    """The rest of a word without quotes."""
    return replace(word, raw=word.raw[start:], value=word.value[start:], start=word.start + start)


def _after_options(words: list[Word], start: int, with_value: frozenset[str]) -> list[Word]:
    at = start
    while at < len(words) and words[at].value.startswith("-"):
        at += 2 if words[at].value in with_value else 1
    return words[at:]


def script_of(values: Sequence[str]) -> str | None:
    """What a shell is told to run by `-c`, among the options before its first argument."""
    at, told = 1, False
    while at < len(values) and values[at].startswith(("-", "+")):
        told = told or _SCRIPT_FLAG.fullmatch(values[at]) is not None
        at += 2 if _OPTION_WITH_VALUE.fullmatch(values[at]) else 1
    return values[at] if told and at < len(values) else None


def _written(words: Sequence[Word], line: str) -> str:
    return line[words[0].start : words[-1].end].strip() if words else ""


def _named(words: Sequence[Word]) -> str:
    """Without the folder of the program."""
    if not words or "/" not in words[0].value:
        return ""
    return " ".join((posixpath.basename(words[0].value), *(word.value for word in words[1:])))


def _folder_after(words: Sequence[Word], folder: str) -> str:
    """Where the commands after this one run."""
    if not words or words[0].value not in ("cd", "pushd"):
        return folder
    targets = [word.value for word in words[1:] if not word.value.startswith("-")]
    return posixpath.normpath(posixpath.join(folder, targets[0])) if targets else folder
