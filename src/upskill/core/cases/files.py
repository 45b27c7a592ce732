"""Case files: our own shapes, read strictly, and the community's `evals.json`, read with everything kept.

Which kinds of check exist is not known here: a function that finds problems in a check is handed in.
"""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from upskill import disk
from upskill.core.cases.family import family_problem, with_recognised_families
from upskill.core.foreign_json import read_json
from upskill.core.nouns import Case, Check
from upskill.core.nouns.case import CaseUse, Json, UserTurn, prompt_of
from upskill.core.nouns.skill import (
    META_FILE,
    SKILL_FILE,
    answer_as_json,
    files_as_json,
    read_answer,
    read_answers,
    read_files,
)
from upskill.core.nouns.text import count, on_one_line, whole_characters
from upskill.core.skills.skill_files import require_inside, skill_invalid
from upskill.errors import EngineError, UsageError

_PROMPT_KEYS = ("prompt", "question", "input", "query")
_STATEMENT_KEYS = ("assertions", "expectations", "expected_behavior")
_PROSE_KEYS = ("expected_output", "ground_truth", "rubric")
_FOREIGN_KEYS = frozenset({"question", *_STATEMENT_KEYS, *_PROSE_KEYS})
_CHECK_KEYS = frozenset({"kind", "pattern", "value", "flags"})
_FLAGS = frozenset("imsx")
_FLAGS_WITHOUT_EFFECT = frozenset("guy")
"""All matches, characters instead of code units, from here on: a search for one match in text does not differ."""


def is_foreign(value: Json, file_name: str) -> bool:
    """Whether a file is one of the community's, by its name or by what is in it."""
    if file_name == "evals.json":
        return True
    items = value
    if isinstance(value, dict):
        if value.get("evals"):
            return True
        items = value.get("cases") or value.get("tests")
    return isinstance(items, list) and any(_is_foreign_case(item) for item in items)


def _is_foreign_case(item: Json) -> bool:
    if not isinstance(item, dict):
        return False
    return _has_named_checks(item) or not _FOREIGN_KEYS.isdisjoint(item)


def _has_named_checks(item: dict[str, Json]) -> bool:
    listed = item.get("checks")
    return isinstance(listed, list) and any(isinstance(entry, dict) and "kind" in entry for entry in listed)


def foreign_case(item: dict[str, Json], problems: list[str]) -> Case:
    """A case from any dialect. What cannot be used is kept in `extra`; what is missing is left empty."""
    used: set[str] = set()
    prompt = ""
    for key in _PROMPT_KEYS:
        found = item.get(key)
        if isinstance(found, str):
            prompt = found
            used.add(key)
            break
    turns = _turns(item, problems) if _OUR_FORMS["turns"](item.get("turns")) else ()
    if not (prompt.strip() or _OUR_FORMS["turns"](item.get("turns"))):
        problems.append(f"has no prompt, under any of {', '.join(_PROMPT_KEYS)}")
    ours_alone = [*_checks(item, used, problems), *_expected(item, used)]
    checks = [*ours_alone, *_judged(item, used), *(check for turn in turns for check in turn.checks)]
    raw_id = item.get("id")
    if isinstance(raw_id, str | int) and not isinstance(raw_id, bool):
        used.add("id")
    else:
        raw_id = None
    ours = {key for key, is_ours in _OUR_FORMS.items() if is_ours(item.get(key))}
    if ours_alone and not _has_named_checks(item):
        ours |= {key for key, is_ours in _OUR_TEXTS.items() if is_ours(item.get(key))}
    used |= ours
    return Case(
        id="" if raw_id is None else str(raw_id),
        prompt=prompt_of(turns) or prompt,
        checks=tuple(checks),
        files=read_files(item["files"], problems) if "files" in ours else {},
        reference=read_answer(item["reference"], problems, where="`reference`") if "reference" in ours else None,
        wrong=read_answers(item["wrong"], problems, where="`wrong`") if "wrong" in ours else (),
        family=str(item["family"]).strip() if "family" in ours else None,
        passage=str(item["passage"]) if "passage" in ours else None,
        turns=turns,
        use=next((known for known in _USES if known == item.get("use")), None),
        extra={key: value for key, value in item.items() if key not in used},
    )


