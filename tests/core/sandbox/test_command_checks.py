"""`command`: real programs in real sandboxes, on answers that are right, wrong and hostile."""

import pytest

from upskill.core.checks import KINDS, GradingContext, grade
from upskill.core.checks.command import ProgramMissing
from upskill.core.checks.kind import Submission
from upskill.core.nouns import Answer, Case, Check
from upskill.core.nouns.case import Json
from upskill.sandbox import Sandbox, SandboxSpec, open_sandbox

COMMAND = KINDS["command"]
CONTEXT = GradingContext(open_sandbox=open_sandbox)
PYTHON: list[Json] = ["python3", "-I", "-B"]


def run_check(
    spec: Json, text: str = "", files: dict[str, bytes] | None = None, case_files: dict[str, bytes] | None = None
) -> tuple[bool, str]:
    assert COMMAND.problems(spec) == []
    case = Case(id="c", prompt="p", checks=(), files=case_files or {})
    seen = COMMAND.check(spec, Submission(case=case, answer=Answer(text=text, files=files or {}), context=CONTEXT))
    return seen.passed, seen.saw


def test_the_exit_code_decides_and_the_output_is_kept() -> None:
    assert run_check("echo out; echo err >&2") == (True, "exit 0; stderr: err; stdout: out")
    assert run_check("exit 3") == (False, "exit 3 instead of 0")
    assert run_check({"run": "exit 3", "exit_code": 3}) == (True, "exit 3")


def test_the_text_of_the_answer_is_on_standard_input() -> None:
    assert run_check(["cat"], "what the student said") == (True, "exit 0; stdout: what the student said")


def test_real_and_fenced_files_run_alike() -> None:
    spec: Json = {"run": [*PYTHON, "solve.py"]}
    assert run_check(spec, files={"solve.py": b"print(6 * 7)"}) == (True, "exit 0; stdout: 42")
    assert run_check(spec, "```python solve.py\nprint(6 * 7)\n```") == (True, "exit 0; stdout: 42")
    block: Json = {"run": [*PYTHON, "solve.py"], "block": "solve.py"}
    assert run_check(block, "Sure!\n```python\nprint(6 * 7)\n```") == (True, "exit 0; stdout: 42")


def test_the_checks_own_files_win_over_the_students_and_those_over_the_cases() -> None:
    spec: Json = {"run": "cat a b c", "files": {"c": "check"}}
    ours = {"a": b"case", "b": b"case", "c": b"case"}
    theirs = {"b": b" student ", "c": b"student"}
    assert run_check(spec, files=theirs, case_files=ours) == (True, "exit 0; stdout: case student check")


def test_a_student_cannot_put_a_folder_where_the_check_has_a_file_nor_the_other_way_round() -> None:
    spec: Json = {"run": "cat t.py d/x", "files": {"t.py": "1", "d/x": "2"}}
    assert run_check(spec, files={"t.py/evil": b"", "d": b"evil"}) == (True, "exit 0; stdout: 12")


def test_only_what_is_taken_reaches_the_check() -> None:
    spec: Json = {"run": "ls -A", "take": ["*.py"]}
    assert run_check(spec, files={"a.py": b"", "conftest.cfg": b"", "d/b.py": b""}) == (
        True,
        "exit 0; stdout: a.py / d",
    )


def test_every_look_has_a_sandbox_of_its_own_and_closes_it() -> None:
    opened: list[Sandbox] = []

    def opening(spec: SandboxSpec) -> Sandbox:
        opened.append(open_sandbox(spec))
        return opened[-1]

    checks = (Check(kind="command", spec="test ! -e mark && touch mark"),) * 2
    graded = grade(Case(id="c", prompt="p", checks=checks), Answer(), context=GradingContext(open_sandbox=opening))
    assert graded.passed
    assert len(opened) == 2
    assert all(sandbox.run(["true"], seconds=1).ended == "gone" for sandbox in opened)


