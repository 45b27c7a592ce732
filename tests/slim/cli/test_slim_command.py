"""`upskill slim` with a student on loopback: what is cut, what stays, what is replaced, and what is asked again."""

import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from forking import Forker
from provider import Behaviour, Provider, ReceivedRequest
from slim.made_slim import answer_from_skill, make_skill
from typed import Upskill, wait

IN_FLIGHT = 8
"""Parallel calls."""


@pytest.fixture
def student() -> Iterator[Provider]:
    with Provider(answer_from_skill) as provider:
        yield provider


@pytest.fixture
def skill(here: Path) -> Path:
    """Two topics: eight lines that can be cut."""
    return make_skill(here, practice=30, held_out=40, topics=2)


def words(student: Provider, *more: str) -> tuple[str, ...]:
    return ("slim", "brinectl", "-m", "small", "--base-url", student.url, *more)


def test_the_slim_text_replaces_the_full_one_once_it_is_proven(
    upskill: Upskill, here: Path, skill: Path, student: Provider
) -> None:
    full = (skill / "SKILL.md").read_text()
    done = upskill(*words(student, "--json"))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["schema"] == "upskill.slim/1"
    assert found["verdict"] == "replaced"
    (text,) = found["texts"]
    states = {unit["text"]: unit["state"] for unit in text["units"]}
    assert states["- The `ports` value of brinectl is por-7000."] == "needed"
    assert states["- Many people find `ports` a pleasant part of the tool."] == "needless"
    assert states["Stripes of a zebra are counted at dusk."] == "untested"
    assert states["- The `ports` team wrote this file. <!-- keep -->"] == "pinned"
    assert (skill / "SKILL.md").read_text() == (
        "---\nname: brinectl\ndescription: Facts of brinectl. Use for any question on brinectl.\n---\n"
        "# Facts of brinectl\n\n## About ports\n\n- The `ports` value of brinectl is por-7000.\n\n"
        "## About logs\n\n- The `logs` value of brinectl is log-7037.\n\n"
        "## Zebras\n\nStripes of a zebra are counted at dusk.\n\n"
        "## History\n\n- The `ports` team wrote this file. <!-- keep -->\n"
    )
    run = here / found["run"]
    assert (run / "SKILL.full.md").read_text() == full
    assert (run / "SKILL.slim.md").read_text() == (skill / "SKILL.md").read_text()
    assert text["tokens_before"] > text["tokens_after"]
    (proof,) = text["proofs"]
    assert (proof["verdict"], proof["cases"]) == ("non-inferior", 40)
    assert proof["interval"][0] > -0.1
    assert found["bought"]["calls"] == len(student.requests)
    (search,) = found["searches"]
    worth = {heading: value for heading, value, _ in search["sections"]}
    assert worth["About ports"] > 0.3
    assert abs(worth["Zebras"]) < 0.05
    page = (run / "slim.html").read_text()
    assert "<script" not in page
    assert "- The `ports` value of brinectl is por-7000." in page
    listed = json.loads(upskill("runs", "--json").stdout)
    assert "SKILL.md was replaced" in json.dumps(listed)
    # Practice cases are asked while lines are searched, held-out cases only by the proof.
    cut = [one.prompt for one in student.requests[: search["answers"]]]
    assert {int(prompt.split()[1].rstrip(":")) for prompt in cut} == set(range(30))
    again = upskill(*words(student, "-n"))
    assert "1 earlier proof on these held-out cases: this one asks for more, and losses add up" in again.stdout


