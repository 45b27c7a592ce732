"""SIGTERM and SIGHUP end a command as Ctrl-C does: in good order, with what there is, and with a line to resume it.

Only the command line does this. A program that uses the library keeps the handlers it has.
"""

import os
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from upskill import disk
from upskill.errors import EXIT_INTERRUPTED
from upskill.interruption import Interruption

T = TypeVar("T")
ONE_END_SECONDS = 0.5
"""Signals that come closer together are one: a terminal that is closed sends SIGHUP twice, and some service managers
send SIGTERM and SIGHUP."""
_received: list[int] = []


def ending_in_good_order(work: Callable[[], T]) -> T:
    """Do the work; a first SIGTERM or SIGHUP interrupts it, a second one ends the process.

    One that was ignored before stays ignored: that is what `nohup` does. They work where Ctrl-C is ignored, as it is in
    the background of a script.
    """
    interruption = Interruption()
    terminals = [number for number in (1, 2) if os.isatty(number)]
    first = 0.0

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a handler
        nonlocal first
        _received.append(number)
        for terminal in terminals:
            if not os.isatty(terminal):  # it was closed, and to write to it would be an error
                os.dup2(disk.nowhere(), terminal)
        if len(_received) > 1:
            if time.monotonic() - first < ONE_END_SECONDS:
                return
            os.write(2, b"\nended twice: stopped at once\n")
            os._exit(128 + number)
        first = time.monotonic()
        if not interruption.request():
            raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupt)
    return interruption.reaches(work)


def shell_code(code: int) -> int:
    """The exit code of a command: one that a signal interrupted has its code, 143 for SIGTERM and 129 for SIGHUP."""
    return 128 + _received[0] if _received and code == EXIT_INTERRUPTED else code
