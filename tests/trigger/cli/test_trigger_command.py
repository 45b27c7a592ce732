"""`upskill trigger`: prompts are written, reviewed and saved, models measured, and the result shown."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from forking import Forker
from generation.engine.trigger_router import Chances, TriggerRouter
from generation.unit.teaching.trigger_teacher import SKILL, answer, near_miss, should_load
from handoff_server import answered_by_hand
from provider import Behaviour, Provider, ReceivedRequest
from typed import Upskill
from upskill.core.models.handoff import HandoffQuestion
from upskill.core.nouns.harness import harness_info, harness_names

NUMBERS = range(12)


def teacher(asked: ReceivedRequest) -> Behaviour:
    return Behaviour(text=answer("You label requests" in asked.system, asked.prompt))


@pytest.fixture
def gauge_care(here: Path) -> Path:
    folder = here / SKILL.name
    folder.mkdir()
    text = f"---\nname: {SKILL.name}\ndescription: {SKILL.description}\n---\n{SKILL.body}\n"
    (folder / "SKILL.md").write_text(text)
    return folder


@pytest.fixture
def urls() -> Iterator[tuple[str, str]]:
    """Where a teacher is served, and a router that loads what it should, but for two prompts."""
    should = {should_load(number) for number in NUMBERS}
    router = TriggerRouter(skill=SKILL.name, chances={"": Chances(should=1, near=0)}, should=frozenset(should))

    def student(asked: ReceivedRequest) -> Behaviour:
        prompt = str(asked.body["messages"][1]["content"])
        router.chances = {"": Chances(should=float("ferry" not in prompt), near=float("poem" in prompt))}
        return router(asked)

    with Provider(teacher) as one, Provider(student) as other:
        yield one.url, other.url


def test_prompts_are_written_measured_and_shown(
    upskill: Upskill, here: Path, gauge_care: Path, urls: tuple[str, str]
) -> None:
    writes, routes = urls
    writing = ("trigger", SKILL.name, "--write", "-m", "big", "--base-url", writes)
    planned = json.loads(upskill(*writing, "--dry-run", "--json", UPSKILL_TRIGGER_PROMPTS="2+10").stdout)
    assert planned.pop("estimate").keys() == {"calls", "price", "minutes"}
    assert planned == {
        "schema": "upskill.triggers_plan/1",
        "skill": SKILL.name,
        "writer": {"name": "big", "model": planned["writer"]["model"]},
        "prompts": "2+10",
        "path": f"{SKILL.name}/evals/triggers.json",
    }
    written = upskill(*writing, UPSKILL_TRIGGER_PROMPTS="2+10")
    assert written.returncode == 0, written.stderr
    assert written.stdout.splitlines() == [
        "12 prompts that should load the skill, 12 near misses; 20 of them held out",
        f"Saved to {SKILL.name}/evals/triggers.json",
    ]
    assert "big writes 24 trigger prompts; about 3 calls" in written.stderr
    again = upskill("trigger", SKILL.name, "--write", "-m", "big", "--base-url", writes)
    assert again.returncode == 2
    assert "already exists" in again.stderr
    # All of them count, so that it is known which go wrong.
    path = gauge_care / "evals" / "triggers.json"
    path.write_text(path.read_text().replace('"use": "learn"', '"use": "held-out"'))
    student = ("-m", "small", "--base-url", routes)
    plan = json.loads(upskill("trigger", SKILL.name, *student, "--dry-run", "--json").stdout)
    assert (plan["prompts"], plan["harness"]) == ({"should_load": 12, "near_miss": 12}, "agent")
    done = upskill("trigger", SKILL.name, *student)
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if line.startswith("small"))
    figures = "small alone 92% (60-100) 8% (0-40) 92% (60-100) 0.83 (0.38 to 0.95) undecided"
    assert " ".join(row.split()) == figures
    assert "small: 1 prompt should have loaded it and did not" in done.stdout
    assert "small: 1 prompt loaded it and should not have" in done.stdout
    assert "next, let a teacher write more prompts, since these cannot decide it: upskill trigger" in done.stderr
    # The same again costs nothing; what is required is not shown.
    found = upskill("trigger", SKILL.name, *student, "--require", "--json")
    assert found.returncode == 1, found.stderr
    result = json.loads(found.stdout)
    assert (result["schema"], result["triggers_well"], result["bought"]["calls"]) == ("upskill.trigger/1", False, 0)
    (score,) = result["scores"]
    assert (score["model"], score["company"], score["verdict"]) == ("small", "alone", "undecided")
    assert score["recall"]["rate"] == pytest.approx(11 / 12)
    wrong = {one["prompt"] for one in score["prompts"] if one["should_load"] != bool(one["loads"])}
    assert wrong == {should_load(3), near_miss(2)}
    runs = json.loads(upskill("runs", "--json").stdout)
    assert all("undecided (J 0.83" in run["found"] for run in runs["runs"])
    assert "is a run of `trigger`" in upskill("report", result["run"]).stderr


def test_prompts_are_written_by_hand_off(
    upskill: Upskill, forker: Forker, environment: dict[str, str], here: Path, gauge_care: Path
) -> None:
    def by_hand(question: HandoffQuestion, text: str) -> str:
        written = answer(question.purpose == "trigger-review", text)
        return written.replace("Our instrument by pier 0 ", "Ask gauge-care: our instrument ")

    words = ("trigger", SKILL.name, "--write", "-m", "handoff/asked")
    with forker.started({**environment, "UPSKILL_TRIGGER_PROMPTS": "2+8"}, *words, cwd=here) as asking:
        asked = answered_by_hand(upskill, here, by_hand)
        done = asking.wait()
    assert done.returncode == 0, done.stderr
    # Whoever writes the skill must not see held-out prompts, so all is asked on the side of the cases.
    purposes = [purpose for purpose, _ in asked]
    assert purposes[:3] == ["cases: triggers", "cases: triggers", "cases: trigger-review"]
    should, near, review = (said for _, said in asked[:3])
    assert "9 of 10 prompts would be used, if the review agrees" in should
    assert "dropped: names the skill: Ask gauge-care: our instrument" in should
    assert "10 of 10 prompts would be used" in near
    assert review == "the answer can be used\n"
    assert done.stdout.endswith(f"Saved to {SKILL.name}/evals/triggers.json\n")
    prompts = json.loads((gauge_care / "evals" / "triggers.json").read_text())["prompts"]
    assert [sum(one["should_load"] is kind for one in prompts) for kind in (True, False)] == [9, 10]


def test_a_skill_without_prompts_gets_them_first(upskill: Upskill, gauge_care: Path, urls: tuple[str, str]) -> None:
    writes, routes = urls
    words = ("trigger", SKILL.name, "-m", "small")
    teacher = {"UPSKILL_TEACHER": "big", "UPSKILL_TEACHER_BASE_URL": writes}
    done = upskill(*words, UPSKILL_BASE_URL=routes, **teacher)
    assert done.returncode in (0, 3), done.stderr
    asked = f"models are asked at {routes} (UPSKILL_BASE_URL)"
    assert done.stderr.startswith(f"{asked}\n"), "before anything is sent there"
    assert (gauge_care / "evals" / "triggers.json").is_file()


def test_what_cannot_be_measured_is_refused_before_anything_is_asked(upskill: Upskill, gauge_care: Path) -> None:
    nobody = upskill("trigger", SKILL.name, "-m", "scripted/x.yaml")
    assert nobody.returncode == 2
    assert nobody.stderr.startswith("error: ")
    (gauge_care / "evals").mkdir()
    (gauge_care / "evals" / "triggers.json").write_text('[{"prompt": "a", "should_load": true}]')
    one_kind = upskill("trigger", SKILL.name, "-m", "scripted/x.yaml")
    assert "has no held-out prompt that is a near miss" in one_kind.stderr
    (gauge_care / "evals" / "triggers.json").write_text(
        '[{"prompt": "a", "should_load": true}, {"prompt": "b", "should_load": false}]'
    )
    chat = upskill("trigger", SKILL.name, "-m", "scripted/x.yaml", "--harness", "chat")
    assert "a model cannot load a skill" in chat.stderr
    with_tools = [name for name in harness_names() if harness_info(name).with_tools]
    assert ", ".join(["auto", *with_tools[:2]]) in upskill("trigger", "--help").stdout
    assert upskill("trigger", SKILL.name, "--replace").returncode == 2


def test_lint_names_the_skill_that_was_loaded_instead(upskill: Upskill, here: Path) -> None:
    for name, does in (("good", "Merges PDF files"), ("bad", "Reads tide tables")):
        folder = here / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {does}. Use when asked.\n---\nDo it.\n")
    measured = {
        "scores": [
            {"prompts": [{"should_load": True, "answers": 1, "loads": 0, "others": ["bad"]}] * 3
             + [{"should_load": False, "answers": 1, "loads": 0, "others": ["pdf"]}]}
        ]
    }  # fmt: skip
    run = here / "runs" / "2026-11-16-101112-trigger-good-abcd"
    run.mkdir(parents=True)
    record = {
        "format": "upskill.trigger_run/1", "status": "finished", "started_at": "2026-11-16T10:11:12Z", "versions": {},
        "skill_name": "good", "skill_digest": "0", "skill_source": "x", "prompt_source": "x", "harness": "agent",
        "companies": ["among"], "students": ["m"], "repeats": 1, "results": measured,
    }  # fmt: skip
    (run / "trigger.json").write_text(json.dumps(record))
    done = upskill("lint", "skills/good", "--among", "skills", "--json")
    found = json.loads(done.stdout)["skills"][0]["findings"]
    instead = [one["excerpt"] for one in found if one["rule"] == "loaded-instead"]
    assert instead == ["good and bad (skills/bad): loaded for 3 prompts"]


def test_prompts_are_not_written_out_of_the_skill(upskill: Upskill, here: Path, gauge_care: Path) -> None:
    (here / "elsewhere").mkdir()
    shutil.rmtree(gauge_care / "evals", ignore_errors=True)
    (gauge_care / "evals").symlink_to(here / "elsewhere")
    done = upskill("trigger", SKILL.name, "--write", "-m", "handoff/asked")
    assert (done.returncode, "a link to a place outside the skill" in done.stderr) == (2, True), done.stderr
    assert [*(here / "elsewhere").iterdir()] == []
