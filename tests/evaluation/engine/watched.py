"""A process of its own that does one thing and says what it cost: `python -m evaluation.engine.watched WHAT URL …`.

Prints one JSON object: resident memory before and at its peak, open descriptors at their peak, and how late the event
loop was.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from calling import ask, endpoint_at
from upskill.core.models import CallPolicy, MeteredClient

TICK_SECONDS = 0.02


def resident(field: str) -> float:
    """Megabytes: `VmRSS` is now, `VmHWM` the peak."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


def forget_peak() -> None:
    """Start a new peak from what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


class Watch(asyncio.DefaultEventLoopPolicy):
    """Puts a watcher into every event loop that is made: how late it is called, and how many descriptors are open."""

    def __init__(self) -> None:
        super().__init__()
        self.lags: list[float] = []
        self.descriptors = 0

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        loop = super().new_event_loop()

        def tick(due: float, worked: float) -> None:
            now, working = loop.time(), time.thread_time()
            # Late by the work of this thread; what other processes took of the machine is not ours.
            self.lags.append(min(now - due, working - worked))
            if len(self.lags) % 5 == 0:
                self.descriptors = max(self.descriptors, len(os.listdir("/proc/self/fd")))  # noqa: PTH208
            loop.call_later(TICK_SECONDS, tick, now + TICK_SECONDS, working)

        loop.call_soon(lambda: tick(loop.time(), time.thread_time()))
        return loop


def big_bodies(url: str, count: int) -> dict[str, Any]:
    """Ask a healthy question first, then so many that are answered with a flood."""
    endpoint, policy = endpoint_at(url), CallPolicy(concurrency=1, max_wait_seconds=0.1)
    ask(MeteredClient(policy=policy), endpoint, ["healthy"])
    before = resident("VmRSS")
    forget_peak()
    client = MeteredClient(policy=policy)
    called = ask(client, endpoint, ["big"] * count)
    return {
        "before": before,
        "rise": resident("VmHWM") - before,
        "calls": client.spent.calls,
        "faults": sorted({str(one.bill.fault) for one in called}),
        "messages": sorted({one.bill.fault_message for one in called}),
    }


def evaluation(url: str, skill: str, concurrency: int) -> dict[str, Any]:
    """Evaluate a skill with everything in flight at once."""
    watch = Watch()
    asyncio.set_event_loop_policy(watch)
    from upskill.core.settings import resolve_settings
    from upskill.evaluation.evaluate import evaluate
    from upskill.evaluation.order import EvaluationOrder

    here = Path.cwd()
    flags = {
        "models": ("any",),
        "base_url": url,
        "concurrency": concurrency,
        "runs_dir": str(here / "runs"),
        "report": False,
    }
    settings = resolve_settings(flags, environment={}, folder=here, user_folder=here)
    result = evaluate(EvaluationOrder(skill=Path(skill), repeats=2), settings=settings)
    lags = sorted(watch.lags)
    return {
        "scored": sum(arm.trials for arm in result.students[0].arms),
        "peak": resident("VmHWM"),
        "descriptors": watch.descriptors,
        "lag_p50": lags[len(lags) // 2],
        "lag_p99": lags[int(len(lags) * 0.99)],
        "lag_most": lags[-1],
        "ticks": len(lags),
        "over": [round(lag, 2) for lag in lags if lag > 0.1],
    }


if __name__ == "__main__":
    what, url, *words = sys.argv[1:]
    done = big_bodies(url, int(words[0])) if what == "big_bodies" else evaluation(url, words[0], int(words[1]))
    sys.stdout.write(json.dumps(done) + "\n")
