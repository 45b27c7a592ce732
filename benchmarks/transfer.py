"""What a skill that was taught for one small model does for the others, on the held-out cases of its teaching.

    python -m benchmarks.transfer                    every recorded teaching, on the models it was not made for
    python -m benchmarks.transfer kestrel siltgate   these tasks
    python -m benchmarks.transfer --table            print the table of what was measured; no model is asked

Every held-out case is asked once in each arm, at temperature 0, answers cut where the teaching cut them. A run is kept,
without the logs of the engine, in `gallery/recorded/TASK/MODEL/on-OTHER`, and the evidence of the skill is written from
these runs and that of its teaching. A run that is there is not made again.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tools.local_model import served_model
from tools.models import MODELS

from benchmarks.gallery_students import NAMES, SMOLLM2, UPSKILL
from upskill.errors import EXIT_DONE, EXIT_FAILED

ROOT = Path(__file__).parent.parent
RECORDED = ROOT / "gallery" / "recorded"
PORT = 18751
"""Stays the same: it is part of what a run records."""
SET = {"UPSKILL_TEMPERATURE": "0", "UPSKILL_MAX_OUTPUT_TOKENS": "120", "UPSKILL_REPORT": "false"}


def main(words: Sequence[str] | None = None) -> int:
    """Serve each model once, evaluate what was made for another one, and write the evidence."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.transfer")
    parser.add_argument("tasks", nargs="*", help="default: all that are recorded")
    parser.add_argument("--models", nargs="*", choices=NAMES, default=list(NAMES))
    parser.add_argument("--table", action="store_true")
    flags = parser.parse_args(words)
    if not flags.table:
        for size in flags.models:
            made = [place for place in _teachings(flags.tasks) if place.name != size]
            todo = [place for place in made if not (place / f"on-{size}").exists()]
            if not todo:
                continue
            with served_model(PORT, cache=True, size=None if size == SMOLLM2 else size) as url:
                for place in todo:
                    _evaluate(place, size, url)
    for row in _rows(flags.tasks):
        print(row)
    return 0


def _teachings(tasks: Sequence[str]) -> list[Path]:
    """Folders of recorded teachings, `TASK/MODEL`."""
    found = [path.parent for path in sorted(RECORDED.glob("*/*/expected.json")) if path.parent.name in MODELS]
    return [path for path in found if not tasks or path.parent.name in tasks]


def _skill(place: Path) -> Path:
    (skill,) = (place / "made").iterdir()
    return skill


def _evaluate(place: Path, size: str, url: str) -> None:
    """Measure below `build/`, then keep the run and write the evidence anew."""
    skill = _skill(place).relative_to(ROOT)
    fresh = ROOT / "build" / "transfer" / f"{place.parent.name}-{place.name}-{size}"
    shutil.rmtree(fresh, ignore_errors=True)
    words = ["eval", str(skill), "-m", NAMES[size], "--runs", "1", "--concurrency", "1", "--harness", "chat"]
    _upskill(*words, "--base-url", f"{url}/v1", "--yes", runs=fresh)
    (run,) = (path.parent for path in fresh.glob("*/run.json"))
    kept = place / f"on-{size}"
    shutil.copytree(run, kept, ignore=shutil.ignore_patterns("logs", "report.html"))
    record = kept / "run.json"
    record.write_text(record.read_text(encoding="utf-8").replace(f"{ROOT}/", ""), encoding="utf-8")
    _upskill("evidence", str(skill), runs=place)


def _upskill(*words: str, runs: Path) -> None:
    variables = {**SET, "UPSKILL_RUNS_DIR": str(runs.relative_to(ROOT))}
    print("$ " + " ".join([*(f"{name}={value}" for name, value in variables.items()), "upskill", *words]), flush=True)
    ended = subprocess.run([UPSKILL, *words], cwd=ROOT, env={**os.environ, **variables}, check=False).returncode
    if ended not in (EXIT_DONE, EXIT_FAILED):  # a run without a verdict is a result, too
        raise SystemExit(ended)


def _rows(tasks: Sequence[str]) -> Iterator[str]:
    """The table in Markdown: a row for each skill and model, the model that it was made for first."""
    yield "| skill of | taught for | measured on | without the skill | with it | lift in points, 95% CI | verdict |"
    yield "|---|---|---|---|---|---|---|"
    for place in _teachings(tasks):
        own = json.loads((place / "expected.json").read_text(encoding="utf-8"))
        sides = [_percent(own["rates"][arm]) for arm in ("baseline", "with_skill")] if own["rates"] else ["", ""]
        low, high = own["interval"] or (float("nan"), float("nan"))
        interval = f"({100 * low:+.0f} to {100 * high:+.0f})"
        yield f"| {place.parent.name} | {place.name} | the same | {' | '.join([*sides, interval])} | {own['status']} |"
        for kept in sorted(place.glob("on-*/run.json")):
            (student,) = json.loads(kept.read_text(encoding="utf-8"))["results"]["students"]
            yield f"| | | {student['model']} | {_figures(student)} |"


def _figures(student: dict[str, Any]) -> str:
    (lift,) = student["lifts"]
    low, high = lift["interval"]
    rates = [_percent(student["arms"][arm]["pass_rate"]) for arm in ("baseline", "with_skill")]
    interval = f"{100 * lift['mean']:+.0f} ({100 * low:+.0f} to {100 * high:+.0f})"
    return " | ".join([*rates, interval, student["verdict"]])


def _percent(rate: float) -> str:
    return f"{100 * rate:.0f}%"


if __name__ == "__main__":
    sys.exit(main())
