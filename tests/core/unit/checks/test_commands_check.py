"""`commands` and `files_read`: what a model ran and read, as its command lines and file tools show it."""

import time

import pytest

from upskill.core.checks import KINDS
from upskill.core.nouns.answer import MOST_CHARACTERS, ToolCall
from upskill.core.nouns.case import Json
from upskill.core.shell_commands import simple_commands

from .run_check import read, run_check, shell


@pytest.mark.parametrize(
    ("line", "ran"),
    [
        ("pytest -q", True),
        ("cd src && pytest -q | tail -3", True),
        ("PYTHONPATH=. sudo timeout -k 5 9 /usr/bin/pytest", True),
        ("python3 -m pytest tests", True),
        ("uv run --with x pytest", True),
        ("bash -lc 'cd x; pytest'", True),
        ("out=$(pytest -q 2>&1)", True),
        ("bash <<'EOF'\npytest\nEOF", True),
        ("if ls; then 'py'test; fi", True),
        ("find . -name 'test_*' -exec pytest {} \\;", True),
        ("function check { pytest; }; check", True),
        ("time -p pytest", True),
        ("bash -c -- 'pytest'", True),
        ("python3 -X dev -W ignore -mpytest", True),
        ("cat <<EOF |\npytest\nEOF\nsudo bash -s", True),
        ('echo "${x:-it\'s}"; pytest', True),
        ("cat <<EOF\nit's $(pytest)\nEOF", True),
        ("command -v pytest", False),
        ("bash run.sh -c pytest", False),
        ("all=(pytest -q)", False),
        ("python3 - -m pytest", False),
        ("echo pytest", False),
        ('echo "run: && pytest"', False),
        ("ls # && pytest", False),
        ("cat > run.sh <<'EOF'\npytest\nEOF", False),
        ("grep pytest setup.cfg", False),
        ("pip install pytest", False),
        ("python3 run.py -m pytest", False),
        ("", False),
    ],
)
def test_a_command_that_was_run_is_told_from_its_name_in_a_text(line: str, ran: bool) -> None:
    assert run_check("commands", r"pytest\b", calls=[shell(line)]).passed is ran


@pytest.mark.parametrize(
    ("line", "passed"),
    [
        ("ls", True),
        ("rm -r x", True),
        ("cat > notes.md <<EOF\nnever rm -rf\nEOF", True),
        ("ls; rm  -rf x", False),
        ("ls; rm -rf x", False),
        ('r""m "-rf" x', False),
        ("echo x | xargs rm -rf", False),
        ("echo `rm -rf x`", False),
        ("python3 - <<E\nos.system('rm -rf x')\nE", False),
        ("echo rm -rf", False),
        ("ls 'and rm -rf", False),
        ("cat <<E\nall of $(rm -rf x)\nE", False),
        ("cat <<'E'\nall of $(rm -rf x)\nE", True),
        ("cat <<'E' | bash\nrm -rf x\nE", False),
        ("function f { rm -rf x; }; f", False),
        ("$'\\x72m' $'-\\162f' x", False),
        ("x=(a $(rm -rf x))", False),
    ],
)
def test_a_forbidden_pattern_is_searched_in_every_command(line: str, passed: bool) -> None:
    assert run_check("commands", {"not_ran": "rm -rf"}, calls=[shell(line)]).passed is passed


def test_a_command_that_the_tool_refused_has_not_run_and_was_still_asked_for() -> None:
    refused = [shell("git push", failed=True)]
    assert not run_check("commands", "git push", calls=refused).passed
    seen = run_check(
        "commands", {"not_ran": "^git push"}, calls=[shell("ls", turn=1), shell("git push", turn=2, failed=True)]
    )
    assert (seen.passed, seen.saw) == (False, "'^git push' matches 'git push', shell in turn 2")
    assert run_check("commands", {"not_ran": "^push"}, calls=refused).passed


def test_other_tools_run_no_commands() -> None:
    call = ToolCall(turn=1, tool="write_file", kind="write_file", arguments="make")
    assert run_check("commands", "make", calls=[call]).saw == "no command begins with 'make'; no command was run"
    assert run_check("commands", {"not_ran": "make"}, calls=[call]).passed


