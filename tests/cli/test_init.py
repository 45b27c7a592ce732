"""`upskill init`: the example project works at once, and says that its student is a script."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Upskill


def test_the_example_works_at_once_and_says_that_its_student_is_a_script(upskill: Upskill, here: Path) -> None:
    written = upskill("init", "my demo")
    assert written.returncode == 0, written.stderr
    assert "cd 'my demo'" in written.stdout

    done = upskill("eval", "skills/harbour", "--json", cwd=here / "my demo")

    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["students"][0]["verdict"] == "helps"
    assert {state["state"] for state in result["case_states"]} == {"qualified"}
    assert any("a script answers, not a model" in note for note in result["notes"])


def test_a_second_init_is_refused_with_every_file_that_is_there(upskill: Upskill) -> None:
    first, second = upskill("init"), upskill("init")

    assert first.returncode == 0
    assert "cd " not in first.stdout
    assert second.returncode == 2
    assert second.stderr.count(" exists\n") == 7
    assert "upskill init DIR" in second.stderr


def test_what_init_says_to_type_next_stands_in_the_readme_that_it_writes(upskill: Upskill, here: Path) -> None:
    said = upskill("init").stdout.partition("Next:\n")[2].partition("\n\n")[0].splitlines()

    readme = (here / "README.md").read_text(encoding="utf-8")
    assert len(said) == 2
    assert [line for line in said if f"$ {line.strip()}\n" not in readme] == []


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
