"""A skill: what its folder says, which files it holds, what the specification allows, and which skills lie beside it in
every arm. Knows nothing about where the folder is.

Files of a skill, a case or an answer are stored as text, or as base64 where they are none. A name that passes here is
safe to write to.
"""

import base64
import binascii
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from unicodedata import name as character_name
from unicodedata import normalize

from upskill.core.nouns.answer import Answer, Files
from upskill.core.nouns.case import Json
from upskill.core.nouns.text import HIDDEN, count, decoded, estimate_tokens, estimated_tokens
from upskill.errors import UsageError

SKILL_FILE = "SKILL.md"
META_FILE = "skill_meta.json"
CASE_FILES = (META_FILE, "evals/evals.json")
"""Where the cases of a skill are, the first of them that has some."""
META_FORMAT = "upskill.skill/1"
RUN_FILE = "run.json"
TEACHING_FILE = "generate.json"
TRIGGER_FILE = "trigger.json"
SLIM_FILE = "slim.json"
TOGETHER_FILE = "together.json"
RECORD_FILES = (RUN_FILE, TEACHING_FILE, TRIGGER_FILE, SLIM_FILE, TOGETHER_FILE)
"""The records of an evaluation, a `generate`, a `trigger`, a `slim` and skills together: a folder with one of them is a
run, and no skill."""
EVIDENCE_FILE = "evidence.json"
EVIDENCE_FORMAT: Literal["upskill.evidence/1"] = "upskill.evidence/1"
CARD_FILE = "evidence.md"
SIGNATURE_FILE = f"{EVIDENCE_FILE}.sigstore.json"
EVIDENCE_FILES = frozenset({EVIDENCE_FILE, CARD_FILE, SIGNATURE_FILE})
"""What travels beside a skill to show what it was measured to do."""
NOT_FOR_STUDENTS = frozenset({META_FILE, "evals"}) | EVIDENCE_FILES
"""Cases, answers and results: in any spelling, these never reach a student and never change the digest."""
INSTALL_RECORD = ".upskill-install.json"
"""In an installed copy: what `upskill install` wrote, so that it can be undone."""
NEVER_PART_OF_A_SKILL = frozenset({".git", "__pycache__", ".DS_Store", "node_modules", INSTALL_RECORD})
SPECIFIED_FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
MOST_CHARACTERS = {"name": 64, "description": 1024, "compatibility": 500}
NAME_RULE = "use up to 64 letters a-z, digits and single hyphens, as in pdf-merge"
MOST_HANDED_FILES = 400
MOST_HANDED_BYTES = 20_000_000
"""A skill is copied into every sandbox of a student with tools."""
MOST_SHARED_FILES = 1_000
MOST_SHARED_BYTES = 25 * 2**20
"""A skill that is installed or published. `skills` from npm takes no larger archive."""
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def is_skill_name(name: str) -> bool:
    """Whether the specification allows this name."""
    return len(name) <= MOST_CHARACTERS["name"] and _NAME.fullmatch(name) is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillFile:
    """One file of a skill. The path is relative, with forward slashes."""

    path: str
    size: int
    sha256: str
    executable: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Skill:
    """A skill as a model can see it, without cases and provenance."""

    name: str
    description: str
    body: str
    digest: str
    frontmatter: Mapping[str, object] = field(default_factory=dict)
    files: tuple[SkillFile, ...] = ()
    notes: tuple[str, ...] = ()
    """Deviations from the format that were accepted, in words."""

    @property
    def other_files(self) -> tuple[SkillFile, ...]:
        """The files beside `SKILL.md`, which a model without tools cannot open."""
        return tuple(file for file in self.files if file.path != SKILL_FILE)

    @property
    def tokens(self) -> int:
        """Estimated tokens of `SKILL.md` with its frontmatter."""
        size = next((file.size for file in self.files if file.path == SKILL_FILE), None)
        return estimate_tokens(self.body) if size is None else estimated_tokens(size)


MOST_PATH_CHARACTERS = 240
MOST_FILES = 200
MOST_BYTES = 4 * 2**20
"""All files of one case, or of one answer, together."""
_MOST_NAME_BYTES = 255
_DEVICE = re.compile(r"(?i:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)\d) *(?:\.|\Z)")
_NOT_ON_WINDOWS = re.compile(r'[<>:"|?*]|[. ]\Z|\A ')
_WORD = re.compile(r"[^\W\d_]+")
_ALPHABETS = frozenset({"LATIN", "GREEK", "CYRILLIC"})
_NOT_ANYWHERE = frozenset(map(str.casefold, NEVER_PART_OF_A_SKILL))


