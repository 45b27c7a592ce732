"""What each skill of the gallery does for a very small real model on this machine, on its knowledge cases.

    python -m benchmarks.gallery_students                all skills
    python -m benchmarks.gallery_students tidy-data      one of them

Each evaluation is one run in `gallery/measured`, kept without the logs of the engine; its evidence is written beside
the skill. The cases are asked once, at temperature 0, of a server that remembers prompts: without that it takes ten
times as long. Beside the GPU skill, what was published about its subject is measured, as a skill of its own.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.gallery import GALLERY, KNOWLEDGE, ROOT, level_files, skill_names
from tools.gallery_page import PAGE, RUNS, page
from tools.local_model import served_model

PUBLISHED = GALLERY / "gpu-kernels" / "evals" / "published-facts"
UPSKILL = str(Path(sys.executable).parent / "upskill")
PORT = 18731
"""Stays the same: it is part of what a run records."""
ASKED = ["--harness", "chat", "--runs", "1", "--concurrency", "1"]
SET = {"UPSKILL_TEMPERATURE": "0", "UPSKILL_MAX_OUTPUT_TOKENS": "64", "UPSKILL_CEILING": "true"}


def main(words: Sequence[str] | None = None) -> int:
    """Serve the model, evaluate, write the evidence."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gallery_students")
    parser.add_argument("skills", nargs="*", help="default: all of them")
    parser.add_argument("--port", type=int, default=PORT)
    flags = parser.parse_args(words)
    with served_model(flags.port, cache=True) as url:
        for name in flags.skills or skill_names():
            folder = GALLERY / name
            cases = level_files(name)[KNOWLEDGE]
            _evaluate(folder, cases, url, runs=RUNS / name)
            _upskill("evidence", str(folder.relative_to(ROOT)), runs=RUNS / name)
            if name == "gpu-kernels":
                _evaluate(PUBLISHED, cases, url, runs=RUNS / PUBLISHED.name)
    PAGE.write_text(page(), encoding="utf-8")
    return 0


def _evaluate(skill: Path, cases: Path, url: str, *, runs: Path) -> None:
    """Measure below `build/`, and only then replace the run that was kept."""
    fresh = ROOT / "build" / "measured" / runs.name
    shutil.rmtree(fresh, ignore_errors=True)
    words = ["eval", str(skill.relative_to(ROOT)), "-t", str(cases.relative_to(ROOT)), "-m", "smollm2", *ASKED]
    words += ["--base-url", f"{url}/v1", "--fresh", "--yes"]
    _upskill(*words, runs=fresh)
    shutil.rmtree(runs, ignore_errors=True)
    # Runs are ignored by git where they are made; the logs are large, and the answers are in `trials.jsonl`.
    shutil.copytree(fresh, runs, ignore=shutil.ignore_patterns(".gitignore", "logs", "report.html"))
    for path in runs.glob("*/run.json"):
        path.write_text(path.read_text(encoding="utf-8").replace(f"{ROOT}/", ""), encoding="utf-8")


def _upskill(*words: str, runs: Path) -> None:
    variables = {**SET, "UPSKILL_RUNS_DIR": str(runs.relative_to(ROOT))}
    print("$ " + " ".join([*(f"{name}={value}" for name, value in variables.items()), "upskill", *words]), flush=True)
    subprocess.run([UPSKILL, *words], cwd=ROOT, env={**os.environ, **variables}, check=True)


if __name__ == "__main__":
    sys.exit(main())
