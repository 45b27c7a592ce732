"""Reading the spec of a check that is an object: which keys it may have, and of which type."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from upskill.checks.kind import string_problems, type_name
from upskill.checks.regex import Regex
from upskill.domain.case import Json
from upskill.domain.files import path_problem


def unknown_keys(spec: Mapping[str, Json], known: Iterable[str], *, kind: str) -> list[str]:
    """A problem for each key that a spec may not have, with what was probably meant."""
    names = list(known)
    problems = []
    for key in spec:
        if key not in names:
            near = get_close_matches(key, names, n=1)
            guess = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(names)}"
            problems.append(f"`{kind}`: `{key[:40]}` is not a known key; {guess}")
    return problems


def path_problems(spec: Mapping[str, Json], key: str, *, kind: str) -> list[str]:
    """What is wrong with a key that names a file in the student's folder."""
    value = spec.get(key)
    if not isinstance(value, str):
        return [f"`{kind}`: `{key}` must be the name of a file, not {type_name(value)}"]
    problem = path_problem(value)
    return [] if problem is None else [f"`{kind}`: `{key}` {value[:60]!r} {problem}"]


def text_problems(spec: Mapping[str, Json], *, kind: str) -> list[str]:
    """What is wrong with `contains`, `excludes` and `matches`, where they are given."""
    problems = []
    for key in ("contains", "excludes"):
        if key in spec:
            problems += string_problems(spec[key], kind=f"{kind}: {key}", many=True)
    if "matches" in spec:
        problems += [problem.replace("`regex`", f"`{kind}: matches`") for problem in Regex().problems(spec["matches"])]
    return problems


def flag_problems(spec: Mapping[str, Json], key: str, *, kind: str) -> list[str]:
    """What is wrong with a key that can only be switched on."""
    return [] if key not in spec or spec[key] is True else [f"`{kind}`: `{key}` can only be true; else leave it out"]