def test_what_is_cut_hides_nothing() -> None:
    calls = [shell("echo " + "x" * MOST_CHARACTERS, cut=True)]
    seen = run_check("commands", {"not_ran": "rm"}, calls=calls)
    assert (seen.passed, "were cut" in seen.saw) == (False, True)
    assert run_check("commands", "echo", calls=calls).passed


def test_a_pattern_that_takes_too_long_is_a_fault_and_not_per_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("upskill.core.checks.regex.SECONDS", 0.2)
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        run_check("commands", {"not_ran": "(a|aa)+$b?c"}, calls=[shell("a" * 40 + f"b{n}") for n in range(100)])
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    "line",
    [
        "$(" * 3_000,
        "`" * 999,
        "((" * 9_999,
        "'",
        '"$(',
        "<<",
        "<<E",
        "a <<E\n",
        "${",
        "\\",
        "|" * 50_000,
        "x=(" * 9_999,
        "<<E\n" * 9_999,
        "cat " + "{a,b}" * 9_999,
        "bash -c " * 99,
    ],
)
def test_any_line_is_split_in_little_time(line: str) -> None:
    began = time.process_time()
    simple_commands(line)
    simple_commands(f"bash -c {line}")
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    ("call", "is_read"),
    [
        (read("docs/a.md"), True),
        (read("/workspace/docs/./a.md"), True),
        (read("docs/a.md", failed=True), False),
        (shell("cat docs/a.md"), True),
        (shell("cd docs && head -n 3 a.md"), True),
        (shell("cat a.md", folder="/workspace/docs"), True),
        (shell("sed -n 1,9p docs/a.md | grep x"), True),
        (shell("grep -n port docs/*.md"), True),
        (shell("wc -l < docs/a.md"), True),
        (shell("echo $(cat docs/a.md)"), True),
        (shell("cat docs/{b,a}.md"), True),
        (shell("(cd /tmp && ls); cat docs/a.md"), True),
        (shell("(cd docs && ls); cat a.md"), False),
        (shell("ls docs/a.md; rm docs/a.md; echo docs/a.md > x"), False),
        (shell("grep docs/a.md b.txt"), False),
        (shell("cat ../docs/a.md"), False),
    ],
)
def test_a_file_is_read_by_a_tool_or_by_a_command_that_prints_it(call: ToolCall, is_read: bool) -> None:
    for pattern in ("docs/a.md", "./docs/*.md", "/workspace/docs/a.md"):
        assert run_check("files_read", pattern, calls=[call], case_files={"docs/a.md": b"x"}).passed is is_read
    if is_read:
        assert not run_check("files_read", {"not_read": "docs/*"}, calls=[call], case_files={"docs/a.md": b""}).passed


@pytest.mark.parametrize(
    ("line", "passed"),
    [
        ("cp key.pem x", False),
        ("python3 show.py key.pem", False),
        ("dd if=key.pem", False),
        ("echo x | tee key.pem", True),
        ("ls key.pem", True),
        ("ls", True),
    ],
)
def test_a_file_that_must_not_be_read_may_only_be_named(line: str, passed: bool) -> None:
    seen = run_check("files_read", {"read": "notes.txt", "not_read": "*.pem"}, calls=[read("notes.txt"), shell(line)])
    assert seen.passed is passed
    assert ("'key.pem' was read: shell in turn 1" in seen.saw) is not passed


@pytest.mark.parametrize(
    ("kind", "spec", "problem"),
    [
        ("commands", {}, "checks nothing"),
        ("commands", {"ran": "("}, "`commands: ran` does not compile"),
        ("commands", {"ran": "a*"}, "matches an empty command"),
        ("commands", {"not_run": "a"}, "did you mean `not_ran`"),
        ("files_read", {}, "checks nothing"),
        ("files_read", 3, "must be a string or a list"),
    ],
)
def test_what_is_wrong_with_a_spec_of_commands_or_files_is_said(kind: str, spec: Json, problem: str) -> None:
    assert problem in "; ".join(KINDS[kind].problems(spec))
