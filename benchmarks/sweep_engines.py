"""How fast a sweep runs: two workers against one, and Ray against processes of this machine.

python -m benchmarks.sweep_engines workers    -j 1 and -j 2 by turns
python -m benchmarks.sweep_engines ray        -j 2 and a Ray cluster of two nodes by turns

For an idle machine: the provider, the command and its workers share it. Timed is what lies between the first and
the last request, as the provider sees them: what it takes to start the command or the cluster is left out.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from counted_sweep import CountedSweep
from sweep.cluster.nodes import Nodes

CASES, RUNS = 8, 4
"""64 trials in an evaluation."""


def seconds(words: list[str], *, skills: int, latency: float, environment: Mapping[str, str] | None = None) -> float:
    """How long a sweep of so many skills takes."""
    with tempfile.TemporaryDirectory(prefix="upskill-benchmark-") as place:
        sweep = CountedSweep(Path(place), skills=skills, cases=CASES, runs=RUNS, latency=latency, concurrency=8)
        with sweep.provider() as provider:
            sweep.plan(provider.url)
            command = sweep.start(*words, environment=environment)
            _, err = command.communicate()
            if command.returncode:
                sys.exit(err)
            sweep.require_whole()
            assert sweep.bought_again == 0
            return provider.requests[-1].at - provider.requests[0].at


def compare(one: Callable[[], float], other: Callable[[], float], *, rounds: int) -> tuple[float, float]:
    """The medians of both, taken by turns."""
    pairs = [(one(), other()) for _ in range(rounds)]
    for first, second in pairs:
        print(f"  {first:6.1f} s  {second:6.1f} s")
    return statistics.median(first for first, _ in pairs), statistics.median(second for _, second in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["workers", "ray"])
    parser.add_argument("--skills", type=int, default=24)
    parser.add_argument("--latency", type=float, default=0.5)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()

    def timed(*words: str, environment: Mapping[str, str] | None = None) -> float:
        return seconds(list(words), skills=chosen.skills, latency=chosen.latency, environment=environment)

    if chosen.what == "workers":
        single, double = compare(lambda: timed("-j", "1"), lambda: timed("-j", "2"), rounds=chosen.rounds)
        print(f"one worker {single:.1f} s, two {double:.1f} s: {single / double:.2f} times as fast")
        return
    with Nodes(2) as nodes:
        address = nodes.wait()
        processes, ray = compare(
            lambda: timed("-j", "2"),
            lambda: timed("--ray", address, environment=nodes.environment),
            rounds=chosen.rounds,
        )
    print(f"two processes {processes:.1f} s, Ray {ray:.1f} s: {ray / processes - 1:+.1%}")


if __name__ == "__main__":
    main()
