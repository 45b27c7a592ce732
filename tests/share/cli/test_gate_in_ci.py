"""A gate in CI that is used again and again, through the installed command."""

import json
import shutil
from pathlib import Path

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
    gate: tuple[str, ...], upskill: Upskill, here: Path, home: Path
) -> None:
    before = sorted(path.name for path in (here / "skill").rglob("*"))
    with Provider(lambda _: Behaviour(text="I do not know.")) as provider:
        first = upskill(*gate, "--base-url", provider.url, UPSKILL_STORE="false")
        asked = len(provider.requests)
        shutil.rmtree(here / "runs")
        shutil.rmtree(home)
        home.mkdir()
        again = upskill(*gate, "--base-url", provider.url, "--write", "out.xml", "--write", "out.csv")
        assert len(provider.requests) == asked > 0
    assert again.returncode == first.returncode == 1
    one, two = json.loads(first.stdout), json.loads(again.stdout)
    assert two["students"] == one["students"]
    assert any("unchanged since" in note for note in two["notes"])
    assert any("comes from ledger ci/looks.jsonl, of 20" in note and "not checked" in note for note in two["notes"])
    assert not (here / "runs").exists()
    assert "undecided" in (here / "out.xml").read_text() or "no difference" in (here / "out.xml").read_text()
    assert sorted(path.name for path in (here / "skill").rglob("*")) == before
    listed = upskill("runs", "--looks", "skill")
    assert listed.returncode == 0
    assert "2.5%" in listed.stdout
    looks = json.loads(upskill("runs", "--looks", one["skill"]["name"], "--json").stdout)["looks"]
    assert [(look["digest"], look["verdict"]) for look in looks] == [
        (one["skill"]["digest"], one["students"][0]["verdict"])
    ]


def test_a_verdict_of_a_ledger_is_not_shown_as_a_run_that_is_kept_and_a_forged_one_is_not_taken(
    gate: tuple[str, ...], upskill: Upskill, here: Path
) -> None:
    gate = tuple(word for word in gate if word != "--json")
    with Provider(lambda _: Behaviour(text="I do not know.")) as provider:
        first = upskill(*gate, "--base-url", provider.url, UPSKILL_STORE="false")
        asked = len(provider.requests)
        assert "Run saved in runs/" in first.stdout
        again = upskill(*gate, "--base-url", provider.url, UPSKILL_STORE="false")
        assert "Run saved in runs/" in again.stdout
        assert "not checked" not in again.stdout
        shutil.rmtree(here / "runs")
        gone = upskill(*gate, "--base-url", provider.url, UPSKILL_STORE="false")
        assert len(provider.requests) == asked > 0
        assert "Run saved in" not in gone.stdout
        assert "upskill report" not in gone.stderr
        assert "its answers are neither in a run folder nor in the cache" in gone.stdout
        ledger = here / "ci" / "looks.jsonl"
        look = json.loads(ledger.read_text())
        helps = {"verdict": "helps", "claim": "cases like these"}
        lift = {**look["report"]["lifts"][0], "mean": 1.0, "cases_like_these": [0.7, 1.0], "these_cases": [0.7, 1.0]}
        ledger.write_text(json.dumps({**look, **helps, "report": {**look["report"], **helps, "lifts": [lift]}}) + "\n")
        forged = upskill(*gate, "--base-url", provider.url, UPSKILL_STORE="false")
        assert len(provider.requests) == 2 * asked
    assert forged.returncode == 1
    assert "line 1 contradicts itself, so only its level counts: lift +100, which does not match its pairs" in " ".join(
        forged.stdout.split()
    )


def test_a_skill_that_nobody_looked_at(upskill: Upskill) -> None:
    none = upskill("runs", "--looks", "thing")
    assert (none.returncode, none.stdout) == (0, "")
    assert "no looks at thing in" in none.stderr