def path_problem(path: str) -> str | None:
    """Why a name is no relative path that every system can hold, in words that follow the name; `None` if it is one."""
    if not path:
        return "is empty"
    if len(path) > MOST_PATH_CHARACTERS:
        return f"is longer than {MOST_PATH_CHARACTERS} characters"
    if not path.isprintable() or path != path.strip():
        return "holds a character that cannot be seen"
    if path.startswith(("/", "~")) or path[1:2] == ":":
        return "is not relative"
    if "\\" in path:
        return "holds a backslash; write folders with /"
    parts = path.split("/")
    if ".." in parts:
        return "leads out of its folder"
    if "" in parts or "." in parts:
        return "has a part that is empty or a dot"
    return None


def shared_path_problem(path: str) -> str | None:
    """Why a file or folder of a skill that others get cannot have this path, in words that follow it; `None` if it can.

    Every system must be able to hold it, and nobody may take it for another. Letters of any one alphabet are fine.
    """
    if problem := path_problem(path):
        return problem
    parts = path.split("/")
    if any(len(part.encode()) > _MOST_NAME_BYTES for part in parts):
        return f"has a part of more than {_MOST_NAME_BYTES} bytes"
    if any(part.casefold() in _NOT_ANYWHERE for part in parts):
        return "is never part of a skill"
    if any(map(_DEVICE.match, parts)):
        return "is the name of a device on Windows"
    if any(map(_NOT_ON_WINDOWS.search, parts)):
        return "cannot be a file on Windows"
    if HIDDEN.search(path) or "\u2800" in path:
        return "holds a character that cannot be seen"
    if (plain := normalize("NFKC", path)) != path:
        return f"is another way to write {plain!r}"
    if any(len(_ALPHABETS & {character_name(c, "").split(" ")[0] for c in word}) > 1 for word in _WORD.findall(path)):
        return "mixes letters of two alphabets in one word"
    return None


def name_clashes(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Files or folders whose names are one on some systems: they differ only by case or by how a letter is written."""
    known: dict[str, str] = {}
    told: set[str] = set()
    for path in paths:
        for name in (*folders_of(path), path):
            other = known.setdefault(normalize("NFKC", normalize("NFKC", name).casefold()), name)
            if other != name:
                if name not in told:
                    yield other, name
                told.add(name)
                break


def folders_of(path: str) -> list[str]:
    """Every folder that a path leads through, the outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def clash(paths: Collection[str]) -> str | None:
    """The first name that is a file and also the folder of another; `None` if there is none."""
    return next((folder for path in sorted(paths) for folder in folders_of(path) if folder in paths), None)


def read_files(value: Json, problems: list[str], *, where: str = "`files`") -> Files:
    """Files by path, as `{"path": "text"}` or `{"path": {"base64": "…"}}`; what is wrong is added to the problems."""
    if not isinstance(value, dict):
        problems.append(f'{where} must be an object such as {{"build.toml": "text"}}')
        return {}
    if len(value) > MOST_FILES:
        problems.append(f"{where} holds {len(value):,} files; {MOST_FILES} are allowed")
        return {}
    files: dict[str, bytes] = {}
    for path, content in value.items():
        if problem := path_problem(path):
            problems.append(f"{where}: the name {path[:60]!r} {problem}")
            continue
        data = _bytes_of(content)
        if data is None:
            problems.append(f'{where}: {path[:60]!r} must be text, or {{"base64": "…"}} that can be decoded')
            continue
        files[path] = data
    if folder := clash(files):
        problems.append(f"{where}: {folder[:60]!r} is a file and also the folder of another")
    if (size := sum(map(len, files.values()))) > MOST_BYTES:
        problems.append(f"{where}: {size:,} bytes; {MOST_BYTES:,} are allowed")
        return {}
    return files


def _bytes_of(content: Json) -> bytes | None:
    try:
        if isinstance(content, str):
            return content.encode("utf-8")
        if isinstance(content, dict) and set(content) == {"base64"} and isinstance(content["base64"], str):
            return base64.b64decode(content["base64"], validate=True)
    except (UnicodeEncodeError, binascii.Error, ValueError):
        return None
    return None


def files_as_json(files: Files) -> dict[str, Any]:
    """Files as they are written; reading them gives the same bytes."""
    return {path: _content(data) for path, data in files.items()}


def _content(data: bytes) -> str | Mapping[str, str]:
    text = decoded(data)
    return {"base64": base64.b64encode(data).decode("ascii")} if text is None else text


def read_answer(value: Json, problems: list[str], *, where: str) -> Answer | None:
    """An answer written into a case: its text, or `{"text": "…", "files": {…}, "removed": […]}`."""
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, dict) or not value or not {"text", "files", "removed"}.issuperset(value):
        problems.append(f'{where} must be text, or an object such as {{"text": "…", "files": {{"build.toml": "…"}}}}')
        return None
    text = value.get("text", "")
    if not isinstance(text, str):
        problems.append(f"{where}: `text` must be a string")
        return None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        problems.append(f"{where} holds a lone surrogate (half a character), which cannot be stored")
        return None
    files = read_files(value.get("files", {}), problems, where=f"{where}: `files`")
    removed = value.get("removed", [])
    if not isinstance(removed, list) or not all(isinstance(path, str) for path in removed):
        problems.append(f"{where}: `removed` must be a list of names of files of the case")
        return None
    if not text.strip() and not files and not removed:
        problems.append(f"{where} is empty; remove it, because every case is tested with an empty answer anyway")
        return None
    return Answer(text=text, files=files, removed=tuple(map(str, removed)))


