"""What a sweep's report takes, and what its confirmations are worth.

python -m benchmarks.sweeps board             simulated boards, through the product's own statistics
python -m benchmarks.sweeps read              result objects to the whole report
"""

import argparse
import json
import math
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.simulation.evaluation import by_rates, evaluate
from tools.simulation.populations import generator

from upskill.sweep.report import report_sweep
from upskill.sweep.values import Row

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from made_sweeps import MadeSweep, made_result

WINNER = "gain35"
NULLS = {"half": "none", "B55": "none", "het": "varies", "skew": "varies"}
"""No effect on any case, twice: the most noise, and cases that mostly pass or mostly fail. Then effects that vary by
case around zero, twice: by half either way, and a small gain on most cases with a large loss on few."""


# ---------------------------------------------------------------- a board of skills, most of which do nothing


@dataclass(slots=True)
class Board:
    """What came of many evaluations, and of the second evaluations of those that were said to help."""

    null: str
    cases: int
    evaluations: int = 0
    winners: int = 0
    found: int = 0
    found_false: int = 0
    """No lift over all cases of the kind."""
    confirmed: int = 0
    confirmed_false: int = 0
    calls: int = 0
    calls_again: int = 0
    too_high: list[float] = field(default_factory=list)
    """Of true winners that were found: the lift of the first evaluation minus the lift of its cases."""
    too_high_again: list[float] = field(default_factory=list)
    """Of the same winners, confirmed or not: that of the second evaluation."""
    too_high_confirmed: list[float] = field(default_factory=list)
    """Of those that were confirmed only."""

    def figures(self) -> dict[str, object]:
        """The counts, and whether skills without a lift have an effect on single cases."""
        names = (
            *("null", "cases", "evaluations", "winners", "found", "found_false"),
            *("confirmed", "confirmed_false", "calls", "calls_again"),
        )
        return {"effect": NULLS[self.null], **{name: getattr(self, name) for name in names}}

    def __str__(self) -> str:
        true_found, true_confirmed = self.found - self.found_false, self.confirmed - self.confirmed_false
        return (
            f"| {self.null} | {self.cases} | {_share(self.found_false, self.found)} "
            f"| {_share(self.confirmed_false, self.confirmed)} "
            f"| {_share(true_found, self.winners)} → {_share(true_confirmed, self.winners)} "
            f"| +{100 * self.calls_again / self.calls:.1f}% "
            f"| {_mean(self.too_high):+.1f}, {_mean(self.too_high_again):+.1f}, {_mean(self.too_high_confirmed):+.1f} |"
        )


HEAD = """\
| without effect | cases | false among found once | false among confirmed | power | more calls | \
lift of true winners too high by: first, second, second if confirmed |
|---|--:|--:|--:|--:|--:|--:|"""


def simulate_board(null: str, *, cases: int, evaluations: int, share: float = 0.02, seed: str = "0") -> Board:
    """Skills of which a share helps; the others have no lift over all cases of their kind."""
    rng = random.Random(f"{seed}/{null}/{cases}")
    board = Board(null=null, cases=cases)
    for number in range(evaluations):
        helps = number < share * evaluations
        source = generator(WINNER if helps else null)
        drawn = source.cases(rng, cases)
        own = math.fsum(skilled - base for base, skilled in drawn) / cases
        first = evaluate(by_rates(rng, drawn), cases=range(cases))
        board.evaluations += 1
        board.winners += helps
        board.calls += first.calls
        if not first.helps:
            continue
        board.found += 1
        board.found_false += not helps
        second = evaluate(by_rates(rng, drawn), cases=range(cases))
        board.calls_again += second.calls
        if helps:
            board.too_high.append(first.report.lifts[0].mean - own)
            board.too_high_again.append(second.report.lifts[0].mean - own)
        if second.helps:
            board.confirmed += 1
            board.confirmed_false += not helps
            if helps:
                board.too_high_confirmed.append(second.report.lifts[0].mean - own)
    return board


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}% ({part} of {whole})" if whole else "–"


def _mean(values: Sequence[float]) -> float:
    return 100 * math.fsum(values) / len(values) if values else math.nan


# ---------------------------------------------------------------- many rows

MODELS, CASES, REPEATS = 10, 20, 3


def answers(evaluation: int) -> Iterator[Row]:
    """The answers of one evaluation of ten models: 53 pairs for each, of the 60 that an evaluation takes at most."""
    rng = random.Random(evaluation)
    for model in range(MODELS):
        for pair in range(53):
            for arm, rate in (("baseline", 0.5), ("with_skill", 0.6)):
                passed, cost = rng.random() < rate, round(rng.uniform(5e-5, 2e-4), 7)
                yield Row(f"org/model-{model}", f"case-{pair % CASES}", arm, pair // CASES, passed, 1, cost, None)


def read_many(results: int) -> dict[str, float]:
    """A sweep folder with so many results of ten models, reported as a person does it."""
    models = tuple(f"org/model-{number}" for number in range(MODELS))
    with tempfile.TemporaryDirectory() as name:
        sweep = MadeSweep(Path(name), students=models, confirm=False)
        sweep.jobs = [sweep.made(f"registry/skill-{number}") for number in range(results)]
        sweep.folder.write_plan(sweep.plan, sweep.jobs, [])
        size = 0
        for number, job in enumerate(sweep.jobs):
            result = made_result(job, list(answers(number)))
            size += len(result.rows)
            sweep.keep(result)
        wall, cpu = time.monotonic(), time.process_time()
        report = report_sweep(name)
        taken = time.monotonic() - wall, time.process_time() - cpu
    assert not report.problems, report.problems
    return {"rows": size, "seconds": taken[0], "cpu": taken[1], "megabytes": _megabytes()}


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Run one of them and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["board", "read"])
    parser.add_argument("--size", type=int, help="evaluations or results")
    parser.add_argument("--json", action="store_true", help="boards as one JSON array instead of a table")
    options = parser.parse_args()
    if options.what == "board":
        boards = (
            simulate_board(null, cases=cases, evaluations=options.size or 20_000)
            for cases in (10, 20)
            for null in NULLS
        )
        if options.json:
            print(json.dumps([board.figures() for board in boards]))
            return 0
        print(HEAD, flush=True)
        for board in boards:
            print(board, flush=True)
    else:
        print(json.dumps(read_many(options.size or 1_000)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