_OUR_FORMS: dict[str, Callable[[Json], bool]] = {
    "files": lambda value: isinstance(value, dict),
    "reference": lambda value: isinstance(value, dict) and not {"text", "files"}.isdisjoint(value),
    "turns": lambda value: isinstance(value, list) and bool(value) and all(_is_turn(one) for one in value),
    "use": lambda value: value in _USES,
    "family": lambda value: family_problem(value) is None,
    "passage": lambda value: isinstance(value, str) and bool(value.strip()),
    "wrong": lambda value: isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value),
}
"""Keys of our own files, each with the form that ours have; a value of another form is kept as it is. In the
community's files `files` is a list of paths, and a bare text beside a case may be prose about the answer."""
_OUR_TEXTS: dict[str, Callable[[Json], bool]] = {
    "reference": lambda value: isinstance(value, str),
    "wrong": lambda value: (
        isinstance(value, list) and bool(value) and all(isinstance(one, str | dict) for one in value)
    ),
}
"""Bare texts that are answers, in a case with checks of our form."""


def _is_turn(value: Json) -> bool:
    return isinstance(value, dict) and "input" in value


def _expected(item: dict[str, Json], used: set[str]) -> list[Check]:
    expected = item.get("expected")
    if not isinstance(expected, dict):
        return []
    used.add("expected")
    return [Check(kind=kind, spec=spec) for kind, spec in expected.items()]


def _checks(item: dict[str, Json], used: set[str], problems: list[str]) -> list[Check]:
    """`checks` as `{name, kind, pattern or value, flags}`, or as ours, `{kind: spec}`."""
    listed = item.get("checks")
    if not isinstance(listed, list):
        return []
    used.add("checks")
    checks = []
    for number, entry in enumerate(listed, 1):
        if isinstance(entry, dict) and isinstance(kind := entry.get("kind"), str):
            spec = _with_flags(kind, entry, f"check {number}", problems)
            checks.append(Check(kind=kind, spec=spec))
            if not _CHECK_KEYS.issuperset(entry):
                used.discard("checks")  # kept as written: a check has no place for its name
        elif isinstance(entry, dict) and len(entry) == 1:
            checks += [Check(kind=kind, spec=spec) for kind, spec in entry.items()]
        else:
            checks.append(Check(kind="judge", spec={"statements": [entry]}))
    return checks


def _with_flags(kind: str, entry: dict[str, Json], where: str, problems: list[str]) -> Json:
    """The spec of a check. Flags become part of a pattern; a flag that would be lost is a problem."""
    spec = entry.get("pattern", entry.get("value"))
    flags = entry.get("flags") or ""
    if not isinstance(flags, str) or not (_FLAGS | _FLAGS_WITHOUT_EFFECT).issuperset(flags):
        problems.append(f"{where}: `flags` can be any of {', '.join(sorted(_FLAGS))}, not {flags!r}")
        return spec
    effective = "".join(sorted(_FLAGS.intersection(flags)))
    if not effective:
        return spec
    if kind != "regex":
        problems.append(f"{where}: `flags` are for `regex`; `{kind}` has none")
    return f"(?{effective}){spec}" if isinstance(spec, str) else spec


def _judged(item: dict[str, Json], used: set[str]) -> list[Check]:
    statements: list[Json] = []
    for key in _STATEMENT_KEYS:
        found = item.get(key)
        if isinstance(found, str) and found.strip():
            found = [found]
        if isinstance(found, list) and found:
            statements += found
            used.add(key)
    if statements:
        return [Check(kind="judge", spec={"statements": statements})]
    if item.get("checks") or item.get("expected"):
        return []
    for key in _PROSE_KEYS:
        found = item.get(key)
        if isinstance(found, str) and found.strip():
            used.add(key)
            return [Check(kind="judge", spec={"expected": found})]
    return []


CheckProblems = Callable[[Check], list[str]]

_TURN_KEYS = ("input", "prompt", "expected", "checks", "reference", "wrong")
MOST_TURNS = 10
LIST_KEYS = ("cases", "tests", "evals")
_CASE_KEYS = (
    "id",
    "turns",
    *_TURN_KEYS,
    "files",
    "use",
    "family",
    "passage",
    "extra",
)
_USES: tuple[CaseUse, ...] = get_args(CaseUse)
_MOST_ID_CHARACTERS = 100
_SLOW_SECONDS = 0.5
_MOST_SLOW_SECONDS = 5.0
"""Processor time for checks that take more than `_SLOW_SECONDS` each to look at: an ordinary file has none."""
_EXAMPLE = 'a file of cases looks like {"cases": [{"input": "…", "expected": {"contains": "…"}}]}'

