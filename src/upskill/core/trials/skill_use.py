"""Which files of a skill a student with tools used, seen in what really came back to the student.

A file counts as read when the file tool handed it out, or when a line of it that the student could not know otherwise
came back from a command. A file beside `SKILL.md` also counts as run when a command that went well names the skill's
folder and the file in it. Nothing is asked of the student.
"""

import posixpath
import re
from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

from upskill.core.nouns import Files, SkillUse

LEAST_CHARACTERS = 12
"""A shorter line is too common to tell where it came from."""
MOST_LINES = 2_000
"""Per file: who reads a longer one sees its beginning or its end."""
MOST_WITHIN = 40
"""Per file: so many lines are also looked for within other lines, which takes longer."""
SKILL_FILE = "SKILL.md"

Marks = Mapping[str, tuple[str, ...]]
"""Per file of a skill, the lines by which it is recognised."""


class OtherMark(NamedTuple):
    """How the `SKILL.md` of another skill is recognised."""

    path: str
    """Where it lies."""
    marks: tuple[str, ...]


OtherMarks = Mapping[str, OtherMark]
"""By the name of each other skill."""


def marks_of(contents: Files) -> Marks:
    """Lines that are long enough and stand in no other file of the skill."""
    lines = {path: _lines(data) for path, data in contents.items()}
    seen: set[str] = set()
    twice: set[str] = set()
    for mine in lines.values():
        twice |= seen & mine.keys()
        seen |= mine.keys()
    return {path: tuple(line for line in mine if line not in twice) for path, mine in lines.items()}


def _lines(data: bytes) -> dict[str, None]:
    stripped = (line.strip() for line in data.decode("utf-8", "replace").splitlines())
    return dict.fromkeys(islice((line for line in stripped if len(line) >= LEAST_CHARACTERS), MOST_LINES))


class SkillWatch:
    """Watches which files of a skill come back to the student in one trial, and which other skills it loads."""

    def __init__(
        self, marks: Marks, *, folder: str, called: str, given: bool, known: str, others: OtherMarks | None = None
    ) -> None:
        """`folder` is where the skill lies and `called` how the student was told; both are empty where there is none.

        `known` is what the student knows without opening anything of the skill: its first request and its files.
        `others` are the marks of other skills.
        """
        self._marks = marks
        self._folder = folder
        self._called = called
        self._given = given
        self._known = known
        self._others = others or {}
        self._used: dict[str, None] = {}
        self._loaded_others: dict[str, None] = {}
        self._turn: int | None = 0 if given else None

    def read(self, path: str) -> None:
        """The file tool handed out a file."""
        path = posixpath.normpath(path)
        if self._folder and (inside := posixpath.relpath(path, self._folder)) in self._marks:
            self._used.setdefault(inside)
        for name, other in self._others.items():
            if path == other.path:
                self._loaded_others.setdefault(name)

    def ran(self, command: str, output: str, *, well: bool) -> None:
        """A command came back with this output, as the student saw it."""
        lines = {line.strip() for line in output.splitlines()}
        for path, marks in self._marks.items():
            if path not in self._used and ((well and self._names(command, path)) or self._shows(marks, lines, output)):
                self._used[path] = None
        for name, other in self._others.items():
            if name not in self._loaded_others and self._shows(other.marks, lines, output):
                self._loaded_others[name] = None

    def _shows(self, marks: tuple[str, ...], lines: set[str], output: str) -> bool:
        """Whether a line came back, whole or, as from `grep -n`, within another."""
        whole = (mark for mark in marks if mark in lines)
        within = (mark for mark in marks[:MOST_WITHIN] if mark in output)
        return any(mark not in self._known for found in (whole, within) for mark in found)

    def _names(self, command: str, path: str) -> bool:
        """Whether a command names a file of the skill. To name `SKILL.md` is not to read it: that must come back."""
        return (
            path != SKILL_FILE
            and self._called in command
            and re.search(rf"(?<![\w.-]){re.escape(path)}(?![\w.-])", command) is not None
        )

    def end_turn(self, turn: int) -> None:
        """The model's turn is over, with the results of its calls: a load that was seen by now came with it."""
        if self._turn is None and SKILL_FILE in self._used:
            self._turn = turn

    def use(self) -> SkillUse:
        """What was seen up to now."""
        return SkillUse(
            listed=bool(self._folder) and not self._given,
            loaded=self._given or SKILL_FILE in self._used,
            files=tuple(self._used),
            turn=self._turn,
            others=tuple(self._loaded_others),
            others_listed=len(self._others) or None,
        )
