"""How long `upskill mine` takes with many sessions, and how much memory.

`python -m benchmarks.mined_scale PATH/TO/corpus.py COPIES`: the module writes its corpus into a folder; copies of it
with other times stand beside it. All are mined twice, the second time with what the first run kept.
"""

import os
import re
import resource
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.mined_corpora import loaded
from upskill.mining.mine import MineOrder, mine

_ISO = re.compile(r"2026-(?=\d\d-\d\d[T ])")
_EPOCH = re.compile(r"\b17\d{8}(?:\d{3})?\b")


def main() -> None:
    copies = int(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="mined-") as name, tempfile.TemporaryDirectory() as cache:
        folder = Path(name)
        loaded(Path(sys.argv[1])).write(folder / "0")
        for number in range(1, copies):
            _copy(folder / "0", folder / str(number), number)
        order = MineOrder(folder=folder, workers=os.cpu_count() or 1, cache=Path(cache))
        for run in ("first", "second"):
            began, used = time.perf_counter(), _used()
            mining = mine(order, environment={"HOME": name, "PATH": os.defpath})
            print(
                f"{run} run: {len(mining.read.sessions)} sessions, {mining.read.bytes / 1e6:.0f} MB, "
                f"{sum(len(one.moments) for one in mining.read.sessions)} moments, {mining.read.cached} recalled: "
                f"{time.perf_counter() - began:.0f} s, {_used() - used:.0f} s of processors, "
                f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1_000} MB",
                flush=True,
            )


def _copy(source: Path, target: Path, number: int) -> None:
    """The same sessions at other times: neither copies nor replays of each other."""
    for path in sorted(source.rglob("*")):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            text = _ISO.sub(f"{2026 - number}-", text)
            text = _EPOCH.sub(lambda found: str(int(found.group()) - number * 10 ** (len(found.group()) - 4)), text)
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text, encoding="utf-8")


def _used() -> float:
    """Seconds of this process and of those that it has ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


if __name__ == "__main__":
    main()
