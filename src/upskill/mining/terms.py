"""Terms of recorded text: words without their endings, names of code, programs, flags, files. Knows no sessions.

A term is spelled the same wherever it stands, in what a person typed and in the command that came of it: `pnpm` in a
sentence is the program `pnpm`.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from upskill.core.shell import Document, Operator, Word, tokens_of

LONGEST = 2_000
"""Characters of a text that are taken apart."""
_MOST_ARGUMENTS = 40

_CODE = re.compile(r"`([^`\n]{1,200})`")
_PIECE = re.compile(r"[^\s`\"'“”‘’()\[\]{}<>,;!?|*]+")
_WORD = re.compile(r"[A-Za-zÀ-ɏЀ-ӿ]{2,40}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,12}")
_SHORT_FLAG = re.compile(r"-[A-Za-z]\d*")
_FLAG = re.compile(r"--?[A-Za-z][\w-]*(?:=\S*)?")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_NAME = re.compile(
    r"(?=\w*[A-Za-z])(?:[A-Za-z]\w*_\w+|_?[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[A-Za-z]+\d\w*)"
)
_FILE = re.compile(r"[\w@.~+/\\-]*[\w-]\.[A-Za-z][A-Za-z0-9]{0,9}|(?:[\w@.~+-]+[/\\])+[\w@.~+-]*|\.[a-z][\w.-]+")
_VALUE = re.compile(r"(?=[^\s]*\d)[\w.:#@+/-]*\d[\w.:#@+/%-]*")
_UNIQUE = re.compile(r"[0-9a-f]{7,}|\d{5,}|0x[0-9a-f]+|(?:[0-9a-f]{4,}-){2,}[0-9a-f]+", re.IGNORECASE)

_STOP = """
a about above actually after again ain all already also always am an and another any anyway are aren as asked at back
be because been before being below between bit both but by can cannot correct could couldn did didn do does doesn
doing don done down each either else even ever every few file files first for forgot from further get gets getting
give go goes going good got had has hasn have haven having he her here hey hi him his hmm how however i if in instead
into is isn it its itself just keep know last least let lets like look lot made make makes many may maybe me mean
meant might mine more most much must my need needs never new next no nor not nothing now of off oh ok okay on once one
only or other our out over own per perhaps please put quite rather really remember right run running runs said same
say says see seem seems shall she should shouldn since so some something still stop such sure take than thank thanks
that the their them then there these they thing things this those though through time times to today told too try two
under until up upon us use used uses using very want was wasn way we well were what when where which while who why
will with without won work working works would wouldn wrong yes yet you your yours
"""
STOP = frozenset(_STOP.split())
"""Words that say nothing of what a text is about, also where it corrects."""
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ied", "ers", "ed", "es", "er", "ly", "s")


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A word without its ending, so that `migrations` is `migration` is `migrate`."""
    word = word.lower()
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not (ending == "s" and word.endswith("ss")):
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiosl":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] in "ey" else word


def text_terms(text: str) -> list[str]:
    """The terms of what somebody wrote, each once, in order."""
    text = text[:LONGEST]
    found: list[str] = []
    for code in _CODE.findall(text):
        found += command_terms(code)
    for match in _PIECE.finditer(text):
        found += _terms_of_piece(match.group().strip(".:…"))
    return list(dict.fromkeys(found))


_IN_ALL_ERRORS = "error fail command exit code status line warn exception fatal return non zero"


def error_terms(text: str) -> list[str]:
    """The terms of an error, set apart from those of what people write."""
    return [f"error {term}" for term in text_terms(text) if term not in _IN_ALL_ERRORS.split()]


