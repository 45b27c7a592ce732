"""Files that travel with a skill, and folders that are changed together: all of them, or none. Cases stay behind.

Everything is written beside its target first. Then it takes its place by renames, which are taken back when one fails.
"""

import hashlib
import os
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal, NamedTuple, Self

from upskill import disk
from upskill.core.nouns.finding import Finding
from upskill.core.nouns.skill import (
    CARD_FILE,
    EVIDENCE_FILE,
    EVIDENCE_FILES,
    MOST_SHARED_BYTES,
    MOST_SHARED_FILES,
    NAME_RULE,
    SIGNATURE_FILE,
    SKILL_FILE,
    Skill,
    is_skill_name,
    shared_path_problem,
)
from upskill.core.nouns.text import count, on_one_line
from upskill.core.skills.skill_files import MOST_PROBLEMS, find_files
from upskill.core.skills.skills import read_skill
from upskill.errors import SkillInvalid, UsageError
from upskill.lint.lint_skill import lint
from upskill.lint.search import search_skill
from upskill.share.card import card_text
from upskill.share.evidence import MOST_EVIDENCE_BYTES, Evidence, evidence_from

Action = Literal["write", "replace", "keep"]
"""What happens to a folder or a file; `keep`: the same is there already."""
LEFT_BY_PROGRAMS = frozenset({"__pycache__", ".DS_Store"})
"""What appears in a folder by itself, and is removed with it."""
_MOST_NAMED = 5


class NewFile(NamedTuple):
    """The bytes of a file to be written, and whether it is a program."""

    data: bytes
    executable: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedSkill:
    """A skill with the bytes of everything that travels with it."""

    root: Path
    """Its real folder."""
    skill: Skill
    files: dict[str, NewFile]
    """What a model may see, by path."""
    evidence: Evidence | None = None
    """What `evidence.json` beside it says about exactly this version."""
    evidence_files: dict[str, NewFile] = field(default_factory=dict)
    """The evidence as it travels, with the card written anew: a card is the text of its author, and an agent can open
    it."""
    note: str | None = None
    """Why the file beside the skill does not count."""


def read_shared_skill(folder: Path) -> SharedSkill:
    """Read a skill whole. What cannot be shared is refused: in one line, if it is one thing."""
    try:
        skill = read_skill(folder)
    except SkillInvalid as error:
        if len(error.problems) != 1:
            raise
        raise SkillInvalid(on_one_line(f"{folder}: {error.problems[0]}")) from None
    root = (folder.parent if folder.name == SKILL_FILE and folder.is_file() else folder).resolve()
    written = skill.frontmatter.get("name")
    if not is_skill_name(skill.name) or written != skill.name:
        raise SkillInvalid(
            on_one_line(f"{folder}: the name {written!r} in SKILL.md is not valid, so agents would refuse the skill"),
            hint=NAME_RULE,
        )
    paths = (skill.name, *(file.path for file in skill.files))
    if problems := [on_one_line(f"{path!r} {problem}") for path in paths if (problem := shared_path_problem(path))]:
        raise SkillInvalid(
            on_one_line(f"{folder}: {count(len(problems), 'name')} that not every system can hold, or that deceive"),
            problems=problems[:MOST_PROBLEMS],
            hint="rename them",
        )
    size = sum(file.size for file in skill.files)
    if len(skill.files) > MOST_SHARED_FILES or size > MOST_SHARED_BYTES:
        raise SkillInvalid(
            on_one_line(
                f"{folder}: {len(skill.files):,} files with {size:,} bytes; a skill that is shared may have "
                f"{MOST_SHARED_FILES:,} files and {MOST_SHARED_BYTES:,} bytes"
            ),
            hint="remove what an agent does not need",
        )
    files, beside = _contents(root, skill), _evidence_files(root)
    if EVIDENCE_FILE not in beside:
        return SharedSkill(root=root, skill=skill, files=files)
    try:
        evidence = evidence_from(beside[EVIDENCE_FILE].data)
    except ValueError as error:
        note = f"{EVIDENCE_FILE} cannot be read and is left out: {error}"
        return SharedSkill(root=root, skill=skill, files=files, note=note)
    if evidence.skill.digest != skill.digest:
        note = f"{EVIDENCE_FILE} is about another version of the skill and is left out"
        return SharedSkill(root=root, skill=skill, files=files, note=note)
    beside[CARD_FILE] = NewFile(card_text(evidence).encode())
    return SharedSkill(root=root, skill=skill, files=files, evidence=evidence, evidence_files=beside)


