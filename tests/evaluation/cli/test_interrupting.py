"""Ctrl-C twice, in a process of its own: the second one ends it, whatever the first one is still tidying up."""

import signal
import subprocess
import sys
import time

PROGRAM = """
import asyncio, time
from upskill.core.trials.engine import second_interrupt_ends_at_once

async def work():
    arm()
    print("ready", flush=True)
    try:
        await asyncio.sleep(60)
    finally:
        print("tidying", flush=True)
        time.sleep(30)

with second_interrupt_ends_at_once() as arm:
    asyncio.run(work())
"""


def test_the_second_interrupt_ends_a_process_that_is_still_tidying_up() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "tidying\n", "the first goes to the loop's own handler"
    pressed = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert time.monotonic() - pressed < 10, "it would be tidying for thirty"
    assert process.returncode == 130
    assert "interrupted twice" in err
