"""Whole evaluations through the real engine, against a loopback student whose true lift is known.

Prints one JSON object: `python -m benchmarks.evaluations 60`.
"""

import json
import random
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from provider import Behaviour, Provider, ReceivedRequest
from upskill.core.settings import resolve_settings
from upskill.evaluation.evaluate import evaluate
from upskill.evaluation.order import EvaluationOrder

CASES = 20
LIFT = 0.45


class Student:
    """Draws for each case a true rate without the skill, and with it gains what is left, so that the mean lift is 45
    points: the generator `gain` of the statistics. Answers are independent draws at that rate."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._rates: dict[str, float] = {}

    def __call__(self, asked: ReceivedRequest) -> Behaviour:
        base = self._rates.setdefault(asked.prompt, self._draw.betavariate(0.5, 0.5))
        rate = base + (1 - base) * 2 * LIFT if asked.has_skill else base
        return Behaviour(text="yes" if self._draw.random() < rate else "no", latency=0.02 * self._draw.random())


def main() -> None:
    """Run so many evaluations and sum them up."""
    count = int(sys.argv[1])
    calls: list[int] = []
    verdicts: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        skill = folder / "thing"
        skill.mkdir()
        (skill / "SKILL.md").write_text("---\nname: thing\ndescription: For measurements.\n---\nSay yes.\n")
        cases = [{"id": str(n), "input": f"Question {n}?", "expected": {"equals": "yes"}} for n in range(CASES)]
        (skill / "skill_meta.json").write_text(json.dumps({"cases": cases}))
        for seed in range(count):
            with Provider(Student(seed)) as provider:
                provider.keep_requests = False
                flags = {"models": ("any",), "base_url": provider.url, "runs_dir": str(folder / "runs"), "seed": seed}
                # A ledger of its own: in a common one each would be tested more strictly than the one before it.
                flags |= {"store": False, "concurrency": 8, "report": False, "ledger": str(folder / f"{seed}.jsonl")}
                settings = resolve_settings(flags, folder=folder, environment={})
                evaluation = evaluate(EvaluationOrder(skill=skill), settings=settings)
            (report,) = evaluation.students
            calls.append(evaluation.bought.calls)
            verdicts[f"{report.verdict} ({report.claim})"] = verdicts.get(f"{report.verdict} ({report.claim})", 0) + 1
    print(json.dumps({"mean_calls": statistics.mean(calls), "verdicts": verdicts}))


if __name__ == "__main__":
    main()
