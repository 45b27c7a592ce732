"""`upskill cases write`, an evaluation of a skill without cases, and which cases count: with a scripted teacher."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from generation.unit.teaching.case_teacher import good_case
from provider import Behaviour, Provider, ReceivedRequest
from typed import Upskill
from upskill.core.runs.own_runs import seal_of

TEACHER = "scripted/teacher.yaml"
CHECK = """\
import subprocess, sys
ran = subprocess.run([sys.executable, "-I", "-B", "berth.py"], capture_output=True, text=True)
assert ran.stdout == "8472\\n", ran
"""
PROGRAM = {
    **good_case(90),
    "id": "berth-script",
    "input": "Write berth.py, a program that prints the port of the berth Nord on a line of its own.",
    "checks": [
        {"command": {"run": ["python3", "-I", "-B", "check.py"], "files": [{"path": "check.py", "text": CHECK}]}}
    ],
    "reference": {"text": "", "files": [{"path": "berth.py", "text": "print(8472)\n"}]},
    "wrong": [
        {"text": "", "files": [{"path": "berth.py", "text": "print(8080)\n"}]},
        {"text": "", "files": [{"path": "berth.py", "text": "import sys\nsys.exit(0)\n"}]},
    ],
}


@pytest.fixture
def quay(here: Path) -> Path:
    folder = here / "quay"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: quay\ndescription: Ports of berths.\n---\nNord is at 8472.\n")
    return folder


def teacher(here: Path, *answers: object) -> None:
    """A scripted teacher: what it says at first, and what it says when cases came back."""
    first, again = answers[0], answers[-1]
    rules = [
        {
            "when": "only the cases that were asked for here",
            "replies": [again if isinstance(again, str) else json.dumps(again)],
        },
        {"replies": [first if isinstance(first, str) else json.dumps(first)]},
    ]
    (here / "teacher.yaml").write_text(yaml.safe_dump({"rules": rules}))


def cases(*more: dict[str, Any], number: int = 6, negative: int = 2) -> dict[str, Any]:
    negatives = [good_case(50 + n, negative=True) for n in range(negative)]
    return {"cases": [*(good_case(n) for n in range(1, number + 1)), *negatives, *more]}


def test_cases_that_are_written_are_saved_and_qualified_and_split(upskill: Upskill, here: Path, quay: Path) -> None:
    teacher(here, cases(PROGRAM, number=5))
    (quay / "skill_meta.json").write_text('{"made_by": "me", "tests": []}')
    done = upskill("cases", "write", "quay", "-m", TEACHER, "--cases", "2+4+2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == [
        "8 cases, all qualified: 2 practice, 4 held-out, 2 unrelated",
        "Saved to quay/skill_meta.json",
    ]
    assert "scripted/teacher.yaml writes 8 cases; about 2 calls" in done.stderr
    meta = json.loads((quay / "skill_meta.json").read_text())
    assert meta["made_by"] == "me"
    assert meta["cases_written_by"]["wanted"] == "2+4+2"
    checked = upskill("cases", "check", "quay", "--json")
    assert {one["state"] for one in json.loads(checked.stdout)["cases"]} == {"qualified"}
    assert "berth-script" in {one["id"] for one in meta["cases"]}, "its check was run in a sandbox"


def test_cases_that_are_there_stay_unless_they_may_go(upskill: Upskill, here: Path, quay: Path) -> None:
    teacher(here, cases())
    assert upskill("cases", "write", "quay", "-m", TEACHER, "--cases", "2+2+0").returncode == 0
    before = (quay / "skill_meta.json").read_bytes()
    again = upskill("cases", "write", "quay", "-m", TEACHER)
    assert again.returncode == 2
    assert "quay: already has 4 cases" in again.stderr
    assert (quay / "skill_meta.json").read_bytes() == before
    assert upskill("cases", "write", "quay", "-m", TEACHER, "--cases", "2+2+0", "-o", "own.json").returncode == 0
    assert len(json.loads((here / "own.json").read_text())["cases"]) == 4
    assert (quay / "skill_meta.json").read_bytes() == before
    assert upskill("cases", "write", "quay", "-m", TEACHER, "--cases", "2+3+0", "--replace").returncode == 0
    assert len(json.loads((quay / "skill_meta.json").read_text())["cases"]) == 5


def test_what_is_dropped_is_said_and_the_json_has_it(upskill: Upskill, here: Path, quay: Path) -> None:
    bad = {**good_case(7), "id": "bad", "checks": [{"excludes": "nano"}]}
    teacher(here, cases(bad, number=3, negative=0), {"cases": [bad]})
    done = upskill("cases", "write", "quay", "-m", TEACHER, "--cases", "2+2+0", "--json")
    found = json.loads(done.stdout)
    assert found["schema"] == "upskill.written_cases/1"
    assert len(found["cases"]) == 3
    assert found["dropped"] == [
        "bad: the empty answer passes; `excludes` alone requires nothing; add a `contains`, `equals` or `regex` "
        "that a right answer passes"
    ]
    assert found["spent"]["calls"] == 6, "a plan, which it could not give in three tries, cases, and twice again"
    assert "note: no plan of facts: cases are written from the material as a whole" in done.stderr
    assert "1 of 4 cases was unusable; asking again (2 of 2)" in done.stderr


@pytest.mark.parametrize(
    "answer", ["I would rather not.", '```json\n{"cases": [{"id": "a"', {"cases": [{"input": "Hm"}]}]
)
def test_a_hopeless_teacher_ends_cleanly_and_saves_nothing(
    upskill: Upskill, here: Path, quay: Path, answer: object
) -> None:
    teacher(here, answer)
    done = upskill("cases", "write", "quay", "-m", TEACHER)
    assert done.returncode == 3
    assert "error: " in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in quay.iterdir()] == ["SKILL.md"]


def test_a_dry_run_says_who_would_write_and_calls_nobody(upskill: Upskill, here: Path, quay: Path) -> None:
    teacher(here, "nothing")
    done = upskill("cases", "write", "quay", "-m", TEACHER, "-n")
    assert done.returncode == 0
    assert "10+32+4 cases for quay by scripted/teacher.yaml" in done.stdout
    assert not (quay / "skill_meta.json").exists()


@pytest.mark.parametrize("enough", [True, False])
def test_held_out_cases_of_a_mined_habit_are_written_from_later_sessions(
    upskill: Upskill, here: Path, home: Path, quay: Path, enough: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    mined = here / "mined"
    mined.mkdir()
    birds = ("heron", "plover", "curlew")
    for name, bird in zip(("1.md", "1-later-1.md", "1-later-2.md"), birds, strict=True):
        (mined / name).write_text(f"# Berths\n\n- Ask the {bird} for the port.\n")
    later = [{"document": f"1-later-{place}.md", "recording": None} for place in (1, 2)]
    candidate = {"number": 1, "task": "Ask for ports.", "document": "1.md", "practice": [], "claim_possible": enough}
    candidate["later"] = later
    listed: dict[str, object] = {"format": "upskill.mined/1", "candidates": [candidate]}
    listed["seal"] = seal_of(mined, json.dumps(listed))
    (mined / "mined.json").write_text(json.dumps(listed))
    asked: list[str] = []

    def answer(request: ReceivedRequest) -> Behaviour:
        wanted = [int(number) for number in re.findall(r"Write (\d+)", request.prompt)][-1]
        asked.append(request.prompt)
        return Behaviour(text=json.dumps({"cases": [good_case(20 * len(asked) + n) for n in range(wanted)]}))

    words = ("cases", "write", "quay", "--from", "mined:1", "-m", "any")
    with Provider(answer) as provider:
        done = upskill(*words, "--cases", "2+4+0", "--base-url", provider.url)
        assert done.returncode == 0, done.stderr
        saved = json.loads((quay / "skill_meta.json").read_text())["cases"]
        only = upskill(*words, "--cases", "0+4+0", "--base-url", provider.url, "-o", "own.json")
    shown = [[bird for bird in birds if bird in prompt] for prompt in asked]
    if enough:
        assert [case["use"] for case in saved] == ["learn"] * 2 + ["held-out"] * 4
        families = [case["family"] for case in saved[2:]]
        assert families == [families[0]] * 2 + [families[2]] * 2
        assert families[0] != families[2], "a session is a family"
        in_order = [["heron"], ["plover"], ["curlew"]]
        assert shown == [*in_order, *in_order[1:]], "no question has two sides, and practice comes first"
        assert only.returncode == 0
    else:
        assert [case["use"] for case in saved] == ["learn"] * 2
        assert shown == [["heron"]]
        assert "too few later sessions for a claim, so no held-out case is written" in done.stderr
        assert only.returncode == 2
        assert "mined:1: too few later sessions, and only held-out cases were asked for" in only.stderr
        assert "--cases 8+0+0" in only.stderr


def test_an_evaluation_of_a_skill_without_cases_has_them_written_once(upskill: Upskill, here: Path, quay: Path) -> None:
    teacher(here, cases(number=12, negative=0))

    def student(asked: ReceivedRequest) -> Behaviour:
        number = asked.prompt.split("quay-")[1].split("?")[0]
        return Behaviour(text=str(7000 + 37 * int(number)) if asked.has_skill else "No idea.")

    with Provider(student) as provider:
        words = ("eval", "quay", "-m", "any", "--base-url", provider.url, "--runs", "1")
        first = upskill(*words, UPSKILL_TEST_GEN_MODEL=TEACHER)
        saved = (quay / "skill_meta.json").read_bytes()
        second = upskill(*words, "--json", UPSKILL_TEST_GEN_MODEL=TEACHER)
    assert first.returncode == 0, first.stderr
    assert "12 cases saved to quay/skill_meta.json; later evaluations use them" in first.stderr
    assert "helps" in first.stdout
    assert "left out" not in first.stdout + first.stderr
    assert "teacher.yaml writes" not in second.stderr
    assert (quay / "skill_meta.json").read_bytes() == saved
    assert json.loads(second.stdout)["cases"] == 12, "nobody has learned from any of them"


def test_without_a_teacher_an_evaluation_says_what_to_do_and_asks_nobody(upskill: Upskill, quay: Path) -> None:
    with Provider() as provider:
        done = upskill("eval", str(quay), "-m", "any", "--base-url", provider.url)
        assert not [request for request in provider.requests if request.prompt]
    assert done.returncode == 2
    assert "there are no cases, and no teacher to write them: there is no teacher" in done.stderr
    assert "upskill cases write SKILL -m MODEL" in done.stderr


def test_no_case_is_bought_for_a_student_that_cannot_be_reached(upskill: Upskill, here: Path, quay: Path) -> None:
    teacher(here, cases(number=12))
    dead = ("-m", "any", "--base-url", "http://127.0.0.1:1/v1")
    done = upskill("eval", "quay", *dead, UPSKILL_TEST_GEN_MODEL=TEACHER)
    assert done.returncode == 3
    assert "no server answers" in done.stderr
    assert not (quay / "skill_meta.json").exists()


def test_a_secret_that_a_teacher_writes_is_nowhere_in_the_cases(upskill: Upskill, here: Path, quay: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    leaking = {**good_case(30), "input": f"Log in with {token} and say which port the berth Nord has."}
    teacher(here, cases(leaking, number=4, negative=0))
    done = upskill("cases", "write", "quay", "-m", TEACHER, "--cases", "2+3+0")
    assert done.returncode == 0, done.stderr
    assert token not in (quay / "skill_meta.json").read_text() + done.stdout + done.stderr
