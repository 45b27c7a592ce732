"""What a sandbox is left as, and what sandboxes may use together: the student's doing stays the student's."""

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import anyio
import pytest

from core.sandbox.test_command_checks import run_check
from in_sandbox import Open
from upskill.core.nouns import Case
from upskill.core.trials.sandbox_tools import AnswerFiles, SandboxTools, Threads
from upskill.core.trials.trial_run import TrialLimits
from upskill.sandbox import (
    FileRefused,
    Limits,
    Sandbox,
    SandboxSpec,
    SandboxSpent,
    SandboxUnavailable,
    describe_sandbox,
)
from upskill.sandbox.bubblewrap import open_bubblewrap
from upskill.sandbox.memory import MemoryPool

FLOOD = """
import os, socket
odd = socket.socket(socket.AF_UNIX)
odd.bind('/tmp/a' + chr(10) + 'b')
for n in range(400000): os.mknod('/tmp/%d' % n)
"""


@pytest.fixture
def grouped() -> Iterator[Sandbox]:
    """One whose files fill its control group, so that in the end the init process is all that the kernel can end."""
    if describe_sandbox().memory_by == "process":
        pytest.skip("there is no control group for this user")
    with open_bubblewrap(SandboxSpec(limits=Limits(memory_mb=64))) as sandbox:
        yield sandbox


def flood(sandbox: Sandbox) -> None:
    """In the background, so that no command is there to be ended for it; until the sandbox itself has been ended."""
    fill = "for n in 1 2 3; do head -c 40000000 /dev/zero > f$n; done"
    sandbox.run(["sh", "-c", f"({fill}) >/dev/null 2>&1 & exit 0"], seconds=20)
    with suppress(SandboxSpent):
        for number in range(100):
            sandbox.put({f"more-{number}": b"x" * 1_000_000})
            time.sleep(0.1)


def test_a_sandbox_that_was_flooded_in_the_background_is_spent_and_not_lost(grouped: Sandbox) -> None:
    flood(grouped)
    assert grouped.run(["true"], seconds=20).ended == "memory"
    with pytest.raises(SandboxSpent, match="too much memory"):
        grouped.take()


def test_a_student_that_flooded_its_sandbox_left_nothing_and_has_not_errored(grouped: Sandbox) -> None:
    tools = SandboxTools(
        grouped,
        Case(id="c", prompt="p", checks=()),
        trial_limits=TrialLimits(),
        watch=None,
        threads=Threads(1),
        close=lambda sandbox: sandbox.close(),
    )
    flood(grouped)
    assert anyio.run(tools.take) == AnswerFiles({}, ())


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            "for n in range(190):\n os.mkdir(str(n))\n for m in range(200): os.mkdir(f'{n}/{m}')",
            "20,000 files and folders",
        ),
        ("for n in range(10000):\n os.mkdir('d'); os.chdir('d')", "deeper than 64"),
        ("open('big', 'wb').truncate(60 << 20)", "big: 62914560 bytes"),
        ("for n in range(1200): open(str(n), 'w').close()", "more than 1000 files"),
    ],
)
def test_more_than_is_taken_is_refused_in_words(opened: Open, script: str, words: str) -> None:
    sandbox = opened()
    assert sandbox.run(["python3", "-c", f"import os\n{script}"], seconds=50).exit_code == 0
    with pytest.raises(FileRefused, match=words):
        sandbox.take()


def test_an_answer_that_does_not_fit_into_the_sandbox_of_a_check_has_failed() -> None:
    passed, saw = run_check({"run": "true", "limits": {"workspace_mb": 1}}, files={"big": b"x" * (2 << 20)})
    assert not passed
    assert "do not fit" in saw
    with pytest.raises(FileRefused):
        run_check({"run": "true", "limits": {"workspace_mb": 1}}, case_files={"big": b"x" * (2 << 20)})


def test_a_program_of_a_check_that_makes_files_without_end_has_failed() -> None:
    passed, saw = run_check(
        {"run": ["python3", "flood.py"], "limits": {"memory_mb": 64}}, files={"flood.py": FLOOD.encode()}
    )
    assert (passed, saw.split(";")[0]) == (False, "stopped: over the memory limit")


# One sum for all sandboxes of a run


def test_what_goes_beyond_the_default_is_lent_once() -> None:
    pool = MemoryPool(1_000, patience_seconds=0.05)
    first = pool.take(512 + 600)
    with pytest.raises(SandboxUnavailable, match="kept the 1,012 MB"):
        pool.take(512 + 500)
    second = pool.take(512 + 400)
    first()
    first()
    with pytest.raises(SandboxUnavailable):
        pool.take(512 + 700)
    second()
    pool.take(512 + 1_000)


def test_default_limits_wait_for_nobody_and_one_giant_runs_alone() -> None:
    pool = MemoryPool(1_000, patience_seconds=0.05)
    giant = pool.take(8_192)
    pool.take(512)
    with pytest.raises(SandboxUnavailable):
        pool.take(513)
    giant()
    pool.take(513)


def test_who_waits_goes_on_when_something_is_given_back() -> None:
    pool = MemoryPool(1_000)
    first = pool.take(1_512)
    waiting = threading.Thread(target=partial(pool.take, 1_512), daemon=True)
    waiting.start()
    waiting.join(0.1)
    assert waiting.is_alive()
    first()
    waiting.join(10)
    assert not waiting.is_alive()
