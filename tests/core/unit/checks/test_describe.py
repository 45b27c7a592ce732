"""What a check asks for, in words: what a person who reads a result needs to judge it."""

import pytest

from upskill.core.checks import KINDS, MOST_SEEN, describe
from upskill.core.nouns import Check
from upskill.core.nouns.case import Json


@pytest.mark.parametrize(
    ("kind", "spec", "said"),
    [
        ("contains", ["7413", "tarn.kdl"], "the answer contains '7413', 'tarn.kdl'"),
        ("excludes", "systemctl", "the answer does not contain 'systemctl'"),
        ("equals", "7413", "the whole answer is '7413'"),
        ("regex", r"\b47\b", r"the answer matches the pattern \b47\b"),
        ("file", "a.txt", "the file a.txt exists"),
        ("file", {"path": "a.txt", "absent": True}, "the file a.txt does not exist"),
        ("file", {"path": "a", "contains": "x", "matches": "^y"}, "the file a contains 'x' and matches the pattern ^y"),
        ("command", "make check | tail", "make check | tail\nexits with 0"),
        (
            "command",
            {"run": ["python3", "check it.py"], "exit_code": 2, "files": {"check it.py": "pass"}},
            "python3 'check it.py'\nexits with 2, with its own check it.py",
        ),
        ("json", {"at": "a.b", "equals": 1}, '{"at": "a.b", "equals": 1}'),
        ("python", "units", "units"),
        ("judge", {"statements": ["It is short.", "It is polite."]}, "the judge finds that the answer meets: "
         "It is short.; It is polite."),
        ("tools", ["shell"], "the model uses shell"),
        ("tools", {"forbidden": "web", "at_most": {"shell": 2}}, "the model does not use web and makes at most "
         "2 of shell"),
        ("commands", {"ran": "make", "not_ran": ["rm"]}, "the model runs a command that begins with the pattern make "
         "and runs no command that matches the pattern rm"),
        ("files_read", {"not_read": "secrets/*"}, "the model does not read 'secrets/*'"),
        ("turns", 5, "the answer takes at most 5 turns"),
        ("of another version", {"a": "ü"}, '{"a": "ü"}'),
    ],
)  # fmt: skip
def test_a_check_is_described_by_what_it_asks_for(kind: str, spec: Json, said: str) -> None:
    assert describe(Check(kind=kind, spec=spec)) == said


def test_a_long_description_is_cut() -> None:
    assert len(describe(Check(kind="contains", spec="x" * 10_000))) == MOST_SEEN + 1


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize(
    "spec", [None, 1, "", [], {}, [None], {"run": None, "files": [1]}, {"path": {}, "contains": 1}]
)
def test_any_spec_has_a_description(kind: str, spec: Json) -> None:
    assert isinstance(describe(Check(kind=kind, spec=spec)), str)
