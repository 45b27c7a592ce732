"""Runs that end badly: killed at random points, and on a disk that fills up. Prints one JSON object.

`python -m benchmarks.hard_ends KILLS FULL_DISKS`. Full disks need the right to mount a small one, as root has.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from provider import Behaviour, Provider, ReceivedRequest

COMMAND = str(Path(sys.executable).parent / "upskill")
CASES = 20


def behave(asked: ReceivedRequest) -> Behaviour:
    """The same prompt gets the same answer, so that two runs can be compared."""
    draw = random.Random(asked.prompt + str(asked.has_skill))
    return Behaviour(text="yes" if draw.random() < (0.6 if asked.has_skill else 0.3) else "no", latency=0.03)


def main() -> None:
    """Kill, fill, resume, compare."""
    kills, disks = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as name, Provider(behave) as provider:
        folder = Path(name)
        skill = _skill(folder)
        result = {"kills": _kill(skill, folder, provider, kills), "full_disks": _fill(skill, folder, provider, disks)}
    print(json.dumps(result))


def _skill(folder: Path) -> Path:
    (folder / "upskill.toml").write_text("report = false\n")  # drawn after everything that is measured here
    skill = folder / "thing"
    skill.mkdir()
    (skill / "SKILL.md").write_text("---\nname: thing\ndescription: For measurements.\n---\nSay yes.\n")
    cases = [{"id": str(n), "input": f"Question {n}?", "expected": {"equals": "yes"}} for n in range(CASES)]
    (skill / "skill_meta.json").write_text(json.dumps({"cases": cases}))
    return skill


def _words(skill: Path, provider: Provider, runs: Path) -> list[str]:
    words = ["env", f"UPSKILL_RUNS_DIR={runs}", COMMAND, "eval", str(skill), "-m", "any", "--base-url", provider.url]
    return [*words, "--runs", "3", "--fresh", "--json"]


def _students(text: str) -> Any:
    return json.loads(text)["students"]


def _resume(skill: Path, provider: Provider, run: Path) -> list[str]:
    """The command that resumes a run of one's own."""
    return [COMMAND, "eval", str(skill), "--resume", str(run), "--base-url", provider.url, "--json"]


def _kill(skill: Path, folder: Path, provider: Provider, count: int) -> dict[str, int]:
    """Compare each killed and resumed run with one that was left alone."""
    whole = subprocess.run(
        _words(skill, provider, folder / "whole"), cwd=folder, capture_output=True, text=True, check=True
    )
    draw = random.Random(7)
    tally = {"points": count, "equal": 0, "lost": 0, "doubled": 0, "bought_again": 0}
    for number in range(count):
        runs, before = folder / f"killed-{number}", len(provider.requests)
        process = subprocess.Popen(_words(skill, provider, runs), cwd=folder, stdout=subprocess.DEVNULL)
        point = draw.randrange(CASES * 6)
        while len(provider.requests) - before < point and process.poll() is None:
            time.sleep(0.005)
        process.kill()
        process.wait()
        found = [path for path in runs.iterdir() if path.is_dir()] if runs.exists() else []
        if not found:
            tally["equal"] += 1  # killed before there was anything to resume
            continue
        finished = (found[0] / "trials.jsonl").read_text().count("\n") if (found[0] / "trials.jsonl").exists() else 0
        asked = len(provider.requests)
        resume = _resume(skill, provider, found[0])
        done = subprocess.run(resume, cwd=folder, capture_output=True, text=True, check=True)
        lines = [json.loads(line) for line in (found[0] / "trials.jsonl").read_text().splitlines()]
        keys = {(line["case_id"], line["arm"], line["repeat"]) for line in lines}
        tally["equal"] += _students(done.stdout) == _students(whole.stdout)
        tally["lost"] += CASES * 6 - len(keys)
        tally["doubled"] += len(lines) - len(keys)
        tally["bought_again"] += len(provider.requests) - asked - (CASES * 6 - finished)
    return tally


def _fill(skill: Path, folder: Path, provider: Provider, count: int) -> dict[str, int]:
    """The disk has room for a little more each time, and then none; afterwards there is room again."""
    tally = {"points": count, "message": 0, "readable": 0, "resumed": 0}
    for number in range(count):
        runs = folder / f"full-{number}"
        runs.mkdir()
        with _small_disk(runs):
            filler = runs / "filler"
            filler.write_bytes(b"x" * (2_000_000 - 20_000 - 9_000 * number))
            done = subprocess.run(
                _words(skill, provider, runs), cwd=folder, capture_output=True, text=True, check=False
            )
            said = done.returncode not in (0, 1) and "Traceback" not in done.stderr and "error:" in done.stderr
            tally["message"] += said
            found = [path for path in runs.iterdir() if path.is_dir() and (path / "run.json").exists()]
            lines = [
                line
                for path in found
                if (path / "trials.jsonl").exists()
                for line in (path / "trials.jsonl").read_text().splitlines()
            ]
            tally["readable"] += all(json.loads(line)["outcome"] for line in lines)
            filler.unlink()
            if not found:
                tally["resumed"] += 1  # refused before there was anything to resume
                continue
            resume = _resume(skill, provider, found[0])
            again = subprocess.run(resume, cwd=folder, capture_output=True, text=True, check=False)
            tally["resumed"] += (
                again.returncode == 0 and json.loads(again.stdout)["students"][0]["verdict"] != "invalid"
            )
    return tally


@contextmanager
def _small_disk(folder: Path) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


if __name__ == "__main__":
    main()
