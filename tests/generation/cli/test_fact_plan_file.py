"""`upskill generate --plan FILE`: the plan is written, edited by a person, used as it stands, or refused by name."""

import json
import shutil
from pathlib import Path

import pytest

from typed import Upskill

SCRIPTED = Path(__file__).parents[3] / "examples" / "scripted"
WORDS = ("generate", "tarnctl facts", "-m", "scripted/teacher.yaml", "--eval-model", "scripted/student.yaml")
GENERATE = (*WORDS, "--cases", "4+6+0", "--plan", "my.json", "--no-eval", "--yes")


@pytest.fixture
def plan(upskill: Upskill, here: Path) -> Path:
    for name in ("teacher.yaml", "student.yaml"):
        shutil.copy(SCRIPTED / name, here)
    done = upskill(*GENERATE)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.startswith("10 facts in 10 families: 4 for practice, 6 held out. The plan is in ")
    assert line.endswith("my.json: edit it, then run the same command again.")
    assert not (here / "skills").exists()
    return here / "my.json"


def test_an_edited_plan_is_used_as_it_stands_and_none_is_asked_for(upskill: Upskill, here: Path, plan: Path) -> None:
    edited = json.loads(plan.read_text())
    first = {fact["use"]: fact for fact in reversed(edited["facts"])}
    first["learn"]["use"], first["held-out"]["use"] = "held-out", "learn"
    plan.write_text(json.dumps(edited))
    done = upskill(*GENERATE)
    assert done.returncode == 0, done.stderr
    assert "10 facts in 10 families: 4 for practice, 6 held out (plan.json)" in done.stderr
    (saved,) = (here / "runs").glob("*/cases.json")
    cases = json.loads(saved.read_text())["cases"]
    uses = {fact["id"]: fact["use"] for fact in edited["facts"]}
    assert len(cases) == 10
    assert all(case["use"] == uses[case["family"]] and case["family"] == case["extra"]["fact"] for case in cases)
    assert json.loads((saved.parent / "plan.json").read_text())["facts"] == edited["facts"]
    assert "List up to" not in (saved.parent / "teacher.jsonl").read_text()


def test_the_run_that_wrote_the_plan_can_be_resumed_with_it(upskill: Upskill, here: Path, plan: Path) -> None:
    (run,) = (here / "runs").glob("*/")
    done = upskill("generate", "--resume", f"runs/{run.name}")
    assert done.returncode == 0, done.stderr
    assert (run / "plan.json").read_text() == plan.read_text()
    assert len(json.loads((run / "cases.json").read_text())["cases"]) == 10


def test_a_plan_with_a_family_on_both_sides_is_refused_before_anything_is_asked(
    upskill: Upskill, here: Path, plan: Path
) -> None:
    edited = json.loads(plan.read_text())
    for fact, use in zip(edited["facts"], ("learn", "held-out"), strict=False):
        fact |= {"family": "both", "use": use}
    plan.write_text(json.dumps(edited))
    done = upskill(*GENERATE)
    assert done.returncode == 2
    assert "the family both is on both sides: config-file is for practice, port is held out" in done.stderr
    assert len(list((here / "runs").glob("*/"))) == 1, "only the run that wrote the plan"


def test_a_plan_is_refused_where_no_cases_are_written(upskill: Upskill, here: Path, plan: Path) -> None:
    (here / "own.json").write_text('[{"input": "Which port?", "expected": {"contains": "7413"}}]')
    done = upskill(*GENERATE, "-t", "own.json")
    assert done.returncode == 2
    assert "no cases are written, so there is nothing to plan" in done.stderr


def test_a_plan_that_could_not_be_written_is_refused_before_anything_is_asked(upskill: Upskill, here: Path) -> None:
    shutil.copy(SCRIPTED / "teacher.yaml", here)
    done = upskill(*WORDS[:4], "--no-eval", "--yes", "--plan", "nowhere/my.json")
    assert done.returncode == 2, done.stderr
    assert "nowhere/my.json: cannot be written" in done.stderr
    assert not (here / "runs").exists()


def test_a_secret_in_an_edited_plan_stays_with_the_person(upskill: Upskill, here: Path, plan: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    edited = json.loads(plan.read_text())
    edited["facts"][0]["text"] = f"The token is {secret[:40]}."
    plan.write_text(json.dumps(edited))
    assert upskill(*GENERATE).returncode == 0
    kept = [path for path in (here / "runs").rglob("*") if path.is_file() and secret[:40] in path.read_text()]
    assert not kept
