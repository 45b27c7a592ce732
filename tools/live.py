"""`make live`: the story of the seeds with a real teacher, for whoever has a key. Spends at most 5 dollars.

A task, or with `make live TRACE=./trace.md` a recording, becomes a skill, by the strongest teacher for which a key is
set, measured on a cheap student of the same provider. Everything is written below `build/live`.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
STUDENTS = {"ANTHROPIC_API_KEY": "haiku", "OPENAI_API_KEY": "openai/gpt-5-mini", "HF_TOKEN": "gpt-oss"}
TASK = "build optimized CUDA kernels for PyTorch using HuggingFace kernel-builder"
CAP = "5"


def main() -> int:
    """Find a key, then generate."""
    student = next((name for key, name in STUDENTS.items() if os.environ.get(key, "").strip()), None)
    if student is None:
        print(f"no key is set ({', '.join(STUDENTS)}), so nothing was run", file=sys.stderr)
        return 3
    place = ROOT / "build" / "live"
    place.mkdir(parents=True, exist_ok=True)
    words = ["generate", TASK, "--eval-model", student, "--max-cost", CAP, "--yes"]
    if trace := os.environ.get("TRACE", "").strip():
        words += ["--from", str(Path(trace).resolve())]
    print("$ upskill " + " ".join(words), flush=True)
    return subprocess.run([str(Path(sys.executable).parent / "upskill"), *words], cwd=place, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
