"""The dialects of `evals/evals.json` found in the wild. Unknown keys are kept; prose goes to a judge.

Statements written for a judge never become `contains`: a sentence is not a string to be found.
"""

from collections.abc import Callable

from upskill.core.cases.family import family_problem
from upskill.core.nouns import Case, Check
from upskill.core.nouns.case import Json
from upskill.core.nouns.skill import read_answer, read_answers, read_files

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
    listed = item.get("checks")
    named = isinstance(listed, list) and any(isinstance(entry, dict) and "kind" in entry for entry in listed)
    return named or not _FOREIGN_KEYS.isdisjoint(item)


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
    if not prompt.strip():
        problems.append(f"has no prompt, under any of {', '.join(_PROMPT_KEYS)}")
    checks = [*_checks(item, used, problems), *_expected(item, used), *_judged(item, used)]
    raw_id = item.get("id")
    if isinstance(raw_id, str | int) and not isinstance(raw_id, bool):
        used.add("id")
    else:
        raw_id = None
    ours = {key for key, is_ours in _OUR_FORMS.items() if is_ours(item.get(key))}
    used |= ours
    return Case(
        id="" if raw_id is None else str(raw_id),
        prompt=prompt,
        checks=tuple(checks),
        files=read_files(item["files"], problems) if "files" in ours else {},
        reference=read_answer(item["reference"], problems, where="`reference`") if "reference" in ours else None,
        wrong=read_answers(item["wrong"], problems, where="`wrong`") if "wrong" in ours else (),
        family=str(item["family"]).strip() if "family" in ours else None,
        passage=str(item["passage"]) if "passage" in ours else None,
        extra={key: value for key, value in item.items() if key not in used},
    )


_OUR_FORMS: dict[str, Callable[[Json], bool]] = {
    "files": lambda value: isinstance(value, dict),
    "reference": lambda value: isinstance(value, dict) and not {"text", "files"}.isdisjoint(value),
    "family": lambda value: family_problem(value) is None,
    "passage": lambda value: isinstance(value, str) and bool(value.strip()),
    "wrong": lambda value: isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value),
}
"""Keys of our own files, each with the form that ours have; a value of another form is kept as it is. In the
community's files `files` is a list of paths, and a bare text beside a case may be prose about the answer."""


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
