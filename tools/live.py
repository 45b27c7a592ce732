"""`make live`: what only a paid model can show, for whoever has a key. Spends at most 5 dollars in all.

1. The story of the seeds with a real teacher: a task, or with `make live TRACE=./trace.md` a recording, becomes a
   skill, by the strongest teacher for which a key is set, measured on a cheap student of the same provider.
2. The matrix of the gallery: each of its skills, on each level, for the cheap student of every provider for which a key
   is set. What the cap cut off says so.

Everything is written below `build/live`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.gallery import level_files, skill_names

ROOT = Path(__file__).parent.parent
PLACE = ROOT / "build" / "live"
UPSKILL = str(Path(sys.executable).parent / "upskill")
STUDENTS = {"ANTHROPIC_API_KEY": "haiku", "OPENAI_API_KEY": "openai/gpt-5-mini", "HF_TOKEN": "gpt-oss"}
TASK = "build optimized CUDA kernels for PyTorch using HuggingFace kernel-builder"
STORY_CAP = 2.0
MATRIX_CAP = 3.0
LEAST = 0.02
"""With less than this left, no further evaluation is begun."""


def main() -> int:
    """Find keys, then teach, then measure."""
    students = [name for key, name in STUDENTS.items() if os.environ.get(key, "").strip()]
    if not students:
        print(f"no key is set ({', '.join(STUDENTS)}), so nothing was run", file=sys.stderr)
        return 3
    PLACE.mkdir(parents=True, exist_ok=True)
    return _story(students[0]) or _matrix(students)


def _story(student: str) -> int:
    words = ["generate", TASK, "--eval-model", student, "--max-cost", str(STORY_CAP), "--yes"]
    if trace := os.environ.get("TRACE", "").strip():
        words += ["--from", str(Path(trace).resolve())]
    print("$ upskill " + " ".join(words), flush=True)
    return subprocess.run([UPSKILL, *words], cwd=PLACE, check=False).returncode


def _matrix(students: list[str]) -> int:
    left = MATRIX_CAP
    for skill in skill_names():
        for level, cases in level_files(skill).items():
            if left < LEAST:
                print(f"{skill}, {level}: not measured, because {MATRIX_CAP:g} dollars are spent")
                continue
            words = ["eval", f"gallery/{skill}", "-t", str(cases), "--runs", "1", "--yes"]
            words += [word for name in students for word in ("-m", name)]
            words += ["--max-cost", f"{left:.2f}", "--json"]
            kept = {**os.environ, "UPSKILL_RUNS_DIR": str(PLACE / "gallery")}
            done = subprocess.run([UPSKILL, *words], cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True, env=kept)
            if done.returncode not in (0, 3) or not done.stdout:
                return done.returncode
            result = json.loads(done.stdout)
            left -= spent(result, left)
            for student in result["students"]:
                print(f"{skill}, {level}, {student['model']}: {student['sentence']}", flush=True)
    return 0


def spent(result: Mapping[str, object], left: float) -> float:
    """The dollars of an evaluation; all that was left, where its price is not known: a cap that guesses is none."""
    bought = result.get("bought")
    parts = [bought.get("cost"), bought.get("lost")] if isinstance(bought, dict) else []
    known = [float(part) for part in parts if isinstance(part, int | float)]
    return sum(known) if len(known) == 2 else left


if __name__ == "__main__":
    sys.exit(main())