def read_answers(value: Json, problems: list[str], *, where: str) -> tuple[Answer, ...]:
    if not isinstance(value, list):
        problems.append(f"{where} must be a list of answers")
        return ()
    found = [read_answer(item, problems, where=f"{where} {number}") for number, item in enumerate(value, 1)]
    return tuple(answer for answer in found if answer is not None)


def answer_as_json(answer: Answer) -> str | dict[str, Any]:
    if not answer.files and not answer.removed:
        return answer.text
    return {
        **({"text": answer.text} if answer.text else {}),
        **({"files": files_as_json(answer.files)} if answer.files else {}),
        **({"removed": list(answer.removed)} if answer.removed else {}),
    }


BUNDLED = "bundled"
"""What people type for the skills that come with a coding agent."""
MOST_OTHERS = 200
"""Other skills of one evaluation. They are copied into every sandbox."""

OtherSource = Literal["shipped", "folder"]
"""Where another skill comes from: it ships with upskill, or it lies in a folder that was named."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Among:
    """Which other skills are asked for, by `--among`."""

    shipped: int = 0
    """How many of those that ship with upskill: the first ones, in their fixed order."""
    folders: tuple[str, ...] = ()
    """Folders with skills of the user's, by their paths."""
    bundled: bool = False
    """Whether the skills that come with the coding agent are offered too."""

    def __bool__(self) -> bool:
        """Whether anything is asked for."""
        return bool(self.shipped or self.folders or self.bundled)


def read_among(words: Iterable[str]) -> Among:
    """What was typed after `--among`: a number, `bundled` or a folder, each perhaps several times."""
    shipped: int | None = None
    bundled = False
    folders: dict[str, None] = {}
    for word in words:
        if word == BUNDLED:
            bundled = True
        elif word.lstrip("+-").isdecimal():
            if shipped is not None:
                raise UsageError("--among: two numbers were given", hint="name one number of other skills")
            if (shipped := int(word)) < 1:
                raise UsageError(f"--among {word}: must be at least 1")
        elif not word:
            raise UsageError("--among: is empty", hint="name a number, bundled or a folder of skills")
        else:
            folders[word] = None
    return Among(shipped=shipped or 0, folders=tuple(folders), bundled=bundled)


@dataclass(frozen=True, kw_only=True, slots=True)
class OtherSkill:
    """One skill beside the measured one."""

    name: str
    digest: str
    """SHA-256 of the files that a model could see."""
    source: OtherSource


@dataclass(frozen=True, kw_only=True, slots=True)
class OtherSkills:
    """The skills that lay beside the measured one in every arm."""

    skills: tuple[OtherSkill, ...] = ()
    """Sorted by name."""
    bundled: bool = False
    """Whether the skills that come with the coding agent were offered too."""
    shipped: int = 0
    """How many of those that ship with upskill were asked for. One is left out where its name is taken."""

    @property
    def words(self) -> str:
        """How many there were, for people: `among 20 other skills and the agent's bundled skills`."""
        number = count(len(self.skills), "other skill") if self.skills else ""
        return "among " + " and ".join(part for part in (number, self.bundled * "the agent's bundled skills") if part)


def changed_parts(before: Skill, after: Skill) -> tuple[str, ...]:
    """The parts that differ: `description`, `body`, `frontmatter`, and the paths of other files."""
    parts = []
    if before.description != after.description:
        parts.append("description")
    if before.body != after.body:
        parts.append("body")
    if not parts and _by_path(before).get(SKILL_FILE) != _by_path(after).get(SKILL_FILE):
        parts.append("frontmatter")
    return (*parts, *_changed_files(before, after))


def _changed_files(before: Skill, after: Skill) -> Iterator[str]:
    old, new = _by_path(before), _by_path(after)
    for path in sorted({*old, *new} - {SKILL_FILE}):
        if path not in old:
            yield f"{path} (added)"
        elif path not in new:
            yield f"{path} (deleted)"
        elif old[path] != new[path]:
            yield path


def _by_path(skill: Skill) -> dict[str, tuple[str, bool]]:
    return {file.path: (file.sha256, file.executable) for file in skill.files}
