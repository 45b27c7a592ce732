"""Words, operators and documents (`<<EOF`) of a shell command line. Not a parser: what ends too early is noted."""

import re
from dataclasses import dataclass, field

_OPERATORS = (
    *("&>>", "<<<", "<<-", "|&", "&&", "||", ";;", ">>", "<<", ">|", ">&", "<&", "<>", "&>"),
    *(";", "&", "|", "<", ">", "(", ")", "\n"),
)
_DIGITS = re.compile(r"\d{1,3}(?=[<>])")
_LIST = re.compile(r"[A-Za-z_]\w*\+?=")
_ESCAPES = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
_SPACE = " \t\r"
_ENDS_WORD = frozenset(" \t\r\n;&|<>()")
_ESCAPED_IN_DOUBLE = frozenset('"\\$`\n')


@dataclass(frozen=True, kw_only=True, slots=True)
class Word:
    """One word: as it is written, and without quotes."""

    raw: str
    value: str
    start: int
    end: int
    nested: tuple[str, ...] = ()
    """Command lines whose output is put into it."""


@dataclass(frozen=True, slots=True)
class Operator:
    """What separates commands, or redirects one."""

    text: str

    @property
    def is_redirection(self) -> bool:
        """Whether the next word names a file, and is no argument."""
        return "<" in self.text or ">" in self.text


@dataclass(frozen=True, slots=True)
class Document:
    """The lines that a command line hands to a command."""

    text: str
    nested: tuple[str, ...] = ()
    """Command lines whose output is put into it."""


Token = Word | Operator | Document


@dataclass(slots=True)
class Tokens:
    """What a line consists of."""

    tokens: list[Token] = field(default_factory=list)
    whole: bool = True
    """Whether every quote, substitution and document ends."""


def tokens_of(line: str) -> Tokens:
    """The tokens of a line, in order; a document stands where it is announced."""
    return _Lexer(line).read()


