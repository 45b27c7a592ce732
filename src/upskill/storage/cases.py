"""Case files: our own shapes, read strictly, and the community's `evals.json`, read with everything kept.

Which kinds of check exist is not known here: a function that finds problems in a check is handed in.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from upskill.domain import Case, Check, digest_of
from upskill.domain.case import Json
from upskill.errors import SkillInvalid, UsageError
from upskill.storage.evals_json import foreign_case, is_foreign
from upskill.storage.skills import META_FILE, skill_root
from upskill.storage.whole_file import parse_json, write_whole

CheckProblems = Callable[[Check], list[str]]

_CASE_KEYS = ("id", "input", "prompt", "expected", "checks")
_MOST_ID_CHARACTERS = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseFile:
    """The cases of one file, and where they came from."""

    path: Path
    cases: tuple[Case, ...]


def read_skill_cases(folder: Path, *, check_problems: CheckProblems) -> CaseFile | None:
    """The cases that travel with a skill: `skill_meta.json` first, then `evals/evals.json`; `None` if neither."""
    folder = skill_root(folder)
    meta = folder / META_FILE
    if meta.is_file():
        value = _load(meta)
        if isinstance(value, dict) and (value.get("cases") or value.get("tests")):
            return _read(meta, value, check_problems)
        near = get_close_matches("cases", [str(key) for key in value] if isinstance(value, dict) else [], n=1)
        if near and near[0] != "cases":
            raise SkillInvalid(f"{meta}: `{near[0]}` is not a known key; did you mean `cases`?")
    evals = folder / "evals" / "evals.json"
    return read_case_file(evals, check_problems=check_problems) if evals.is_file() else None


def read_case_file(path: Path, *, check_problems: CheckProblems) -> CaseFile:
    """Read a case file of any known shape. Raises `SkillInvalid` with every problem found."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file", hint="a case file is JSON; see docs/reference/files.md")
    return _read(path, _load(path), check_problems)


def write_case_file(path: Path, cases: Iterable[Case]) -> None:
    """Write cases in our own shape; reading them back gives equal cases."""
    items = [
        {
            "id": case.id,
            "input": case.prompt,
            "checks": [{check.kind: check.spec} for check in case.checks],
        }
        for case in cases
    ]
    write_whole(path, json.dumps({"cases": items}, indent=2, ensure_ascii=False) + "\n")


def _load(path: Path) -> Json:
    try:
        return parse_json(path.read_bytes())
    except ValueError as error:
        raise SkillInvalid(f"{path}: {error}") from None


def _read(path: Path, value: Json, check_problems: CheckProblems) -> CaseFile:
    problems: list[str] = []
    items = _items(value, problems, strict_top=path.name != META_FILE)
    foreign = is_foreign(value, path.name)
    cases: list[Case] = []
    seen: dict[str, int] = {}
    for index, item in enumerate(items, 1):
        where = f"case {index}"
        if not isinstance(item, dict):
            problems.append(f"{where}: must be an object with `input` and `expected`")
            continue
        case_problems: list[str] = []
        case = foreign_case(item) if foreign else _own_case(item, case_problems)
        if case.id:
            where = f"case {index} ({case.id[:40]})"
        case_problems += _case_problems(case, check_problems)
        problems += [f"{where}: {problem}" for problem in case_problems]
        case = case if case.id else _with_derived_id(case)
        if case.id in seen:
            problems.append(f"{where}: has the id `{case.id}` of case {seen[case.id]}")
        seen.setdefault(case.id, index)
        cases.append(case)
    if not items and not problems:
        problems.append("there is no case in it")
    if problems:
        raise SkillInvalid(
            f"{path}: {len(problems)} problem{'s' if len(problems) > 1 else ''} in the cases",
            problems=problems,
            hint='a case looks like {"input": "…", "expected": {"contains": "…"}}; see docs/reference/files.md',
        )
    return CaseFile(path=path, cases=tuple(cases))


def _items(value: Json, problems: list[str], *, strict_top: bool) -> list[Json]:
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        problems.append('must be a list of cases, or {"cases": […]}')
        return []
    for key in ("cases", "evals", "tests"):
        found = value.get(key)
        if isinstance(found, list):
            if strict_top and key == "cases" and not is_foreign(value, ""):
                problems += [_unknown(other, ["cases"]) for other in value if other != "cases"]
            return found
        if found is not None:
            problems.append(f"`{key}` must be a list")
            return []
    near = get_close_matches("cases", list(value), n=1)
    problems.append(_unknown(near[0], ["cases"]) if near else "there is no `cases` in it")
    return []


def _unknown(key: str, known: Iterable[str]) -> str:
    near = get_close_matches(key, list(known), n=1)
    return f"`{key}` is not a known key" + (f"; did you mean `{near[0]}`?" if near else "")


def _own_case(item: dict[str, Json], problems: list[str]) -> Case:
    problems += [_unknown(key, _CASE_KEYS) for key in item if key not in _CASE_KEYS]
    if "input" in item and "prompt" in item:
        problems.append("has both `input` and `prompt`, which mean the same")
    prompt = item.get("input", item.get("prompt"))
    raw_id = item.get("id")
    if raw_id is not None and (isinstance(raw_id, bool) or not isinstance(raw_id, str | int)):
        problems.append("`id` must be a string or a whole number")
        raw_id = None
    if not isinstance(prompt, str):
        problems.append("`input` must be a string" if prompt is not None else "has no `input`")
        prompt = ""
    return Case(
        id="" if raw_id is None else str(raw_id),
        prompt=prompt,
        checks=(*_expected_checks(item, problems), *_listed_checks(item, problems)),
    )


def _expected_checks(item: dict[str, Json], problems: list[str]) -> Iterator[Check]:
    expected = item.get("expected", {})
    if not isinstance(expected, dict):
        problems.append('`expected` must be an object such as {"contains": "9.0"}')
        return
    for kind, spec in expected.items():
        yield Check(kind=kind, spec=spec)


def _listed_checks(item: dict[str, Json], problems: list[str]) -> Iterator[Check]:
    listed = item.get("checks", [])
    if not isinstance(listed, list):
        problems.append('`checks` must be a list such as [{"contains": "9.0"}]')
        return
    for number, entry in enumerate(listed, 1):
        if not isinstance(entry, dict) or len(entry) != 1:
            problems.append(f'check {number} must be an object with one key, its kind, as {{"contains": "9.0"}}')
            continue
        ((kind, spec),) = entry.items()
        yield Check(kind=kind, spec=spec)


def _case_problems(case: Case, check_problems: CheckProblems) -> Iterator[str]:
    if not case.prompt.strip():
        yield "the prompt is empty"
    if not case.checks:
        yield "has no checks, so nothing could fail it"
    if len(case.id) > _MOST_ID_CHARACTERS or not case.id.isprintable():
        yield f"the id must be at most {_MOST_ID_CHARACTERS} printable characters"
    if not _can_be_sent(case):
        yield "holds a lone surrogate (half a character), which no model can be sent"
    for check in case.checks:
        yield from check_problems(check)


def _can_be_sent(case: Case) -> bool:
    texts = [case.id, case.prompt, json.dumps([[c.kind, c.spec] for c in case.checks], ensure_ascii=False)]
    try:
        "".join(texts).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _with_derived_id(case: Case) -> Case:
    """A case without an id is named by its content, so that the name survives reordering the file."""
    content = digest_of([case.prompt, [[check.kind, check.spec] for check in case.checks]])
    return Case(id=f"case-{content[:8]}", prompt=case.prompt, checks=case.checks, extra=case.extra)
