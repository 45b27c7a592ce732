"""The command after `next`, typed as it is printed, asks the same question once more."""

import json
import random
import re
import shlex
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from provider import Behaviour, Provider, ReceivedRequest
from typed import Upskill

QUICK, ALL = 4, 30
OPTIONS = {
    "--runs": ("1", "2", "3"),
    "--min-lift": ("0.1",),
    "--concurrency": ("1", "3"),
    "--max-cost": ("2", "0.5"),
    "--max-calls": ("500",),
    "--harness": ("chat",),
    "--no-baseline": (None,),
    "--compare": ("previous:old versions/x",),
    "--yes": (None,),
    "-t": ("other cases.json",),
}
VARIABLES = {"UPSKILL_TEMPERATURE": "0.5", "UPSKILL_MAX_OUTPUT_TOKENS": "64", "UPSKILL_SEED": "7"}
KNOWN = ("cases", "design", "repeats", "min_lift", "seed", "harness", "sandbox", "judge", "previous_digest", "arms")
"""What a record says of the question, beside its students."""
_NUMBERS = count(1)


def _helped(asked: ReceivedRequest) -> Behaviour:
    knows = "The new one." in json.dumps(asked.body)
    return Behaviour(text=f"{'right' if knows else 'wrong'} {next(_NUMBERS)}")


@pytest.fixture
def skill(here: Path) -> Path:
    """A skill with its cases, an older version of it, and a file with other cases."""
    for folder, body in ((here / "x", "new"), (here / "old versions" / "x", "old")):
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: x\ndescription: Answers.\n---\nThe {body} one.\n")
    cases = [{"input": f"Question {number}?", "expected": {"contains": "right"}} for number in range(8)]
    (here / "x" / "skill_meta.json").write_text(json.dumps({"cases": cases}))
    (here / "other cases.json").write_text(json.dumps({"cases": cases[:6]}))
    return here / "x"


def _question(here: Path, *, after: Iterable[Path] = ()) -> tuple[dict[str, Any], set[Path]]:
    """What the newest run asks for, and all runs."""
    runs = set((here / "runs").glob("*/run.json"))
    (newest,) = runs.difference(after)
    record = json.loads(newest.read_text())
    students = [
        {key: one[key] for key in ("name", "endpoint", "temperature", "max_output_tokens")}
        for one in record["students"]
    ]
    caps = {name: record["settings"][name]["value"] for name in ("max_cost", "max_calls", "concurrency")}
    return {**{name: record[name] for name in KNOWN}, "students": students, "caps": caps}, runs


def _typed(seed: int) -> tuple[list[str], dict[str, str]]:
    draw = random.Random(seed)
    chosen = [name for name in OPTIONS if draw.random() < 0.4]
    if {"--no-baseline", "--compare"} <= {*chosen} or {"--no-baseline", "--min-lift"} <= {*chosen}:
        chosen.remove("--no-baseline")
    words = [word for name in chosen for word in (name, draw.choice(OPTIONS[name])) if word is not None]
    return words, {name: value for name, value in VARIABLES.items() if draw.random() < 0.3}


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.full] if seed >= QUICK else []) for seed in range(ALL)]
)
def test_the_next_command_asks_the_same_question(seed: int, upskill: Upskill, skill: Path, here: Path) -> None:
    words, variables = _typed(seed)
    with Provider(_helped) as provider:
        first = upskill("eval", "x", "-m", "any", "--base-url", provider.url, *words, **variables)
        asked, runs = _question(here)
        printed = re.search(r"^next, [^\n]*?:\s+((?:UPSKILL_\w+=\S+ )*upskill eval .+)$", first.stderr, re.M)
        assert printed is not None, first.stderr
        again = shlex.split(printed[1])
        said = dict(word.split("=", 1) for word in again if word.startswith("UPSKILL_"))
        assert said == variables
        assert ("--yes" in again) == ("--yes" in words)
        assert "--yes" not in again or "--max-cost" in again
        upskill(*again[len(said) + 1 :], "--fresh", **said)
        second, _ = _question(here, after=runs)
    changed = _changed(asked, second)
    assert changed <= _meant(words), (printed[1], asked, second)


def _meant(words: list[str]) -> set[str]:
    """What the next command changes on purpose: it measures a lift where there was none, with the design of a lift."""
    if "--no-baseline" in words:
        return {"arms"} if "--runs" in words else {"arms", "design", "repeats"}
    if "--compare" in words:
        return {"arms", "previous_digest"} if "--runs" in words else {"arms", "previous_digest", "design", "repeats"}
    return set()


def _changed(first: Mapping[str, Any], second: Mapping[str, Any]) -> set[str]:
    return {name for name in first if first[name] != second[name]}
