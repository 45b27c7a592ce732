"""`upskill init`: the example project works at once, and says that its student is a script."""

import json
from pathlib import Path

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
    assert "a script answers, not a model" in done.stderr


def test_a_second_init_is_refused_with_every_file_that_is_there(upskill: Upskill) -> None:
    first, second = upskill("init"), upskill("init")

    assert first.returncode == 0
    assert "cd " not in first.stdout
    assert second.returncode == 2
    assert second.stderr.count(" exists\n") == 7
    assert "upskill init DIR" in second.stderr
