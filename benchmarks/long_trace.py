"""Reads a very long session and says what that takes: `python -m benchmarks.long_trace [MEGABYTES]`.

Twice, each in a process of its own, so that its memory is its own: once into a trace, once by `upskill trace`, which
also takes secrets out and digests it.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.simulation.session import PAIRS, Found, failure, fix, write_session

ROOT = Path(__file__).parent.parent
UPSKILL = Path(sys.executable).with_name("upskill")


@dataclass(frozen=True)
class Took:
    """What a process took."""

    seconds: float
    cpu_seconds: float
    resident_megabytes: float


def read_apart(path: Path) -> tuple[Found, Took]:
    """Read the recording in a process of its own."""
    printed, took = run_apart([sys.executable, "-m", "tools.simulation.session", str(path)])
    return Found(**json.loads(printed)), took


def run_apart(command: list[str]) -> tuple[str, Took]:
    """Run a command; what it printed, and what it alone took."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(command, cwd=ROOT, stdout=printed)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - started
        if process.returncode:
            raise SystemExit(f"{command[0]} ended with {process.returncode}")
        printed.seek(0)
        took = Took(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
        return printed.read().decode(), took


def main() -> None:
    """Make the session, read it both ways, print what that took."""
    megabytes = int(sys.argv[1]) if sys.argv[1:] else 200
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        write_session(path, megabytes=megabytes)
        found, took = read_apart(path)
        digest, digest_took = run_apart([str(UPSKILL), "trace", str(path), "--digest"])
        first = path.read_text(encoding="utf-8")[:4_000]
    held = {name: _pairs(text) for name, text in (("digest", digest), ("first_4000_characters", first))}
    print(json.dumps({"found": asdict(found), "reading": asdict(took), "command": asdict(digest_took), "pairs": held}))


def _pairs(text: str) -> int:
    return sum(failure(number) in text and fix(number) in text for number in range(PAIRS))


if __name__ == "__main__":
    main()
