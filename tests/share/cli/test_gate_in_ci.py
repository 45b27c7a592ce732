"""A gate in CI that is used again and again, through the installed command."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from provider import Behaviour, Provider
from typed import Upskill


@pytest.fixture
def gate(example_skill: Path, here: Path, environment: dict[str, str]) -> tuple[str, ...]:
    """The command of the gate, in a folder with a skill of its own and a ledger."""
    environment["UPSKILL_LEDGER"] = "ci/looks.jsonl"
    shutil.copytree(example_skill, here / "skill")
    return ("eval", "skill", "-m", "any", "--runs", "1", "--require", "helps", "--json")


def test_a_gate_that_changes_nothing_asks_nothing_and_says_the_same(
    gate: tuple[str, ...], upskill: Upskill, here: Path
) -> None:
    before = sorted(path.name for path in (here / "skill").rglob("*"))
    with Provider(lambda _: Behaviour(text="I do not know.")) as provider:
        first = upskill(*gate, "--base-url", provider.url)
        asked = len(provider.requests)
        shutil.rmtree(here / "runs")
        again = upskill(*gate, "--base-url", provider.url, "--write", "out.xml", "--write", "out.csv")
        assert len(provider.requests) == asked > 0
    assert again.returncode == first.returncode == 1
    one, two = json.loads(first.stdout), json.loads(again.stdout)
    assert _figures(two) == _figures(one)
    assert two["bought"]["reused"] == asked
    assert any("unchanged since" in note for note in two["notes"])
    assert (here / two["run"] / "run.json").is_file()
    assert "undecided" in (here / "out.xml").read_text()
    assert sorted(path.name for path in (here / "skill").rglob("*")) == before
    listed = upskill("runs", "--looks", "skill")
    assert listed.returncode == 0
    assert "2.5%" in listed.stdout
    looks = json.loads(upskill("runs", "--looks", one["skill"]["name"], "--json").stdout)["looks"]
    assert [(look["digest"], look["verdict"]) for look in looks] == [
        (one["skill"]["digest"], one["students"][0]["verdict"])
    ]


def _figures(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    keys = ("verdict", "claim", "sentence", "end", "lifts", "looks")
    return [tuple(student[key] for key in keys) for student in found["students"]]


def test_a_verdict_of_a_ledger_whose_answers_are_gone_is_not_taken_and_its_look_counts(
    gate: tuple[str, ...], upskill: Upskill, here: Path, home: Path
) -> None:
    with Provider(lambda _: Behaviour(text="I do not know.")) as provider:
        assert upskill(*gate, "--base-url", provider.url).returncode == 1
        asked = len(provider.requests)
        shutil.rmtree(here / "runs")
        shutil.rmtree(home)
        home.mkdir()
        ledger = here / "ci" / "looks.jsonl"
        opened, closed = map(json.loads, ledger.read_text().splitlines())
        assert (opened["id"], opened["ended_at"], opened["verdict"]) == (closed["id"], None, None)
        helps = {"verdict": "helps", "claim": "new cases", "lift": 1.0, "sentence": "helps: +100 points"}
        ledger.write_text("".join(f"{json.dumps(line)}\n" for line in (opened, closed | helps)))
        forged = upskill(*gate, "--base-url", provider.url)
        assert len(provider.requests) == 2 * asked > 0
    assert forged.returncode == 1
    found = json.loads(forged.stdout)
    assert found["students"][0]["verdict"] == "undecided"
    assert any("2nd look at this skill with this model" in note for note in found["notes"])
    looks = json.loads(upskill("runs", "--looks", "skill", "--json").stdout)["looks"]
    assert [look["verdict"] for look in looks] == ["helps", "undecided"]
    assert looks[1]["level"] < looks[0]["level"] == 0.025


def test_a_skill_that_nobody_looked_at(upskill: Upskill) -> None:
    none = upskill("runs", "--looks", "thing")
    assert (none.returncode, none.stdout) == (0, "")
    assert "no looks at thing in" in none.stderr
