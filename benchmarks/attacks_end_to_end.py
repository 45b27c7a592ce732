"""What people and sick servers do around an evaluation, through the real engine, on a loopback student without lift.

Prints one JSON object with the verdicts of each attack: `python -m benchmarks.attacks_end_to_end 60 [ATTACK …]`.
"""

import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from provider import Behaviour, Provider, ReceivedRequest
from upskill.domain import Evaluation
from upskill.models import CallPolicy, MeteredClient
from upskill.settings import resolve_settings
from upskill.workflows.evaluating.evaluate import evaluate
from upskill.workflows.evaluating.prepare import EvaluationOrder
from upskill.workflows.evaluating.resume import resume

CASES = 20
RATE = 0.5

Attack = Callable[[Path, int], Evaluation]
"""Evaluates the skill in a folder of its own, with this seed, and returns the last result that a person would see."""


class NullStudent:
    """Passes half of all answers with and without the skill; some failing answers with it come to grief."""

    def __init__(self, seed: int, *, fault: str, share: float = 0.5) -> None:
        """`share` of the failing answers with the skill never arrive."""
        self._draw = random.Random(seed)
        self._share = share
        self._fault = fault

    def __call__(self, asked: ReceivedRequest) -> Behaviour:
        if self._draw.random() < RATE:
            return Behaviour(text="yes")
        lost = asked.has_skill and self._draw.random() < self._share
        return Behaviour(fault=self._fault) if lost else Behaviour(text="no")


def slow_failing_student(folder: Path, seed: int, *, share: float) -> Evaluation:
    """Failing answers with the skill are slow: they time out, and are asked for again until they come."""
    policy = CallPolicy(attempt_seconds=1.5, max_retries=8, max_wait_seconds=0.02, concurrency=16)
    with Provider(NullStudent(seed, fault="stall", share=share)) as provider:
        return _evaluate(folder, provider, seed, client=MeteredClient(policy=policy))


def dropped_pairs_then_resume(folder: Path, seed: int) -> Evaluation:
    """Failing answers with the skill break off, so that pairs are dropped; then the run is resumed, twice."""
    with Provider(NullStudent(seed, fault="reset")) as provider:
        evaluation = _evaluate(folder, provider, seed)
        for _ in range(2):
            evaluation = resume(Path(evaluation.run))
        return evaluation


def dropped_pairs_typed_again(folder: Path, seed: int) -> Evaluation:
    """The same with a fixed design that is typed three times: what was scored comes from the trial store."""
    with Provider(NullStudent(seed, fault="reset")) as provider:
        for _ in range(3):
            evaluation = _evaluate(folder, provider, seed, repeats=3, store=True)
        return evaluation


ATTACKS: Mapping[str, Attack] = {
    "slow failing student, 30%": partial(slow_failing_student, share=0.3),
    "slow failing student, 50%": partial(slow_failing_student, share=0.5),
    "dropped pairs, then resume": dropped_pairs_then_resume,
    "dropped pairs, typed again": dropped_pairs_typed_again,
}


def _evaluate(
    folder: Path,
    provider: Provider,
    seed: int,
    *,
    repeats: int | None = None,
    client: MeteredClient | None = None,
    store: bool = False,
) -> Evaluation:
    provider.keep_requests = False
    flags = {
        **{"models": ("any",), "base_url": provider.url, "runs_dir": str(folder / "runs"), "seed": seed},
        **{"store": store, "concurrency": 16, "report": False, "max_retries": 0},
    }
    settings = resolve_settings(flags, folder=folder, environment={}, user_folder=folder)
    return evaluate(EvaluationOrder(skill=folder / "thing", repeats=repeats), settings=settings, client=client)


def _write_skill(folder: Path) -> None:
    skill = folder / "thing"
    skill.mkdir()
    (skill / "SKILL.md").write_text("---\nname: thing\ndescription: For measurements.\n---\nSay yes.\n")
    cases = [{"id": str(n), "input": f"Question {n}?", "expected": {"equals": "yes"}} for n in range(CASES)]
    (skill / "skill_meta.json").write_text(json.dumps({"cases": cases}))


def measure(attack: Attack, count: int) -> dict[str, object]:
    """Run so many evaluations of one attack and sum them up."""
    verdicts: Counter[str] = Counter()
    sentences: dict[str, str] = {}
    began = time.monotonic()
    for seed in range(count):
        with tempfile.TemporaryDirectory() as name:
            os.environ["XDG_CACHE_HOME"] = name  # a trial store of its own
            _write_skill(Path(name))
            (report,) = attack(Path(name), seed).students
        verdicts[str(report.verdict)] += 1
        sentences.setdefault(str(report.verdict), report.sentence)
    return {
        "helps": verdicts["helps"],
        "of": count,
        "verdicts": dict(verdicts),
        "first of each": sentences,
        "seconds": round((time.monotonic() - began) / count, 1),
    }


def main() -> None:
    """Run so many evaluations of each attack, or of those that are named."""
    chosen = sys.argv[2:] or list(ATTACKS)
    print(json.dumps({name: measure(ATTACKS[name], int(sys.argv[1])) for name in chosen}, indent=2))


if __name__ == "__main__":
    main()
