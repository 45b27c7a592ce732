"""The fault matrix as a person meets it: an outage, Ctrl-C once and twice, a clock that jumps."""

import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from forking import COMMAND, started
from provider import Behaviour, Provider, ReceivedRequest
from typed import Upskill, make_port_skill

pytestmark = pytest.mark.full

CASES = 40


@pytest.fixture
def port_skill(here: Path) -> Path:
    return make_port_skill(here, cases=CASES)


def _started(here: Path, environment: dict[str, str], *words: str) -> AbstractContextManager[subprocess.Popen[str]]:
    return started([COMMAND, "eval", "skills/port", "-m", "any", *words], cwd=here, env=environment)


def _wait_for(provider: Provider, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(provider.requests) < count:
        assert time.monotonic() < deadline, "the command sent no requests"
        time.sleep(0.02)


def _left_behind(group: int) -> list[str]:
    """Processes that are still in a process group."""
    left = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it ended while we looked
            if int(fields[2]) == group and fields[0] != "Z":
                left.append(folder.name)
    return left


def _trials(here: Path) -> list[dict[str, Any]]:
    (run,) = [path for path in (here / "runs").iterdir() if path.is_dir()]
    return [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]


def _slow_after(count: int) -> Any:
    return lambda asked: Behaviour(text="7413", latency=0.0 if asked.number <= count else 60.0)


def test_an_outage_in_the_middle_prints_what_there_is_and_exits_with_3(upskill: Upskill, port_skill: Path) -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(text="7413") if asked.number <= 16 else Behaviour(status=503)

    with Provider(behave) as provider:
        done = upskill(
            "eval", "skills/port", "-m", "any", "--base-url", provider.url, UPSKILL_MAX_RETRY_WAIT_SECONDS="1"
        )
    assert done.returncode == 3, done.stdout + done.stderr
    assert len(provider.requests) - 16 <= 20
    assert "No verdict: the server stopped answering after 16 answers." in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


# Without any pause the system may make one signal of two.
@pytest.mark.parametrize(("pause", "most"), [(None, 5), (0.03, 1), (0.15, 1)], ids=["once", "twice", "twice slowly"])
def test_ctrl_c_ends_in_time_with_what_there_is_and_leaves_no_process_and_no_torn_record(
    pause: float | None, most: float, here: Path, port_skill: Path, environment: dict[str, str]
) -> None:
    with Provider(_slow_after(16)) as provider, _started(here, environment, "--base-url", provider.url) as process:
        _wait_for(provider, 20)
        pressed = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        if pause is not None:
            time.sleep(pause)
            pressed = time.monotonic()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
        took = time.monotonic() - pressed
        left = _left_behind(process.pid)
    # A second signal may come after the last word, where Python has no handler any more: to a shell that is 130, too.
    assert process.returncode in ((130,) if pause is None else (130, -signal.SIGINT)), err
    assert took <= most
    assert left == []
    assert pause is not None or ("The run was interrupted" in out and "without the skill" in out)
    assert "Traceback" not in out + err
    assert sum(trial["outcome"]["kind"] == "scored" for trial in _trials(here)) == 16


JUMPS = {"a year ahead": 365 * 86_400, "a day back": -86_400}


@pytest.mark.parametrize("jump", JUMPS)
def test_a_clock_that_jumps_moves_no_deadline_and_makes_no_negative_duration(
    jump: str, here: Path, port_skill: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """The wall clock jumps in the middle of the run, by libfaketime; the monotonic clock does not."""
    libraries = [path for path in Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1") if path.is_file()]
    assert libraries, "faketime is needed: apt-get install faketime"
    assert shutil.which("faketime")
    offset = tmp_path / "offset"
    offset.write_text("+0\n")

    def behave(asked: ReceivedRequest) -> Behaviour:
        if asked.number == 12:
            offset.write_text(f"{JUMPS[jump]:+d}\n")
        return Behaviour(fault="stall") if asked.prompt == "Question 7?" else Behaviour(text="7413", latency=0.1)

    variables = {
        **environment,
        "LD_PRELOAD": str(libraries[0]),
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_CACHE_DURATION": "1",
        "NO_FAKE_STAT": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "UPSKILL_ATTEMPT_TIMEOUT_SECONDS": "5",
        "UPSKILL_MAX_RETRIES": "1",
        "UPSKILL_MAX_RETRY_WAIT_SECONDS": "1",
    }
    with Provider(behave) as provider:
        with _started(here, variables, "--base-url", provider.url, "--json", "--runs", "1") as process:
            out, err = process.communicate(timeout=120)
        took = time.monotonic() - provider.requests[0].at
    assert process.returncode in (0, 3), err
    assert "Traceback" not in out + err
    trials = _trials(here)
    late = [trial for trial in trials if trial["case_id"] == "c7"]
    assert [trial["outcome"].get("fault") for trial in late] == ["timeout"] * 6, "put three times in each arm"
    assert len(trials) == 2 * CASES - 2 + len(late)
    assert [trial["outcome"]["kind"] for trial in trials if trial["case_id"] != "c7"] == ["scored"] * (2 * CASES - 2)
    assert all(trial["seconds"] is None or 0 <= trial["seconds"] < 30 for trial in trials)
    assert all(4.5 < trial["seconds"] < 14 for trial in late), late
    assert took < 60
    days = {trial["finished_at"][:10] for trial in trials}
    assert len(days) == 2, "the clock did jump"
