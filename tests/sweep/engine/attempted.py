"""A sweep of one skill in a folder or a bucket, attempted here or in processes that are killed."""

import json
import multiprocessing
from collections import Counter
from pathlib import Path
from typing import Any

from provider import Behaviour, Provider, ReceivedRequest
from upskill.sweep.attempt import run_attempt
from upskill.sweep.files import SweepFolder, value_from_text, value_text
from upskill.sweep.plan import plan_sweep
from upskill.sweep.values import Assignment, AttemptEnd, Caps, PlannedJob, SweepPlan, SweepResult

CASES = [(f"Question {n}?", {"contains": "yes"}) for n in range(6)]
CONCURRENCY = 4
ROOM = Caps(max_calls=200, max_total_tokens=1_000_000, max_cost=2.0)


class Sweep:
    """A sweep of one skill, or of several, in a folder."""

    def __init__(self, folder: Path, url: str, *, place: str | None = None, **manifest: Any) -> None:
        self.place = folder / "sweep"
        self.folder = SweepFolder(place or str(self.place))
        self._at = place or str(self.place)
        self._path = folder / "sweep.toml"
        values = {
            "format": "upskill.sweep/1",
            "skills": ["skills/*/"],
            "students": ["any"],
            "base_url": url,
            "runs": 3,
            "concurrency": CONCURRENCY,
            **manifest,
        }
        self._path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()))

    def plan(self) -> tuple[SweepPlan, list[PlannedJob]]:
        plan_sweep(self._path, self.folder)
        return self.folder.plan(), self.folder.jobs()

    def text(self, job: PlannedJob | None = None, caps: Caps = ROOM) -> str:
        plan, jobs = self.plan()
        return value_text(Assignment(at=self._at, plan=plan, job=job or jobs[0], caps=caps))

    def attempt(self, job: PlannedJob | None = None, caps: Caps = ROOM) -> AttemptEnd:
        return end_of(run_attempt(self.text(job, caps)))

    def result(self, job: PlannedJob | None = None) -> SweepResult:
        result = self.folder.result((job or self.folder.jobs()[0]).id)
        assert result is not None
        return result


def end_of(text: str) -> AttemptEnd:
    return value_from_text(AttemptEnd, text, where="test")


def answers(asked: ReceivedRequest) -> Behaviour:
    """Depends on the case and on the skill alone; no answer is a copy of another."""
    number = int(asked.prompt.split("Question ")[1].split("?")[0])
    passes = number != 5 if asked.has_skill else number == 0
    return Behaviour(text=f"{'yes' if passes else 'no'}, {asked.number:06}", latency=0.02)


def told(result: SweepResult) -> dict[str, Any]:
    """What a result says of its models, without times and what was spent."""
    return {"students": result.evaluation["students"], "rows": sorted(result.rows)}


def keys(result: SweepResult) -> Counter[tuple[Any, ...]]:
    return Counter(row[:4] for row in result.rows)


def server() -> Any:
    """Processes that begin with the engine loaded: to load it takes seconds."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["upskill.sweep.attempt", "inspect_ai"])
    return context


def disturbed(folder: Path, place: str, *, runs: Any, context: Any) -> tuple[Sweep, SweepResult, AttemptEnd, int]:
    """A sweep whose worker is killed three times in mid-attempt, and then let finish.

    Also the result of an undisturbed one, and how many more answers were bought than there.
    """
    kill_at: list[int] = []
    worker: list[Any] = []

    def behave(asked: ReceivedRequest) -> Behaviour:
        if asked.number in kill_at:
            worker[0].kill()
        return answers(asked)

    with Provider(behave) as provider:
        undisturbed = Sweep(folder, provider.url, place=str(folder / "undisturbed"), runs=runs)
        assert undisturbed.attempt().done
        bought = len(provider.requests)
        sweep = Sweep(folder, provider.url, place=place, runs=runs)
        text = sweep.text()
        for nth in (3, 5, 4):
            kill_at[:] = [len(provider.requests) + nth]
            worker[:] = [context.Process(target=run_attempt, args=(text,))]
            worker[0].start()
            worker[0].join()
            assert worker[0].exitcode == -9
        end = sweep.attempt()
        again = len(provider.requests) - 2 * bought
    return sweep, undisturbed.result(), end, again


def assert_nothing_was_lost(sweep: Sweep, wanted: SweepResult, end: AttemptEnd, again: int) -> None:
    result = sweep.result()
    assert end.done
    assert 0 <= again <= 3 * CONCURRENCY, "at most the calls in flight at each kill"
    assert set(keys(result).values()) == {1}
    assert told(result) == told(wanted)
    assert result.charged.calls == 3 * 200 + end.spending.calls, "whoever was killed is charged in full"
    assert (result.charged.tokens, result.charged.cost) == (3_000_000 + end.spending.tokens, None)
    files = sweep.folder.attempts(end.id)
    assert len(files) == 4
    assert not any(name.startswith("0") for names in files.values() for name in names), "the result has it all"
