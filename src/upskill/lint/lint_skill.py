"""Searches skill folders for whatever a person should know before an agent reads them, and for skills whose
descriptions compete: by the rare words that they share, and by what models loaded instead. Calls no model.

No findings does not mean safe.
"""

import math
import re
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from upskill.core.nouns.finding import SEVERITIES, Finding, Severity
from upskill.core.nouns.skill import EVIDENCE_FILES, SKILL_FILE
from upskill.core.nouns.text import count
from upskill.errors import SkillInvalid
from upskill.lint import folder, quality, specification
from upskill.lint.folder import FolderContents, read_folder, skill_folders
from upskill.lint.rules import MOST_PER_RULE, finding
from upskill.lint.search import search_skill
from upskill.redaction import redactor_from

LIMITS = (
    "Static rules only: instructions in ordinary words and programs that are fetched later are not judged. "
    "Read a skill before you use it."
)
"""What no finding and no lack of one can say."""
MOST_BYTES = 1_000_000
"""So much of `SKILL.md` is read. A longer one is a finding of the search for danger."""
_IN_PRIVATE_FILES = frozenset({"invisible-characters", "control-characters", "out-of-sight", "secret"})
"""Cases and provenance are no instructions: a case may quote an attack. Only hidden text and keys are findings.
Evidence quotes nothing and an agent can open it, so every danger in it is a finding."""

LoadedInstead = Callable[[str], Iterable[Mapping[str, int]]]
"""For each measurement of the skill of this name, the prompts on which each other skill was loaded in its place."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LintResult:
    """One skill folder: its findings, or why it was not searched."""

    folder: str
    """As it was named."""
    name: str
    """In its frontmatter; the name of the folder where it has none."""
    digest: str | None = None
    """As `eval` records it; `None` where a file could not be read."""
    findings: tuple[Finding, ...] = ()
    """The worst first, then by file and line."""
    refused: str | None = None
    """Why nothing was searched, such as a file that is too large; `None` where it was."""

    @property
    def dangers(self) -> tuple[Finding, ...]:
        """What a person must agree to."""
        return tuple(one for one in self.findings if one.severity == "danger")

    def fails(self, *, strict: bool = False) -> bool:
        """Whether it was refused, or has a danger or an error; when strict, also a warning."""
        return self.refused is not None or any(
            one.severity != "caution" and (strict or one.severity != "warning") for one in self.findings
        )


def counted(findings: Iterable[Finding]) -> Mapping[Severity, int]:
    """How many there are of each severity, from the worst."""
    numbers = Counter(one.severity for one in findings)
    return {severity: numbers[severity] for severity in SEVERITIES}


ALIKE = 0.4
"""The share of weighted words from which two descriptions compete."""
LEAST_SHARED = 3
_BACKGROUND = 50
"""A word in one of a few descriptions is not common yet: weights are as if there were at least so many."""
_MOST_NAMED = 6
_WORD = re.compile(r"[^\W_][\w.+#]*")
_ENDINGS = re.compile(r"(?:ing|ed|es|ers?|s|e)\Z")
_COMMON_WORDS = """
    a about above after all also an and any are as asked asks at be before best between both but by can code do does
    file files for from get give given handle has have help helps how if in instead into is it its just like make makes
    may more most must need needs new not of on one only or other our out over own practices project provide provides
    same should skill skills so some such than that the their them then there these they this those through to tool
    tools up use used useful user users uses using want wants was we what when whenever where which while who whose will
    with without work working works would write writes writing you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True, kw_only=True, slots=True)
class OtherSkill:
    """A skill that an agent lists beside others: what it chooses by, and where it is."""

    name: str
    description: str
    folder: str
    """Its real path: two with one folder are one skill."""
    shown: str
    """Its folder as it was named."""


class Catalogue:
    """The other skills, with the weight of each word among all descriptions."""

    def __init__(self, skills: Sequence[OtherSkill]) -> None:
        self._skills = [(skill, _words(skill.description)) for skill in skills]
        self._often = Counter(stem for _, words in self._skills for stem in words)

    def find(self, skill: OtherSkill, *, line: int, instead: Mapping[str, int]) -> Iterator[Finding]:
        """What competes with one skill. `instead` counts the prompts on which another skill was loaded in its place."""
        own = _words(skill.description)
        for other, words in self._skills:
            if other.folder == skill.folder:
                continue
            shown = f"{skill.name} and {other.name} ({other.shown})"
            if other.name == skill.name:
                yield finding("same-name", line, shown)
                continue
            score, shared = self._overlap(own, words)
            if score >= ALIKE and len(shared) >= LEAST_SHARED:
                named = ", ".join(shared[:_MOST_NAMED])
                yield finding("competing-description", line, f"{shown}: {score:.0%} alike, shared words: {named}")
            if often := instead.get(other.name):
                yield finding("loaded-instead", line, f"{shown}: loaded for {count(often, 'prompt')}")

    def _overlap(self, one: Mapping[str, str], other: Mapping[str, str]) -> tuple[float, list[str]]:
        """How far two descriptions compete: the weight of the shared words, by the weight of the description that has
        less; and the words, the rarest first."""
        shared = one.keys() & other.keys()
        least = min(self._weight(one), self._weight(other))
        if not shared or not least:
            return 0.0, []
        ordered = sorted(shared, key=lambda stem: (-self._weight((stem,)), stem))
        return self._weight(shared) / least, [one[stem] for stem in ordered]

    def _weight(self, stems: Iterable[str]) -> float:
        every = max(_BACKGROUND, len(self._skills))
        return sum(math.log(every / max(1, self._often[stem])) for stem in stems)


