"""Answers that must not pass: those that answer nothing, and wrong ones generated from a right one.

A right answer is cut short, or loses a line, or a number is changed in it, or an identifier swapped.

The same reference always gives the same ones: the seed of the sampling is its digest.
In text only what carries the answer is changed: numbers, what looks like code, and words that are neither common nor
taken from the prompt. In files every identifier may be changed.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple, TypeVar

from upskill.core.nouns import Answer, Case
from upskill.core.nouns.answer import Trajectory
from upskill.core.nouns.text import decoded, shortened

T = TypeVar("T")

TEXT = ""
"""Stands for the text of an answer where others name a file: the path of a file is never empty."""

MOST_PER_WAY = 12
MOST_CHARACTERS = 200_000
"""Characters of a part that are changed; what comes after them stays."""

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_IDENTIFIER = re.compile(r"[^\W\d_][\w]*(?:[./:#@$-]+[\w]+)*|_\w+")
_WORD_IN_CODE = re.compile(r"[^\W\d]\w*")
_BACKTICKED = re.compile(r"`[^`\n]+`")
_LOOKS_LIKE_CODE = re.compile(r"[_./:#@$\d-]|[^\W\d_][A-Z]|[a-z][A-Z]")
_COMMON_WORDS = (
    "a an and are as at be been but by can do does each for from had has have he her his how i if in into is it its "
    "may me more must my no not of off on one only or our out over please run set she should so some than that the "
    "their them then there these they this those three to two under until up use used using very was we were what "
    "when where which who why will with would yes yet you your always never also any all both here just"
)
_COMMON = frozenset(_COMMON_WORDS.split())


class WrongAnswer(NamedTuple):
    """An answer that must not pass, and what it is or how it was made."""

    what: str
    answer: Answer


def truncations(answer: Answer, *, text: bool, files: bool) -> list[WrongAnswer]:
    """The answer cut short: the first half, all but the last line, and without each of its files.

    `text` and `files` say which parts the checks look at: cutting a part that no check reads changes nothing.
    """
    found: list[WrongAnswer] = []
    for path, content in _parts(answer, text=text, files=files):
        where = f" of {path}" if path else ""
        lines = [line for line in content.strip().split("\n") if line.strip()]
        if len(content.strip()) > 1:
            half = content.strip()[: len(content.strip()) // 2]
            found.append(WrongAnswer(f"only the first half{where}", _with(answer, path, half)))
        if len(lines) > 1:
            cut = content.rstrip().rsplit("\n", 1)[0] + "\n"
            found.append(WrongAnswer(f"without the last line{where} {_shown(lines[-1])}", _with(answer, path, cut)))
    if files and len(answer.files) > 1:
        for path in answer.files:
            rest = {name: data for name, data in answer.files.items() if name != path}
            found.append(WrongAnswer(f"without {path}", replace(answer, files=rest)))
    return _distinct(found, answer)


def mutants(
    case: Case, answer: Answer, *, text: bool, files: bool, most_per_way: int = MOST_PER_WAY
) -> list[WrongAnswer]:
    """Mechanical mutants of a right answer, at most `most_per_way` in each of the three ways."""
    lot = Random(_seed(answer))
    parts = list(_parts(answer, text=text, files=files))
    ways: tuple[Callable[[Case, str, str, Random], Iterator[tuple[str, str]]], ...] = (
        _lines_dropped,
        _numbers_changed,
        _identifiers_swapped,
    )
    found: list[WrongAnswer] = []
    for way in ways:
        made = [
            WrongAnswer(
                f"{what}{f' in {path}' if path else ''}", _with(answer, path, changed + content[MOST_CHARACTERS:])
            )
            for path, content in parts
            for what, changed in way(case, path, content[:MOST_CHARACTERS], lot)
        ]
        made = _distinct(made, answer)
        found += _draw(made, lot, most_per_way)
    return _distinct(found, answer)


def _lines_dropped(_: Case, __: str, content: str, lot: Random) -> Iterator[tuple[str, str]]:
    lines = content.split("\n")
    full = [number for number, line in enumerate(lines) if line.strip()]
    if len(full) < 2:
        return
    for number in _draw(full, lot):
        yield f"dropped {_shown(lines[number])}", "\n".join(lines[:number] + lines[number + 1 :])


def _numbers_changed(_: Case, __: str, content: str, lot: Random) -> Iterator[tuple[str, str]]:
    for found in _draw(list(_NUMBER.finditer(content)), lot):
        old = found.group()
        places = [at for at, character in enumerate(old) if character.isdigit()]
        at = lot.choice(places)
        digit = lot.choice([digit for digit in "123456789" if digit != old[at]])
        new = old[:at] + digit + old[at + 1 :]
        yield f"{old} became {new}", content[: found.start()] + new + content[found.end() :]


def _identifiers_swapped(case: Case, path: str, content: str, lot: Random) -> Iterator[tuple[str, str]]:
    if path:
        places = [found.span() for found in _WORD_IN_CODE.finditer(content)]
    else:
        places = _telling_words(content, case.prompt)
    names = list(dict.fromkeys(content[start:end] for start, end in places))
    for start, end in _draw(places, lot):
        old = content[start:end]
        others = [name for name in names if name.casefold() != old.casefold()]
        new = lot.choice(others) if others else _misspelt(old, lot)
        if new != old:
            yield f"{_shown(old)} became {_shown(new)}", content[:start] + new + content[end:]


def _telling_words(content: str, prompt: str) -> list[tuple[int, int]]:
    """The words of a text that carry the answer: code first; without any, words that are rare and not the prompt's."""
    quoted = [found.span() for found in _BACKTICKED.finditer(content)]
    words = list(_IDENTIFIER.finditer(content))
    code = [
        found.span()
        for found in words
        if _LOOKS_LIKE_CODE.search(found.group()) or any(a <= found.start() and found.end() <= b for a, b in quoted)
    ]
    known = _COMMON | {found.group().casefold() for found in _IDENTIFIER.finditer(prompt)}
    rare = [found.span() for found in words if found.group().casefold() not in known]
    if code or rare or _NUMBER.search(content):
        return code or rare
    # Nothing but common words: then one of them is the answer, as in "yes".
    first = re.search(r"\S", content)
    return [found.span() for found in words] or ([first.span()] if first else [])


