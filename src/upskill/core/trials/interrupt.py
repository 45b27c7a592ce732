"""A second Ctrl-C ends the process at once, whatever is still being cleaned up after the first.

What has ended by then is on disk already, one record in one write, so nothing that counts is lost.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from upskill.errors import EXIT_INTERRUPTED


@contextmanager
def second_interrupt_ends_at_once() -> Iterator[Callable[[], None]]:
    """Hands out `arm`, to be called once the engine's event loop runs and has put its own handler in place.

    The first interrupt after that goes to that handler, which ends the run in good order; the second ends the process
    with exit code 130 within the same moment. Until the block ends, the closing table included, this stays armed.
    Outside the main thread, where no handler can be set, nothing changes.
    """
    before = signal.getsignal(signal.SIGINT)
    first, presses = before, 0

    def arm() -> None:
        nonlocal first
        current = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or current is on_interrupt:
            return
        first = current
        signal.signal(signal.SIGINT, on_interrupt)

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal presses
        presses += 1
        if presses > 1:
            os.write(2, b"\ninterrupted twice: stopped at once\n")
            os._exit(EXIT_INTERRUPTED)
        if callable(first):
            first(number, frame)

    try:
        yield arm
    finally:
        if signal.getsignal(signal.SIGINT) is on_interrupt:
            signal.signal(signal.SIGINT, before)