def _terms_of_piece(piece: str) -> Iterator[str]:
    if not piece or "://" in piece:
        yield from _address(piece) if piece else ()
    elif _FLAG.fullmatch(piece) and len(piece) > 1:
        yield _flag(piece)
        yield from _words(piece.replace("-", " ").replace("=", " ") if piece.startswith("--") else "")
    elif _FILE.fullmatch(piece) and not _is_sentence_end(piece):
        yield from path_terms(piece)
    elif _ASSIGNMENT.match(piece):
        yield from _assigned(piece)
    elif _NAME.fullmatch(piece) or _VALUE.fullmatch(piece):
        yield piece.lower()
        yield from _words(re.sub(r"(?<=[a-z])(?=[A-Z])|[_\d]", " ", piece))
    else:
        for part in re.split(r"[/\\]", piece):
            yield from _words(part)


def _is_sentence_end(piece: str) -> bool:
    """Whether a dot stands between two words, and not before the ending of a file: `done.Then`."""
    return re.fullmatch(r"[a-z]+\.[A-Z][a-z]*", piece) is not None


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if word.lower() not in STOP:
            yield stem(word)


def _address(piece: str) -> Iterator[str]:
    """The host of a web address and what it leads to."""
    host, _, path = piece.partition("://")[2].partition("/")
    yield host.lower()
    last = [part for part in re.split(r"[/?#&=]", path) if part]
    yield from (part.lower() for part in last[-2:])


def _flag(word: str) -> str:
    """A flag without its value; a short one keeps its case, which tells it from another."""
    name = word.partition("=")[0]
    return name[:2] if _SHORT_FLAG.fullmatch(name) else name.lower() if name.startswith("--") else name


def _assigned(word: str) -> Iterator[str]:
    name, _, value = word.partition("=")
    yield f"{name}="
    if value and len(value) < 60:
        yield f"{name}={value}"


def path_terms(path: str) -> Iterator[str]:
    """A file as itself, by its name, by its ending and by the folders that it is in."""
    path = path.replace("\\", "/").removeprefix("./").rstrip("/")
    if not path or _UNIQUE.fullmatch(posixpath.basename(path)):
        return
    yield path
    parts = [part for part in path.split("/") if part not in ("", ".", "..", "~", "<project>")]
    for end in range(1, min(len(parts), 5)):
        yield "/".join(parts[:end]) + "/"
    if parts:
        yield parts[-1]
        name, dot, ending = parts[-1].rpartition(".")
        if dot and name:
            yield f".{ending.lower()}"
            yield from _words(re.sub(r"[_\d.-]", " ", name))


class Segment:
    """One simple command of a line, with what is set for it: words as typed, wrappers such as `uv run` left in."""

    __slots__ = ("assigned", "folder", "words")

    def __init__(self, words: Sequence[str], assigned: Sequence[str], folder: str) -> None:
        self.words, self.assigned, self.folder = tuple(words), tuple(assigned), folder

    @property
    def _inner(self) -> tuple[str, ...]:
        """The words from the program on, also where Python starts it as a module."""
        is_module = (
            len(self.words) > 2 and self.words[1] == "-m" and re.fullmatch(r"(?:.*/)?python[\d.]*", self.words[0])
        )
        return self.words[2:] if is_module else self.words

    @property
    def program(self) -> str:
        """The name of the program, without its folder."""
        return posixpath.basename(self._inner[0].replace("\\", "/")) if self.words else ""

    @property
    def head(self) -> str:
        """The program with its subcommand, if the next word is one."""
        # What follows a flag may be its value.
        plain = (word for before, word in pairwise(self._inner[:6]) if word[:1] != "-" and before[:1] != "-")
        first = next(plain, "")
        return f"{self.program} {first}" if re.fullmatch(r"[a-z][a-z:-]{1,24}", first) else self.program

    def terms(self) -> Iterator[str]:
        """Everything that tells this command from another."""
        for one in self.assigned:
            yield from _assigned(one)
        if self.folder:
            yield f"cd {self.folder}"
        if not self.words:
            return
        yield stem(self.program) if self.program.isalpha() else self.program.lower()
        if self.head != self.program:
            yield self.head
        if self._inner != self.words:
            yield "python -m"
        for word in self._inner[1:_MOST_ARGUMENTS]:
            if _FLAG.fullmatch(word):
                yield _flag(word)
                yield from _words(word.partition("=")[0].replace("-", " ") if word.startswith("--") else "")
                _, _, value = word.partition("=")
                yield from _terms_of_piece(value)
            elif len(word) <= 120 and "\n" not in word:
                yield from text_terms(word) if " " in word else _terms_of_piece(word)