_TOO_SLOW = "simplify their schemas and patterns"


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseFile:
    """The cases of one file, and where they came from."""

    path: Path
    cases: tuple[Case, ...]
    extra: Mapping[str, Json] = field(default_factory=dict)
    """What else a foreign file holds beside its cases."""


def read_skill_cases(folder: Path, *, check_problems: CheckProblems) -> CaseFile | None:
    """The cases that travel with a skill: `skill_meta.json` first, then `evals/evals.json`; `None` if neither."""
    folder = folder.parent if folder.name == SKILL_FILE else folder
    meta = folder / META_FILE
    if meta.is_file():
        require_inside(folder, meta)
        value = _load(meta)
        if not isinstance(value, dict) or any(value.get(key) not in (None, []) for key in ("cases", "tests")):
            if isinstance(value, dict):
                value.pop("evals", None)  # in our own file this is provenance, not another list of cases
            return _read(meta, value, check_problems)
        lists = [key for key, entry in value.items() if key not in LIST_KEYS and isinstance(entry, list) and entry]
        if near := get_close_matches("cases", lists, n=1, cutoff=0.75):
            raise skill_invalid(f"{meta}: the cases cannot be read", [_unknown(near[0], ["cases"])], hint=_EXAMPLE)
    evals = folder / "evals" / "evals.json"
    if not evals.is_file():
        return None
    require_inside(folder, evals)
    return read_case_file(evals, check_problems=check_problems)


def read_case_file(path: Path, *, check_problems: CheckProblems) -> CaseFile:
    """Read a case file of any known shape. Raises `SkillInvalid` with every problem found."""
    try:
        is_file, is_folder = path.is_file(), path.is_dir()
    except OSError:  # a name no file system could hold
        is_file = is_folder = False
    if not is_file:
        why = "is a folder: name a file in it" if is_folder else "no such file"
        raise UsageError(f"{on_one_line(str(path))}: {why}", hint=_EXAMPLE)
    return _read(path, _load(path), check_problems)


def cases_as_json(cases: Iterable[Case]) -> list[Json]:
    """Cases in our own shape, for a case file or for `skill_meta.json`."""
    items: list[Json] = []
    for case in cases:
        item: dict[str, Any] = {"id": case.id}
        if case.turns:
            item["turns"] = [_turn_as_json(turn) for turn in case.turns]
        else:
            item |= _turn_as_json(case)
        if case.files:
            item["files"] = files_as_json(case.files)
        if case.use is not None:
            item["use"] = case.use
        if case.family is not None:
            item["family"] = case.family
        if case.passage is not None:
            item["passage"] = case.passage
        if case.extra:
            item["extra"] = dict(case.extra)
        items.append(item)
    return items


def _turn_as_json(turn: UserTurn | Case) -> dict[str, Any]:
    item: dict[str, Any] = {"input": turn.prompt}
    if turn.checks or isinstance(turn, Case):
        item["checks"] = [{check.kind: check.spec} for check in turn.checks]
    if turn.reference is not None:
        item["reference"] = answer_as_json(turn.reference)
    if turn.wrong:
        item["wrong"] = [answer_as_json(answer) for answer in turn.wrong]
    return item