class _Lexer:
    def __init__(self, line: str) -> None:
        self._line = line
        self._at = 0
        self._found = Tokens()
        self._waiting: list[tuple[int, Word, bool]] = []
        """Documents whose lines come after this one: their place among the tokens, their end, and whether tabs go."""

    def read(self) -> Tokens:
        line, tokens = self._line, self._found.tokens
        while self._at < len(line):
            here = line[self._at]
            if here in _SPACE:
                self._at += 1
            elif line.startswith("\\\n", self._at):
                self._at += 2
            elif here == "#":
                end = line.find("\n", self._at)
                self._at = len(line) if end < 0 else end
            elif digits := _DIGITS.match(line, self._at):
                self._at = digits.end()
            elif line.startswith(("<(", ">("), self._at):
                tokens.append(self._word())
            elif (operator := self._operator()) is not None:
                self._take(operator)
            else:
                tokens.append(self._word())
        if self._waiting:
            self._found.whole = False
        return self._found

    def substitutions(self) -> tuple[str, ...]:
        """The command lines whose output is put into the text, in which quotes mean nothing."""
        nested: list[str] = []
        while self._at < len(self._line):
            if self._line[self._at] == "\\":
                self._at += 2
            else:
                self._plain(nested)
        return tuple(nested)

    def _operator(self) -> str | None:
        return next((text for text in _OPERATORS if self._line.startswith(text, self._at)), None)

    def _take(self, operator: str) -> None:
        tokens = self._found.tokens
        self._at += len(operator)
        if operator in ("<<", "<<-"):
            while self._at < len(self._line) and self._line[self._at] in _SPACE:
                self._at += 1
            end = self._word()
            tokens.append(Document(""))
            self._waiting.append((len(tokens) - 1, end, operator == "<<-"))
        elif operator == "<<<":
            while self._at < len(self._line) and self._line[self._at] in _SPACE:
                self._at += 1
            word = self._word()
            tokens.append(Document(word.value, word.nested))
        else:
            tokens.append(Operator(operator))
            if operator == "\n" and self._waiting:
                self._documents()

    def _documents(self) -> None:
        for place, end, tabs in self._waiting:
            lines: list[str] = []
            ended = False
            while self._at < len(self._line) and not ended:
                stop = self._line.find("\n", self._at)
                stop = len(self._line) if stop < 0 else stop
                text = self._line[self._at : stop]
                self._at = stop + 1
                ended = (text.lstrip("\t") if tabs else text) == end.value
                if not ended:
                    lines.append(text)
            self._found.whole = self._found.whole and ended
            document = "\n".join(lines)
            # A shell replaces what is in a document, unless a part of its end is quoted.
            nested = _Lexer(document).substitutions() if end.raw == end.value else ()
            self._found.tokens[place] = Document(document, nested)
        self._waiting = []
        self._at = min(self._at, len(self._line))

    def _word(self) -> Word:
        line, start = self._line, self._at
        value: list[str] = []
        nested: list[str] = []
        while self._at < len(line):
            here = line[self._at]
            if line.startswith(("<(", ">("), self._at) and self._at == start:
                value.append(self._substitution(2, ")", nested))
            elif here == "(" and _LIST.fullmatch(line, start, self._at):
                # No command: the words of a list.
                begin = self._at
                self._substitution(1, ")", [])
                nested += _Lexer(line[begin + 1 : self._at]).substitutions()
                value.append(line[begin : self._at])
            elif here in _ENDS_WORD:
                break
            elif here == "\\":
                value.append("" if line.startswith("\\\n", self._at) else line[self._at + 1 : self._at + 2])
                self._at += 2
            elif here == "'":
                value.append(self._single())
            elif line.startswith("$'", self._at):
                self._at += 1
                value.append(self._single(escapes=True))
            elif here == '"':
                value.append(self._double(nested))
            else:
                value.append(self._plain(nested))
        self._at = min(self._at, len(line))
        if self._at == start:  # never stand still
            self._at += 1
        return Word(raw=line[start : self._at], value="".join(value), start=start, end=self._at, nested=tuple(nested))

    def _plain(self, nested: list[str], *, quoted: bool = False) -> str:
        """One character, or a substitution or expansion, which is kept as it is written."""
        line = self._line
        if line.startswith("$((", self._at):
            return self._substitution(2, ")", [])
        if line.startswith("$(", self._at):
            return self._substitution(2, ")", nested)
        if line.startswith("${", self._at):
            return self._substitution(2, "}", [], quotes='"' if quoted else "\"'")
        if line[self._at] == "`":
            end = line.find("`", self._at + 1)
            self._found.whole = self._found.whole and end >= 0
            end = len(line) if end < 0 else end
            begin, self._at = self._at, min(end + 1, len(line))
            nested.append(line[begin + 1 : end])
            return line[begin : self._at]
        self._at += 1
        return line[self._at - 1]

    def _single(self, *, escapes: bool = False) -> str:
        line, end = self._line, self._at + 1
        while end < len(line) and line[end] != "'":
            end += 2 if escapes and line[end] == "\\" else 1
        self._found.whole = self._found.whole and end < len(line)
        text = line[self._at + 1 : end]
        self._at = min(end + 1, len(line))
        return _ESCAPES.sub(_escaped, text) if escapes else text

    def _double(self, nested: list[str]) -> str:
        line = self._line
        value: list[str] = []
        self._at += 1
        while self._at < len(line) and line[self._at] != '"':
            if line[self._at] == "\\" and line[self._at + 1 : self._at + 2] in _ESCAPED_IN_DOUBLE:
                value.append(line[self._at + 1 : self._at + 2].replace("\n", ""))
                self._at += 2
            else:
                value.append(self._plain(nested, quoted=True))
        self._found.whole = self._found.whole and self._at < len(line)
        self._at = min(self._at + 1, len(line))
        return "".join(value)

    def _substitution(self, opening: int, close: str, nested: list[str], quotes: str = "\"'") -> str:
        """What stands between two brackets, quotes within it respected."""
        line, begin = self._line, self._at
        opener = "{" if close == "}" else "("
        depth, at = 1, begin + opening
        while at < len(line) and depth:
            here = line[at]
            if here == "\\":
                at += 1
            elif here == "'" and here in quotes:
                end = line.find("'", at + 1)
                at = len(line) if end < 0 else end
            elif here == '"':
                at = _end_of_double(line, at)
            elif here == opener:
                depth += 1
            elif here == close:
                depth -= 1
            at += 1
        self._at = min(at, len(line))
        self._found.whole = self._found.whole and not depth
        nested.append(line[begin + opening : self._at - (0 if depth else 1)])
        return line[begin : self._at]


def _escaped(found: re.Match[str]) -> str:
    """What stands for a character in `$'…'`."""
    for digits, base in ((found[1], 16), (found[2], 16), (found[3], 8)):
        if digits is not None:
            return chr(int(digits, base))
    return {"n": "\n", "t": "\t", "r": "\r"}.get(found[4], found[4])


def _end_of_double(line: str, at: int) -> int:
    """The index of the quote that ends what begins here."""
    at += 1
    while at < len(line) and line[at] != '"':
        at += 2 if line[at] == "\\" else 1
    return at
