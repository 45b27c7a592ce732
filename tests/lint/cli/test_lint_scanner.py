"""`upskill lint --scanner cisco` with a stand-in for `skill-scanner`, in a real sandbox.

The stand-in prints JSON of the shape that cisco-ai-skill-scanner 2.3.2 prints, and exits with 0 as that does.
"""

import json
from pathlib import Path

import pytest

from typed import Upskill
from upskill.errors import EngineError
from upskill.lint.folder import read_folder
from upskill.lint.scanner import find_cisco

HEAD = """#!/usr/bin/python3
import json, os, pathlib, socket, sys, time

def finding(severity, **more):
    return {"id": "X_1", "rule_id": "X", "category": "data_exfiltration", "severity": severity, "title": "Sends data",
            "description": "It sends data.", "file_path": "SKILL.md", "line_number": None, "snippet": None,
            "remediation": "Remove it.", "analyzer": "static", "metadata": {}, **more}

def report(*findings, **more):
    print(json.dumps({"skill_name": "good", "skill_path": sys.argv[2], "is_safe": False, "max_severity": "CRITICAL",
                      "findings_count": len(findings), "findings": list(findings), **more}))

"""


@pytest.fixture
def skill(here: Path) -> Path:
    folder = here / "good"
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: good\ndescription: Merges PDF files. Use when asked.\n---\nRun it.\n")
    (folder / "evals" / "evals.json").write_text("[]")
    return folder


def _install(where: Path, code: str) -> str:
    """A stand-in in an environment of its own; returns the search path to it."""
    (where / "bin").mkdir(parents=True, exist_ok=True)
    where.chmod(0o755)
    (where / "pyvenv.cfg").write_text("home = /usr/bin\n")
    program = where / "bin" / "skill-scanner"
    program.write_text(HEAD + code)
    program.chmod(0o755)
    return f"{where / 'bin'}:/usr/bin:/bin"


def test_findings_of_the_scanner_are_shown_with_their_origin_and_count(
    upskill: Upskill, skill: Path, tmp_path: Path
) -> None:
    path = _install(
        tmp_path / "scanner", 'report(finding("CRITICAL", file_path="a\\x1b[2J", snippet="x"), finding("INFO"))'
    )
    done = upskill("lint", "good", "--scanner", "cisco", "--json", "--sarif", "out.sarif", PATH=path)
    assert done.returncode == 1, done.stderr
    result = json.loads(done.stdout)
    assert (result["scanner"], result["counts"]["danger"], result["counts"]["caution"]) == ("cisco", 1, 1)
    assert result["limits"].startswith("Static rules only: ")
    found = result["skills"][0]["findings"]
    assert [(one["rule"], one["severity"], one["line"], one["excerpt"]) for one in found] == [
        ("cisco/X", "danger", 1, "x"),
        ("cisco/X", "caution", 1, "Sends data"),
    ]
    run = json.loads((skill.parent / "out.sarif").read_text())["runs"][0]
    assert [one["ruleId"] for one in run["results"]] == ["cisco/X", "cisco/X"]
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert [(one["level"], one["message"]["text"]) for one in notes] == [("note", result["limits"])]
    shown = upskill("lint", "good", "--scanner", "cisco", PATH=path)
    assert "danger: cisco/X\n" in shown.stdout
    assert "\x1b" not in shown.stdout
    _install(tmp_path / "scanner", 'report(finding("MEDIUM"))')
    assert upskill("lint", "good", "--scanner", "cisco", PATH=path).returncode == 0


def test_the_scanner_has_no_network_no_keys_and_sees_only_what_an_agent_gets(
    upskill: Upskill, skill: Path, tmp_path: Path
) -> None:
    path = _install(
        tmp_path / "scanner",
        "try:\n"
        "    socket.create_connection(('192.0.2.1', 80), timeout=2); net = 'open'\n"
        "except OSError as error:\n"
        "    net = type(error).__name__ + str(error.errno)\n"
        "seen = sorted(str(one) for one in pathlib.Path(sys.argv[2]).rglob('*'))\n"
        "report(finding('INFO', snippet=json.dumps([net, sorted(os.environ), seen, sys.argv[1:]])))\n",
    )
    done = upskill(
        "lint", "good", "--scanner", "cisco", "--json", PATH=path, OPENAI_API_KEY="sk-none", VIRUSTOTAL_API_KEY="x"
    )
    net, names, seen, words = json.loads(json.loads(done.stdout)["skills"][0]["findings"][0]["excerpt"])
    assert net == "OSError101"
    assert set(names) <= {"HOME", "LANG", "PATH", "PWD", "LC_CTYPE"}
    assert seen == ["/workspace/good/SKILL.md"]
    assert words == ["scan", "/workspace/good", "--format", "json", "--compact", "--use-behavioral", "--lenient"]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("sys.exit(1)", "exit code 1: no message"),
        ("sys.exit('Error loading skill: x')", "exit code 1: Error loading skill: x"),
        ("print('No findings.')", "its answer is no report"),
        ("pass", "its answer is no report"),
        ("print('[]')", "its answer is no report"),
        ("print('{}')", "its answer is no report"),
        ("report(findings_count=1)", "not every finding is listed"),
        ("report(finding('SEVERE'))", "its answer is no report"),
        ("report(analyzers_failed=[{'analyzer': 'static', 'error': 'no rules'}])", "analysers failed"),
        ("print('[' * 100_000)", "its answer is no report"),
        ("print('x' * 20_000_000)", "ended by output"),
        ("os.kill(os.getpid(), 9)", "exit code"),
    ],
)
def test_a_scanner_without_a_whole_answer_is_an_error_and_never_no_findings(
    upskill: Upskill, skill: Path, tmp_path: Path, code: str, why: str
) -> None:
    done = upskill("lint", "good", "--scanner", "cisco", PATH=_install(tmp_path / "scanner", code))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: good: skill-scanner did not search it (")
    assert why in done.stderr


def test_a_scanner_that_hangs_is_ended(skill: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", _install(tmp_path / "scanner", "time.sleep(600)"))
    with pytest.raises(EngineError, match="ended by timeout"):
        find_cisco(seconds=1)(read_folder(skill))


def test_a_scanner_of_the_working_folder_or_of_no_environment_is_not_run(
    upskill: Upskill, skill: Path, here: Path, tmp_path: Path
) -> None:
    done = upskill("lint", "good", "--scanner", "cisco")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(
        "error: --scanner cisco: the program `skill-scanner` is not installed\nhint:  install it "
    )
    inside = _install(here / "scanner", f"open({str(tmp_path / 'ran')!r}, 'w')")
    assert upskill("lint", "good", "--scanner", "cisco", PATH=inside).returncode == 3
    assert upskill("lint", "good", "--scanner", "cisco", PATH=f".:scanner/bin:{inside}").returncode == 3
    bare = _install(tmp_path / "bare", "report()")
    (tmp_path / "bare" / "pyvenv.cfg").unlink()
    done = upskill("lint", "good", "--scanner", "cisco", PATH=bare)
    assert done.returncode == 3
    assert "is in no virtual environment" in done.stderr
    assert not (tmp_path / "ran").exists()
    assert upskill("lint", "good", "--scanner", "snyk").returncode == 2
