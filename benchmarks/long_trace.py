"""Reads a very long session and says what that takes: `python -m benchmarks.long_trace [MEGABYTES]`.

The reading is done in a process of its own, so that its memory is its own.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.long_session import CORRECTION, PAIRS, REWOUND, failure, fix, write_session

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Read:
    """What reading one recording took, and what was found of what was hidden in it."""

    megabytes: float
    seconds: float
    resident_megabytes: float
    steps: int
    subagents: int
    rewound: int
    rewound_seen: bool
    corrections: int
    pairs: int
    kept_characters: int


def read_here(path: Path) -> Read:
    """Read the recording in this process."""
    from upskill.traces import read_traces

    started = time.perf_counter()
    reading = read_traces(path)
    seconds = time.perf_counter() - started
    (trace,) = reading.traces
    texts = list(_texts(trace.steps))
    outputs = [output.content for step in trace.steps for output in step.observations if output.failed]
    return Read(
        megabytes=reading.size / 1e6,
        seconds=seconds,
        resident_megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        steps=len(trace.steps),
        subagents=len(trace.subtraces),
        rewound=trace.dropped_branches,
        rewound_seen=any(REWOUND in text for text in texts),
        corrections=sum(step.text == CORRECTION for step in trace.steps if step.source == "person"),
        pairs=sum(
            any(failure(number) in output for output in outputs) and any(fix(number) in text for text in texts)
            for number in range(PAIRS)
        ),
        kept_characters=sum(map(len, texts)),
    )


def read_apart(path: Path) -> Read:
    """Read the recording in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.long_trace", "--read", str(path)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return Read(**json.loads(done.stdout))


def _texts(steps: tuple[object, ...]) -> Iterator[str]:
    from upskill.domain.trace import Step

    for step in steps:
        assert isinstance(step, Step)
        yield step.text
        yield from (call.arguments for call in step.calls)
        yield from (output.content for output in step.observations)


def main() -> None:
    """Make the session, read it, print what it took."""
    if sys.argv[1:2] == ["--read"]:
        print(json.dumps(asdict(read_here(Path(sys.argv[2])))))
        return
    megabytes = int(sys.argv[1]) if sys.argv[1:] else 200
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        write_session(path, megabytes=megabytes)
        print(json.dumps(asdict(read_apart(path)), indent=2))


if __name__ == "__main__":
    main()
