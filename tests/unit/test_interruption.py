"""Work in a thread is ended from another one, as Ctrl-C ends it in the main thread."""

import asyncio
import threading

import pytest

from upskill.interruption import Interruption, raise_if_interrupted, run_interruptibly


async def answer() -> int:
    return 42


def test_work_on_an_event_loop_is_ended_by_a_request_from_another_thread() -> None:
    interruption, tidied = Interruption(), []

    async def wait_long() -> None:
        threading.Thread(target=interruption.request).start()
        try:
            await asyncio.sleep(600)
        finally:
            tidied.append(True)

    with pytest.raises(KeyboardInterrupt):
        interruption.reaches(lambda: run_interruptibly(wait_long))
    assert tidied


def test_after_a_request_no_other_work_begins() -> None:
    interruption = Interruption()
    interruption.request()
    with pytest.raises(KeyboardInterrupt):
        interruption.reaches(lambda: run_interruptibly(answer))
    with pytest.raises(KeyboardInterrupt):
        interruption.reaches(raise_if_interrupted)


def test_a_request_reaches_only_its_own_work() -> None:
    Interruption().request()
    raise_if_interrupted()
    assert run_interruptibly(answer) == 42
    assert Interruption().reaches(lambda: run_interruptibly(answer)) == 42


def test_work_that_cancels_itself_was_not_interrupted() -> None:
    async def cancel_itself() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        Interruption().reaches(lambda: run_interruptibly(cancel_itself))
