"""SIGTERM and SIGHUP end a command as Ctrl-C does. A second one ends it at once, and `nohup` keeps its meaning."""

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from forking import COMMAND, started
from provider import Behaviour, Provider
from typed import make_port_skill
from upskill.terminal.signals import ONE_END_SECONDS

PROGRAM = """
import asyncio, sys, time
from upskill.terminal.signals import ending_in_good_order, shell_code
from upskill.interruption import run_interruptibly

async def wait():
    print("ready", flush=True)
    try:
        await asyncio.sleep(20)
    finally:
        print("tidying", flush=True)
        time.sleep(SECONDS)

def block():
    print("ready", flush=True)
    time.sleep(20)

try:
    ending_in_good_order(WORK)
except KeyboardInterrupt:
    sys.exit(shell_code(130))
"""
IN_A_LOOP = "lambda: run_interruptibly(wait)"


def _program(work: str, *, tidying: int = 0) -> list[str]:
    return [sys.executable, "-c", PROGRAM.replace("WORK", work).replace("SECONDS", str(tidying))]


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("work", [IN_A_LOOP, "block"])
@pytest.mark.parametrize("ignored", [(), (signal.SIGINT,)], ids=["in front", "in the background of a script"])
def test_it_interrupts_whatever_is_being_done(number: int, work: str, ignored: tuple[int, ...]) -> None:
    with started(_program(work), ignored=ignored) as process:
        assert _line(process) == "ready"
        process.send_signal(number)
        out, err = process.communicate(timeout=10)
    assert process.returncode == 128 + number
    assert out.strip() == ("tidying" if work == IN_A_LOOP else "")
    assert err == ""


def test_a_second_one_does_not_wait_for_tidying_up() -> None:
    with started(_program(IN_A_LOOP, tidying=15)) as process:
        assert _line(process) == "ready"
        process.send_signal(signal.SIGTERM)
        assert _line(process) == "tidying"
        process.send_signal(signal.SIGHUP)  # as service managers do: the same end, not a second one
        time.sleep(ONE_END_SECONDS)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=10)
    assert process.returncode == 143
    assert "stopped at once" in err


def test_under_nohup_a_hang_up_changes_nothing() -> None:
    with started(_program("block"), ignored=(signal.SIGHUP,)) as process:
        assert _line(process) == "ready"
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=1)


def test_the_library_leaves_signals_alone() -> None:
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    program = (
        f"import signal, upskill; seen = [signal.getsignal(getattr(signal, n)) for n in {names}]; upskill.evaluate;"
    )
    program += f"upskill.generate; assert seen == [signal.getsignal(getattr(signal, n)) for n in {names}]"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def _wait(until: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _running() -> dict[str, list[str]]:
    """What the kernel says of every process that is not over: its state, its parent, its group and more."""
    fields: dict[str, list[str]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            fields[path.parent.name] = path.read_text().rpartition(")")[2].split()
    return {name: values for name, values in fields.items() if values[0] != "Z"}


def _in_group(group: int) -> list[str]:
    return [name for name, values in _running().items() if int(values[2]) == group]


def _children(process: int) -> set[str]:
    return {name for name, values in _running().items() if int(values[1]) == process}


def test_an_evaluation_keeps_what_it_bought_and_says_how_to_resume(here: Path, environment: dict[str, str]) -> None:
    make_port_skill(here, cases=20)
    with Provider(lambda asked: Behaviour(text="7413", latency=0.0 if asked.number <= 10 else 60.0)) as provider:
        command = [COMMAND, "eval", "skills/port", "-m", "any", "--base-url", provider.url]
        with started(command, ignored=(signal.SIGINT,), cwd=here, env=environment) as process:
            _wait(lambda: len(provider.requests) >= 18)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=30)
            assert _in_group(process.pid) == []
    assert process.returncode == 143
    assert out.startswith("The run was interrupted, so this is not final.\n")
    (run,) = here.glob("runs/*/run.json")
    assert f"upskill eval --resume runs/{run.parent.name}" in err
    assert json.loads(run.read_text())["status"] == "interrupted"
    trials = [json.loads(line) for line in (run.parent / "trials.jsonl").read_text().splitlines()]
    assert sum(trial["outcome"]["kind"] == "scored" for trial in trials) == 10


def test_an_evaluation_that_is_ended_before_its_first_call_says_how_to_resume(
    here: Path, environment: dict[str, str]
) -> None:
    make_port_skill(here, cases=1)
    with Provider(lambda _: Behaviour(text="7413", latency=60.0)) as provider:
        command = [COMMAND, "eval", "skills/port", "-m", "any", "--base-url", provider.url]
        with started(command, cwd=here, env=environment) as process:
            _wait(lambda: list(here.glob("runs/*/trials.jsonl")))
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "interrupted after 0 of 6 answers" in out
    (run,) = here.glob("runs/*/run.json")
    assert f"upskill eval --resume runs/{run.parent.name}" in err
    assert json.loads(run.read_text())["status"] == "interrupted"


def test_a_wait_for_a_hand_off_ends_with_the_line_to_resume(here: Path, environment: dict[str, str]) -> None:
    command = [COMMAND, "generate", "Answer questions about tarnctl", "-m", "handoff", "--no-eval", "--yes"]
    with started(command, cwd=here, env=environment) as process:
        _wait(lambda: process.poll() is not None or list(here.glob("runs/*/handoff/*/0*")))
        process.send_signal(signal.SIGHUP)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 129, err
    assert "resume with: upskill generate --resume runs/" in err


def test_a_terminal_that_is_closed_ends_a_run_in_good_order(here: Path, environment: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, "generate", "Answer questions about tarnctl", "-m", "handoff", "--no-eval", "--yes"],
        cwd=here,
        env={**environment, "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    try:
        _wait(lambda: process.poll() is not None or list(here.glob("runs/*/handoff/*/0*")))
        os.close(ours)
        assert process.wait(timeout=30) == 129
    finally:
        process.kill()
    (record,) = here.glob("runs/*/generate.json")
    assert json.loads(record.read_text())["status"] == "interrupted"


def test_a_doctor_that_is_ended_leaves_no_process(here: Path, environment: dict[str, str]) -> None:
    with started([COMMAND, "doctor"], cwd=here, env=environment) as process:
        # A sandbox has a process group of its own.
        _wait(lambda: _children(process.pid))
        seen = _children(process.pid)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
        assert not seen & _running().keys()
    assert process.returncode == 143
    assert err.strip().endswith("interrupted")
