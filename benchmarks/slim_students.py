"""What a real small model needs of a skill of the gallery: `upskill slim`, from the search to the proof.

    python -m benchmarks.slim_students 0.5b        Qwen2.5-Coder 0.5B
    python -m benchmarks.slim_students 1.5b        resumes a run that did not finish

The skill is a copy of `gpu-kernels` in `build/slim-students/SIZE`; its cases are those of the gallery and 14 further
ones (`slim_cases.json`, split before a model was asked), at temperature 0. Nearly every request carries another text,
so little of it comes from the server's cache.
"""

import argparse
import os
import shutil
import subprocess
import sys

from tools.gallery import GALLERY, ROOT
from tools.local_model import served_model
from tools.models import MODELS

from benchmarks.gallery_students import MOST_TOKENS, UPSKILL

SKILL = GALLERY / "gpu-kernels"
CASES = ROOT / "benchmarks" / "slim_cases.json"
PORT = 18771
"""Stays the same: it is part of what a run records."""


def main() -> int:
    """Serve the model and slim the copy."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.slim_students")
    parser.add_argument("size", choices=MODELS)
    size = parser.parse_args().size
    folder = ROOT / "build" / "slim-students" / size
    copy = folder / SKILL.name
    if not copy.exists():
        shutil.copytree(SKILL, copy, ignore=shutil.ignore_patterns("evals", "evidence.*"))
    settings = {"UPSKILL_TEMPERATURE": "0", "UPSKILL_MAX_OUTPUT_TOKENS": MOST_TOKENS[size], "UPSKILL_RUNS_DIR": "runs"}
    with served_model(PORT, cache=True, size=size) as url:
        words = [UPSKILL, "slim", copy.name, "-t", str(CASES), "-m", MODELS[size].name, "--base-url", f"{url}/v1"]
        words += ["--concurrency", "1", "--yes"]
        return subprocess.run(words, cwd=folder, env={**os.environ, **settings}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