@lru_cache(maxsize=4_096)
def segments(line: str) -> tuple[Segment, ...]:
    """The simple commands of a line in their order, what is printed or waited for left out."""
    found: list[Segment] = []
    words: list[str] = []
    assigned: list[str] = []
    folder = ""
    redirects = False
    for token in [*tokens_of(line[:LONGEST]).tokens, Operator(";")]:
        if isinstance(token, Document):
            continue
        if isinstance(token, Operator):
            redirects = token.is_redirection
            if redirects:
                continue
            if words[:1] in (["cd"], ["pushd"]) and len(words) > 1:
                folder = words[1].rstrip("/").removeprefix("./")
            elif words[:1] == ["export"]:
                assigned += [word for word in words[1:] if _ASSIGNMENT.match(word)]
            elif words and words[0] not in _SILENT:
                found.append(Segment(words, assigned, folder))
                assigned = []
            words = []
            continue
        if not redirects:
            _add(token, words, assigned)
        redirects = False
    return tuple(found)


_SILENT = frozenset({"echo", "printf", "sleep", "true", "set", "wait", "exit", "source", ".", "pwd", "popd", "unset"})


def _add(token: Word, words: list[str], assigned: list[str]) -> None:
    if not words and (_ASSIGNMENT.match(token.raw) or token.value == "env"):
        if token.value != "env":
            assigned.append(token.value)
        return
    words.append(token.value)


def command_terms(line: str) -> list[str]:
    """The terms of a command line, each once, in order."""
    return list(dict.fromkeys(term for segment in segments(line) for term in segment.terms()))


def is_value(term: str) -> bool:
    """Whether a term is one value among many: a number, a version, an identifier, a date."""
    return _VALUE.fullmatch(term) is not None and not term.startswith("-")


def is_code(term: str) -> bool:
    """Whether a term is no word of a language: a flag, a file, a name with signs in it."""
    return not term.isalpha()


_SOURCE = re.compile(
    r"(?i)\.(?:py|pyi|ipynb|[cm]?[jt]sx?|vue|svelte|go|rs|java|kts?|scala|rb|php|cs|fs|swift|mm?|[ch](?:pp|xx|c|h|u|uh)?|hs"
    r"|ml|ex|exs|erl|clj|lua|dart|r|jl|zig|nim|html?|s?css|less)$"
)
_MADE = re.compile(r"(?i)\.(?:log|lock|out|tmp|diff|patch|png|jpe?g|svg|pdf)$")


def is_made(term: str) -> bool:
    """Whether a term is a file that some work has made."""
    return _MADE.search(term) is not None


_USUAL = re.compile(
    r"(?i)(?:readme|changelog|license|contributing|package|package-lock|tsconfig|pyproject|cargo|go|pom|composer|gemfile"
    r"|requirements[\w-]*|setup|makefile|dockerfile|docker-compose|claude|agents|gemini|skill|mkdocs|index|memory)\.\w+$"
)
"""Files that everybody reads to begin with."""


def is_usual(term: str) -> bool:
    """Whether a term is a file that every project has."""
    return _USUAL.match(term) is not None


def is_work(term: str) -> bool:
    """Whether a term is a file of source code, or one that work has made: it says where, and not what."""
    return _SOURCE.search(term) is not None or is_made(term)


def without(terms: Iterable[str], others: Iterable[str]) -> list[str]:
    """The terms that are not among the others, in order."""
    known = set(others)
    return [term for term in dict.fromkeys(terms) if term not in known]
