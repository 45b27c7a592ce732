"""Whatever stands in a spec, it is refused in words or it can be used; nothing in between."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from upskill.core.checks import KINDS, check_problems
from upskill.core.nouns import Check
from upskill.core.nouns.case import Json

from .run_check import run_check, shell

_TEXTS = st.one_of(
    st.text(max_size=5),
    st.sampled_from(
        ["a.toml", "../x", "/x", "a[0]", "a.b", "[", "(", "a*", "#", "#/a", "reference", "\x00", "\ud800", "~"]
    ),
)
_KEYS = st.sampled_from([
    "path", "contains", "excludes", "matches", "absent", "schema", "at", "equals", "run", "files", "take", "block",
    "exit_code", "seconds", "limits", "programs", "memory_mb", "name", "with", "rubric", "statements", "expected",
    "against", "type", "properties", "$ref", "pattern", "items", "enum", "multipleOf", "required", "base64", "$id",
    "$defs", "allOf", "not", "$dynamicRef", "$anchor", "minimum", "uniqueItems", "format", "a",
    "used", "forbidden", "order", "at_most", "ran", "not_ran", "read", "not_read",
])  # fmt: skip
_SPECS: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(allow_nan=False), _TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=4)),
    max_leaves=10,
)


@given(
    kind=st.sampled_from(sorted(KINDS)),
    spec=_SPECS,
    answer=st.sampled_from(["", "{}", "a = 1", "[1, 1]", "```\na: 1\n```"]),
)
def test_a_spec_is_refused_in_words_or_can_be_used(kind: str, spec: Json, answer: str) -> None:
    problems = check_problems(Check(kind=kind, spec=spec), judge=True)
    assert all(isinstance(problem, str) and problem for problem in problems)
    if problems:
        return
    assert KINDS[kind].needs(spec) <= {"files", "sandbox", "judge", "trajectory"}
    if kind not in ("command", "python", "judge"):
        seen = run_check(kind, spec, answer, files={"a.toml": answer.encode()}, calls=[shell("cat a.toml && make a")])
        assert isinstance(seen.passed, bool)
        assert seen.saw
