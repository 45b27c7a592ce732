"""A draft: the content of a skill folder before it is one, the lessons its sections came from, and the rules for it.

A folder is written whole or not at all; the cases beside a skill stay. Of the rules, only a name is repaired.
"""

import json
import re
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from upskill import disk
from upskill.core.nouns import Skill, estimate_tokens
from upskill.core.nouns.answer import Files
from upskill.core.nouns.skill import (
    MOST_CHARACTERS,
    MOST_HANDED_BYTES,
    MOST_HANDED_FILES,
    NEVER_PART_OF_A_SKILL,
    NOT_FOR_STUDENTS,
    SKILL_FILE,
    SPECIFIED_FIELDS,
    clash,
    is_skill_name,
    name_clashes,
    shared_path_problem,
)
from upskill.core.nouns.text import decoded, on_one_line
from upskill.core.skills.markdown import one_line
from upskill.core.skills.skills import read_contents, read_skill, write_skill
from upskill.errors import EngineError, UsageError
from upskill.redaction import redactor_from

LessonKind = Literal["do", "avoid", "fact", "command"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Lesson:
    """One thing worth teaching. A lesson from a trace names its steps; one that cannot is not taken."""

    kind: LessonKind
    text: str
    steps: tuple[str, ...] = ()
    """Where it was seen, as the digest of the trace names it, such as `trace 2 step 14`; empty without a trace."""
    support: int = 1
    """In how many pieces of the material it was found."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SectionSource:
    """From which lessons and steps of the recorded work a section was written."""

    heading: str
    lessons: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """What a teacher wrote. `storage` makes a skill folder of it; nothing here has been measured."""

    name: str
    description: str
    body: str
    files: Files = field(default_factory=dict)
    """What lies beside `SKILL.md`, by relative path with forward slashes: `references/`, `scripts/`, `assets/`."""
    executable: frozenset[str] = frozenset()
    """Which of the files are programs."""
    frontmatter: Mapping[str, object] = field(default_factory=dict)
    """Other fields of the specification, such as `license`: kept from a skill that is improved."""
    sources: tuple[SectionSource, ...] = ()
    expendable: tuple[str, ...] = ()
    """Headings of sections that go first where the body is too long for a student, as its writer ordered them."""


def read_draft(folder: Path) -> Draft:
    """A skill folder as a draft: all that a student may see. Fields that no specification knows go into `metadata`."""
    skill = read_skill(folder)
    contents = read_contents(folder, skill)
    return Draft(
        name=skill.name,
        description=_portable(skill.description),
        body=skill.body,
        files={path: data for path, data in contents.items() if path != SKILL_FILE},
        executable=frozenset(file.path for file in skill.other_files if file.executable),
        frontmatter=_specified(skill.frontmatter),
    )


def write_draft(skills_dir: Path, draft: Draft, *, replace: bool = False) -> Skill:
    """Write a draft as the skill folder of its name.

    With `replace`, a folder of that name gives way in one step: what a student may see is the draft's, the cases and
    whatever never counts as part of a skill are carried over. Without, an existing folder is refused.
    """
    target = skills_dir / draft.name
    shown = on_one_line(str(target))
    if target.is_symlink():
        raise UsageError(f"{shown}: is a link; its target is not overwritten", hint="remove the link")
    if target.exists() and not replace:
        raise UsageError(f"{shown}: already exists", hint="name another folder with -o, or improve it with --from")
    if target.exists() and not target.is_dir():
        raise UsageError(f"{shown}: is not a folder", hint="move it away")
    mark = secrets.token_hex(6)
    beside = skills_dir / f".{mark}.tmp"
    try:
        # First, because it is what refuses a name that could lead elsewhere.
        fields = draft.frontmatter
        write_skill(beside, name=draft.name, description=draft.description, body=draft.body, fields=fields)
        made = beside / draft.name
        _write_files(made, draft)
        if target.exists():
            _carry_over(target, made)
        read_skill(made)
        _swap(made, target, skills_dir / f".{draft.name}.{mark}.old")
    except OSError as error:
        raise EngineError(f"{shown}: the skill cannot be written to it ({error.strerror})") from error
    finally:
        disk.remove_folder(beside)
    return read_skill(target)


def _write_files(made: Path, draft: Draft) -> None:
    for path, data in draft.files.items():
        parts = path.split("/")
        hidden = parts[0].casefold() in NOT_FOR_STUDENTS or path == SKILL_FILE
        if hidden or path.startswith("/") or "\\" in path or any(part in ("", ".", "..") for part in parts):
            raise UsageError(f"{draft.name}: {on_one_line(path)!r} is not a valid file name in a skill")
        target = made / path
        target.parent.mkdir(parents=True, exist_ok=True)
        disk.write_new(target, data)
        if path in draft.executable:
            target.chmod(0o755)


def _carry_over(old: Path, made: Path) -> None:
    """The cases, and what lies in the folder without being part of the skill, such as a repository."""
    for child in disk.listed(old):
        if child.name.casefold() in NOT_FOR_STUDENTS or child.name in NEVER_PART_OF_A_SKILL:
            disk.copy_whole(child, made / child.name)


def _swap(made: Path, target: Path, aside: Path) -> None:
    """Two renames; should the second fail, the first is taken back. The old folder goes last."""
    if not target.exists():
        disk.move(made, target)
        return
    disk.move(target, aside)
    try:
        disk.move(made, target)
    except OSError:
        disk.move(aside, target)
        raise
    disk.remove_folder(aside)


def _portable(description: str) -> str:
    """The description without what a strict reader refuses: it could not be written again otherwise."""
    text = re.sub(r"-{3,}", "-", re.sub(r"[<>]", "", description))
    most = MOST_CHARACTERS["description"]
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0] + "…"


def _specified(frontmatter: Mapping[str, object]) -> dict[str, object]:
    fields: dict[str, object] = {}
    metadata: dict[str, str] = {}
    for key, value in frontmatter.items():
        if key in ("name", "description"):
            continue
        if key == "metadata" and isinstance(value, Mapping):
            metadata |= {str(inner): _as_text(text) for inner, text in value.items() if _as_text(text)}
        elif not (text := _as_text(value)):
            continue
        elif key in SPECIFIED_FIELDS and key != "metadata":
            fields[key] = text[: MOST_CHARACTERS.get(key, len(text))]
        else:
            metadata.setdefault(str(key), text)
    return {**fields, **({"metadata": metadata} if metadata else {})}


def _as_text(value: object) -> str:
    """A value on one line: lists of words with spaces, as `allowed-tools` wants them; tables as JSON."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = " ".join(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return one_line(text).replace("---", "-")


BODY_TOKENS = 1_200
"""The most tokens of a body where no student is known: long skills were measured to hurt."""
MOST_BODY_TOKENS = 5_000
MOST_BODY_LINES = 500
MOST_NAME, MOST_DESCRIPTION = MOST_CHARACTERS["name"], MOST_CHARACTERS["description"]
_NOT_PARTS = NOT_FOR_STUDENTS | {SKILL_FILE.casefold()}
_HIDDEN = re.compile(
    "[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e01ef]"
)
"""Characters that cannot be seen and turn, hide or smuggle text. Joiners stay: some scripts need them."""
_HOME = re.compile(r"(?:/home/|/Users/|[A-Za-z]:\\Users\\)(?!<)([\w.-]+)")
_ANYBODY = frozenset({"user", "username", "you", "me", "agent", "runner", "ubuntu", "name", "root", "app", "node"})
Clean = Callable[[str], str]


def clean_by_patterns(text: str) -> str:
    """The text without anything that looks like a secret: the minimum that is always taken out."""
    return redactor_from({}).clean(text)


def repaired_name(text: str) -> str:
    """A name as the specification wants it, where that is plain: case, spaces, underscores, dots, hyphens too many."""
    return re.sub(r"[-\s_.]+", "-", text.strip().lower()).strip("-")


def without_hidden(text: str) -> str:
    """The text without invisible characters."""
    return _HIDDEN.sub("", text)


def draft_problems(
    draft: Draft, *, before: Draft | None = None, clean: Clean = clean_by_patterns, sized: bool = True
) -> list[str]:
    """Everything that keeps a draft from being a skill, in words for its writer; empty if nothing does.

    A problem that the draft `before` an improvement had, whatever its figures, does not count. `clean` takes secrets
    out of a text: with the user's own keys where they are known, by patterns otherwise. Without `sized`, a body that is
    too long is no problem: it is shortened later.
    """
    known = {_numberless(problem) for problem in draft_problems(before, clean=clean)} if before is not None else set()
    problems = [
        *name_problems(draft.name),
        *description_problems(draft.description),
        *_body_problems(draft.body, sized=sized),
        *_file_problems(draft),
        *(
            f"`{key}` is no field of the Agent Skills specification"
            for key in draft.frontmatter
            if key not in SPECIFIED_FIELDS
        ),
        *(f"{where} holds a secret" for where, text in _texts(draft) if clean(text) != text),
    ]
    return [problem for problem in problems if _numberless(problem) not in known]


def _numberless(problem: str) -> str:
    return re.sub(r"[\d,]+", "#", problem)


def name_problems(name: str) -> list[str]:
    """Why this cannot be the name of a skill."""
    if not name:
        return ["the name is empty"]
    if len(name) > MOST_NAME:
        return [f"the name has {len(name)} characters; at most {MOST_NAME} are allowed"]
    if not is_skill_name(name):
        return [f"the name {name!r} may have only letters a-z, digits and single hyphens between them"]
    problem = shared_path_problem(name)
    return [f"the name {name!r} {problem}; choose another"] if problem else []


def file_problem(path: str) -> str | None:
    """Why a file of a skill cannot have this path, in words that follow the path; `None` if it can."""
    if path.casefold().split("/")[0] in _NOT_PARTS:
        return "is not for a draft to write"
    return shared_path_problem(path)


def wishes(draft: Draft, *, also: Collection[str] = ()) -> list[str]:
    """What would make a draft better, although it can be used as it is: worth asking for once.

    `also`: paths of files that will be among the draft's, but are not yet.
    """
    found: list[str] = []
    if len(draft.description) < 40 or not re.search(r"\b(?:use|when|for)\b", draft.description, re.IGNORECASE):
        found.append("the description must say what the skill does and when to use it (`Use when ...`)")
    named = set(re.findall(r"\b(?:references|scripts|assets)/[\w./-]*\w", draft.body))
    for path in sorted(named - set(draft.files) - set(also))[:3]:
        if not any(file.startswith(f"{path}/") for file in (*draft.files, *also)):
            found.append(f"the body names {path}, which is not among the files")
    homes = {match[0] for _, text in _texts(draft) for match in _HOME.finditer(text)}
    for home in sorted(home for home in homes if re.split(r"[/\\]", home)[-1].lower() not in _ANYBODY)[:3]:
        found.append(f"{home} is one person's folder: write a variable such as <project> instead")
    return found


def description_problems(description: str) -> list[str]:
    """Why this cannot be the description of a skill."""
    problems: list[str] = []
    if not description.strip():
        return ["the description is empty"]
    if len(description) > MOST_DESCRIPTION:
        problems.append(
            f"the description has {len(description):,} characters; at most {MOST_DESCRIPTION:,} are allowed"
        )
    if "\n" in description:
        problems.append("the description must be one line")
    if "---" in description or "<" in description or ">" in description:
        problems.append("the description may not contain ---, < or >")
    return problems


def _body_problems(body: str, *, sized: bool) -> list[str]:
    if not body.strip():
        return ["the body is empty"]
    if not sized:
        return []
    problems: list[str] = []
    if (tokens := estimate_tokens(body)) > MOST_BODY_TOKENS:
        problems.append(f"the body has about {tokens:,} tokens; at most {MOST_BODY_TOKENS:,} are allowed")
    if (lines := body.count("\n") + 1) > MOST_BODY_LINES:
        problems.append(f"the body has {lines:,} lines; at most {MOST_BODY_LINES} are allowed")
    return problems


def _file_problems(draft: Draft) -> Iterator[str]:
    for path in sorted(draft.files):
        if problem := file_problem(path):
            yield f"the path {path!r} {problem}"
    for other, path in name_clashes(sorted(draft.files)):
        yield f"the paths {other!r} and {path!r} are one on some systems"
    if folder := clash(set(draft.files)):
        yield f"the path {folder!r} is a file and a folder at once"
    if len(draft.files) > MOST_HANDED_FILES or sum(map(len, draft.files.values())) > MOST_HANDED_BYTES:
        yield f"there are more than {MOST_HANDED_FILES} files or {MOST_HANDED_BYTES // 1_000_000} MB"
    for path in sorted(draft.executable - set(draft.files)):
        yield f"the program {path!r} is not among the files"


def _texts(draft: Draft) -> Iterator[tuple[str, str]]:
    """Every text of a draft with its place; files that are no text are left out."""
    yield "the name", draft.name
    yield "the description", draft.description
    yield "the body", draft.body
    for key, value in draft.frontmatter.items():
        yield f"`{key}`", str(value)
    for path, data in draft.files.items():
        if (text := decoded(data)) is not None:
            yield path, text
