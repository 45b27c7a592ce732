"""`python`: plug-ins found by their entry point, held to their contract, and named when they are missing."""

from pathlib import Path

import pytest

from strangers import install
from upskill.core.checks import KINDS, GradingContext
from upskill.core.checks.python import PluginFault
from upskill.core.nouns.case import Json

from .run_check import run_check

MODULE = """
from upskill.core.checks.plugin import Finding

def length(inspection):
    most = (inspection.given or {}).get("most", 10)
    return Finding(len(inspection.answer.text) <= most, f"{len(inspection.answer.text)} characters")

def _problems(given):
    return [] if given is None or isinstance(given.get("most"), int) else ["`most` must be a number"]

length.problems = _problems

def files(inspection):
    return Finding(True, f"{sorted(inspection.files)} {sorted(inspection.answer.files)} {inspection.only_block!r}")

files.needs = {"files"}

def runs(inspection):
    with inspection.open_sandbox(None):
        pass

def crashes(inspection):
    raise ZeroDivisionError("of the plug-in")

def vague(inspection):
    return "yes"

def greedy(inspection): ...
greedy.needs = {"network"}

number = 3
"""
NAMES = ("length", "files", "runs", "crashes", "vague", "greedy", "number", "nowhere")


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = {f"t-{name}": f"plug_in_for_tests:{name}" for name in NAMES} | {"t-gone": "no_such_module:x"}
    plugin = f"\nfrom upskill.plugin import Plugin\n\nPLUGIN = Plugin(checks={places!r})\n"
    install(tmp_path, monkeypatch, module="plug_in_for_tests", text=MODULE + plugin)


def test_a_plug_in_looks_at_the_answer_with_what_it_is_given() -> None:
    seen = run_check("python", {"name": "t-length", "with": {"most": 3}}, "12345")
    assert (seen.passed, seen.saw) == (False, "5 characters")
    assert run_check("python", "t-length", "12345").passed


def test_a_plug_in_sees_the_same_files_whether_real_or_fenced() -> None:
    text = "```py a.py\nx\n```"
    for seen in (
        run_check("python", "t-files", text, case_files={"b": b""}),
        run_check("python", "t-files", files={"a.py": b"x\n"}, case_files={"b": b""}),
    ):
        assert seen.saw == "['a.py', 'b'] ['a.py'] None"
    assert run_check("python", "t-files", "```py\nx\n```").saw == "[] [] 'x\\n'"


def test_what_a_plug_in_needs_is_what_it_declares() -> None:
    assert KINDS["python"].needs("t-files") == {"files"}
    assert KINDS["python"].needs("t-length") == frozenset()


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (3, "`python` must be the name of a plug-in"),
        ("t-lenght", "`python`: there is no plug-in `t-lenght`: installed:"),
        ({"name": "t-length", "given": 3}, "`python`: `given` is not a known key"),
        ({"name": "t-length", "with": {"most": "x"}}, "`python`: t-length: `most` must be a number"),
        ({"name": "t-length", "with": 3}, "`python`: t-length: cannot check `with`: AttributeError"),
        ("t-gone", "`python`: t-gone: no_such_module:x cannot be loaded: ModuleNotFoundError"),
        ("t-nowhere", "`python`: t-nowhere: plug_in_for_tests:nowhere cannot be loaded: AttributeError"),
        ("t-number", "`python`: t-number: plug_in_for_tests:number is not a function"),
        ("t-greedy", "`python`: t-greedy: `needs` may contain files and sandbox"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(spec: Json, problem: str) -> None:
    (found,) = KINDS["python"].problems(spec)
    assert found.startswith(problem)


def test_an_unknown_plug_in_is_answered_with_the_installed_ones() -> None:
    (found,) = KINDS["python"].problems("t-lenght")
    assert "t-crashes, t-files" in found
    assert found.endswith("did you mean `t-length`?")


def test_a_plug_in_that_crashes_raises_instead_of_failing_the_answer() -> None:
    with pytest.raises(ZeroDivisionError):
        run_check("python", "t-crashes", "x")
    with pytest.raises(PluginFault, match="returned str, not a Finding"):
        run_check("python", "t-vague", "x")
    with pytest.raises(PluginFault, match="asks for a sandbox, but does not declare it"):
        run_check("python", "t-runs", "x", context=GradingContext())
    with pytest.raises(PluginFault, match="there is no plug-in"):
        run_check("python", "t-unknown", "x")
