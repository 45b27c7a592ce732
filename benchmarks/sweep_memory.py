"""How much memory a worker of a sweep takes: evaluations with so many models each, one after the other.

python -m benchmarks.sweep_memory             10 models, 8 calls in flight at each

The provider is in another process. Said is the most that the worker took, after its first evaluation and after all.
"""

import argparse
import multiprocessing
import resource
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from counted_sweep import CountedSweep
from upskill.sweep.attempt import run_attempt
from upskill.sweep.budget import reserve_for
from upskill.sweep.files import SweepFolder, value_from_text, value_text
from upskill.sweep.values import Assignment, AttemptEnd


def megabytes() -> float:
    """The most that this process took."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def work(texts: list[str], pipe: Connection) -> None:
    """As a worker does: one assignment after the other."""
    for text in texts:
        end = value_from_text(AttemptEnd, run_attempt(text), where="the end of an attempt")
        pipe.send((end.done, end.why, end.spending.calls, megabytes()))


def measure(models: int, evaluations: int, *, cases: int, latency: float) -> list[tuple[bool, str | None, int, float]]:
    """For each evaluation: whether it has a result, why not, its calls, and the most memory until then."""
    students = [f"model-{number}" for number in range(models)]
    with tempfile.TemporaryDirectory(prefix="upskill-benchmark-") as place:
        sweep = CountedSweep(
            Path(place), skills=evaluations, cases=cases, runs=3, latency=latency, concurrency=8, students=students
        )
        with sweep.provider() as provider:
            sweep.plan(provider.url)
            folder = SweepFolder(str(sweep.place))
            plan = folder.plan()
            texts = [
                value_text(Assignment(at=str(sweep.place), plan=plan, job=job, caps=reserve_for(job)))
                for job in folder.jobs()
            ]
            ours, theirs = multiprocessing.Pipe()
            worker = multiprocessing.get_context("spawn").Process(target=work, args=(texts, theirs))
            worker.start()
            theirs.close()
            found = [ours.recv() for _ in texts]
            worker.join()
            return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=3)
    parser.add_argument("--cases", type=int, default=10)
    parser.add_argument("--latency", type=float, default=0.5)
    parser.add_argument("--most", type=float, default=250.0, help="megabytes above which it fails")
    chosen = parser.parse_args()
    found = measure(chosen.models, chosen.evaluations, cases=chosen.cases, latency=chosen.latency)
    for number, (done, why, calls, most) in enumerate(found, 1):
        print(f"after evaluation {number}: {most:.0f} MB ({calls} calls{'' if done else f', no result: {why}'})")
    return 0 if all(done for done, *_ in found) and found[-1][-1] <= chosen.most else 1


if __name__ == "__main__":
    sys.exit(main())
