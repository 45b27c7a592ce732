"""A skill that reads as it did and says the wrong thing: its values are exchanged among themselves.

Values are code spans, numbers, cells of tables, and in code blocks quoted texts, options, numbers and settings, or a
whole line that has none of these. Headings and prose stay, so a fact in plain words is not exchanged.
"""

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from typing import NamedTuple

from upskill.core.checks.contains import find_token
from upskill.core.skills.markdown import with_fences

_ATTEMPTS = 16
"""Orders that are tried for one that parts all values of a sentence."""
_MOST_TOGETHER = 40
"""Values of one sentence that are compared with each other."""
_NUMBER = r"v?\d+(?:[.,:/-]\d+)*"
_INLINE = re.compile(
    rf"(?<!`)(?P<mark>`+)(?!`)(?P<code>.+?)(?<!`)(?P=mark)(?!`)|(?<![\w.,:/@#+-])(?P<number>{_NUMBER})"
)
_IN_BLOCK = re.compile(
    r"""(?P<mark>["'])(?P<code>(?:(?!(?P=mark))[^`\n])*)(?P=mark)|(?<!\S)(?P<option>--?[A-Za-z][\w-]*)"""
    r"|(?<=[:=][ \t])(?P<setting>[A-Za-z][\w./-]*)(?=\s*$)"
    rf"|(?<![\w.,:/@#+-])(?P<number>{_NUMBER})"
)
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_BEGINS = re.compile(r"\s*(?:(?:[-*+]|\d+[.)])\s+|>\s*|$)")
_RULE = re.compile(r"[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*(?::?-+:?)?[ \t]*")
_SENTENCE_END = re.compile(r"[.;!?]\s")


class _Piece(NamedTuple):
    """A part of a body. All parts in order are the body."""

    text: str
    kind: str = ""
    """Values of one kind are exchanged among themselves; empty for what stays."""
    begins: bool = False
    """Whether a sentence, an item, a row or a line of code begins here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Corrupted:
    """A body with its values exchanged."""

    text: str
    exchanged: Mapping[str, str]
    """By each value that no longer stands where it stood: the value that does. Equal ones become equal ones."""
    kept: int
    """Other values: the only ones of their kind, and those that still stand beside what they stood beside before."""
    pieces: tuple[tuple[str, str], ...]
    """The parts of the body in order, each with what stands there now."""

    def lost(self, text: str) -> bool:
        """Whether something else stands at each place where the body has this text as whole words.

        A text that is only part of a value counts as there: the value moved, and still says it.
        """
        starts = list(accumulate((len(old) for old, _ in self.pieces), initial=0))
        body = "".join(old for old, _ in self.pieces)
        text = unicodedata.normalize("NFC", text)
        at, found = find_token(text, body), False
        while at is not None:
            end = at + len(text)
            places = zip(self.pieces, starts[:-1], strict=True)
            touched = [(start, *pair) for pair, start in places if start < end and at < start + len(pair[0])]
            is_exchanged = any(
                old in self.exchanged and old != new and at <= start and start + len(old) <= end
                for start, old, new in touched
            )
            if not is_exchanged or find_token(text, "".join(new for _, _, new in touched)) is not None:
                return False
            found, after = True, find_token(text, body[end:])
            at = None if after is None else end + after
        return found


def corrupted(body: str) -> Corrupted:
    """The body, in NFC form, with every value replaced by another one of its kind, in an order that its digest decides.

    Of several orders the first is taken that leaves no two values of a sentence together: where names and figures move
    alike, every fact would stay. If none does, one kind of value stays as it was.
    """
    body = unicodedata.normalize("NFC", body)
    pieces = list(_pieces(body))
    kinds: dict[str, str] = {}
    sentences: list[list[str]] = [[]]
    for piece in pieces:
        if piece.begins or len(sentences[-1]) >= _MOST_TOGETHER:
            sentences.append([])
        if piece.kind:
            kinds.setdefault(piece.text, piece.kind)
            sentences[-1].append(piece.text)
    mapping, together = _best_exchange(kinds, sentences, digest=hashlib.sha256(body.encode()).hexdigest())
    changed = tuple((piece.text, mapping.get(piece.text, piece.text) if piece.kind else piece.text) for piece in pieces)
    exchanged = {old: new for old, new in mapping.items() if old not in together}
    return Corrupted(
        text="".join(new for _, new in changed),
        exchanged=exchanged,
        kept=len(kinds) - len(exchanged),
        pieces=changed,
    )


def _best_exchange(
    kinds: Mapping[str, str], sentences: Sequence[Sequence[str]], *, digest: str
) -> tuple[dict[str, str], set[str]]:
    """The order that parts the most values from those beside them, and the values that it does not part."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for value, kind in kinds.items():
        groups[kind].append(value)
    several = {kind: values for kind, values in groups.items() if len(values) > 1}
    best: tuple[dict[str, str], set[str]] = {}, set()
    for stays in (None, *several):
        for attempt in range(_ATTEMPTS):
            mapping: dict[str, str] = {}
            for kind, values in several.items():
                if kind != stays:
                    order = sorted(values, key=lambda value: _place(value, f"{digest}/{attempt}"))
                    mapping |= dict(zip(order, [*order[1:], order[0]], strict=True))
            if len(mapping) <= len(best[0]) - len(best[1]):
                break
            together = _still_together(mapping, kinds, sentences)
            if len(mapping) - len(together) > len(best[0]) - len(best[1]):
                best = mapping, together
            if not together:
                break
    return best


