"""Students with tools at the command line: refusal without a sandbox, none on request, and Ctrl-C."""

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from forking import COMMAND, Forker
from typed import Upskill, wait


@pytest.fixture
def tarn(here: Path) -> Path:
    """A skill whose one case has a file, so that students get tools."""
    folder = here / "my-skills" / "tarn"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        "---\nname: tarn\ndescription: Ports of tarn services.\n---\nThe port of every tarn service is 7413.\n"
    )
    case = {"id": "port", "input": "Which port?", "files": {"in.txt": "x"}, "expected": {"contains": "7413"}}
    (folder / "skill_meta.json").write_text(json.dumps({"cases": [case]}))
    return folder


def script(here: Path, *rules: dict[str, Any]) -> str:
    (here / "student.yaml").write_text(yaml.safe_dump({"rules": list(rules)}))
    return "scripted/student.yaml"


def shell(command: str) -> dict[str, Any]:
    return {"tool": "shell", "arguments": {"command": command}}


READS = (
    {"arm": "offered", "turn": 1, "replies": [shell("cat /skills/tarn/SKILL.md ../skills/tarn/SKILL.md")]},
    {"when": "7413", "replies": ["It is 7413."]},
    {"arm": "with_skill", "replies": ["It is 7413."]},
    {"replies": ["No idea."]},
)


def test_a_person_reads_what_was_offered_what_was_loaded_and_what_it_does_when_given(
    upskill: Upskill, tarn: Path, here: Path
) -> None:
    done = upskill(
        "eval", str(tarn), "-m", script(here, *READS), "--runs", "2", "--write", "j.xml", "--write", "c.csv", "-v"
    )
    assert done.returncode == 0, done.stderr
    assert "0% → 100%" in done.stdout
    assert "skill offered" in done.stdout
    assert "skill given" in done.stdout
    assert "the skill was loaded in 2 of 2 answers (100%, 95% CI 3% to 100% on this 1 case)" in done.stdout
    assert "skill given: +100 points (95% CI" in done.stdout
    assert 'name="sandbox" value="bubblewrap"' in (here / "j.xml").read_text()
    assert (
        (here / "c.csv")
        .read_text()
        .splitlines()[0]
        .endswith("turns,skill_loaded,skill_files,files_left,load_turn,other_skills")
    )


def test_without_a_sandbox_nothing_is_run_and_the_refusal_says_what_to_do(
    tarn: Path, here: Path, environment: dict[str, str]
) -> None:
    # Inside another sandbox, from which no further one can be made.
    bwrap = shutil.which("bwrap")
    assert bwrap is not None
    inside = [bwrap, "--dev-bind", "/", "/", "--unshare-user", "--disable-userns", "--die-with-parent"]
    words = ["eval", str(tarn), "-m", script(here, *READS)]
    done = subprocess.run(
        [*inside, COMMAND, *words], cwd=here, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 3, done.stderr
    assert "error: " in done.stderr
    assert "sandbox" in done.stderr
    assert "hint: " in done.stderr
    assert done.stdout == ""
    assert not (here / "runs").exists(), "nothing was begun"


def test_nothing_is_confined_only_where_that_was_typed_and_every_report_says_so(
    upskill: Upskill, tarn: Path, here: Path
) -> None:
    student = script(here, *READS)
    done = upskill("eval", str(tarn), "-m", student, "--runs", "1", "--sandbox", "none", "--write", "j.xml")
    assert done.returncode == 0, done.stderr
    assert "NOTHING WAS CONFINED" in done.stdout
    assert "the skill was loaded in 1 of 1 answer" in done.stdout
    assert 'name="sandbox" value="none"' in (here / "j.xml").read_text()
    (run,) = (here / "runs").glob("*-tarn-*")
    record = json.loads((run / "run.json").read_text())
    assert record["sandbox"]["backend"] == "none"
    assert record["results"]["sandbox"] == "none"
    assert "NOTHING WAS CONFINED" in " ".join(record["notes"])
    for words in (["regrade", str(run), "--json"], ["eval", "--resume", str(run), "--sandbox", "none", "--json"]):
        again = upskill(*words)
        assert again.returncode == 0, again.stderr
        assert json.loads(again.stdout)["sandbox"] == "none"
        assert "NOTHING WAS CONFINED" in " ".join(json.loads(again.stdout)["notes"])


@pytest.mark.parametrize("how", ["file", "variable"])
def test_no_file_and_no_variable_can_switch_the_sandbox_off(upskill: Upskill, tarn: Path, here: Path, how: str) -> None:
    variables = {}
    if how == "file":
        (here / "upskill.toml").write_text('sandbox = "none"\n')
    else:
        variables["UPSKILL_SANDBOX"] = "none"
    done = upskill("eval", str(tarn), "-m", script(here, *READS), **variables)
    assert done.returncode == 3
    assert "there is no setting `sandbox`" in done.stderr


def descendants(root: int) -> set[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found and pid not in found}:
        found |= more
    return found - {root}


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_ends_every_sandbox(
    tarn: Path, here: Path, environment: dict[str, str], forker: Forker, presses: int
) -> None:
    student = script(here, {"replies": [shell("setsid sleep 600 & sleep 600")]})
    with forker.started(environment, "eval", str(tarn), "-m", student, "--runs", "1", cwd=here) as command:
        wait(lambda: len(descendants(command.pid)) >= 3 * 4)
        inside = descendants(command.pid)
        assert len(inside) >= 3 * 4, "three arms, each with bubblewrap, its init process and two sleepers"
        pressed = time.monotonic()
        for _ in range(presses):
            command.send(signal.SIGINT)
            time.sleep(0.05)
        done = command.wait()
        took = time.monotonic() - pressed
    assert done.returncode == 130, done.stderr
    assert took < 25, "5 s on an idle machine"
    if presses == 1:
        assert "interrupted" in done.stdout
    wait(lambda: [pid for pid in inside if alive(pid)] == [], seconds=5)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
