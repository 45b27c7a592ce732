"""Work that blocks, done where an event loop is running, and interrupted there as Ctrl-C would interrupt it anywhere.

Knows nothing of what the work is.
"""

import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:  # `upskill --help` needs no event loop, and they take 0.2 s to import
    from concurrent.futures import Future
    from types import FrameType

T = TypeVar("T")
_MOMENT_SECONDS = 0.5
"""Waits are no longer than this: on Windows nothing else could interrupt them."""


class Interruption:
    """Asks the work of one thread to end, as Ctrl-C would in the main thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler requests in the thread that may just hold it
        self._requested = False
        self._cancel: Callable[[], object] | None = None

    def request(self) -> bool:
        """End the event loop that runs in the work now, and let no other begin; `False` where none runs.

        May be called from any thread.
        """
        with self._lock:
            first, self._requested = not self._requested, True
            if first and self._cancel is not None:
                self._cancel()  # once: a second time it would disturb the work that cleans up
            return self._cancel is not None

    @property
    def requested(self) -> bool:
        """Whether the work is to end."""
        return self._requested

    def reaches(self, work: Callable[[], T]) -> T:
        """Do the work in this thread, and let requests reach it."""
        token = _current.set(self)
        try:
            return work()
        finally:
            _current.reset(token)

    @contextmanager
    def calling(self, stop: Callable[[], object]) -> Iterator[None]:
        """Within it a request calls `stop`, once for one that came before."""
        with self._lock:
            self._cancel = stop
        try:
            if self._requested:
                stop()
            yield
        finally:
            with self._lock:
                self._cancel = None

    async def _cancellable(self, work: Callable[[], Awaitable[T]]) -> T:
        import asyncio

        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None, "called on an event loop"
        with self._lock:
            # The same that an event loop of the main thread does at the first Ctrl-C.
            self._cancel = partial(loop.call_soon_threadsafe, task.cancel)
        try:
            if self._requested:
                raise asyncio.CancelledError
            return await work()
        finally:
            with self._lock:
                self._cancel = None


_current: ContextVar[Interruption | None] = ContextVar("interruption", default=None)


def run_interruptibly(work: Callable[[], Awaitable[T]]) -> T:
    """Run `work` on an event loop of its own. Raises `KeyboardInterrupt` where a person ended it, in any thread."""
    import asyncio

    import anyio

    interruption = _current.get() or Interruption()
    try:
        return interruption.reaches(lambda: anyio.run(interruption._cancellable, work))
    except asyncio.CancelledError:
        if interruption.requested:
            raise KeyboardInterrupt from None
        raise


def interrupt() -> None:
    """End the work that runs on this event loop, as Ctrl-C would. Raises `KeyboardInterrupt` where no loop runs.

    A `KeyboardInterrupt` raised on the loop instead would cancel every task at once, those that clean up after others
    included, and could leave one waiting for another for ever.
    """
    interruption = _current.get()
    if interruption is None or not interruption.request():
        raise KeyboardInterrupt


def raise_if_interrupted() -> None:
    """Raise `KeyboardInterrupt` where the work of this thread is to end. For long work outside an event loop."""
    interruption = _current.get()
    if interruption is not None and interruption.requested:
        raise KeyboardInterrupt


def beside_event_loops(work: Callable[[], T]) -> T:
    """The result of work that starts event loops of its own; where one is running here, it is done in a thread.

    There an interrupt waits until the work has ended in good order, and raises `KeyboardInterrupt`; a second interrupt
    does not wait.
    """
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        is_free = True
    else:
        is_free = False
    return work() if is_free else _in_a_thread(work)


def _in_a_thread(work: Callable[[], T]) -> T:
    from concurrent.futures import Future, wait

    interruption = Interruption()
    ended: Future[T] = Future()

    def body() -> None:
        try:
            ended.set_result(interruption.reaches(work))
        except BaseException as error:  # noqa: BLE001 - the boundary of a thread: raised again by whoever waits
            ended.set_exception(error)

    threading.Thread(target=body, name="upskill").start()
    if not _ends_undisturbed(ended):
        interruption.request()
        while wait((ended,), timeout=_MOMENT_SECONDS).not_done:
            pass
        ended.result()
        raise KeyboardInterrupt
    return ended.result()


def _ends_undisturbed(ended: "Future[T]") -> bool:
    """Wait for the end; `False` at the first interrupt. In a notebook that is an exception; under `asyncio.run` it is a
    request to cancel, which the task would see only when it waits for its event loop again."""
    import asyncio
    from concurrent.futures import wait

    task = asyncio.current_task()
    before = 0 if task is None else task.cancelling()
    try:
        while wait((ended,), timeout=_MOMENT_SECONDS).not_done:
            if task is not None and task.cancelling() > before:
                return False
    except KeyboardInterrupt:
        return False
    return True


@contextmanager
def interrupts_stop(stop: Callable[[], object]) -> Iterator[None]:
    """Within it a first interrupt calls `stop`, in the main thread or in the one that asks; a second one raises
    `KeyboardInterrupt`. For work that is divided among other processes, which need a moment to end."""
    interruption = _current.get()
    stopped = False

    def handle(number: int, frame: "FrameType | None") -> None:  # noqa: ARG001 - the signature of a handler
        nonlocal stopped
        if stopped:
            raise KeyboardInterrupt
        stopped = True
        stop()

    with ExitStack() as undo:
        ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # as in the background of a script
        if threading.current_thread() is threading.main_thread() and not ignored:
            undo.callback(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, handle))
        if interruption is not None:
            undo.enter_context(interruption.calling(stop))
        yield