def _contents(root: Path, skill: Skill) -> dict[str, NewFile]:
    """The bytes of every file, which must be those that were read before."""
    sources = {file.path: file.source for file in find_files(root, [])}
    contents: dict[str, NewFile] = {}
    for file in skill.files:
        try:
            data = disk.read(sources[file.path], most=file.size)
        except (KeyError, OSError):
            data = b""
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise UsageError(
                on_one_line(f"{skill.name}: {file.path} changed while it was being read"), hint="try again"
            )
        contents[file.path] = NewFile(data, file.executable)
    return contents


def _evidence_files(root: Path) -> dict[str, NewFile]:
    """The evidence beside a skill and its signature."""
    found: dict[str, NewFile] = {}
    for name in sorted(EVIDENCE_FILES):
        try:
            found[name] = NewFile(disk.read(root / name, most=MOST_EVIDENCE_BYTES))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise SkillInvalid(
                on_one_line(f"{root / name}: cannot be read ({error.strerror})"), hint="remove it"
            ) from None
    return {name: found[name] for name in (EVIDENCE_FILE, SIGNATURE_FILE) if name in found}


def findings_in(shared: SharedSkill, evidence: Mapping[str, NewFile]) -> tuple[Finding, ...]:
    """What `lint` finds in a skill, and what is dangerous in the evidence that travels with it.

    Raises where the skill cannot be searched, or is not the one that was read.
    """
    linted = lint(shared.root)
    if linted.refused is not None:
        raise SkillInvalid(linted.refused)
    if linted.digest != shared.skill.digest:
        raise UsageError(f"{shared.skill.name}: changed while it was being read", hint="try again")
    planted = search_skill({name: file.data for name, file in evidence.items()})
    return tuple(dict.fromkeys((*(one for one in planted if one.severity == "danger"), *linted.findings)))


def require_no_twin(folder: Path) -> None:
    """Raise where a folder beside it differs only by case: not every file system has room for both."""
    for other in (one.name for one in disk.listed(folder.parent)):
        if other != folder.name and other.casefold() == folder.name.casefold():
            raise UsageError(on_one_line(f"{folder}: {other} is there, and differs only by case"), hint="rename it")


def changed_files(folder: Path, files: Mapping[str, str], *, besides: Collection[str]) -> tuple[str, ...]:
    """What of these files, each with its SHA-256, is otherwise in a folder, a sentence each.

    The names in `besides` may be there with any content.
    """
    found = dict(_walk(folder))
    changes = [f"{path} is missing" for path in files if path not in found]
    for path, what in found.items():
        if what is None:
            changes.append(f"{path} is not an ordinary file")
        elif path not in files and path not in besides:
            changes.append(f"{path} was added")
        elif path not in besides and what != files[path]:
            changes.append(f"{path} was changed")
    return tuple(on_one_line(change) for change in sorted(changes))


def named_changes(changed: Sequence[str]) -> list[str]:
    """The first of what changed, and how many more there are."""
    more = len(changed) - _MOST_NAMED
    return [*changed[:_MOST_NAMED], *([f"and {count(more, 'more change')}"] if more > 0 else [])]


def _walk(folder: Path) -> Iterator[tuple[str, str | None]]:
    """Every file with its SHA-256; a link, and whatever else is no file, with `None`. Stops at too many."""
    entries, waiting = 0, [folder]
    while waiting:
        inner = waiting.pop()
        try:
            paths = disk.listed(inner)
        except OSError:
            yield inner.relative_to(folder).as_posix(), None
            continue
        for path in paths:
            inside = path.relative_to(folder).as_posix()
            entries += 1
            if entries > 2 * MOST_SHARED_FILES:
                yield inside, None
                return
            if path.name in LEFT_BY_PROGRAMS and not path.is_symlink():
                continue
            if disk.is_folder(path):
                waiting.append(path)
            else:
                yield inside, _sha256(path)


