"""Reads a very long session and says what that takes: `python -m benchmarks.long_trace [MEGABYTES]`.

Twice, each in a process of its own, so that its memory is its own: once into a trace, once by `upskill trace`, which
also takes secrets out and digests it.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.long_session import CORRECTION, PAIRS, REWOUND, failure, fix, write_session

ROOT = Path(__file__).parent.parent
UPSKILL = Path(sys.executable).with_name("upskill")


@dataclass(frozen=True)
class Took:
    """What a process took."""

    seconds: float
    cpu_seconds: float
    resident_megabytes: float


@dataclass(frozen=True)
class Found:
    """What was read, and what was found of what was hidden in it."""

    megabytes: float
    steps: int
    subagents: int
    rewound: int
    rewound_seen: bool
    corrections: int
    pairs: int
    kept_characters: int
    resident_megabytes: float
    """The most it held, as the process itself saw it: what the system tells its parent counts the parent's own too."""


def find(path: Path) -> Found:
    """Read the recording in this process."""
    from upskill.traces import read_traces

    reading = read_traces(path)
    (trace,) = reading.traces
    texts = [step.text for step in trace.steps]
    texts += [call.arguments for step in trace.steps for call in step.calls]
    texts += [output.content for step in trace.steps for output in step.observations]
    failures = [output.content for step in trace.steps for output in step.observations if output.failed]
    return Found(
        megabytes=reading.size / 1e6,
        steps=len(trace.steps),
        subagents=len(trace.subtraces),
        rewound=trace.dropped_branches,
        rewound_seen=any(REWOUND in text for text in texts),
        corrections=sum(step.text == CORRECTION for step in trace.steps if step.source == "person"),
        pairs=sum(
            any(failure(number) in text for text in failures) and any(fix(number) in text for text in texts)
            for number in range(PAIRS)
        ),
        kept_characters=sum(map(len, texts)),
        resident_megabytes=_resident_megabytes(),
    )


def read_apart(path: Path) -> tuple[Found, Took]:
    """Read the recording in a process of its own."""
    printed, took = run_apart([sys.executable, "-m", "benchmarks.long_trace", "--read", str(path)])
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
    if sys.argv[1:2] == ["--read"]:
        print(json.dumps(asdict(find(Path(sys.argv[2])))))
        return
    megabytes = int(sys.argv[1]) if sys.argv[1:] else 200
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        write_session(path, megabytes=megabytes)
        found, took = read_apart(path)
        digest, digest_took = run_apart([str(UPSKILL), "trace", str(path), "--digest"])
        first = path.read_text(encoding="utf-8")[:4_000]
    held = {name: _pairs(text) for name, text in (("digest", digest), ("first_4000_characters", first))}
    print(json.dumps({"found": asdict(found), "reading": asdict(took), "command": asdict(digest_took), "pairs": held}))


def _resident_megabytes() -> float:
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _pairs(text: str) -> int:
    return sum(failure(number) in text and fix(number) in text for number in range(PAIRS))


if __name__ == "__main__":
    main()
