"""The product on a coding model of half a billion parameters: `make models-test`. Skipped where it cannot be had."""

import json
from pathlib import Path
from typing import Any

import pytest
from tools.models import MODELS

from forking import COMMAND, run_program

pytestmark = pytest.mark.full
ROOT = Path(__file__).parent.parent.parent
MODEL = MODELS["0.5b"].name


def evaluated(coder: str, here: Path, *words: str) -> dict[str, Any]:
    settings = {"UPSKILL_RUNS_DIR": str(here), "UPSKILL_TEMPERATURE": "0", "UPSKILL_MAX_OUTPUT_TOKENS": "96"}
    command = [COMMAND, "eval", *words, "-m", MODEL, "--base-url", coder, "--json", "--yes"]
    done = run_program(
        [*command, "--runs", "1", "--concurrency", "1"],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "HOME": str(here), **settings},
        timeout=1800,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_example_skill_helps(coder: str, tmp_path: Path) -> None:
    (student,) = evaluated(coder, tmp_path, "examples/tarnctl")["students"]
    assert student["verdict"] == "helps"
    assert student["arms"]["baseline"]["pass_rate"] <= 0.1
    assert student["arms"]["with_skill"]["pass_rate"] >= 0.8


def test_calls_that_it_writes_as_text_are_made(coder: str, tmp_path: Path) -> None:
    found = evaluated(coder, tmp_path, "examples/tarn-config", "--harness", "agent")
    assert found["students"][0]["verdict"] != "invalid"
    assert any("read from text" in note for note in found["notes"]), found["notes"]
    (trials,) = tmp_path.glob("*/trials.jsonl")
    kept = [json.loads(line) for line in trials.read_text(encoding="utf-8").splitlines()]
    assert sum(trial["tool_calls"] for trial in kept) >= sum(trial.get("text_calls") or 0 for trial in kept) > 0