def _sha256(path: Path) -> str | None:
    try:
        return hashlib.sha256(disk.beginning(path, MOST_SHARED_BYTES + 1)).hexdigest()
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class _Change:
    target: Path
    beside: Path | None
    """What takes the place of the target; `None` where it is removed."""
    aside: Path
    """Where the old one waits until everything is done."""


@dataclass(slots=True)
class FolderChanges:
    """Use as a context: what was staged and not applied leaves no trace. Every method may raise `OSError`."""

    made: list[Path] = field(default_factory=list)
    """Folders that were made on the way to a target, the outermost first."""
    _staged: list[_Change] = field(default_factory=list)
    _applied: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for change in self._staged:
            if change.beside is not None:
                _remove(change.beside)
        if not self._applied:
            for folder in reversed(self.made):
                disk.remove_empty(folder)

    def make_folders(self, folder: Path) -> tuple[Path, ...]:
        """Make a folder and those above it where they are missing; returns the new ones, the outermost first."""
        missing = [one for one in reversed((folder, *folder.parents)) if not one.exists()]
        for one in missing:
            one.mkdir()
            self.made.append(one)
        return tuple(missing)

    def stage_folder(self, target: Path, files: Mapping[str, NewFile]) -> None:
        """Write a folder that will take the place of `target`, whose parent exists."""
        change = self._stage(target)
        assert change.beside is not None
        for path, file in files.items():
            copy = change.beside / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            _write(copy, file)

    def stage_file(self, target: Path, data: bytes) -> None:
        """Write a file that will take the place of `target`, whose parent exists."""
        change = self._stage(target)
        assert change.beside is not None
        _write(change.beside, NewFile(data))

    def stage_removal(self, target: Path) -> None:
        """Have a folder or a file removed."""
        self._staged.append(_Change(target, None, _hidden(target, "old")))

    def _stage(self, target: Path) -> _Change:
        change = _Change(target, _hidden(target, "tmp"), _hidden(target, "old"))
        self._staged.append(change)
        return change

    def apply(self) -> None:
        """Put everything in its place. Where that fails, everything is as it was."""
        done: list[tuple[_Change, bool]] = []
        try:
            for change in self._staged:
                done.append((change, os.path.lexists(change.target)))
                if done[-1][1]:
                    disk.move(change.target, change.aside)
                if change.beside is not None:
                    disk.move(change.beside, change.target)
            self._applied = True
        finally:
            try:
                self._finish(done)
            except KeyboardInterrupt:
                self._finish(done)
                if not self._applied:  # otherwise everything is in its place, and the interrupt came too late
                    raise

    def _finish(self, done: Sequence[tuple[_Change, bool]]) -> None:
        """Remove what was replaced, or take everything back. May be done again where it was interrupted."""
        for change, was_there in reversed(done):
            if self._applied:
                _remove(change.aside)
            else:
                _take_back(change, was_there=was_there)


def why_not(error: OSError) -> str:
    """Why a change failed, and at which path where the system names one."""
    return str(error.strerror) if error.filename is None else f"{error.strerror}: {error.filename}"


def _take_back(change: _Change, *, was_there: bool) -> None:
    is_new = not was_there or os.path.lexists(change.aside)
    if change.beside is not None and is_new and not os.path.lexists(change.beside) and os.path.lexists(change.target):
        disk.move(change.target, change.beside)  # removed with what else was staged
    if os.path.lexists(change.aside):
        disk.move(change.aside, change.target)


def _hidden(target: Path, end: str) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.{end}")


def _write(path: Path, file: NewFile) -> None:
    disk.write_new(path, file.data, mode=0o777 if file.executable else 0o666)


def _remove(path: Path) -> None:
    if disk.is_folder(path):
        disk.remove_folder(path)
    else:
        with suppress(OSError):
            disk.remove(path)
