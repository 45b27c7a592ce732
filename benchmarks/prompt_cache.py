"""Whether a server that keeps the beginning of prompts gives other grades: 20 cases in both arms, asked twice.

    python -m benchmarks.prompt_cache            Qwen2.5-Coder 0.5B (`make models`), cases of sql-migrations

Prints how many of the 40 grades are equal, and how long each half took.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.gallery import GALLERY
from tools.local_model import served_model

CASES = 20
SKILL = "sql-migrations"
SIZE = "0.5b"
ASKED = {"UPSKILL_TEMPERATURE": "0", "UPSKILL_MAX_OUTPUT_TOKENS": "96", "UPSKILL_STORE": "false"}


def grades(folder: Path, *, cache: bool) -> tuple[dict[tuple[str, str], bool], float]:
    """By case and arm, whether it passed; and the seconds that it took."""
    cases = json.loads((GALLERY / SKILL / "evals" / "evals.json").read_text(encoding="utf-8"))["cases"][:CASES]
    file, runs = folder / "cases.json", folder / f"runs-{cache}"
    file.write_text(json.dumps({"cases": cases}), encoding="utf-8")
    variables = {**os.environ, **ASKED, "UPSKILL_RUNS_DIR": str(runs), "UPSKILL_LEDGER": str(folder / f"{cache}.jsonl")}
    with served_model(cache=cache, size=SIZE) as url:
        began = time.monotonic()
        words = ["eval", str(GALLERY / SKILL), "-t", str(file), "-m", "coder", "--base-url", f"{url}/v1"]
        words += ["--runs", "1", "--concurrency", "1", "--harness", "chat", "--yes"]
        upskill = Path(sys.executable).parent / "upskill"
        subprocess.run([upskill, *words], env=variables, check=True, stdout=subprocess.DEVNULL)
        took = time.monotonic() - began
    (log,) = runs.glob("*/trials.jsonl")
    trials = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return {
        (trial["case_id"], trial["arm"]): all(check["passed"] for check in trial["outcome"]["grade"]["results"])
        for trial in trials
    }, took


def main() -> int:
    """Ask both servers and compare."""
    with TemporaryDirectory() as folder:
        cached, quick = grades(Path(folder), cache=True)
        uncached, slow = grades(Path(folder), cache=False)
    equal = sum(cached[key] == uncached[key] for key in cached)
    passed = [sum(found.values()) for found in (cached, uncached)]
    print(f"{equal} of {len(cached)} grades are equal; passed with a cache {passed[0]}, without {passed[1]}")
    print(f"with a cache {quick:.0f} s, without {slow:.0f} s")
    return 0 if equal >= 0.95 * len(cached) else 1


if __name__ == "__main__":
    sys.exit(main())
