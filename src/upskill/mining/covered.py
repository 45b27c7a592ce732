"""What agents are told already: which candidates an installed skill or a file such as AGENTS.md covers, and what became
of installed skills in the sessions."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from upskill import disk
from upskill.core.nouns.skill import SKILL_FILE
from upskill.core.skills.skills import find_skills
from upskill.mining.candidates import Candidate
from upskill.mining.moments import MinedSession
from upskill.mining.terms import is_code, text_terms

_TOLD = (
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    "CLAUDE.local.md",
    ".claude/CLAUDE.md",
    ".github/copilot-instructions.md",
)
_TOLD_EVERYWHERE = (".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md", ".config/opencode/AGENTS.md")
_SKILLS = (
    ".claude/skills",
    ".agents/skills",
    ".codex/skills",
    ".opencode/skills",
    ".qwen/skills",
    ".config/opencode/skills",
)
_MOST_BYTES = 400_000
_MOST_FOLDERS = 500
_COMPARED = 8
"""Terms of a candidate that are looked for."""
_PASSAGE = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*•]|\d+[.)])\s)|\n(?=#)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """A text that agents are given: an installed skill, or a file of instructions."""

    name: str
    """The skill, or the file as it is named below its project or home."""
    text: str
    is_skill: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillUse:
    """What became of one skill in the sessions."""

    skill: str
    installed: bool
    sessions: int
    """Sessions that loaded it."""
    corrected: int
    """Those of them in which a correction followed."""


def told_texts(
    sessions: Iterable[MinedSession], *, folder: Path | None, environment: Mapping[str, str]
) -> tuple[Told, ...]:
    """What the agents of these sessions are told on this machine, each text once, by name.

    The sessions of `folder` may be anybody's: of the projects that they name, only those below it or below the working
    folder are looked at.
    """
    home = Path(environment.get("HOME") or environment.get("USERPROFILE") or Path.home())
    named = {Path(session.folder) for session in sessions if session.folder and Path(session.folder).is_absolute()}
    allowed = [] if folder is None else [folder.resolve(), Path.cwd().resolve()]
    projects = sorted(named if folder is None else {*_below(named, allowed), folder})
    found: dict[tuple[str, str], Told] = {}
    for place, names in [*((place, _TOLD) for place in projects), (home, _TOLD_EVERYWHERE)]:
        for name in names:
            text = _text(disk.named(place / name) if place == home else place / name)
            if text:
                shown = f"~/{name}" if place == home else f"{place.name}/{name}"
                found.setdefault((shown, text), Told(name=shown, text=text))
    for place in [*projects, home]:
        for below in _SKILLS:
            for skill in find_skills(place / below, depth=2, most_folders=_MOST_FOLDERS):
                text = _text(skill / SKILL_FILE)
                if text:
                    found.setdefault((skill.name, text), Told(name=skill.name, text=text, is_skill=True))
    return tuple(found[key] for key in sorted(found))


def _below(paths: Iterable[Path], folders: Sequence[Path]) -> Iterator[Path]:
    """Those of the paths that are in one of the folders, with all links followed."""
    for path in paths:
        with suppress(OSError, RuntimeError, ValueError):
            real = path.resolve()
            if any(real.is_relative_to(folder) for folder in folders):
                yield real


def _text(path: Path) -> str:
    with suppress(OSError, ValueError):
        return disk.read_text(path, most=_MOST_BYTES)
    return ""


class Coverage:
    """Finds the passage that says what a candidate would."""

    def __init__(self, told: Sequence[Told]) -> None:
        self._passages = [(each, line, frozenset(terms)) for each in told for line, terms in _passages(each.text)]

    def of(self, candidate: Candidate) -> str | None:
        """Where it is said already, as `NAME:LINE`; `None` where it is said nowhere."""
        wanted = candidate.terms[:_COMPARED]
        best: tuple[int, str] | None = None
        for told, line, terms in self._passages:
            shared = [term for term in wanted if term in terms]
            enough = len(shared) >= 3 or (len(shared) == 2 and any(map(is_code, shared)))
            if enough and (best is None or len(shared) > best[0]):
                best = len(shared), f"{told.name}:{line}"
        return None if best is None else best[1]


def _passages(text: str) -> Iterator[tuple[int, list[str]]]:
    """The paragraphs and items of a text, with the line that each begins on."""
    start = 0
    for match in [*_PASSAGE.finditer(text), None]:
        end = len(text) if match is None else match.start()
        terms = text_terms(text[start:end])
        if terms:
            leading = len(text[start:end]) - len(text[start:end].lstrip("\n"))
            yield text.count("\n", 0, start + leading) + 1, terms
        start = end if match is None else match.end()


def skill_uses(sessions: Iterable[MinedSession], told: Sequence[Told]) -> tuple[SkillUse, ...]:
    """Every skill that is installed or was loaded, by name."""
    loaded: dict[str, set[str]] = defaultdict(set)
    corrected: dict[str, set[str]] = defaultdict(set)
    for session in sessions:
        for load in session.loads:
            loaded[load.skill].add(session.name)
            if load.corrected:
                corrected[load.skill].add(session.name)
    installed = {each.name for each in told if each.is_skill}
    return tuple(
        SkillUse(skill=name, installed=name in installed, sessions=len(loaded[name]), corrected=len(corrected[name]))
        for name in sorted({*installed, *loaded})
    )