def _misspelt(word: str, lot: Random) -> str:
    """Another word of the same length: two neighbours change places, or a letter becomes another."""
    places = [at for at in range(len(word) - 1) if word[at] != word[at + 1]]
    if places:
        at = lot.choice(places)
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return ("k" if word[0] != "k" else "m") + word[1:]


def _draw(things: Sequence[T], lot: Random, most: int = 4 * MOST_PER_WAY) -> Sequence[T]:
    """A sample, in order: a mutant of each place in a long file would take too long."""
    if len(things) <= most:
        return things
    return [things[at] for at in sorted(lot.sample(range(len(things)), most))]


def _parts(answer: Answer, *, text: bool, files: bool) -> Iterator[tuple[str, str]]:
    if text and answer.text.strip():
        yield TEXT, answer.text
    if not files:
        return
    for path, data in answer.files.items():
        content = decoded(data)
        if content is not None and content.strip():
            yield path, content


def _with(answer: Answer, path: str, content: str) -> Answer:
    if path == TEXT:
        return replace(answer, text=content)
    return replace(answer, files={**answer.files, path: content.encode("utf-8", "replace")})


def _distinct(found: list[WrongAnswer], answer: Answer) -> list[WrongAnswer]:
    by_content: dict[object, WrongAnswer] = {}
    for mutant in found:
        by_content.setdefault(content_key(mutant.answer), mutant)
    by_content.pop(content_key(answer), None)
    return list(by_content.values())


def content_key(answer: Answer) -> tuple[object, ...]:
    """Equal for answers that are the same."""
    return answer.text, frozenset(answer.files.items()), answer.trajectory


def _seed(answer: Answer) -> int:
    digest = hashlib.sha256(answer.text.encode("utf-8", "surrogatepass"))
    for path, data in sorted(answer.files.items()):
        digest.update(path.encode("utf-8", "surrogatepass") + b"\0" + data)
    return int.from_bytes(digest.digest()[:8], "big")


def _shown(text: str) -> str:
    return f"“{shortened(text, 40)}”"


_REFUSALS = (
    "I'm sorry, but I can't help with that.",
    "Sorry, I cannot assist with this request.",
    "I don't know.",
    "I do not know the answer; unfortunately, this goes beyond what I was trained on.",
    "I am not able to answer this question. Could you give me more details?",
    "Unfortunately, I do not have enough information to do this. Please provide more context and I will try again.",
    "As an AI language model, I do not have access to this information, so I cannot give you a definite answer. "
    "I recommend that you check the official documentation.",
    "I apologize for the inconvenience, but I'm unable to complete this task. "
    "Please let me know if there is anything else I can help you with.",
    "No, I won't do this: it would not be appropriate.",
    "Es tut mir leid, aber dabei kann ich Ihnen leider nicht helfen.",
    "Je suis désolé, mais je ne peux pas vous aider avec cela.",
    "申し訳ありませんが、その質問にはお答えできません。",
)


EMPTY = "the empty answer"
ECHO = "the prompt itself"
REFUSAL = "a polite refusal"
REFUSAL_ABOUT = "a polite refusal that repeats the prompt"


NOTHING_DONE = Answer(trajectory=Trajectory(), turns=1, tokens=1)
"""An answer that says nothing of use has called no tool."""


def non_answers(case: Case) -> Iterator[WrongAnswer]:
    """The empty answer, the echoed prompt, and polite refusals, some of which repeat the prompt. None calls a tool."""
    yield WrongAnswer(EMPTY, NOTHING_DONE)
    yield WrongAnswer(ECHO, replace(NOTHING_DONE, text=case.prompt))
    for text in _REFUSALS:
        yield WrongAnswer(REFUSAL, replace(NOTHING_DONE, text=text))
    for text in _refusals_about(case.prompt):
        yield WrongAnswer(REFUSAL_ABOUT, replace(NOTHING_DONE, text=text))


def _refusals_about(prompt: str) -> Iterator[str]:
    """A student that does not know often says what it was asked for."""
    asked = " ".join(prompt.split())
    yield f"I'm sorry, but I can't help with the request \"{asked}\"."
    yield f"You are asking: {asked}\n\nI do not have reliable information about this, so I would rather not guess."