def write_case_file(path: Path, cases: Iterable[Case]) -> None:
    """Write cases in our own shape; reading them back gives equal cases."""
    items = cases_as_json(cases)
    try:
        disk.write(path, json.dumps({"cases": items}, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    except OSError as error:
        raise EngineError(f"{path}: the cases cannot be written to it ({error.strerror})") from error
    except ValueError as error:
        raise UsageError(f"{path}: these cases cannot be written as JSON: {on_one_line(str(error))}") from None


def _load(path: Path) -> Json:
    try:
        return read_json(disk.named(path))
    except ValueError as error:
        why = _other_form(path) if str(error).startswith("it is not JSON") else None
        raise skill_invalid(f"{path}: the cases cannot be read", [why or str(error)], hint=_EXAMPLE) from None


_FORMS = (
    ((".jsonl", ".ndjson"), r"\s*\{.*\}\s*\n\s*\{", "JSON Lines"),
    ((".yaml", ".yml"), r"(#.*\n|---\s|\s)*(- )?\w+:\s", "YAML"),
    ((".csv", ".tsv"), r"\s*\w+([,;\t]\w+)+\s*\n", "a table (CSV)"),
)
"""What files of cases are elsewhere: how they end, how they begin, and what they are called."""


def _other_form(path: Path) -> str | None:
    """What a file that is not JSON is instead; `None` where it may be JSON with a slip."""
    text = disk.beginning(disk.named(path), 2_000).decode("utf-8", "replace")
    for suffixes, start, name in _FORMS:
        if path.suffix.lower() in suffixes or re.match(start, text):
            theirs = " of promptfoo" if re.search(r"^[ -]*(assert|prompts|providers):", text, re.MULTILINE) else ""
            return f"it is {name}{theirs}, and cases are one JSON object or list"
    return None


def _read(path: Path, value: Json, check_problems: CheckProblems) -> CaseFile:
    foreign = is_foreign(value, path.name)
    problems: list[str] = []
    items, beside = _items(value, problems)
    if not foreign and path.name != META_FILE:
        problems[:0] = [_unknown(key, ["cases"]) for key in beside]
    check_problems = _within_time(check_problems, path)
    cases: list[Case] = []
    seen: dict[str, int] = {}
    for index, item in enumerate(items, 1):
        if not isinstance(item, dict):
            problems.append(f"case {index}: must be an object with `input` and `expected`")
            continue
        case_problems: list[str] = []
        case = (foreign_case if foreign else _own_case)(item, case_problems)
        where = f"case {index} ({case.id[:40]})" if case.id else f"case {index}"
        if "assert" in item and not foreign:
            case_problems.append(_promptfoo(item, check_problems))
        unread = not {"turns", "assert"}.isdisjoint(item) and bool(case_problems)  # what a slip hides is not missing
        case_problems += _case_problems(case, check_problems, unread=unread)
        if not case.id and not case_problems:
            # Named by its content, so that the name survives reordering the file.
            case = replace(case, id=f"case-{case.digest[:12]}")
        if case.id and (first := seen.setdefault(case.id, index)) != index:
            case_problems.append(f"has the same id as case {first}, `{case.id[:40]}`")
        problems += [f"{where}: {problem}" for problem in case_problems]
        cases.append(case)
    if not items and not problems:
        problems.append("it has no cases")
    if problems:
        raise skill_invalid(f"{path}: {count(len(problems), 'problem')} in the cases", problems, hint=_EXAMPLE)
    return CaseFile(path=path, cases=with_recognised_families(cases), extra=beside if foreign else {})


def _within_time(check_problems: CheckProblems, path: Path) -> CheckProblems:
    """The same function, which refuses the file once its slow checks together have taken too long."""
    spent = 0.0

    def problems(check: Check) -> list[str]:
        nonlocal spent
        began = time.thread_time()
        found = check_problems(check)
        took = time.thread_time() - began
        spent += took if took > _SLOW_SECONDS else 0.0
        if spent > _MOST_SLOW_SECONDS:
            raise skill_invalid(f"{path}: the checks of these cases take too long to read", found, hint=_TOO_SLOW)
        return found

    return problems


def _items(value: Json, problems: list[str]) -> tuple[list[Json], dict[str, Json]]:
    """The list of cases in a file, and what stands beside it."""
    if isinstance(value, list):
        return value, {}
    if not isinstance(value, dict):
        problems.append('must be a list of cases, or {"cases": […]}')
        return [], {}
    beside = {key: entry for key, entry in value.items() if key not in LIST_KEYS}
    given = [key for key in LIST_KEYS if value.get(key) not in (None, [])]
    if len(given) > 1:
        problems.append(f"has both `{given[0]}` and `{given[1]}`, which mean the same")
    for key in given:
        found = value[key]
        if isinstance(found, list):
            return found, beside
        problems.append(f"`{key}` must be a list")
    if not any(key in value for key in LIST_KEYS):
        problems.append("it has no key `cases`")
    return [], beside


def _unknown(key: str, known: Iterable[str]) -> str:
    near = get_close_matches(key, list(known), n=1)
    return f"`{key[:40]}` is not a known key" + (f"; did you mean `{near[0]}`?" if near else "")


def _promptfoo(item: dict[str, Json], check_problems: CheckProblems) -> str:
    """What is wrong with the assertions of a case of promptfoo, or how they are written here."""
    listed = item["assert"] if isinstance(item["assert"], list) else []
    found = {str(one.get("type")): one.get("value") for one in listed if isinstance(one, dict)}
    wrong = [one for kind, spec in found.items() for one in check_problems(Check(kind=kind, spec=spec))]
    ours = json.dumps(found or {"contains": "…"}, ensure_ascii=False)[:80]
    return f"`assert` is a key of promptfoo; {'; '.join(wrong) or f'write `expected`: {ours}'}"


def _own_case(item: dict[str, Json], problems: list[str]) -> Case:
    problems += [_unknown(key, _CASE_KEYS) for key in item if key not in (*_CASE_KEYS, "assert")]
    turns = _turns(item, problems) if "turns" in item else ()
    one = UserTurn(prompt="") if "turns" in item else _turn(item, problems)
    raw_id = item.get("id")
    if raw_id is not None and (isinstance(raw_id, bool) or not isinstance(raw_id, str | int)):
        problems.append("`id` must be a string or a whole number")
        raw_id = None
    extra = item.get("extra", {})
    if not isinstance(extra, dict):
        problems.append("`extra` must be an object")
        extra = {}
    use = item.get("use")
    if use is not None and use not in _USES:
        problems.append(f"`use` must be one of {', '.join(_USES)}")
    family = item.get("family")
    if family is not None and (problem := family_problem(family)) is not None:
        problems.append(problem)
    passage = item.get("passage")
    if passage is not None and (not isinstance(passage, str) or not passage.strip()):
        problems.append("`passage` must be a non-empty string")
    return Case(
        id="" if raw_id is None else str(raw_id),
        prompt=prompt_of(turns) or one.prompt,
        checks=tuple(check for turn in turns or (one,) for check in turn.checks),
        files=read_files(item.get("files", {}), problems),
        reference=one.reference,
        wrong=one.wrong,
        turns=turns,
        use=next((known for known in _USES if known == use), None),
        family=family.strip() if isinstance(family, str) else None,
        passage=passage if isinstance(passage, str) else None,
        extra=extra,
    )


def _turns(item: dict[str, Json], problems: list[str]) -> tuple[UserTurn, ...]:
    """The user's turns of a conversation."""
    problems += [f"has both `turns` and `{key}`, which belongs into a turn" for key in _TURN_KEYS if key in item]
    listed = item["turns"]
    if not isinstance(listed, list) or not 2 <= len(listed) <= MOST_TURNS:
        has = f"not {len(listed)}, " if isinstance(listed, list) else ""
        problems.append(
            f'`turns` must be a list of 2 to {MOST_TURNS} turns, {has}such as {{"input": "…", "expected": {{…}}}}'
        )
        return ()
    turns = []
    for number, entry in enumerate(listed, 1):
        found: list[str] = []
        if isinstance(entry, dict):
            found += [_unknown(key, _TURN_KEYS) for key in entry if key not in _TURN_KEYS]
            turns.append(_turn(entry, found))
        else:
            found.append("must be an object with `input`")
        problems += [f"turn {number}: {problem}" for problem in found]
    return tuple(turns)


def _turn(item: dict[str, Json], problems: list[str]) -> UserTurn:
    """What the user says, and what the answer to it must be."""
    if "input" in item and "prompt" in item:
        problems.append("has both `input` and `prompt`, which mean the same")
    prompt = item.get("input", item.get("prompt"))
    if not isinstance(prompt, str):
        problems.append("`input` must be a string" if prompt is not None else "has no `input`")
        prompt = ""
    elif not prompt.strip():
        problems.append("`input` is empty")
    return UserTurn(
        prompt=prompt,
        checks=(*_expected_checks(item, problems), *_listed_checks(item, problems)),
        reference=read_answer(item["reference"], problems, where="`reference`") if "reference" in item else None,
        wrong=read_answers(item.get("wrong", []), problems, where="`wrong`"),
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
            problems.append(f'check {number} must be an object with one key, its kind, such as {{"contains": "9.0"}}')
            continue
        ((kind, spec),) = entry.items()
        yield Check(kind=kind, spec=spec)


def _case_problems(case: Case, check_problems: CheckProblems, *, unread: bool) -> Iterator[str]:
    if not (case.checks or unread):
        yield f"has no checks{' in any turn' if case.turns else ''}, so every answer would pass"
    if len(case.id) > _MOST_ID_CHARACTERS or not case.id.isprintable():
        yield f"the id must be at most {_MOST_ID_CHARACTERS} printable characters"
    checks = [[check.kind, check.spec] for check in case.checks]
    whole = "".join(
        [
            case.id,
            case.prompt,
            case.family or "",
            case.passage or "",
            json.dumps([checks, dict(case.extra)], ensure_ascii=False),
        ]
    )
    if whole_characters(whole) != whole:
        yield "contains a lone surrogate (half a character), which cannot be sent to a model"
    for number, part in enumerate(case.parts, 1):
        where = f"turn {number}: " if case.turns else ""
        yield from (f"{where}{problem}" for check in part.checks for problem in check_problems(check))
