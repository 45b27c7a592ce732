"""`upskill eval --controls` by the real command: what it says of models that read, and of models that do not."""

import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from controls.readers import FACTS, LAYOUTS, NAMES, reader, write_skill
from forking import COMMAND
from provider import Behave, Behaviour, Provider
from typed import Upskill, wait

KNOWN = NAMES[2:7]


@pytest.fixture
def skill(here: Path) -> Path:
    return write_skill(here / "ports", FACTS)


def evaluated(
    upskill: Upskill, behave: Behave, *words: str, skill: str = "ports", **variables: str
) -> tuple[dict[str, Any], Provider]:
    """The only student of the result, and the provider that answered."""
    with Provider(behave) as provider:
        typed = ("-m", "any", "--base-url", provider.url, "--runs", "1", "--yes", "--json")
        done = upskill("eval", skill, "--controls", *typed, *words, **variables)
    assert done.returncode == 0, done.stderr
    student: dict[str, Any] = json.loads(done.stdout)["students"][0]
    return student, provider


@pytest.mark.usefixtures("skill")
def test_a_model_that_reads_fails_with_the_corrupted_skill(upskill: Upskill) -> None:
    student, provider = evaluated(upskill, reader())
    controls = student["controls"]
    assert (controls["passing"], controls["noticed"], controls["tested"]) == (12, 12, 12)
    assert controls["shows_nothing"] == []
    assert {lift["arm"]: lift["mean"] for lift in student["lifts"]} == {"with_skill": 1, "placebo": 0, "corrupted": 0}
    assert controls["over_placebo"]["mean"] == controls["over_corrupted"]["mean"] == 1
    assert controls["over_placebo"]["interval"][0] > 0
    assert (student["verdict"], student["sentence"][:5]) == ("helps", "helps")
    assert len(provider.requests) == 48


@pytest.mark.usefixtures("skill")
def test_a_model_that_ignores_the_skill_shows_that_its_cases_do(upskill: Upskill) -> None:
    student, _ = evaluated(upskill, reader(by_heart=NAMES))
    controls = student["controls"]
    assert (controls["passing"], controls["noticed"]) == (12, 0)
    assert controls["shows_nothing"] == list(NAMES)
    assert controls["over_placebo"]["mean"] == controls["over_corrupted"]["mean"] == 0
    silent, _ = evaluated(upskill, lambda _: Behaviour(text="no idea"), "--fresh")
    assert (silent["controls"]["passing"], silent["controls"]["shows_nothing"]) == (0, [])


@pytest.mark.usefixtures("skill")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_facts_that_a_model_knows_by_heart_are_named(layout: str, upskill: Upskill, here: Path) -> None:
    write_skill(here / layout, FACTS, layout=layout)
    student, _ = evaluated(upskill, reader(by_heart=KNOWN), skill=layout)
    controls = student["controls"]
    assert (controls["passing"], controls["noticed"]) == (12, 7)
    assert controls["shows_nothing"] == list(KNOWN)
    assert controls["tested"] == 12


@pytest.mark.usefixtures("skill")
def test_the_arms_differ_by_the_text_of_the_skill_alone(upskill: Upskill) -> None:
    _, provider = evaluated(upskill, reader())
    bodies: dict[str, list[str]] = {}
    texts: set[str] = set()
    for asked in provider.requests:
        body = json.dumps(asked.body, ensure_ascii=False)
        given = re.search(r'<skill name=\\"ports\\">\\n(.*)\\n</skill>', body)
        if given is not None:
            texts.add(given[1])
            body = body.replace(given[1], "TEXT")
        bodies.setdefault(asked.prompt, []).append(body)
    assert [len(of_a_case) for of_a_case in bodies.values()] == [4] * 12
    assert all(len(set(of_a_case)) == 2 for of_a_case in bodies.values()), "with a skill, and without"
    assert len(texts) == 3
    assert max(map(len, texts)) - min(map(len, texts)) < 0.05 * max(map(len, texts))


@pytest.mark.usefixtures("skill")
def test_a_killed_run_is_resumed_to_the_same_result(upskill: Upskill, environment: dict[str, str], here: Path) -> None:
    whole, _ = evaluated(upskill, reader(by_heart=KNOWN), UPSKILL_LEDGER="other.jsonl")

    def slow(asked: Any) -> Behaviour:
        return Behaviour(text=reader(by_heart=KNOWN)(asked).text, latency=0.1)

    with Provider(slow) as provider:
        words = ["eval", "ports", "--controls", "-m", "any", "--base-url", provider.url, "--runs", "1", "--yes"]
        with subprocess.Popen([COMMAND, *words], cwd=here, env=environment, stderr=subprocess.DEVNULL) as process:
            wait(lambda: len(provider.requests) > 20)
            process.send_signal(signal.SIGKILL)
        run = max(here.glob("runs/*"))
        asked = len(provider.requests)
        done = upskill("eval", "--resume", str(run.relative_to(here)), "--json")
        assert done.returncode == 0, done.stderr
        assert 0 < len(provider.requests) - asked < 48
        again = upskill("regrade", str(run.relative_to(here)), "--json")
    for text in (done.stdout, again.stdout):
        resumed = json.loads(text)["students"][0]
        assert all(resumed[key] == whole[key] for key in ("verdict", "sentence", "lifts", "controls")), text


@pytest.mark.usefixtures("skill")
def test_the_plan_prices_the_controls_and_a_skill_without_values_has_a_placebo_only(
    upskill: Upskill, here: Path
) -> None:
    (here / "student.yaml").write_text("rules: [{replies: [no idea]}]")
    words = ("-m", "scripted/student.yaml", "--runs", "1", "-n", "--json")
    plain, controlled = (json.loads(upskill("eval", "ports", *more, *words).stdout) for more in ((), ("--controls",)))
    assert [one["calls"]["at_most"] for one in (plain, controlled)] == [24, 48]
    assert controlled["arms"] == ["baseline", "with_skill", "placebo", "corrupted"]
    write_skill(here / "words", {"birch": "oak"}, asked={"birch": "oak"}, layout="words")
    planned = upskill("eval", "words", "--controls", *words)
    assert json.loads(planned.stdout)["arms"] == ["baseline", "with_skill", "placebo"]
    said = upskill("eval", "words", "--controls", *words[:-1]).stdout
    assert "controls: no value of SKILL.md can be exchanged" in " ".join(said.split())


@pytest.mark.usefixtures("skill")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--no-baseline", "--no-baseline asks with the skill alone"),
        ("--compare previous:old", "--compare compares two versions"),
        ("--practice", "--practice claims nothing"),
        ("--require no-harm", "--require no-harm asks"),
        ("--among 3", "--among gives other skills"),
        ("--harness agent", "with the harness agent a model also has its files"),
        ("--together", "remove --controls"),
    ],
)
def test_what_controls_do_not_go_with_is_refused_in_one_line(words: str, said: str, upskill: Upskill) -> None:
    done = upskill("eval", "ports", "--controls", "-m", "any", *words.split())
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[0]
    assert len([line for line in done.stderr.splitlines() if line.strip()]) <= 2, "a line and a hint"
