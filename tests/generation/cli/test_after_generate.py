"""After a `generate`: what it printed leads on, and every command that looks back knows its run."""

import json
import re
import shutil
from pathlib import Path

import pytest

from typed import Upskill
from typed_in_terminal import Terminal

SCRIPTED = Path(__file__).parents[3] / "examples" / "scripted"
GENERATE = ("generate", "tarnctl facts", "-m", "scripted/teacher.yaml", "--eval-model", "scripted/student.yaml")


@pytest.fixture
def scripts(here: Path) -> Path:
    for name in ("teacher.yaml", "student.yaml"):
        shutil.copy(SCRIPTED / name, here)
    return here


def test_a_generate_says_how_to_see_its_answers_and_every_command_finds_them(upskill: Upskill, scripts: Path) -> None:
    done = upskill(*GENERATE, "--cases", "6+6+0", "--yes", "-v")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^next, \S.*: upskill eval ./skills/tarnctl-facts -m scripted/student.yaml", done.stderr, re.M)
    found = re.search(r"^Run saved in (?:\./)?(\S+)$", done.stdout, re.M)
    assert found is not None
    assert re.search(r"(?m)^case +without the skill  with the skill$", done.stdout), "every held-out case, with -v"
    assert "12 facts in 12 families: 6 for practice, 6 held out (plan.json)" in done.stderr
    assert "dropped" not in done.stdout
    run = found[1]
    page = scripts / run / "report.html"
    for words in ((run,), ()):
        assert upskill("report", *words).returncode == 0
        assert "tarnctl-facts" in page.read_text()
        page.unlink()
    block = upskill("report", run, "--markdown").stdout
    assert block.startswith("**The skill was saved: it helps"), "the decision first"
    assert "upskill eval ./skills/tarnctl-facts" in block
    head, name, row, _ = upskill("runs", "--skill", "tarnctl-facts").stdout.splitlines()
    digest = json.loads((scripts / "skills" / "tarnctl-facts" / "skill_meta.json").read_text())["digest"]
    assert (head.split()[0], f"runs/{name}", row.split()[:2]) == ("version", run, [digest[:8], "student"])
    assert re.search(r"^  tarnctl-facts  student .*▲ helps", upskill("runs").stdout, re.M)
    drawn = upskill("report", "--history", "tarnctl-facts", "-o", "history.html")
    assert drawn.returncode == 0, drawn.stderr
    assert "scripted/student.yaml" in (scripts / "history.html").read_text()
    for command in ("regrade", "eval --resume"):
        refused = upskill(*command.split(), run)
        assert refused.returncode == 2
        assert f"hint:  resume it: upskill generate --resume {Path(run)}" in refused.stderr
    listed = upskill("list", ".").stdout.splitlines()
    assert [line.split()[0] for line in listed if line[0] != " "] == ["skill", "skills/tarnctl-facts"], (
        "no copy in runs"
    )
    assert re.search(r"▲ helps student, \d{4}-\d\d-\d\d$", listed[1])


def test_a_generate_that_measured_nothing_has_a_report_and_is_listed(
    upskill: Upskill, scripts: Path, environment: dict[str, str]
) -> None:
    done = upskill(*GENERATE, "--cases", "6+6+0", "--no-eval", "--yes")
    assert "next, measure it on a model: upskill eval ./skills/tarnctl-facts -m" in done.stderr
    (run,) = (scripts / "runs").glob("*generate*")
    assert upskill("report", f"runs/{run.name}").stdout == f"runs/{run.name}/report.html\n"
    assert run.name in upskill("runs", "--skill", "tarnctl-facts").stdout.splitlines()
    # On a narrow terminal neither words nor folders are broken.
    with Terminal(scripts, environment, columns=60, rows=40) as terminal:
        terminal.type("runs")
        terminal.wait(lambda: terminal.exit_code() is not None)
        lines = terminal.screen().splitlines()
        number = lines.index(run.name)
        assert lines[number + 1] == "  tarnctl-facts: not measured: it was generated with"
        assert lines[number + 2] == "  --no-eval"
    with Terminal(scripts, environment, columns=80, rows=40) as terminal:
        terminal.type("cases", "write", "skills/tarnctl-facts", "-m", "scripted/teacher.yaml", "--replace", "-n")
        terminal.wait(lambda: terminal.exit_code() is not None)
        screen = terminal.screen().splitlines()
        assert "note: scripted/teacher.yaml: a script answers, not a model; the result says" in screen
        assert "  nothing about any model" in screen
        assert "10+32+4 cases for tarnctl-facts by scripted/teacher.yaml" in screen
    with Terminal(scripts, environment, columns=80, rows=40) as terminal:
        terminal.type("eval", "skills/tarnctl-facts", "-m", "gibberish")
        terminal.wait(lambda: terminal.exit_code() is not None)
        screen = terminal.screen().splitlines()
        assert "hint:  for a local server, add --base-url http://localhost:8080/v1; otherwise" in screen
        assert "  write provider/model, or org/name for Hugging Face" in screen


def test_ctrl_c_while_the_teacher_answers_leaves_a_clean_screen_and_the_command_to_go_on(
    scripts: Path, environment: dict[str, str]
) -> None:
    slow = {"rules": [{"replies": [{"text": "{}", "stall_seconds": 3}]}]}
    (scripts / "slow.json").write_text(json.dumps(slow))
    with Terminal(scripts, environment, columns=120, rows=40) as terminal:
        terminal.type("generate", "tarnctl facts", "-m", "scripted/slow.json", "--no-eval", "--yes")
        terminal.wait(lambda: "  working, " in terminal.screen())
        terminal.press("C-c")
        terminal.wait(lambda: terminal.exit_code() is not None)
        assert terminal.exit_code() == 130
        *_, before, kept, command, _, _ = terminal.screen().rstrip("\n").splitlines()
        assert before == "Generating cases..."
        assert kept == "interrupted; every answer so far is saved"
        assert re.fullmatch(r"resume with: upskill generate --resume runs/\S+-generate-tarnctl-facts-\w+", command)
