"""Command checks that a model could pass by the names of the files that it leaves."""

from pathlib import Path

import pytest

from upskill.core.cases.files import read_skill_cases
from upskill.core.checks import KINDS, check_problems
from upskill.core.checks.command import BY_PYTEST, NOT_ISOLATED
from upskill.core.nouns.case import Json

ROOT = Path(__file__).parents[4]


def doubts_of(spec: Json) -> list[str]:
    return KINDS["command"].doubts(spec)


@pytest.mark.parametrize(
    "run",
    [
        "python3 check.py",
        "python check.py",
        "python3.11 -B check.py",
        "/usr/bin/python3 check.py",
        "env python3 check.py",
        "env -u X A=1 python3 check.py",
        "test -f a && python3 -W error check.py | tail -n 1",
        "timeout 9 python3 -c 'import json'",
        "bash -c 'python3 check.py'",
        "python3 -m unittest",
        "python3 check.py -I",
        ["python3", "check.py"],
        ["/usr/bin/env", "python3", "-B", "check.py"],
    ],
)
def test_python_without_isolation_is_doubted(run: Json) -> None:
    assert doubts_of(run) == [NOT_ISOLATED]
    assert doubts_of({"run": run, "take": ["solve.py"]}) == [], "nothing of the model is imported by its name"


@pytest.mark.parametrize(
    "run",
    [
        "python3 -I -B check.py",
        "python3 -IB check.py",
        "python3 -X dev -W error -I check.py",
        "env python3 -I -c 'import json'",
        ["python3", "-B", "-I", "check.py"],
        "grep -q python3 notes.txt",
        "echo pytest",
        "node check.js",
        "./python3-check",
    ],
)
def test_isolated_python_and_other_programs_are_not(run: Json) -> None:
    assert doubts_of(run) == []


@pytest.mark.parametrize("run", ["pytest -q", "uv run pytest", "/usr/bin/pytest", "python3 -I -m pytest", ["py.test"]])
def test_pytest_is_doubted_however_it_is_started(run: Json) -> None:
    assert doubts_of(run) == [BY_PYTEST]


def test_our_own_cases_are_beyond_doubt() -> None:
    folders = [file.parent for root in ("gallery", "examples", "skills") for file in (ROOT / root).rglob("SKILL.md")]
    found = [
        read_skill_cases(folder, check_problems=lambda check: check_problems(check, judge=True)) for folder in folders
    ]
    cases = [case for one in found if one is not None for case in one.cases]
    assert len(cases) > 50
    assert [case.id for case in cases for check in case.checks if KINDS[check.kind].doubts(check.spec)] == []
