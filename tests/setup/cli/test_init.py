"""`upskill init`: the example project leads from a session to a measured skill, without a key."""

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import skills_ref
from tools import recording

from typed import Upskill


def test_the_example_leads_from_a_session_to_a_skill_and_a_worse_skill_does_worse(upskill: Upskill, here: Path) -> None:
    demo = here / "my demo"
    written = upskill("init", "my demo")
    assert written.returncode == 0, written.stderr
    assert "cd 'my demo'" in written.stdout

    shown = upskill("trace", "session.jsonl", cwd=demo)
    assert shown.returncode == 0, shown.stderr
    assert "no secrets found" in shown.stdout
    assert "8 fixes" in shown.stdout

    made = upskill(
        "generate", "release with harbour", "--from", "session.jsonl", "--json", cwd=demo, UPSKILL_REPORT="true"
    )
    assert made.returncode == 0, made.stderr
    generated = json.loads(made.stdout)
    assert [one["verdict"] for one in generated["held_out"]["students"]] == ["helps"]
    assert [(one["passed"], one["of"]) for one in generated["attempts"]] == [(2, 4), (4, 4)]
    assert skills_ref.validate(demo / "skills" / "harbour") == []
    assert (demo / generated["run"] / "report.html").is_file()
    recorded = recording.shown(recording.CAST.read_text(encoding="utf-8"))
    assert "attempts on practice cases: 2/4, 4/4" in recorded, "make recording"
    assert f"(+{generated['held_out']['students'][0]['lifts'][0]['mean']:.0%} points".replace("%", "") in recorded

    measured = _measured(upskill, demo)
    skill = demo / "skills" / "harbour" / "SKILL.md"
    text = skill.read_text(encoding="utf-8").replace("8461", "8641")
    gone = ("config file", "service user")
    skill.write_text("\n".join(line for line in text.splitlines() if not any(fact in line for fact in gone)) + "\n")
    worse = _measured(upskill, demo)

    assert any("a script answers, not a model" in note for note in measured["notes"])
    assert measured["students"][0]["verdict"] == "helps"
    assert (_passed(measured), _passed(worse)) == (10, 7), "two facts are gone, and one is wrong"


def _measured(upskill: Upskill, demo: Path) -> dict[str, Any]:
    done = upskill("eval", "skills/harbour", "--runs", "1", "--json", cwd=demo)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _passed(result: dict[str, Any]) -> int:
    passed: int = result["students"][0]["arms"]["with_skill"]["passed"]
    return passed


def test_a_second_init_is_refused_with_every_file_that_is_there(upskill: Upskill) -> None:
    first, second = upskill("init"), upskill("init")

    assert first.returncode == 0
    assert "cd " not in first.stdout
    assert second.returncode == 2
    assert second.stderr.count(" exists\n") == 7
    assert "upskill init DIR" in second.stderr


def test_what_init_says_to_type_next_stands_in_the_readme_that_it_writes(upskill: Upskill, here: Path) -> None:
    lines = upskill("init").stdout.partition("Next:\n")[2].partition("\n\n")[0].splitlines()
    said = [line.partition("#")[0].strip() for line in lines]

    readme = (here / "README.md").read_text(encoding="utf-8")
    assert len(said) == 4
    assert [line for line in said if f"{line}\n" not in readme] == []
    assert max(map(len, lines)) <= 80


def _serve(here: Path, port: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "local_model.py", port]
    return subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=30, check=False)


def test_a_taken_port_is_told_in_our_words_alone_with_what_to_type(upskill: Upskill, here: Path) -> None:
    upskill("init")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = _serve(here, str(port))

    assert done.returncode == 1
    assert done.stdout == ""
    first, *rest = done.stderr.splitlines()
    assert first.startswith(f"port {port} is taken. If smollm2 is served there already, use it as it is.")
    assert len(rest) == 3
    assert "--base-url http://localhost:" in rest[2]


@pytest.mark.parametrize("port", ["abc", "0", "70000", "-1"])
def test_what_is_no_port_is_refused_in_one_line(upskill: Upskill, here: Path, port: str) -> None:
    upskill("init")

    done = _serve(here, port)

    assert done.returncode == 1
    assert done.stderr == f"{port} is not a port; name one, such as: python local_model.py 8081\n"


def test_nothing_is_written_through_a_link(upskill: Upskill, here: Path) -> None:
    (here / "elsewhere").mkdir()
    (here / "project").mkdir()
    (here / "project" / ".github").symlink_to("../elsewhere")
    done = upskill("init", "project")
    assert done.returncode == 2
    assert "a link leads out of project" in done.stderr
    assert list((here / "elsewhere").iterdir()) == []
