"""`upskill sweep run` on this machine, with workers that are killed and a person who interrupts it."""

import json
import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from counted_sweep import COMMAND, CountedSweep

RESERVE = 24
"""For 16 calls: a quarter more, and four."""


def _children(pid: int) -> list[int]:
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(child) for child in path.read_text().split()]
    return found


def _workers(pid: int) -> list[int]:
    """The processes that run evaluations; the one that watches shared things is none."""
    return [child for child in _children(pid) if b"resource_tracker" not in Path(f"/proc/{child}/cmdline").read_bytes()]


@pytest.mark.full
def test_the_cap_holds_although_workers_are_killed(tmp_path: Path, record_property: Any) -> None:
    cap, workers = 300, 2
    sweep = CountedSweep(tmp_path, skills=40, max_calls=cap)
    killed = 0
    with sweep.provider() as provider:
        sweep.plan(provider.url)
        events = [sweep.after(number) for number in range(20, cap, 50)]
        command = sweep.start("-j", str(workers))
        while command.poll() is None:
            if events and events[0].wait(0.2):
                events.pop(0)
                with suppress(ProcessLookupError, IndexError):
                    os.kill(_workers(command.pid)[killed % workers], signal.SIGKILL)
                    killed += 1
        out, err = command.communicate(timeout=60)
    told = json.loads(out)
    assert command.returncode == 0, err
    assert killed >= 3
    assert sweep.requests <= told["charged"]["calls"] <= cap
    assert cap - told["charged"]["calls"] < RESERVE * workers
    assert told["not_reached"][0]["why"] == f"too little is left of the cap of {cap} calls"
    record_property("killed, requests, charged", [killed, sweep.requests, told["charged"]["calls"]])


@pytest.mark.full
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_who_interrupts_a_sweep_loses_nothing(tmp_path: Path, number: signal.Signals, code: int) -> None:
    sweep = CountedSweep(tmp_path, skills=6, latency=0.1)
    middle = sweep.after(40)
    with sweep.provider() as provider:
        sweep.plan(provider.url)
        words = [COMMAND, "sweep", "run", str(sweep.place), "-j", "2"]
        command = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        assert middle.wait(120)
        os.killpg(command.pid, number)  # as a terminal, or a scheduler, does: to all of them
        out, err = command.communicate(timeout=60)
        assert command.returncode == code, err
        assert "Traceback" not in err
        assert "not reached" in out
        assert err.splitlines()[-1] == f"next, go on: upskill sweep run {sweep.place}"
        assert sweep.requests < sweep.planned
        last = sweep.start("-j", "2")
        _, err = last.communicate(timeout=300)
        assert last.returncode == 0, err
    assert "did not end" not in err, "all ended in good order"
    sweep.require_whole()
    assert sweep.bought_again <= 2 * sweep.concurrency, "an interrupted call is asked again"


@pytest.mark.full
def test_a_command_that_is_killed_takes_its_workers_with_it(tmp_path: Path) -> None:
    sweep = CountedSweep(tmp_path, skills=6, latency=0.1)
    middle = sweep.after(40)
    with sweep.provider() as provider:
        sweep.plan(provider.url)
        command = sweep.start("-j", "2")
        assert middle.wait(120)
        command.kill()
        command.communicate(timeout=60)
        threading.Event().wait(5)
        before = sweep.requests
        time.sleep(2)
        assert sweep.requests == before, "nobody is left who buys"
        last = sweep.start("-j", "2")
        out, err = last.communicate(timeout=300)
    assert last.returncode == 0, err
    assert json.loads(out)["evaluations"] == {"done": 6, "planned": 6}
    sweep.require_whole()