@pytest.mark.full
def test_explain_cuts_nothing_and_its_answers_serve_the_cut(
    upskill: Upskill, skill: Path, student: Provider, here: Path
) -> None:
    before = (skill / "SKILL.md").read_text()
    done = upskill(*words(student, "--explain"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "brinectl: lines were weighed, and nothing was cut"
    assert any(line.startswith("  About ports") and "+" in line for line in lines)
    assert any("100% needed" in line and "por-7000" in line for line in lines)
    assert (skill / "SKILL.md").read_text() == before
    asked = len(student.requests)
    found = json.loads(upskill(*words(student, "--json", "--drop-untested")).stdout)
    assert found["verdict"] == "replaced"
    assert "zebra" not in (skill / "SKILL.md").read_text()
    assert found["bought"]["calls"] == len(student.requests) - asked
    assert found["bought"]["calls"] <= 2 * 6 * 40
    assert len(list((here / "runs").glob("*-slim-*"))) == 1


def test_a_killed_run_is_resumed_and_nothing_is_bought_twice(
    forker: Forker, environment: dict[str, str], upskill: Upskill, here: Path, skill: Path, student: Provider
) -> None:
    # Without the store: what was answered is in the run folder.
    variables = {**environment, "UPSKILL_STORE": "false"}
    full = (skill / "SKILL.md").read_text()
    whole = upskill(*words(student), UPSKILL_STORE="false")
    assert whole.returncode == 0, whole.stderr
    calls = len(student.requests)
    (skill / "SKILL.md").write_text(full)
    shutil.rmtree(here / "runs")  # an earlier proof on the same cases would ask for more
    student.requests.clear()
    for most in (40, calls - 15):
        with forker.started(variables, *words(student), cwd=here) as command:
            wait(lambda most=most: len(student.requests) >= most)  # type: ignore[misc]
            command.send(signal.SIGKILL)
            command.wait()
    done = upskill(*words(student), UPSKILL_STORE="false")
    assert done.returncode == 0, done.stderr
    assert "resuming runs/" in done.stderr
    assert calls <= len(student.requests) <= calls + 2 * IN_FLIGHT
    assert done.stdout.splitlines()[-1] == whole.stdout.splitlines()[-1]
    assert len(list((here / "runs").glob("*-slim-*"))) == 1


@pytest.mark.full
def test_an_edit_made_meanwhile_is_not_overwritten(
    forker: Forker, environment: dict[str, str], here: Path, skill: Path, student: Provider
) -> None:
    with forker.started(environment, *words(student), cwd=here) as command:
        wait(lambda: len(student.requests) >= 40)
        (skill / "SKILL.md").write_text((skill / "SKILL.md").read_text() + "\nEdited.\n")
        done = command.wait()
    assert done.returncode == 1
    assert "SKILL.md was changed while slim ran" in done.stdout
    assert (skill / "SKILL.md").read_text().endswith("\nEdited.\n")


def test_what_is_put_in_place_is_what_was_proven(
    forker: Forker, environment: dict[str, str], here: Path, skill: Path, student: Provider
) -> None:
    with forker.started(environment, *words(student), cwd=here) as command:
        wait(lambda: any((here / "runs").glob("*/SKILL.slim.md")))
        (file,) = (here / "runs").glob("*/SKILL.slim.md")
        file.write_text(file.read_text() + "\nNot proven.\n")
        assert command.wait().returncode == 0
    assert "Not proven" not in (skill / "SKILL.md").read_text()


def test_a_text_that_loses_on_held_out_cases_is_not_put_in_place(upskill: Upskill, here: Path) -> None:
    """Held-out cases need lines that are on the subject of practice cases, which do without them."""

    def answer(asked: ReceivedRequest) -> Behaviour:
        if int(asked.prompt.split()[1].rstrip(":")) < 30 or "pleasant" in asked.system:
            return answer_from_skill(asked)
        return Behaviour(text="I do not know.")

    skill = make_skill(here, practice=30, held_out=40, topics=2)
    before = (skill / "SKILL.md").read_text()
    with Provider(answer) as student:
        done = upskill(*words(student))
    assert done.returncode == 1
    assert "not shown to be non-inferior within 10 points" in done.stdout
    assert "slim is inferior" in done.stdout
    assert (skill / "SKILL.md").read_text() == before


@pytest.mark.full
def test_one_text_serves_two_models_and_each_may_have_its_own(upskill: Upskill, here: Path) -> None:
    """The second model needs one more line."""

    def answer(asked: ReceivedRequest) -> Behaviour:
        if asked.body["model"] == "second" and "ports" in asked.prompt and "early" not in asked.system:
            return Behaviour(text="I do not know.")
        return answer_from_skill(asked)

    skill = make_skill(here, practice=30, held_out=40, topics=2)
    before = (skill / "SKILL.md").read_text()
    with Provider(answer) as student:
        both = (*words(student), "-m", "second", "--json")
        own = json.loads(upskill(*both, "--per-model").stdout)
        assert own["verdict"] == "proven"
        assert (skill / "SKILL.md").read_text() == before
        texts = [(here / own["run"] / text["file"]).read_text() for text in own["texts"]]
        assert ["early" in text for text in texts] == [False, True]
        shared = json.loads(upskill(*both).stdout)
    assert shared["verdict"] == "replaced"
    assert (skill / "SKILL.md").read_text() == texts[1]
    assert [proof["model"] for proof in shared["texts"][0]["proofs"]] == ["small", "second"]


@pytest.mark.full
def test_a_cap_stops_it_and_the_same_command_goes_on(upskill: Upskill, skill: Path, student: Provider) -> None:
    stopped = upskill(*words(student, "--max-calls", "60"))
    assert stopped.returncode == 3
    assert "stopped early" in stopped.stdout
    assert len(student.requests) <= 60
    done = upskill(*words(student))
    assert done.returncode == 0, done.stderr
    assert "resuming" in done.stderr


@pytest.mark.parametrize(
    ("practice", "held_out", "said"),
    [
        (29, 40, "has 29 practice and 40 held-out cases; slim needs 1 more practice case"),
        (30, 20, "has 30 practice and 20 held-out cases; slim needs 10 more held-out cases"),
        (0, 40, "has 0 practice and 40 held-out cases; slim needs 30 more practice cases"),
    ],
)
def test_too_few_cases_are_refused(
    upskill: Upskill, here: Path, student: Provider, practice: int, held_out: int, said: str
) -> None:
    make_skill(here, practice=practice, held_out=held_out)
    done = upskill(*words(student))
    assert done.returncode == 2
    assert said in done.stderr
    assert not student.requests


def test_students_with_tools_are_refused(upskill: Upskill, skill: Path, student: Provider) -> None:
    done = upskill(*words(student), UPSKILL_HARNESS="agent")
    assert done.returncode == 2
    assert "slim asks models by chat" in done.stderr
    meta = json.loads((skill / "skill_meta.json").read_text())
    for case in meta["cases"]:
        case["files"] = {"a.txt": "a"}
    (skill / "skill_meta.json").write_text(json.dumps(meta))
    assert "slim asks models by chat" in upskill(*words(student)).stderr
    assert not student.requests


def test_the_price_comes_first(upskill: Upskill, skill: Path, student: Provider) -> None:
    planned = json.loads(upskill(*words(student, "--dry-run", "--json")).stdout)
    assert planned["schema"] == "upskill.slim_plan/1"
    assert planned["cases"] == {"practice": 30, "held_out": 40}
    assert planned["calls"]["at_most"] == 30 * 30 + 2 * 6 * 40
    assert not student.requests
