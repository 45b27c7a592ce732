"""The gate by the command: what a broken fact does to a build, and that deleting its case does not help."""

import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from provider import Behaviour, Provider, ReceivedRequest
from typed import Upskill

FACTS = 12
BROKEN = 3


def _write(folder: Path, *, broken: int = 0, heading: str = "# Ports", cases: int = FACTS) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    facts = [f"Part {n} has the port {9000 + n if n < broken else 7000 + n}." for n in range(FACTS)]
    head = "---\nname: ports\ndescription: Ports of parts.\n---\n"
    (folder / "SKILL.md").write_text("\n".join([head, heading, "", *facts]))
    asked = [
        {"id": f"p{n}", "input": f"Which port is that of part {n}?", "expected": {"contains": str(7000 + n)}}
        for n in range(FACTS - cases, FACTS)
    ]
    (folder / "skill_meta.json").write_text(json.dumps({"cases": asked}))


def _reader(rate: float) -> Any:
    draw = random.Random(3)

    def answer(asked: ReceivedRequest) -> Behaviour:
        number = re.findall(r"of part (\d+)", asked.prompt)[-1]
        fact = re.search(rf"Part {number} has the port (\d+)", asked.system)
        known = fact is not None and draw.random() < rate
        return Behaviour(text=f"{fact[1] if known and fact else 'unknown'} ({draw.randrange(10**6)})")

    return answer


@pytest.fixture
def skill(here: Path) -> Path:
    folder = here / "ports"
    _write(folder)
    shutil.copytree(folder, here / "older" / "ports")
    return folder


def _words(skill: Path, url: str, *more: str) -> tuple[str, ...]:
    required = ("--compare", "previous:older/ports", "--require", "no-harm")
    return ("eval", skill.name, "-m", "any", "--base-url", url, *required, *more)


@pytest.mark.parametrize("rate", [0.95, 1.0])
def test_broken_facts_fail_the_build_and_are_named(upskill: Upskill, skill: Path, rate: float) -> None:
    _write(skill, broken=BROKEN)
    with Provider(_reader(rate)) as model:
        done = upskill(*_words(skill, model.url))
    assert done.returncode == 1, done.stdout
    assert "not met: --require no-harm" in done.stdout + done.stderr
    named = [f"p{number}" in done.stdout for number in range(BROKEN)]
    assert all(named) if rate == 1 else any(named)


def test_another_heading_passes(upskill: Upskill, skill: Path) -> None:
    _write(skill, heading="# Ports of all parts")
    with Provider(_reader(1.0)) as model:
        done = upskill(*_words(skill, model.url))
    assert done.returncode == 0, done.stdout


def test_who_deletes_the_cases_of_what_broke_is_measured_on_the_old_cases(upskill: Upskill, skill: Path) -> None:
    _write(skill, broken=BROKEN, cases=FACTS - BROKEN)
    with Provider(_reader(1.0)) as model:
        done = upskill(*_words(skill, model.url))
        assert done.returncode == 1, done.stdout
        assert "3 removed" in done.stdout + done.stderr
        asked = {one.prompt for one in model.requests}
        assert any("part 0?" in prompt for prompt in asked)
        accepted = upskill(*_words(skill, model.url, "--accept-changed-cases"))
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr


def test_a_case_that_the_old_version_rarely_passes_is_not_guarded_and_the_result_says_so(
    upskill: Upskill, skill: Path
) -> None:
    _write(skill, heading="# Ports of all parts")
    with Provider(_reader(0.4)) as model:
        done = upskill(*_words(skill, model.url, "--json"))
    (student,) = json.loads(done.stdout)["students"]
    assert student["unguarded"]
