"""`upskill eval` of several skills: what is printed and written, what is refused, and the exit code."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from typed import Upskill, make_port_skill

SCRIPT = "rules:\n  - arm: with_skill\n    replies: ['Port 7413.']\n  - replies: ['no idea']\n"
MODEL = ("-m", "scripted/student.yaml")


@pytest.fixture
def skills(here: Path) -> Path:
    """A skill that helps, and one without cases."""
    (here / "student.yaml").write_text(SCRIPT)
    port = make_port_skill(here, cases=6)
    (port.with_name("bare")).mkdir()
    (port.with_name("bare") / "SKILL.md").write_text("---\nname: bare\ndescription: Has no cases.\n---\nText.\n")
    return port.parent


def test_one_object_and_one_file_of_each_kind_are_about_all_skills(skills: Path, here: Path, upskill: Upskill) -> None:
    words = ("eval", "skills", *MODEL, "--require", "no-harm")
    done = upskill(*words, "--json", "--write", "j.xml", "--write", "t.csv")
    assert done.returncode == 3, done.stderr
    found = json.loads(done.stdout)
    assert found["schema"] == "upskill.evals/1"
    states = [(one["folder"], one["state"]) for one in found["skills"]]
    assert states == [("skills/bare", "failed"), ("skills/port", "measured")]
    assert "upskill cases write skills/bare" in found["skills"][0]["hint"]
    assert found["skills"][1]["evaluation"]["required"] == [{"what": "--require no-harm", "met": True, "why": None}]
    assert found["bought"]["calls"] == 24, "each case is asked twice on each side"
    suites = ElementTree.parse(here / "j.xml").getroot()
    assert [suite.get("name") for suite in suites] == ["bare", "port / scripted/student.yaml"]
    assert len((here / "t.csv").read_text().splitlines()) == 25
    (skills / "bare" / "SKILL.md").unlink()
    table = upskill("eval", "skills", *MODEL, "--runs", "1", NO_COLOR="1")
    assert table.returncode == 0, table.stderr
    assert table.stdout.startswith("1 skill on student: 1 helps.\nport  ○━")


def test_a_dry_run_prices_all_and_writes_nothing(skills: Path, here: Path, upskill: Upskill) -> None:
    before = sorted(here.rglob("*"))
    done = upskill("eval", str(skills), "-m", "haiku", "-n", "--json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert plan["schema"] == "upskill.plans/1"
    assert [one["state"] for one in plan["skills"]] == ["failed", "planned"]
    assert plan["price"] == plan["skills"][1]["plan"]["price"]
    assert sorted(here.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("skills", "-t", "cases.json"), "--tests is about one skill, and several were named"),
        (("skills", "--compare", "previous:old"), "--compare previous:PATH is about one skill"),
        (("skills/port", "skills/bare", "--resume", "runs/x"), "--resume is about one run"),
        (("skills/port", "nowhere"), "nowhere: no such folder"),
        (("skills", "--compare", "git:HEAD"), "is not in a git repository"),
    ],
)
@pytest.mark.usefixtures("skills")
def test_what_is_about_one_skill_is_refused_in_one_line(words: tuple[str, ...], said: str, upskill: Upskill) -> None:
    done = upskill("eval", *words, *MODEL)
    assert done.returncode in (2, 3)
    assert said in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
