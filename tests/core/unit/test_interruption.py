"""Work in a thread is ended from another one, as Ctrl-C ends it in the main thread."""

import asyncio
import threading

import anyio
import pytest

from upskill.interruption import Interruption, interrupt, raise_if_interrupted, run_interruptibly


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


def test_a_task_that_interrupts_its_work_lets_the_others_clean_up() -> None:
    tidied = []

    async def clean_up_slowly() -> None:
        try:
            await anyio.sleep(600)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.05)
                tidied.append(True)

    async def interrupt_twice() -> None:
        interrupt()
        await asyncio.sleep(0)
        interrupt()

    async def work() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(clean_up_slowly)
            await anyio.sleep(0.01)
            tasks.start_soon(interrupt_twice)

    with pytest.raises(KeyboardInterrupt):
        run_interruptibly(work)
    assert tidied


def test_to_interrupt_where_nothing_runs_is_to_raise() -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    with pytest.raises(KeyboardInterrupt):
        Interruption().reaches(interrupt)
