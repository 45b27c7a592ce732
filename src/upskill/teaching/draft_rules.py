"""The rules for a draft, checked before anything is written: names, sizes, paths, secrets. Repairs only a name."""

import re
from collections.abc import Callable, Collection, Iterator

from upskill.domain import Draft, estimate_tokens
from upskill.domain.files import clash, name_clashes, shared_path_problem
from upskill.domain.skill import (
    MOST_CHARACTERS,
    MOST_HANDED_BYTES,
    MOST_HANDED_FILES,
    NOT_FOR_STUDENTS,
    SKILL_FILE,
    SPECIFIED_FIELDS,
    is_skill_name,
)
from upskill.domain.text import decoded
from upskill.redaction import redactor_from

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
