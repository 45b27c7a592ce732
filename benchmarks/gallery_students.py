"""What each skill of the gallery, and `examples/tarnctl`, does for three small real models on this machine.

    python -m benchmarks.gallery_students                          SmolLM2, the knowledge cases of all skills
    python -m benchmarks.gallery_students --model 1.5b             Qwen2.5-Coder (`make models`)
    python -m benchmarks.gallery_students --model 1.5b --level executable github-actions
    python -m benchmarks.gallery_students --recompute              the results of all runs anew, from their answers

Each evaluation is one run in `gallery/measured`, kept without the logs of the engine; the evidence of a skill is
written beside it. Cases are asked once, at temperature 0, of a server that remembers prompts: without that it takes
ten times as long. With tools two answers are written at once. A run that is there is not made again, unless `--again`;
after a stop, what was answered comes from the store. Beside the GPU skill, what was published about its subject is
measured on SmolLM2, as a skill of its own.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.gallery import GALLERY, KNOWLEDGE, ROOT, level_files, skill_names
from tools.gallery_page import PAGE, RUNS, page
from tools.local_model import served_model
from tools.models import MODELS

from upskill.errors import EXIT_DONE, EXIT_FAILED
from upskill.evaluation.regrade import regrade
from upskill.report.json_report import evaluation_json

PUBLISHED = GALLERY / "gpu-kernels" / "evals" / "published-facts"
TARNCTL = ROOT / "examples" / "tarnctl"
UPSKILL = str(Path(sys.executable).parent / "upskill")
PORT = 18731
"""Stays the same: it is part of what a run records."""
ASKED = ["--runs", "1"]
SMOLLM2 = "smollm2"
NAMES = {SMOLLM2: SMOLLM2, **{size: model.name for size, model in MODELS.items()}}
SET = {"UPSKILL_TEMPERATURE": "0"}
KNOWS = {"UPSKILL_CEILING": "true"}
"""At the level of knowledge, where the cases of the gallery name the passage that answers them."""
MOST_TOKENS = {SMOLLM2: "64", "0.5b": "96", "1.5b": "96"}
"""Of an answer at the level of knowledge."""
WITH_TOOLS = {"UPSKILL_MAX_OUTPUT_TOKENS": "1024", "UPSKILL_MAX_TURNS": "8"}
"""Of each turn, and of an answer. `upskill.toml` of this repository, which is for its example, cuts at 40 tokens."""


def main(words: Sequence[str] | None = None) -> int:
    """Serve the model, evaluate, write the evidence."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gallery_students")
    parser.add_argument("skills", nargs="*", help="default: all of them, and tarnctl")
    parser.add_argument("--model", choices=NAMES, default=SMOLLM2)
    parser.add_argument("--level", default=KNOWLEDGE)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--recompute", action="store_true")
    flags = parser.parse_args(words)
    if flags.recompute:
        for name in flags.skills or [path.name for path in sorted(RUNS.iterdir())]:
            _recompute(name)
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    with served_model(flags.port, cache=True, size=None if flags.model == SMOLLM2 else flags.model) as url:
        for name in flags.skills or [TARNCTL.name, *skill_names()]:
            skill = TARNCTL if name == TARNCTL.name else GALLERY / name
            cases = None if skill == TARNCTL else level_files(name)[flags.level]
            if _evaluate(skill, cases, url, flags, runs=RUNS / name) and skill != TARNCTL:
                _upskill("evidence", str(skill.relative_to(ROOT)), runs=RUNS / name)
            if name == "gpu-kernels" and flags.model == SMOLLM2:
                _evaluate(PUBLISHED, cases, url, flags, runs=RUNS / PUBLISHED.name)
    PAGE.write_text(page(), encoding="utf-8")
    return 0


def _evaluate(skill: Path, cases: Path | None, url: str, flags: argparse.Namespace, *, runs: Path) -> bool:
    """Measure below `build/`, and only then replace the run that was kept. Returns whether there is a verdict: without
    one there is no evidence."""
    knows = flags.level == KNOWLEDGE
    kept = [path for path in runs.glob("*/run.json") if _is_of(path, NAMES[flags.model], knows=knows)]
    if kept and not flags.again:
        return False
    fresh = ROOT / "build" / "measured" / f"{runs.name}-{flags.model}-{flags.level}"
    shutil.rmtree(fresh, ignore_errors=True)
    words = ["eval", str(skill.relative_to(ROOT)), "-m", NAMES[flags.model], *ASKED]
    words += ["--concurrency", "1" if knows else "2"]
    words += ["--harness", "chat" if knows else "agent", "--base-url", f"{url}/v1", "--yes"]
    words += [] if cases is None else ["-t", str(cases.relative_to(ROOT))]
    words += ["--fresh"] if flags.again else []
    more = {"UPSKILL_MAX_OUTPUT_TOKENS": MOST_TOKENS[flags.model]} if knows else WITH_TOOLS
    ended = _upskill(*words, runs=fresh, **more, **(KNOWS if knows and cases is not None else {}))
    for path in kept:
        shutil.rmtree(path.parent)
    # Runs are ignored by git where they are made; the logs are large, and the answers are in `trials.jsonl`.
    ignored = shutil.ignore_patterns(".gitignore", "logs", "report.html")
    shutil.copytree(fresh, runs, ignore=ignored, dirs_exist_ok=True)
    for path in runs.glob("*/run.json"):
        path.write_text(path.read_text(encoding="utf-8").replace(f"{ROOT}/", ""), encoding="utf-8")
    return ended == EXIT_DONE


def _recompute(name: str) -> None:
    """Conclude again from the answers of each run of a skill, which asks no model, and write its evidence."""
    for path in sorted((RUNS / name).glob("*/run.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        again = regrade(path.parent, case_file=path.parent / record["case_source"])
        record["results"]["students"] = evaluation_json(again)["students"]
        path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if name in skill_names():
        _upskill("evidence", str((GALLERY / name).relative_to(ROOT)), runs=RUNS / name)


def _is_of(path: Path, model: str, *, knows: bool) -> bool:
    (student,) = json.loads(path.read_text(encoding="utf-8"))["results"]["students"]
    return bool(student["model"] == model and (student["harness"].split("/")[0] == "chat") == knows)


def _upskill(*words: str, runs: Path, **more: str) -> int:
    variables = {**SET, **more, "UPSKILL_RUNS_DIR": str(runs.relative_to(ROOT))}
    print("$ " + " ".join([*(f"{name}={value}" for name, value in variables.items()), "upskill", *words]), flush=True)
    ended = subprocess.run([UPSKILL, *words], cwd=ROOT, env={**os.environ, **variables}, check=False).returncode
    if ended not in (EXIT_DONE, EXIT_FAILED):  # a run without a verdict is a result, too
        raise SystemExit(ended)
    return ended


if __name__ == "__main__":
    sys.exit(main())
