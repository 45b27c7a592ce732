"""A trial that one process is buying is not bought by another, until it is let go or the process is gone."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from upskill.core.runs.trial_store import Reservations

HOLD = """
import sys
from pathlib import Path
from upskill.core.runs.trial_store import Reservations

held = Reservations(Path(sys.argv[1]))
assert all(held.take(trial) for trial in sys.argv[2:])
print("held", flush=True)
for line in sys.stdin:
    held.release(line.strip())
    print("released", flush=True)
"""


@contextmanager
def _holding(path: Path, *trials: str) -> "Iterator[subprocess.Popen[str]]":
    """Another process that holds these trials."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), *trials], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_what_another_process_holds_is_free_again_when_it_lets_go_of_it(tmp_path: Path) -> None:
    path = tmp_path / "reserved"
    mine = Reservations(path)
    with _holding(path, "a", "b") as process:
        assert (mine.take("a"), mine.take("b"), mine.take("c")) == (False, False, True)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("a\n")
        process.stdin.flush()
        assert process.stdout.readline() == "released\n"
        assert (mine.take("a"), mine.take("b")) == (True, False)
    mine.close()


def test_what_a_killed_process_held_is_free_at_once(tmp_path: Path) -> None:
    mine = Reservations(tmp_path / "reserved")
    with _holding(tmp_path / "reserved", "a") as process:
        assert not mine.take("a")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert mine.take("a")
    mine.close()


def test_nobody_waits_where_nothing_can_be_reserved(tmp_path: Path) -> None:
    mine = Reservations(tmp_path / "no such folder" / "reserved")
    assert mine.take("a")
    mine.release("a")
    mine.close()


def test_a_process_does_not_stop_itself(tmp_path: Path) -> None:
    one, other = Reservations(tmp_path / "reserved"), Reservations(tmp_path / "reserved")
    assert one.take("a")
    assert other.take("a")
    one.close()
    other.close()