@pytest.mark.parametrize(
    ("spec", "saw"),
    [
        ({"run": "sleep 30", "seconds": 0.5}, "timeout after 0.5 s"),
        ({"run": "sleep 30 & sleep 30", "seconds": 0.5}, "timeout after 0.5 s"),
        ({"run": "kill -9 $$"}, "killed by signal 9"),
        ({"run": "yes", "limits": {"output_bytes": 1_000}}, "stopped: over the output limit"),
        ({"run": [*PYTHON, "-c", "import os; os.abort()"]}, "killed by signal 6"),
    ],
)
def test_what_the_artifact_does_to_the_command_fails_the_answer(spec: Json, saw: str) -> None:
    passed, seen = run_check(spec)
    assert not passed
    assert seen.startswith(saw)


def test_a_program_that_the_student_should_have_left_and_did_not_fails_the_answer() -> None:
    assert run_check(["./run.sh"]) == (False, "run.sh is missing; found no file")
    assert run_check(["./run.sh"], files={"run.sh": b"#!/bin/sh\nexit 0\n"}) == (True, "exit 0")


@pytest.mark.parametrize(
    "run", ["no-such-compiler -c a.c", ["no-such-compiler"], {"run": "true", "programs": ["no-such"]}]
)
def test_a_program_of_the_check_that_is_missing_is_an_error_of_ours(run: Json) -> None:
    spec: Json = run if isinstance(run, dict) else {"run": run}
    # A student that leaves a file of that name changes nothing.
    with pytest.raises(ProgramMissing, match="nothing was measured"):
        run_check(spec, files={"no-such-compiler": b"#!/bin/sh\nexit 0\n"})


@pytest.mark.parametrize("run", ["X=1 true", "(true)", "if true; then exit 0; fi", "! false", "cd / && true", "'true'"])
def test_shell_commands_of_any_form_are_run(run: str) -> None:
    assert run_check(run) == (True, "exit 0")


def test_there_is_no_network_and_no_key_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    passed, saw = run_check("env; cat /proc/net/route | wc -l")
    assert passed
    assert "sk-planted" not in saw
    assert saw.endswith("1") or saw.endswith("0")


def test_without_a_sandbox_nothing_is_run() -> None:
    with pytest.raises(RuntimeError, match="needs a sandbox"):
        COMMAND.check(
            "true", Submission(case=Case(id="c", prompt="p", checks=()), answer=Answer(), context=GradingContext())
        )


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (3, "`command` must be a command"),
        ("", "`command`: `run` must be a shell command"),
        ([], "`command`: `run` must be a shell command"),
        (["a", 3], "`command`: `run` must be a shell command"),
        ({"rnu": "x"}, "`command`: `rnu` is not a known key; did you mean `run`?"),
        ({"run": "x", "files": {"../x": ""}}, "`command`: `files`: the name '../x' leads out"),
        ({"run": "x", "files": {"a": 3}}, "`command`: `files`: 'a' must be text"),
        ({"run": "x", "block": "/x"}, "`command`: `block` '/x' is not relative"),
        ({"run": "x", "seconds": 0}, "`command`: `seconds` must be more than 0"),
        ({"run": "x", "seconds": 6_000}, "`command`: `seconds` must be more than 0 and at most 600"),
        ({"run": "x", "exit_code": True}, "`command`: `exit_code` must be a number"),
        ({"run": "x", "limits": {"memory": 3}}, "`command: limits`: `memory` is not a known key; did you mean"),
        ({"run": "x", "limits": {"memory_mb": 10**9}}, "`command: limits`: `memory_mb` must be a whole number from 1"),
        ({"run": "x", "take": "a"}, "`command`: `take` must be a list"),
    ],
)
def test_a_wrong_spec_is_explained(spec: Json, problem: str) -> None:
    assert any(found.startswith(problem) for found in COMMAND.problems(spec))