def _place(value: str, salt: str) -> tuple[str, bytes]:
    """Values of the same shape stand beside each other, so that an option becomes an option."""
    shape = re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", value))
    return shape, hashlib.sha256(f"{salt}/{value}".encode()).digest()


def _still_together(
    mapping: Mapping[str, str], kinds: Mapping[str, str], sentences: Sequence[Sequence[str]]
) -> set[str]:
    """The values that stand, after the exchange, in one sentence with a value that they stood in one with before.

    Values of one kind that change places within a sentence of several are parted: it says something else of each.
    """
    before: defaultdict[frozenset[str], set[int]] = defaultdict(set)
    moving = [[value for value in dict.fromkeys(sentence) if value in mapping] for sentence in sentences]
    for number, values in enumerate(moving):
        for pair in combinations(values, 2):
            before[frozenset(pair)].add(number)
    together: set[str] = set()
    for number, values in enumerate(moving):
        for one, other in combinations([mapping[value] for value in values], 2):
            own = {number} if kinds[one] == kinds[other] and len(values) > 2 else set()
            if before.get(frozenset((one, other)), set()) - own:
                together |= {one, other}
    return together


def _pieces(body: str) -> Iterator[_Piece]:
    lines = body.splitlines(keepends=True)
    open_before, table, in_table = False, 0, False
    for number, (line, fence) in enumerate(with_fences(lines)):
        in_block, open_before = open_before and fence is not None, fence is not None
        is_head = number + 1 < len(lines) and _is_rule(lines[number + 1]) and "|" in line
        table += is_head
        in_table = fence is None and "|" in line and (in_table or is_head)
        if in_block:
            yield from _of_code(line)
        elif fence is not None or is_head or _is_rule(line) or _HEADING.match(line):
            yield _Piece(line, begins=True)
        elif in_table:
            yield from _of_row(line, table)
        else:
            begins = _BEGINS.match(line)
            marker = "" if begins is None else begins[0]
            yield _Piece(marker, begins=begins is not None)
            yield from _values(line[len(marker) :], _INLINE)


def _is_rule(line: str) -> bool:
    return "|" in line and _RULE.fullmatch(line.rstrip("\r\n")) is not None


def _of_code(line: str) -> Iterator[_Piece]:
    """The values of a line of code; the line itself where it has none."""
    yield _Piece("", begins=True)
    found = list(_values(line, _IN_BLOCK))
    if any(piece.kind for piece in found) or "`" in line:
        yield from found
    else:
        yield from _whole(line, "line")


def _of_row(line: str, table: int) -> Iterator[_Piece]:
    """The values in the cells of a row; a cell itself where it has none."""
    yield _Piece("", begins=True)
    for column, cell in enumerate(re.split(r"((?<!\\)\|)", line)):
        found = list(_values(cell, _INLINE))
        if any(piece.kind for piece in found):
            yield from (piece._replace(begins=False) for piece in found)
        else:
            yield from _whole(cell, f"cell {table}.{column}")


def _whole(text: str, kind: str) -> Iterator[_Piece]:
    """A text without the white space around it as a value; what has no letter or digit in it stays."""
    inside = text.strip()
    before, _, after = text.partition(inside) if inside else (text, "", "")
    yield _Piece(before)
    yield _Piece(inside, kind if re.search(r"\w", inside) else "")
    yield _Piece(after)


def _values(text: str, pattern: re.Pattern[str]) -> Iterator[_Piece]:
    at = 0
    for match in pattern.finditer(text):
        group = str(match.lastgroup)
        start, end = match.span(group)
        yield _plain(text[at:start])
        value = match[group]
        is_number = re.fullmatch(_NUMBER, value) is not None
        form = "number " + re.sub(r"\d+", "9", value) if is_number else "code"
        yield _Piece(value, form if value else "")
        at = end
    yield _plain(text[at:])


def _plain(text: str) -> _Piece:
    return _Piece(text, begins=_SENTENCE_END.search(text) is not None)