def shared_words(one: str, other: str) -> list[str]:
    """The words that two descriptions share, as the first has them, without common ones."""
    there = _words(other)
    return [word for stem, word in _words(one).items() if stem in there]


def _words(text: str) -> dict[str, str]:
    """The words of a description by their stems, without common ones."""
    found = (word.strip(".") for word in _WORD.findall(text.lower()[:2_000]))
    return {_stem(word): word for word in found if len(word) > 1 and word not in _COMMON and not word.isdigit()}


def _stem(word: str) -> str:
    stem = _ENDINGS.sub("", word)
    return stem if len(stem) >= 3 else word


def lint(
    path: Path,
    *,
    others: Catalogue | None = None,
    loaded_instead: LoadedInstead = lambda _: (),
) -> LintResult:
    """Every finding in one skill folder, whatever is in it, and the skills that it may compete with. Too large a folder
    is refused, not searched."""
    shown = path.as_posix()
    try:
        contents = read_folder(path)
    except SkillInvalid as error:
        return LintResult(folder=shown, name=path.name, refused=error.message)
    skill, line = _described(path, contents)
    found = lint_skill(contents)
    if others is not None and skill.description:
        most: Counter[str] = Counter()
        for numbers in loaded_instead(skill.name):
            most |= Counter(numbers)
        found = _in_order((*found, *others.find(skill, line=line, instead=most)))
    return LintResult(folder=shown, name=skill.name, digest=contents.digest, findings=found)


def folders_of(paths: Iterable[Path]) -> Iterator[Path]:
    """The skill folders that paths name, each once. A file that belongs to no skill names none."""
    seen: set[Path] = set()
    for path in paths:
        for one in skill_folders(path):
            real = one.resolve()
            if real not in seen:
                seen.add(real)
                yield one


def read_others(paths: Iterable[Path]) -> Catalogue:
    """The names and descriptions of all skills in these folders. One that cannot be read competes with none."""
    skills: list[OtherSkill] = []
    for path in folders_of(paths):
        try:
            skill, _ = _described(path, read_folder(path))
        except SkillInvalid:
            continue
        skills.append(skill)
    return Catalogue([one for one in skills if one.description])


def lint_skill(contents: FolderContents) -> tuple[Finding, ...]:
    """Every finding in one skill, the worst first, then `SKILL.md`, then by file and line."""
    found = [*search_skill(contents.files), *_private(contents), *folder.find(contents), *written_findings(contents)]
    if any(one.rule == "secret" for one in found):
        # Another rule can show the same line: what is printed goes into logs of CI.
        clean = redactor_from({}).clean
        found = [replace(one, excerpt=clean(one.excerpt)) for one in found]
    return _in_order(found)


def _private(contents: FolderContents) -> Iterator[Finding]:
    for one in search_skill(contents.private):
        if one.rule in _IN_PRIVATE_FILES or (one.severity == "danger" and one.file.casefold() in EVIDENCE_FILES):
            yield one


def written_findings(contents: FolderContents) -> Iterator[Finding]:
    """What is wrong with how `SKILL.md` is written, and with the paths in it."""
    name = _skill_file(contents)
    if name is None:
        if not any(one.path == SKILL_FILE and one.kind == "cannot-be-read" for one in contents.unusual):
            yield finding("skill-file-missing", 1, f"no readable file {SKILL_FILE}")
        return
    if name != SKILL_FILE:
        yield finding("skill-file-name", 1, name)
    head = _head(contents)
    if head is None:
        yield finding("not-utf8", 1, f"{len(contents.files[name]):,} bytes")
        return
    yield from head.findings
    yield from specification.find(head, contents.name)
    yield from specification.find_for_agents(head)
    yield from quality.find(head)
    yield from quality.find_paths({SKILL_FILE if one == name else one: data for one, data in contents.files.items()})


def _described(path: Path, contents: FolderContents) -> tuple[OtherSkill, int]:
    """What an agent lists of a skill, and the line of its description."""
    head = _head(contents)
    name, description = ("", "") if head is None else (head.written("name"), head.written("description"))
    described = OtherSkill(
        name=name or contents.name, description=description, folder=str(path.resolve()), shown=path.as_posix()
    )
    return described, 1 if head is None else head.line_of("description")


def _head(contents: FolderContents) -> specification.Head | None:
    """The frontmatter of a skill; `None` where it has no `SKILL.md` that is text."""
    name = _skill_file(contents)
    if name is None:
        return None
    data = contents.files[name]
    try:
        text = getincrementaldecoder("utf-8")().decode(data[:MOST_BYTES], final=len(data) <= MOST_BYTES)
    except UnicodeDecodeError:
        return None
    return specification.read_head(text)


def _skill_file(contents: FolderContents) -> str | None:
    """The name of its `SKILL.md`, in capitals or not; `None` where there is none."""
    return next((name for name in (SKILL_FILE, SKILL_FILE.lower()) if name in contents.files), None)


def _in_order(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """The worst first, then `SKILL.md`, then by file and line; of one rule at most so many."""
    kept: list[Finding] = []
    numbers: Counter[str] = Counter()
    for one in sorted(set(found), key=_order):
        numbers[one.rule] += 1
        if numbers[one.rule] <= MOST_PER_RULE:
            kept.append(one)
    return tuple(kept)


def _order(one: Finding) -> tuple[int, bool, str, int, str, str]:
    return SEVERITIES.index(one.severity), one.file != SKILL_FILE, one.file, one.line, one.rule, one.excerpt
