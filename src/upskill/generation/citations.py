"""Citations of the material, by the names that the prompts use, and the text at the place that one names.

A teacher cites loosely ("steps 3-5", "[14]", "trace 2, step 9"); records hold one spelling of each citation. A citation
of something that is not there is dropped."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from upskill.core.nouns import estimate_tokens
from upskill.generation.material import Material, lines_of, skill_texts
from upskill.generation.student import CountTokens
from upskill.traces.trace import Finding, Place

_NUMBERS = re.compile(r"(\d{1,9})\s*(?:-|–|to|through)\s*(\d{1,9})|(\d{1,9})")
_LINES = re.compile(r"\blines?\s+(\d{1,9})(?:\s*(?:-|–|to|through)\s*(\d{1,9}))?", re.IGNORECASE)
_STRETCH = r"\d{1,9}(?:\s*(?:-|–|to|through)\s*\d{1,9})?"
_STRETCHES = re.compile(rf"\blines?\s+({_STRETCH}(?:\s*(?:,|and)\s*(?:lines?\s+)?{_STRETCH})*)", re.IGNORECASE)
_TRACE = re.compile(r"\btraces?\s+#?(\d{1,9})\b[\s,:#]*", re.IGNORECASE)
_EXAMPLE = re.compile(r"\bexamples?\s+#?(\d{1,9})\b", re.IGNORECASE)
_STEPS = re.compile(r"\bsteps?\s+([\d,\s–#-]+(?:(?:to|through|and)\s+\d+)*)", re.IGNORECASE)
_BARE = re.compile(r"[\s\[(#]*\d{1,9}(?:\s*[-–,]\s*\d{1,9})*[\s\])]*")
MOST_WORDS = 5_000
"""Citations that are read at most: a piece of a digest has about as many, a section far fewer."""
_MOST_IN_A_RANGE = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class _Location:
    """A step, or a stretch of lines, of one thread of one trace."""

    trace: int
    thread: str
    step: int | None = None
    lines: tuple[int, int] | None = None


class KnownCitations:
    """The citations of a material that a lesson or a section may use."""

    def __init__(self, material: Material) -> None:
        self._documents = {document.name: len(lines_of(document.text)) for document in material.documents}
        skill = {} if material.skill is None else skill_texts(material.skill)
        self._texts = {path: len(lines_of(text)) for path, text in skill.items()} | self._documents
        """Texts that are shown with line numbers, each with its last line."""
        self._examples = len(material.examples)
        self._has_task, self._has_skill = bool(material.task.strip()), material.skill is not None
        kept = material.digest.kept if material.digest is not None else ()
        places = [place for finding in kept for place in finding.places]
        self._many = any(place.trace > 1 for place in places)
        self._locations: dict[_Location, str] = {}
        for location in (location for place in places for location in _locations_of(place)):
            self._locations[location] = self._name(location)
        self._by_step: dict[int, list[_Location]] = {}
        for location in self._locations:
            if location.step is not None:
                self._by_step.setdefault(location.step, []).append(location)
        threads = {location.thread for location in self._locations if location.thread}
        self._threads = sorted(threads, key=lambda name: (-len(name), name))

    @property
    def of_traces(self) -> frozenset[str]:
        """The citations of steps or lines of recorded work."""
        return frozenset(self._locations.values())

    def of_finding(self, finding: Finding) -> frozenset[str]:
        """The citations that mean one finding of recorded work."""
        return frozenset(self._name(location) for place in finding.places for location in _locations_of(place))

    def named_in(self, words: Iterable[str]) -> tuple[str, ...]:
        """The citations that these words name, each once, in our spelling; others are left out."""
        few = islice(words, MOST_WORDS)
        return tuple(dict.fromkeys(name for word in few for name in self._named(word[:300])))

    def _named(self, word: str) -> list[str]:
        plain = " ".join(word.split())
        for name in (plain, plain.removeprefix("document ").strip("`\"' ")):
            if name in self._documents:
                return [f"document {name}"]
        if self._has_task and plain.lower().strip(". ") in {"task", "the task"}:
            return ["task"]
        if self._has_skill and plain.lower().strip("`. ") in {"skill", "the skill", "existing skill", "skill.md"}:
            return ["skill"]
        if (lines := self._lines_named(plain)) is not None:
            return lines
        if examples := [int(found[1]) for found in _EXAMPLE.finditer(plain)]:
            return [f"example {number}" for number in examples if 1 <= number <= self._examples]
        return [self._locations[location] for location in self._locations_named(plain)]

    def _lines_named(self, word: str) -> list[str] | None:
        """The stretches of lines of a document that the word names, cut to its length; `None` if it names no lines of
        one. Where there is one document and nothing else has lines, it need not be named."""
        found = _STRETCHES.search(word)
        if found is None:
            return None
        before = word[: found.start()].strip("`\"',:;([ ")
        names = (before, before.removeprefix("document ").strip("`\"' "))
        name = next((name for name in names if name in self._texts), None)
        if name is None and not before and len(self._texts) == 1 and not self._locations:
            (name,) = self._texts
        if name is None:
            return None
        last = self._texts[name]
        title = f"document {name}" if name in self._documents else name
        ranges = map(_range, _NUMBERS.finditer(found[1]))
        named = [f"{title} lines {first} to {min(end, last)}" for first, end in ranges if first <= last]
        rest = word[found.end() :].strip(" ,;.)]`")
        return [*named, *(self._lines_named(rest) or ())]

    def _locations_named(self, word: str) -> list[_Location]:
        traces = list(_TRACE.finditer(word))
        if len(traces) > 1:  # "trace 1 step 2; trace 2 step 3"
            ends = [*(found.start() for found in traces[1:]), len(word)]
            pieces = [word[found.start() : end] for found, end in zip(traces, ends, strict=True)]
            return [location for piece in pieces for location in self._locations_named(piece)]
        trace = int(traces[0][1]) if traces else None
        rest = _TRACE.sub(" ", word)
        thread = next(
            (name for name in self._threads if re.search(rf"\b{re.escape(name)}\b", rest, re.IGNORECASE)), None
        )
        if thread is not None:
            rest = re.sub(re.escape(thread), " ", rest, flags=re.IGNORECASE)
        if lines := _LINES.search(rest):
            first, last = int(lines[1]), int(lines[2] or lines[1])
            return [
                location
                for location in self._locations
                if location.lines and _overlap(location.lines, (first, last)) and trace in (None, location.trace)
            ]
        numbers: set[int] = set()
        for found in _STEPS.finditer(rest):
            numbers |= _numbers(found[1])
        if not numbers and _BARE.fullmatch(rest):
            numbers = _numbers(rest)
        return [location for number in sorted(numbers) for location in self._step(number, trace, thread)]

    def _step(self, number: int, trace: int | None, thread: str | None) -> list[_Location]:
        """The step of that number, in the main thread unless another is named; none where several traces have one."""
        named = self._by_step.get(number, ())
        locations = [
            location for location in named if location.thread == (thread or "") and trace in (None, location.trace)
        ]
        return locations if len(locations) == 1 else []

    def _name(self, location: _Location) -> str:
        words = [f"trace {location.trace}"] if self._many else []
        if location.thread:
            words.append(location.thread)
        if location.lines is not None:
            words.append(f"lines {location.lines[0]} to {location.lines[1]}")
        else:
            words.append(f"step {location.step}")
        return " ".join(words)


def _locations_of(place: Place) -> list[_Location]:
    found = [_Location(trace=place.trace, thread=place.thread, step=step) for step in place.steps]
    if place.lines is not None:
        found.append(_Location(trace=place.trace, thread=place.thread, lines=place.lines))
    return found


def _numbers(text: str) -> set[int]:
    found: set[int] = set()
    for match in _NUMBERS.finditer(text):
        if match[3]:
            found.add(int(match[3]))
        else:
            first, last = int(match[1]), int(match[2])
            found |= set(range(first, min(last, first + _MOST_IN_A_RANGE) + 1)) if first <= last else {first, last}
    return found


def _range(match: re.Match[str]) -> tuple[int, int]:
    """First and last of a stretch, in order, counted from 1."""
    one, other = int(match[1] or match[3]), int(match[2] or match[3])
    return max(1, min(one, other)), max(1, one, other)


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


_LINES_OF_A_TEXT = re.compile(r"(?:document )?(?P<name>.+) lines (?P<first>\d+) to (?P<last>\d+)")

_BEGINS = re.compile(r"\s*(?:[-*+] |\d+[.)] |[|#>`]|$)")
"""A line that begins a statement: an item, a row, a heading, a quotation, a fence; or an empty one."""
_ENDS = re.compile(r"(?:[.!?:;|][`\"')\]]*|^)\s*$|^#")
"""A line that ends one, or a heading, or an empty line."""


def passage_at(
    material: Material, place: str, *, most_tokens: int, count: CountTokens = estimate_tokens, about: str = ""
) -> str | None:
    """What stands at a place; `None` where nothing does. `task` is no place: it says what is wanted, not what is known.

    Of a text with more tokens than these, the lines around the one that shares most words with what it is `about`.
    """
    known = KnownCitations(material)
    texts = (_text(material, known, name) for name in known.named_in(place.split(";")))
    whole = "\n\n".join(dict.fromkeys(text.strip("\n") for text in texts if text.strip()))
    return _cut(whole, most_tokens, count, about) if whole else None


def finding_text(finding: Finding, *, brief: bool = False) -> str:
    """A finding of recorded work in plain text: its title, then its parts, cut harder if `brief`."""
    parts = finding.brief or finding.parts if brief else finding.parts
    body = "\n\n".join(f"{part.label}:\n{part.text}" if part.label else part.text for part in parts)
    return f"{finding.title}\n{body}".strip()


def _text(material: Material, known: KnownCitations, name: str) -> str:
    if name == "skill" and material.skill is not None:
        return material.skill.body
    texts = {} if material.skill is None else skill_texts(material.skill)
    texts |= {document.name: document.text for document in material.documents}
    if name.removeprefix("document ") in texts:
        return texts[name.removeprefix("document ")]
    if (found := _LINES_OF_A_TEXT.fullmatch(name)) and found["name"] in texts:
        return _whole_statements(lines_of(texts[found["name"]]), int(found["first"]) - 1, int(found["last"]))
    if name.startswith("example "):
        return material.examples[int(name.removeprefix("example ")) - 1]
    kept = () if material.digest is None else material.digest.kept
    return "\n\n".join(finding_text(finding) for finding in kept if name in known.of_finding(finding))


def _whole_statements(lines: list[str], start: int, end: int) -> str:
    """These lines with the rest of the sentences that they cut, and a table's head above its rows."""
    while start > 0 and not _BEGINS.match(lines[start]) and not _ENDS.search(lines[start - 1]):
        start -= 1
    while end < len(lines) and not _ENDS.search(lines[end - 1]) and not _BEGINS.match(lines[end]):
        end += 1
    head = start
    while head > 0 and lines[start].startswith("|") and lines[head - 1].startswith("|"):
        head -= 1
    return "\n".join((*lines[head : min(head + 2, start)], *lines[start:end]))


def _cut(text: str, most_tokens: int, count: CountTokens, about: str) -> str:
    """As many lines around the best one as fit, found by halving; of a line that is too long alone, its beginning."""
    if count(text) <= most_tokens:
        return text
    lines = text.split("\n")
    wanted = _words(about)
    shared = [len(wanted & _words(line)) for line in lines]
    best = shared.index(max(shared)) if any(shared) else len(lines) // 2
    fits, too_many = 0, len(lines)
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if count(_around(lines, best, middle)) <= most_tokens:
            fits = middle
        else:
            too_many = middle
    if fits:
        return _around(lines, best, fits).strip("\n")
    line = lines[best]
    while line and count(line) > most_tokens:
        line = line[: len(line) * 3 // 4]
    return line


def _around(lines: list[str], best: int, many: int) -> str:
    start = min(max(0, best - many // 2), len(lines) - many)
    return "\n".join(lines[start : start + many])


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]{2,}", text.casefold()))
