"""Two processes write to one answer cache and are killed: every answer whose `keep` had returned is there."""

import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from upskill.core.runs.trial_store import SqliteStore

WANTED = 10_000
WRITER = """
import os, sys
from dataclasses import replace
from pathlib import Path
from core.unit.files.trials import TRIAL
from upskill.core.runs.trial_store import SqliteStore

path, noted, name = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
notes = os.open(noted, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
store = SqliteStore(path)
print("open", flush=True)
for number in range(1, 1_000_000):
    store.keep(replace(TRIAL, id=f"{name}-{number:06}"), fingerprint="f")
    os.write(notes, f"{name}-{number:06}\\n".encode())
"""


def _kept_by_killed_writers(folder: Path, number: int, rng: random.Random) -> list[str]:
    """What two writers had kept when they were killed."""
    names = [f"{number:03}{which}" for which in "ab"]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder / "trials.sqlite3"), str(folder / name), name],
            stdout=subprocess.PIPE,
            env={"PYTHONPATH": str(Path(__file__).parents[2])},
        )
        for name in names
    ]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"open\n"
        time.sleep(rng.uniform(0.1, 0.8))
    finally:
        for writer in rng.sample(writers, 2):
            writer.kill()
            time.sleep(rng.uniform(0.0, 0.05))
        for writer in writers:
            writer.communicate()
    return [line for name in names for line in (folder / name).read_text().splitlines()]


@pytest.mark.once
def test_no_answer_that_was_kept_is_lost_by_kill_9(tmp_path: Path) -> None:
    rng, kept, rounds = random.Random(1), list[str](), 0
    while len(kept) < WANTED:
        kept += _kept_by_killed_writers(tmp_path, rounds, rng)
        rounds += 1
    with SqliteStore(tmp_path / "trials.sqlite3") as store:
        assert store.notes == (), "and it is not damaged"
    with sqlite3.connect(tmp_path / "trials.sqlite3") as file:
        there = {id for (id,) in file.execute("SELECT id FROM trials")}
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    file.close()
    assert [id for id in kept if id not in there] == []
